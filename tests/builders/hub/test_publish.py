"""Releases published on a local Hub with the real client."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from hub_server import Fault, HubServer

from benchmark_spec.errors import CorruptReleaseError, HubError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE
from builders.hub import publish as module
from builders.hub.publish import publish as run
from builders.hub.repository import Repository
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.spec_file import read_spec
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import load_release

from .conftest import REPO, SPEC, Build, Publish

OPEN = "tasks/open-3w2s2q/vgg_flower.parquet"
CLOSED = "tasks/closed-3w2s2q/vgg_flower.parquet"


def _uploaded(hub: HubServer) -> int:
    """Contents that were put into the Hub's storage."""
    return len(hub.seen(method="PUT"))


def _commits(hub: HubServer) -> int:
    repo = hub.repo(REPO)
    return len(list(repo.history(hub.sha(REPO)))) - 1  # the first one makes the repository


def test_first_publication(hub: HubServer, release: Path, publish: Publish) -> None:
    result = publish(release)
    assert result.exit_code == 0, result.output
    assert "7 new, 0 changed, 0 unchanged, 0 deleted; 7 downloaded again and equal" in result.output
    commit = hub.sha(REPO)
    assert f"published as {REPO}@v1.0.0, commit {commit}" in result.output
    _, manifest = read_manifest(release)
    paths = {t.path for t in manifest.tables} | {CARD_FILE, MANIFEST_FILE}
    assert set(hub.files(REPO)) == paths | {".gitattributes"}
    for path in paths - {CARD_FILE}:
        assert hub.read(REPO, path, "v1.0.0") == (release / path).read_bytes()
    card = (release / CARD_FILE).read_text().replace("ORG/NAME", REPO)
    put = f"Put this repository for `{REPO}`. "
    assert hub.read(REPO, CARD_FILE, "v1.0.0").decode() == card.replace(put, "")
    assert _commits(hub) == 1
    assert _uploaded(hub) == 5
    assert hub.repo(REPO).tags == {"v1.0.0": commit}
    assert not hub.repo(REPO).private


def test_what_was_published_can_be_loaded(hub: HubServer, release: Path) -> None:
    run(release, REPO)
    found = load_release(f"{REPO}@v1.0.0")
    assert found.manifest == read_manifest(release)[1]
    info = found.task_set_info("vgg_flower", "open-3w2s2q")
    table = pq.read_table(release / OPEN)
    assert found.task_table(info).equals(table)
    rows = load_dataset(REPO, "tasks-open-3w2s2q", split="vgg_flower", revision="v1.0.0")
    assert rows.to_list() == table.to_pylist()


def test_tables_that_are_drawn_are_published_as_files(
    hub: HubServer, release: Path, tmp_path: Path, publish: Publish
) -> None:
    text = SPEC.format(version="1.0.0", suites='"open", "closed"', seed=0, description="d")
    spec = tmp_path / "spec.toml"
    spec.write_text(text.replace("[[dataset]]", 'drawn = ["closed"]\n[[dataset]]', 1))
    drawn = tmp_path / "drawn"
    build_release(read_spec(spec), drawn)
    assert not (drawn / CLOSED).exists()
    result = publish(drawn)
    assert "7 new, 0 changed" in result.output, result.output
    assert "already published" in publish(drawn).output
    for path in (OPEN, CLOSED):
        assert hub.read(REPO, path, "v1.0.0") == (release / path).read_bytes()
    rows = load_dataset(REPO, "tasks-3w2s2q-vgg_flower", split="closed", revision="v1.0.0")
    assert rows.to_dict()["query"] == pq.read_table(release / CLOSED)["query"].to_pylist()
    found = load_release(f"{REPO}@v1.0.0").manifest
    assert not any(table.drawn for table in found.tables)
    assert found.digest == read_manifest(drawn)[1].digest


