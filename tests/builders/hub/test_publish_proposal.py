"""Releases proposed in a pull request, merged, and then tagged; benchmarks registered."""

from pathlib import Path

import pytest
import yaml
from hub_server import HubServer

from benchmark_spec.errors import ReleaseError
from benchmark_spec.manifest import Manifest, Table, config_and_split
from benchmark_spec.protocol import TaskSetName
from builders.hub.publish import BENCHMARK_FILE, Publication, benchmark_file
from builders.hub.publish import publish as run
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import Release

from .conftest import REPO, Build, Publish


def test_proposed_merged_and_tagged(hub: HubServer, release: Path, publish: Publish) -> None:
    result = publish(release, "--create-pr")
    assert result.exit_code == 0, result.output
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
    result = publish(release)
    assert "0 new, 0 changed, 7 unchanged, 0 deleted" in result.output
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}
    assert len(hub.seen(method="PUT")) == uploaded
    assert "already published" in publish(release, "--create-pr").output


def test_proposed_once_however_often_it_is_run(
    hub: HubServer, release: Path, publish: Publish, build: Build
) -> None:
    publish(release, "--create-pr")
    result = publish(release, "--create-pr")
    assert f"proposed in {hub.endpoint}/datasets/{REPO}/discussions/1" in result.output
    assert len(hub.repo(REPO).pulls) == 1
    publish(build(seed=1), "--create-pr")  # another release of that version
    assert len(hub.repo(REPO).pulls) == 2


