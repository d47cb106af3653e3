"""Releases proposed in a pull request, merged, and then tagged."""

from pathlib import Path

import pytest
from hub_server import HubServer

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


@pytest.mark.slow
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