def test_a_second_run_does_nothing(hub: HubServer, release: Path, publish: Publish) -> None:
    publish(release)
    commit, before = hub.sha(REPO), len(hub.requests)
    result = publish(release)
    assert result.exit_code == 0
    assert f"already published as {REPO}@v1.0.0, commit {commit}" in result.output
    assert {r.method for r in hub.requests[before:]} == {"GET"}
    assert hub.sha(REPO) == commit


@pytest.mark.parametrize("change", [{"seed": 1}, {"description": "other"}])
def test_a_tag_is_never_moved(
    hub: HubServer, release: Path, build: Build, publish: Publish, change: dict[str, object]
) -> None:
    publish(release)
    commit = hub.sha(REPO)
    result = publish(build(**change))
    assert result.exit_code == 2
    assert "has published v1.0.0 already, and it is another release" in result.output
    assert "release.json" in result.output
    assert "fslbench-build diff says which number to raise" in result.output
    assert hub.sha(REPO) == hub.sha(REPO, "v1.0.0") == commit


def test_a_new_version_uploads_only_what_changed(
    hub: HubServer, release: Path, build: Build, publish: Publish
) -> None:
    publish(release)
    uploaded, before = _uploaded(hub), len(hub.requests)
    later = build("1.1.0", suites=("open", "closed", "balanced"))
    result = publish(later)
    assert "1 new, 2 changed, 5 unchanged, 0 deleted; 8 downloaded again" in result.output
    assert _uploaded(hub) - uploaded == 1
    asked = [r.path for r in hub.requests[before:]]
    assert not [p for p in asked if "preupload" in p and "classes" in p]
    assert _commits(hub) == 2
    assert hub.sha(REPO, "v1.0.0") != hub.sha(REPO, "v1.1.0") == hub.sha(REPO)
    for version, folder in (("v1.0.0", release), ("v1.1.0", later)):
        assert hub.read(REPO, MANIFEST_FILE, version) == (folder / MANIFEST_FILE).read_bytes()


def test_tables_that_a_version_has_no_longer_are_deleted(
    hub: HubServer, release: Path, build: Build, publish: Publish
) -> None:
    publish(release)
    hub.commit(REPO, {"NOTES.md": b"of the maintainers", "extra.parquet": b"not of a release"})
    result = publish(build("2.0.0", suites=("open",)))
    assert "0 new, 2 changed, 4 unchanged, 1 deleted" in result.output
    assert CLOSED not in hub.files(REPO)
    assert {"NOTES.md", "extra.parquet"} < set(hub.files(REPO))
    assert CLOSED in hub.files(REPO, "v1.0.0")


def test_an_older_version_is_not_put_over_a_newer_one(
    hub: HubServer, release: Path, build: Build, publish: Publish
) -> None:
    publish(build("1.1.0"))
    result = publish(release)
    assert result.exit_code == 2
    assert "holds version 1.1.0, which is later than 1.0.0" in result.output
    assert list(hub.repo(REPO).tags) == ["v1.1.0"]


@pytest.mark.parametrize(
    ("version", "change", "needed", "proposed"),
    [
        ("1.1.0", {"seed": 1}, "2.0.0", True),
        ("2.0.0", {"seed": 1}, None, False),
        ("1.0.1", {"suites": ("open", "closed", "balanced")}, "1.1.0", False),
        ("1.0.1", {"description": "other"}, None, False),
    ],
)
def test_what_diff_refuses_is_not_published(
    hub: HubServer,
    release: Path,
    build: Build,
    publish: Publish,
    version: str,
    change: dict[str, object],
    needed: str | None,
    proposed: bool,
) -> None:
    publish(release)
    commit, later = hub.sha(REPO), build(version, **change)
    found = diff(load_release(release), load_release(later))
    result = publish(later, *(["--create-pr"] if proposed else []))
    assert (not found.unsaid) == (needed is None) == (result.exit_code == 0)
    if needed is None:
        return
    assert f"{version} says less than has changed since 1.0.0" in result.output
    assert f"need {needed}" in result.output or f"needs {needed}" in result.output
    for each in found.changes:
        if each.level == found.needed:
            assert each.where in result.output
    assert hub.sha(REPO) == commit
    assert set(hub.repo(REPO).tags) == {"v1.0.0"}
    assert not hub.repo(REPO).pulls