def test_proposed_by_one_who_may_not_write(
    hub: HubServer, release: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.create_repo(REPO)
    monkeypatch.setenv("HF_TOKEN", hub.token("carol"))
    assert publish(release).exit_code == 2
    assert publish(release, "--create-pr").exit_code == 0
    assert len(hub.repo(REPO).pulls) == 1


def test_a_version_without_a_table_is_proposed(
    hub: HubServer, release: Path, publish: Publish, build: Build
) -> None:
    publish(release)
    later = build("2.0.0", suites=("open",))
    assert "1 deleted" in publish(later, "--create-pr").output
    assert "1 deleted" in publish(later, "--create-pr").output
    assert len(hub.repo(REPO).pulls) == 1
    hub.merge(REPO, 1)
    assert publish(later).exit_code == 0
    assert sorted(hub.repo(REPO).tags) == ["v1.0.0", "v2.0.0"]


def test_the_file_that_registers_a_benchmark(embedded: Release) -> None:
    found = yaml.safe_load(benchmark_file(embedded.manifest))
    assert list(found) == ["name", "description", "evaluation_framework", "tasks"]
    assert found["evaluation_framework"] == "fslbench"
    assert {"id": "cub-published-5w5s5q", "config": "tasks-published-5w5s5q", "split": "cub"} in (
        found["tasks"]
    )
    headline = [
        config_and_split(t)
        for t in embedded.manifest.tables
        if t.kind == "tasks"
        and (name := TaskSetName.parse(t.name)).interval == "open"
        and not name.attributes
    ]
    assert [(t["config"], t["split"]) for t in found["tasks"]] == headline
    ids = [t["id"] for t in found["tasks"]]
    assert len(set(ids)) == len(ids) == 77
    assert not [i for i in ids if "closed" in i or "biased" in i or "style" in i]


def test_texts_that_yaml_must_quote() -> None:
    table = Table("p", "tasks", "no", "open-5w1s1q", 1, 1, "s", "d", "", {})
    manifest = Manifest("no", "1.0.0", "a: b # c\n- d", (), (table,))
    found = yaml.safe_load(benchmark_file(manifest))
    assert (found["name"], found["description"]) == ("no", "a: b # c\n- d")
    assert found["tasks"][0]["split"] == "no"


def test_a_release_without_open_task_sets_is_no_benchmark() -> None:
    closed = Table("p", "tasks", "cub", "closed-5w1s1q", 1, 1, "s", "d", "", {})
    with pytest.raises(ReleaseError, match="no task set that a benchmark"):
        benchmark_file(Manifest("small", "1.0.0", "d", (), (closed,)))


def _benchmark(hub: HubServer) -> list[str]:
    """Identifiers of the tasks in the main branch's eval.yaml."""
    return [task["id"] for task in yaml.safe_load(hub.read(REPO, BENCHMARK_FILE))["tasks"]]


def test_published_and_registered_at_once(
    hub: HubServer, release: Path, publish: Publish, build: Build
) -> None:
    result = publish(release, "--register-benchmark")
    assert "7 new" in result.output
    assert f"registers it as a benchmark of the Hub: commit {hub.sha(REPO)}" in result.output
    _, manifest = read_manifest(release)
    assert hub.read(REPO, BENCHMARK_FILE).decode() == benchmark_file(manifest)
    assert BENCHMARK_FILE not in hub.files(REPO, "v1.0.0")
    assert hub.repo(REPO).at("main").parents == (hub.sha(REPO, "v1.0.0"),)
    later = build("1.1.0", suites=("open", "closed", "balanced"))
    result = publish(later)  # stays registered
    assert "1 new, 2 changed, 5 unchanged" in result.output
    assert "eval.yaml registers it" in result.output
    assert _benchmark(hub) == [
        "vgg_flower-open-3w2s2q",
        "vgg_flower-balanced-3w2s2q",
        "cub-open-3w2s2q",
    ]


def test_registered_after_it_was_published(
    hub: HubServer, release: Path, publish: Publish, build: Build
) -> None:
    publish(release)
    commit = hub.sha(REPO)
    result = publish(release, "--register-benchmark")
    assert "already published" in result.output
    assert f"registers it as a benchmark of the Hub: commit {hub.sha(REPO)}" in result.output
    assert BENCHMARK_FILE in hub.files(REPO)
    assert hub.repo(REPO).tags == {"v1.0.0": commit}
    assert "eval.yaml" not in publish(release, "--register-benchmark").output
    publish(build("1.1.0", suites=("open", "closed", "balanced")))
    main = hub.sha(REPO)
    result = publish(release, "--register-benchmark")
    assert result.exit_code == 2
    assert "does not hold v1.0.0 any more" in result.output
    assert publish(release).exit_code == 0  # and leaves the later version's eval.yaml
    assert hub.sha(REPO) == main


def test_an_outdated_registration_is_refreshed(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    publish(release, "--register-benchmark")
    hub.commit(REPO, {BENCHMARK_FILE: b"name: old\n"})
    result = publish(release)
    assert "already published" in result.output
    assert "eval.yaml registers it" in result.output
    assert len(_benchmark(hub)) == 2


def test_killed_between_tag_and_registration(
    hub: HubServer, release: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Publication, "_registered", _killed)
        with pytest.raises(KeyboardInterrupt):
            run(release, REPO, register_benchmark=True)
    assert hub.repo(REPO).tags
    result = publish(release, "--register-benchmark")
    assert "eval.yaml registers it" in result.output
    assert BENCHMARK_FILE in hub.files(REPO)


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_framework_that_the_hub_does_not_know(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    """The release is published and tagged all the same; the same command does the rest."""
    hub.frameworks = {"inspect-ai"}
    result = publish(release, "--register-benchmark")
    assert result.exit_code == 2
    assert "org/bench@v1.0.0 is published, but not as a benchmark: the Hub answered 400" in (
        result.output
    )
    assert "fslbench in the Hub's list of frameworks" in result.output
    assert "have the name entered there, then run the same command again" in result.output
    assert hub.repo(REPO).tags == {"v1.0.0": hub.sha(REPO)}
    hub.frameworks.add("fslbench")
    assert publish(release, "--register-benchmark").exit_code == 0
    assert BENCHMARK_FILE in hub.files(REPO)


def test_registration_is_proposed(hub: HubServer, release: Path, publish: Publish) -> None:
    publish(release)
    for _ in range(2):
        result = publish(release, "--register-benchmark", "--create-pr")
        assert f"proposed in {hub.endpoint}/datasets/{REPO}/discussions/1" in result.output
    assert len(hub.repo(REPO).pulls) == 1
    assert BENCHMARK_FILE not in hub.files(REPO)
    hub.merge(REPO, 1)
    assert "eval.yaml" not in publish(release, "--register-benchmark").output


def test_a_release_that_is_only_proposed_is_not_registered_yet(
    hub: HubServer, release: Path, publish: Publish
) -> None:
    publish(release, "--register-benchmark", "--create-pr")
    hub.merge(REPO, 1)
    assert BENCHMARK_FILE not in hub.files(REPO)
    publish(release, "--register-benchmark")
    assert BENCHMARK_FILE in hub.files(REPO)
    assert BENCHMARK_FILE not in hub.files(REPO, "v1.0.0")
