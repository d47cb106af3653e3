"""Releases published on a local Hub with the real client."""

import shutil
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from hub_server import Fault
from msgspec.structs import replace
from specs import spec_in
from stopping import Stop, stopping_at_new

from benchmark_spec.errors import CorruptReleaseError, HubError, OutputError, ReleaseError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Dataset, Manifest, Table, table_path
from builders.cli import main
from builders.hub.publish import check_licences
from builders.hub.publish import publish as run
from builders.release.build import build_release
from builders.release.diff import diff
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import load_release

REPO = "org/bench"
SPEC = """
name = "small"
version = "{version}"
description = "{description}"
protocols = ["3w2s2q"]
drawn = [{drawn}]
[[dataset]]
name = "vgg_flower"
source = "catalogue"
suites = [{suites}]
seed = {seed}
{tasks}
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open"]
"""
OPEN = "tasks/open-3w2s2q/vgg_flower.parquet"
CLOSED = "tasks/closed-3w2s2q/vgg_flower.parquet"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Makes a release of two data sets, 2 of classes and 3 of tasks; none is made twice."""

    @cache
    def make(version="1.0.0", suites=("open", "closed"), **how):
        folder = tmp_path_factory.mktemp("publish")
        how = {"version": version, "seed": 0, "description": "d", "drawn": "", **how}
        how["tasks"] = "tasks.closed = 10" if "closed" in suites else ""
        how["suites"] = ", ".join(f'"{suite}"' for suite in suites)
        build_release(spec_in(folder, SPEC.format(**how)), folder / "release")
        return folder / "release"

    return make


@pytest.fixture
def release(build, tmp_path):
    """Version 1.0.0 of the release, to do with as one likes: 5 tables, card and manifest."""
    return Path(shutil.copytree(build(), tmp_path / "release"))


def publish(folder, *options, code=None):
    result = CliRunner().invoke(main, ["publish", str(folder), "--repo-id", REPO, *options])
    assert code in (None, result.exit_code), result.output
    return result


def _uploaded(hub):
    return len(hub.seen(method="PUT"))


def _commits(hub):
    repo = hub.repo(REPO)
    return len(list(repo.history(hub.sha(REPO)))) - 1  # the first one makes the repository


def test_first_publication_and_a_second_run(hub, release):
    result = publish(release, code=0)
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
    before = len(hub.requests)
    assert f"already published as {REPO}@v1.0.0, commit {commit}" in publish(release, code=0).output
    assert {request.method for request in hub.requests[before:]} == {"GET"}
    assert hub.sha(REPO) == commit


def test_drawn_tables_are_published_as_files(hub, release, build):
    drawn = build(drawn='"closed"')
    assert not (drawn / CLOSED).exists()
    assert "7 new, 0 changed" in publish(drawn).output
    assert "already published" in publish(drawn).output
    for path in (OPEN, CLOSED):
        assert hub.read(REPO, path, "v1.0.0") == (release / path).read_bytes()
    found = load_release(f"{REPO}@v1.0.0").manifest
    assert not any(table.drawn for table in found.tables)
    assert found.digest == read_manifest(drawn)[1].digest


def test_a_tag_is_never_moved(hub, release, build):
    publish(release)
    commit = hub.sha(REPO)
    result = publish(build(description="other"), code=2)
    assert "has published v1.0.0 already, and it is another release" in result.output
    assert "release.json" in result.output
    assert "fslbench-build diff says which number to raise" in result.output
    assert hub.sha(REPO) == hub.sha(REPO, "v1.0.0") == commit


def test_a_version_uploads_only_what_changed(hub, release, build):
    publish(release)
    uploaded, before = _uploaded(hub), len(hub.requests)
    later = build("1.1.0", suites=("open", "closed", "balanced"))
    assert "1 new, 2 changed, 5 unchanged, 0 deleted; 8 downloaded again" in publish(later).output
    assert _uploaded(hub) - uploaded == 1
    asked = [r.path for r in hub.requests[before:]]
    assert not [p for p in asked if "preupload" in p and "classes" in p]
    assert _commits(hub) == 2
    assert hub.sha(REPO, "v1.0.0") != hub.sha(REPO, "v1.1.0") == hub.sha(REPO)
    for version, folder in (("v1.0.0", release), ("v1.1.0", later)):
        assert hub.read(REPO, MANIFEST_FILE, version) == (folder / MANIFEST_FILE).read_bytes()


def test_tables_that_are_gone_are_deleted(hub, release, build):
    """Once proposed and merged; what is no table of the release before stays."""
    publish(release)
    hub.commit(REPO, {"NOTES.md": b"of the maintainers", "extra.parquet": b"not of a release"})
    later = build("2.0.0", suites=("open",))
    for _ in range(2):
        assert "0 new, 2 changed, 4 unchanged, 1 deleted" in publish(later, "--create-pr").output
    assert len(hub.repo(REPO).pulls) == 1
    hub.merge(REPO, 1)
    assert publish(later).exit_code == 0
    assert sorted(hub.repo(REPO).tags) == ["v1.0.0", "v2.0.0"]
    assert CLOSED not in hub.files(REPO)
    assert {"NOTES.md", "extra.parquet"} < set(hub.files(REPO))
    assert CLOSED in hub.files(REPO, "v1.0.0")


def test_a_newer_version_is_not_replaced(hub, release, build):
    publish(build("1.1.0"))
    assert "holds version 1.1.0, which is later than 1.0.0" in publish(release, code=2).output
    assert list(hub.repo(REPO).tags) == ["v1.1.0"]


def test_what_diff_refuses_is_not_published(hub, release, build):
    publish(release)
    commit, suites = hub.sha(REPO), ("open", "closed", "balanced")
    for later, needed, *options in (
        (build("1.1.0", seed=1), "need 2.0.0", "--create-pr"),
        (build("1.0.1", suites=suites), "needs 1.1.0"),
    ):
        result = publish(later, *options, code=2)
        version = read_manifest(later)[1].version
        assert f"{version} says less than has changed since 1.0.0" in result.output
        assert needed in result.output
        for each in diff(load_release(release), load_release(later)).too_large:
            assert each.where in result.output
        assert hub.sha(REPO) == commit
        assert set(hub.repo(REPO).tags) == {"v1.0.0"}
        assert not hub.repo(REPO).pulls


@pytest.mark.slow
def test_versions_are_compared_with_those_below(hub, release, build):
    for folder in (release, build("1.1.0", suites=("open", "closed", "balanced"))):
        assert publish(folder).exit_code == 0
    empty = hub.commit(REPO, {"NOTES.md": b"of somebody"}).oid
    hub.repo(REPO).tags |= {"v1.0.9-draft": empty, "nightly": empty}
    result = publish(build("1.1.1", suites=("open", "closed")))
    assert "1.1.1 says less than has changed since 1.1.0" in result.output
    assert "tasks/balanced-3w2s2q/vgg_flower.parquet: gone" in result.output
    assert publish(build("2.0.0", seed=1)).exit_code == 0


def test_a_version_below_a_published_one_is_compared_with_it(hub, build):
    publish(build("1.0.2"))
    hub.repo(REPO).branches["main"] = list(hub.repo(REPO).history(hub.sha(REPO)))[-1].oid
    result = publish(build("1.0.1", suites=("open", "closed", "balanced")), code=2)
    assert "1.0.2 says less than has changed since 1.0.1" in result.output
    assert "above 1.0.2" in result.output


def test_refused_offline(hub, release, monkeypatch):
    (release / "stray.parquet").write_bytes(b"x")
    (release / CARD_FILE).write_text("x")
    for options, said in (
        ((), "has 2 problems"),
        ((), "stray.parquet: is not in the manifest"),
        (("--repo-id", "bench"), "'bench' is not the name of a repository"),
        (("--repo-id", "org/a/b"), "is not the name of a repository"),
        (("--token", "x"), "No such option"),
        ((), "nobody is logged in to the Hub"),
    ):
        if "logged" in said:
            monkeypatch.setenv("HF_TOKEN", "")
        assert said in publish(release, *options, code=2).output
    assert not hub.requests


def test_a_private_repository(hub, release):
    hub.create_repo(REPO)
    assert "is there already, and it is public" in publish(release, "--private", code=2).output
    assert hub.files(REPO) == [".gitattributes"]
    hub.repos.clear()
    assert publish(release, "--private").exit_code == 0
    assert hub.repo(REPO).private
    assert "already published" in publish(release, "--private").output


def test_a_repository_of_something_else_is_left_alone(hub, release):
    hub.create_repo(REPO, files={"README.md": b"# Photos", "train.parquet": b"x"})
    result = publish(release)
    assert "org/bench holds something, and no release\n  where: train.parquet" in result.output
    _, manifest = read_manifest(release)
    hub.commit(REPO, {MANIFEST_FILE: replace(manifest, name="other").to_json().encode()})
    assert "holds the release other, not small" in publish(release).output
    assert _commits(hub) == 2


def test_files_that_are_not_of_the_release(hub, release):
    """Those of the folder are left out, those of a repository that was made by hand stay."""
    hub.create_repo(REPO, files={"README.md": b"# Soon", "LICENSE": b"mine"})
    (release / "photos").mkdir()
    (release / "photos/1.jpg").write_bytes(b"\xff\xd8")
    (release / "notes.txt").write_text("mine")
    result = publish(release)
    assert "not of the release, and left out: notes.txt, photos/1.jpg" in result.output
    assert "6 new, 1 changed, 0 unchanged" in result.output
    assert not {"photos/1.jpg", "notes.txt"} & set(hub.files(REPO))
    assert hub.read(REPO, "LICENSE") == b"mine"


def test_stopped_before_every_step_the_next_run_finishes(hub, release):
    seen = []
    for _ in range(40):
        try:
            done = run(release, REPO, progress=stopping_at_new(seen))
        except Stop:
            continue
        break
    assert done.tagged
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}
    assert _commits(hub) == 1
    assert _uploaded(hub) == 5


def test_what_comes_back_is_compared_before_the_tag_is_set(hub, release):
    for path in (MANIFEST_FILE, OPEN):
        hub.faults.add(Fault(f"resolve/.*{path}", kind="tampered", times=None))
        result = publish(release, code=2)
        assert f"{path} came back from the Hub as another file: its SHA-256 is" in result.output
        assert not hub.repo(REPO).tags
        hub.faults.clear()
    hub.tamper(REPO, CLOSED)
    with pytest.raises(CorruptReleaseError, match=CLOSED):
        run(release, REPO)
    assert not hub.repo(REPO).tags


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(r"/lfs/objects/batch", times=None, status=500), "the Hub cannot be reached"),
        (Fault(r"/refs", times=None, kind="html"), "what answers is not the Hub"),
        (Fault(r"validate-yaml", times=None, status=400), "the Hub answered 400"),
        (Fault(r"/tree/", times=None, status=500), "the Hub cannot be reached"),
        (Fault(r"/tag/", times=None, status=403), "does not allow it"),
        (Fault("", method="PUT", times=None, status=500), "the Hub cannot be reached"),
    ],
)
def test_faults_that_stay(hub, release, quick_retries, fault, said):
    hub.faults.add(fault)
    assert said in publish(release, code=2).output
    if hub.repos:
        assert not hub.repo(REPO).tags
        assert _commits(hub) == int(fault.match == "/tag/")
    hub.faults.clear()
    assert publish(release).exit_code == 0


def test_without_rights(hub, release, monkeypatch):
    token = hub.token("bob", write=("org",), read_only=True)
    monkeypatch.setenv("HF_TOKEN", token)
    for there_is_one in (False, True):
        if there_is_one:
            hub.create_repo(REPO)
        result = publish(release, code=2)
        assert "Error: the Hub does not allow it" in result.output
        assert "hf auth login" in result.output
        assert token not in result.output
    assert hub.files(REPO) == [".gitattributes"]
    monkeypatch.setenv("HF_TOKEN", hub.token("carol"))  # who may propose
    assert publish(release).exit_code == 2
    assert publish(release, "--create-pr").exit_code == 0
    assert len(hub.repo(REPO).pulls) == 1


def _another_tags(hub, _):
    hub.tag(REPO, "v1.0.0", list(hub.repo(REPO).history(hub.sha(REPO)))[-1].oid)


def _release_changes(_, folder):
    path = folder / MANIFEST_FILE
    path.write_text(path.read_text().replace('"description": "d"', '"description": "e"'))


@pytest.mark.parametrize(
    ("step", "happens", "said"),
    [
        ("setting the tag", _another_tags, "and not the one that was just verified"),
        ("uploading", lambda hub, _: hub.commit(REPO, {"X.md": b""}), "the repository changed"),
        ("verifying", _release_changes, "changed while it was verified"),
    ],
)
def test_what_happens_meanwhile(hub, release, step, happens, said):
    hub.create_repo(REPO)

    def meanwhile(what):
        if what.startswith(step):
            happens(hub, release)

    with pytest.raises(HubError if happens != _release_changes else OutputError, match=said):
        run(release, REPO, progress=meanwhile)
    assert bool(hub.repo(REPO).tags) == (step == "setting the tag")
    assert _commits(hub) == (0 if step == "verifying" else 1)


def test_proposed_merged_and_tagged(hub, release):
    result = publish(release, "--create-pr", code=0)
    assert "7 new, 0 changed, 0 unchanged, 0 deleted; 7 downloaded again" in result.output
    assert f"proposed in {hub.endpoint}/datasets/{REPO}/discussions/1" in result.output
    assert "run the same command without --create-pr" in result.output
    assert hub.files(REPO) == [".gitattributes"]
    assert not hub.repo(REPO).tags
    hub.merge(REPO, 1)
    uploaded = len(hub.seen(method="PUT"))
    result = publish(release, "--create-pr")
    assert "the main branch holds it: run the same command without --create-pr" in result.output
    assert not hub.repo(REPO).tags
    assert "0 new, 0 changed, 7 unchanged, 0 deleted" in publish(release).output
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}
    assert len(hub.seen(method="PUT")) == uploaded
    assert "already published" in publish(release, "--create-pr").output


def test_proposed_once_however_often(hub, release, build):
    publish(release, "--create-pr")
    result = publish(release, "--create-pr")
    assert f"proposed in {hub.endpoint}/datasets/{REPO}/discussions/1" in result.output
    assert len(hub.repo(REPO).pulls) == 1
    publish(build(seed=1), "--create-pr")  # another release of that version
    assert len(hub.repo(REPO).pulls) == 2


def _manifest(name, redistribution, *kinds):
    about = Dataset(name, "t", "h", "for research only", "@misc{x}", 1, 1, "", redistribution)
    tables = tuple(
        Table(table_path(kind, name, "a"), kind, name, "a", 1, 1, "s", "d", "", {})
        for kind in kinds
    )
    return Manifest("small", "1.0.0", "d", (about,), tables)


ALL = ("classes", "images", "features", "attributes")


def test_each_table_is_named_with_its_licence():
    with pytest.raises(ReleaseError, match="2 tables may not be published") as error:
        check_licences(_manifest("pets", "tables", *ALL))
    assert error.value.where == (
        "features/a/pets-00000-of-00001.parquet (pets: for research only), "
        "attributes/a/pets.parquet (pets: for research only)"
    )
    assert "take features and attributes of pets out of the specification" in error.value.fix
    assert "private repository changes nothing" in error.value.fix


def test_what_may_be_published(embedded):
    for dataset, redistribution, kinds, may_be in (
        ("pets", "images", ("pictures",), True),
        ("pets", "features", ("pictures",), False),
        ("pets", "features", ALL, True),
        ("pets", "tables", ("classes", "images"), True),
        ("omniglot", "features", ("features",), True),
        ("omniglot", "tables", ("features",), False),
        ("cub", "features", ("features",), False),  # the catalogue says less
    ):
        manifest = _manifest(dataset, redistribution, *kinds)
        with nullcontext() if may_be else pytest.raises(ReleaseError, match="may not be published"):
            check_licences(manifest)
    check_licences(embedded.manifest)


def test_the_command_refuses_before_work(hub, sharded, tmp_path):
    folder, manifest = tmp_path / "release", sharded.manifest
    shutil.copytree(sharded.files.where, folder)
    about = tuple(replace(d, redistribution="tables") for d in manifest.datasets)
    (folder / MANIFEST_FILE).write_text(replace(manifest, datasets=about).to_json())
    assert "8 tables may not be published" in publish(folder, "--private", code=2).output
    assert not hub.requests