@pytest.mark.slow
def test_the_version_is_compared_with_the_published_one_below_it(
    hub: HubServer, release: Path, build: Build, publish: Publish
) -> None:
    """Whatever else is tagged, and whatever the main branch holds."""
    for folder in (release, build("1.1.0", suites=("open", "closed", "balanced"))):
        assert publish(folder).exit_code == 0
    empty = hub.commit(REPO, {"NOTES.md": b"of somebody"}).oid
    hub.repo(REPO).tags |= {"v1.0.9-draft": empty, "nightly": empty}
    result = publish(build("1.1.1", suites=("open", "closed")))
    assert "1.1.1 says less than has changed since 1.1.0" in result.output
    assert "tasks/balanced-3w2s2q/vgg_flower.parquet: gone" in result.output
    assert publish(build("2.0.0", seed=1)).exit_code == 0


def test_a_version_below_a_published_one_is_compared_with_it(
    hub: HubServer, build: Build, publish: Publish
) -> None:
    publish(build("1.0.2"))
    first = list(hub.repo(REPO).history(hub.sha(REPO)))[-1]
    hub.repo(REPO).branches["main"] = first.oid
    result = publish(build("1.0.1", suites=("open", "closed", "balanced")))
    assert result.exit_code == 2
    assert "1.0.2 says less than has changed since 1.0.1" in result.output
    assert "above 1.0.2" in result.output


def test_images_and_other_files_of_the_folder_stay_where_they_are(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    (release / "photos").mkdir()
    (release / "photos/1.jpg").write_bytes(b"\xff\xd8")
    (release / "notes.txt").write_text("mine")
    result = publish(release)
    assert "not of the release, and left out: notes.txt, photos/1.jpg" in result.output
    assert not {"photos/1.jpg", "notes.txt"} & set(hub.files(REPO))


def test_a_release_with_problems_is_refused(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    (release / "stray.parquet").write_bytes(b"x")
    (release / CARD_FILE).write_text("x")
    result = publish(release)
    assert result.exit_code == 2
    assert "has 2 problems" in result.output
    assert "stray.parquet: is not in the manifest" in result.output
    assert not hub.repos


def test_what_is_refused_without_the_network(
    hub: HubServer, release: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options, said in (
        (("--repo-id", "bench"), "'bench' is not the name of a repository"),
        (("--repo-id", "org/a/b"), "is not the name of a repository"),
        (("--token", "x"), "No such option"),
        ((), "nobody is logged in to the Hub"),
    ):
        if not options:
            monkeypatch.setenv("HF_TOKEN", "")
        result = publish(release, *options)
        assert result.exit_code == 2
        assert said in result.output
    assert not hub.requests


def test_a_private_repository(hub: HubServer, release: Path, publish: Publish) -> None:
    hub.create_repo(REPO)
    result = publish(release, "--private")
    assert result.exit_code == 2
    assert "is there already, and it is public" in result.output
    assert hub.files(REPO) == [".gitattributes"]
    hub.repos.clear()
    assert publish(release, "--private").exit_code == 0
    assert hub.repo(REPO).private
    assert "already published" in publish(release, "--private").output


def test_a_repository_of_something_else_is_left_alone(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    hub.create_repo(REPO, files={"README.md": b"# Photos", "train.parquet": b"x"})
    result = publish(release)
    assert "org/bench holds something, and no release\n  where: train.parquet" in result.output
    _, manifest = read_manifest(release)
    text = replace(manifest, name="other").to_json()
    hub.commit(REPO, {MANIFEST_FILE: text.encode()})
    assert "holds the release other, not small" in publish(release).output
    assert _commits(hub) == 2


def test_a_repository_that_was_made_by_hand(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    hub.create_repo(REPO, files={"README.md": b"# Soon", "LICENSE": b"mine"})
    result = publish(release)
    assert "6 new, 1 changed, 0 unchanged" in result.output
    assert hub.read(REPO, "LICENSE") == b"mine"


class _KilledError(BaseException):
    """What stops a run at once, as a signal does."""


@pytest.mark.parametrize("step", ["check", "tag"])
def test_killed_between_commit_and_tag(
    hub: HubServer, release: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise _KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Repository, step, killed)
        with pytest.raises(_KilledError):
            run(release, REPO)
    commit = hub.sha(REPO)
    assert _commits(hub) == 1
    assert not hub.repo(REPO).tags
    uploaded = _uploaded(hub)
    result = publish(release)
    assert "0 new, 0 changed, 7 unchanged, 0 deleted; 7 downloaded again" in result.output
    assert hub.repo(REPO).tags == {"v1.0.0": commit}
    assert hub.sha(REPO) == commit
    assert _uploaded(hub) == uploaded


@pytest.mark.slow
def test_killed_by_the_system_while_it_compares(
    hub: HubServer, release: Path, publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    hub.faults.add(Fault("/resolve/", kind="delay", times=None, seconds=30))
    arguments = ["publish", str(release), "--repo-id", REPO]
    code = f"from builders.cli import main; main({arguments})"
    process = subprocess.Popen([sys.executable, "-c", code], env=hub.env(TMPDIR=str(scratch)))
    while not hub.seen("/resolve/"):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert _commits(hub) == 1
    assert not hub.repo(REPO).tags
    assert list(scratch.glob("fslbench-publish-*"))
    hub.faults.clear()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert publish(release).exit_code == 0
    assert not list(scratch.glob("fslbench-publish-*"))
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}
    assert _commits(hub) == 1


@pytest.mark.slow
def test_stopped_before_every_step_in_turn_the_next_run_finishes(
    hub: HubServer, release: Path
) -> None:
    seen: list[str] = []

    def stop_at_the_first_new_step(step: str) -> None:
        if step not in seen:
            seen.append(step)
            raise _KilledError

    for _ in range(40):
        try:
            done = run(release, REPO, progress=stop_at_the_first_new_step)
        except _KilledError:
            continue
        break
    assert done.tagged
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}
    assert _commits(hub) == 1
    assert _uploaded(hub) == 5


def test_the_answer_to_the_commit_is_lost(
    hub: HubServer, release: Path, publish: Publish, quick_retries: list[float]
) -> None:
    hub.faults.add(Fault(r"/commit/main", kind="cut", after=0))
    result = publish(release)
    assert result.exit_code == 2
    assert "the Hub cannot be reached" in result.output
    assert not hub.repo(REPO).tags
    assert publish(release).exit_code == 0
    assert _commits(hub) == 1
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}


def test_what_comes_back_is_compared_before_the_tag_is_set(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    for path in (MANIFEST_FILE, OPEN):
        hub.faults.add(Fault(f"resolve/.*{path}", kind="tampered", times=None))
        result = publish(release)
        assert result.exit_code == 2
        assert f"{path} came back from the Hub as another file: its SHA-256 is" in result.output
        assert not hub.repo(REPO).tags
        hub.faults.clear()
    hub.tamper(REPO, CLOSED)
    with pytest.raises(CorruptReleaseError, match=CLOSED):
        run(release, REPO)
    assert not hub.repo(REPO).tags


def test_faults_that_pass(
    hub: HubServer, release: Path, publish: Publish, quick_retries: list[float]
) -> None:
    hub.faults.add(
        Fault("preupload", status=503),
        Fault(f"resolve/.*{OPEN}", kind="cut", after=100),
        Fault(f"resolve/.*{CLOSED}", status=429, retry_after=1),
    )
    result = publish(release)
    assert result.exit_code == 0, result.output
    assert hub.faults.hits == [1, 1, 1]
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(r"/lfs/objects/batch", times=None, status=500), "the Hub cannot be reached"),
        (Fault(r"/refs", times=None, kind="html"), "what answers is not the Hub"),
        (Fault(r"validate-yaml", times=None, status=400), "the Hub answered 400"),
        (Fault(r"/commit/main", times=None, status=412), "the repository changed meanwhile"),
        (Fault(r"/tree/", times=None, status=500), "the Hub cannot be reached"),
        (Fault(r"/tag/", times=None, status=403), "does not allow it"),
        (Fault("", method="PUT", times=None, status=500), "the Hub cannot be reached"),
    ],
)
def test_faults_that_stay(
    hub: HubServer,
    release: Path,
    publish: Publish,
    quick_retries: list[float],
    fault: Fault,
    said: str,
) -> None:
    hub.faults.add(fault)
    result = publish(release)
    assert result.exit_code == 2, result.output
    assert said in result.output
    if hub.repos:
        assert not hub.repo(REPO).tags
        assert _commits(hub) == int(fault.match == "/tag/")
    hub.faults.clear()
    assert publish(release).exit_code == 0


@pytest.mark.parametrize("read_only", [True, False])
def test_a_token_without_rights(
    hub: HubServer,
    release: Path,
    publish: Publish,
    monkeypatch: pytest.MonkeyPatch,
    read_only: bool,
) -> None:
    token = hub.token("bob", write=("org",) if read_only else (), read_only=read_only)
    monkeypatch.setenv("HF_TOKEN", token)
    result = publish(release)
    assert result.exit_code == 2
    assert "Error: the Hub does not allow it" in result.output
    assert "hf auth login" in result.output
    assert token not in result.output
    assert not hub.repos
    hub.create_repo(REPO)
    result = publish(release)
    assert "the Hub does not allow it" in result.output
    assert token not in result.output
    assert hub.files(REPO) == [".gitattributes"]


def test_the_tag_is_set_by_another_meanwhile(
    hub: HubServer, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Repository.check

    def check(self: Repository, *args: object) -> None:
        whole(self, *args)  # type: ignore[arg-type]
        if "v1.0.0" not in hub.repo(REPO).tags:
            first = list(hub.repo(REPO).history(hub.sha(REPO)))[-1]
            hub.tag(REPO, "v1.0.0", first.oid)

    monkeypatch.setattr(Repository, "check", check)
    with pytest.raises(HubError, match="and not the one that was just verified"):
        run(release, REPO)


def test_main_moves_while_it_is_uploaded(
    hub: HubServer, release: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.create_repo(REPO)

    def step(what: str) -> None:
        if what.startswith("uploading"):
            hub.commit(REPO, {"NOTES.md": b"meanwhile"})

    with pytest.raises(HubError, match="the repository changed meanwhile"):
        run(release, REPO, progress=step)
    assert publish(release).exit_code == 2  # NOTES.md is no file of a new repository
    assert not hub.repo(REPO).tags


def test_the_release_changes_while_it_is_published(
    hub: HubServer, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify = module.verify

    def meanwhile(folder: Path, progress: object) -> object:
        found = verify(folder)
        path = folder / MANIFEST_FILE
        path.write_text(path.read_text().replace('"description": "d"', '"description": "e"'))
        return found

    monkeypatch.setattr(module, "verify", meanwhile)
    with pytest.raises(Exception, match="changed while it was verified"):
        run(release, REPO)
    assert not hub.repos


def test_no_temporary_file_stays(
    hub: HubServer, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    run(release, REPO)
    assert not list(scratch.iterdir())
    cached = [p for p in (tmp_path / "hf").rglob("*") if p.is_file()]
    assert not [p for p in cached if "bench" in str(p)]
