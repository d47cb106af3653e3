"""A leaderboard of a repository on the Hub: the same as of a checkout, and no more is fetched."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from commands import invoke
from hub_server import HubServer
from results_repository import Repository, answers

from fslbench_data.release.release import Release
from fslbench_data.sandbox.limits import LIMITS

KEY = "cats/open-2w1s2q"
REPO = "org/results"
BOARD = 'title = "T"\nreleases = ["org/toy@v2.0.0"]\n'


@pytest.fixture
def full(
    hub: HubServer,
    repository: Repository,
    newer: Release,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[HubServer, Repository]:
    """A Hub with a release and submissions to it, too many for one by one; and in a folder."""
    monkeypatch.setattr("fslbench_data.leaderboard.repository._ONE_BY_ONE", 4)
    hub.create_repo("org/toy", files=Path(newer.files.where))
    hub.tag("org/toy", "v2.0.0")
    (repository.folder / "leaderboard.toml").write_text(BOARD)
    rng = np.random.default_rng(0)
    tasks = newer.task_set_info(*KEY.split("/")).n_tasks
    for number in range(4):
        counts = rng.binomial(4, 0.6, tasks)
        repository.add(answers(newer, {KEY: counts}, f"method {number}"))
    (repository.folder / "draft.parquet").unlink()
    hub.create_repo(REPO, files=repository.folder)
    return hub, repository


@pytest.mark.slow
def test_as_of_a_checkout(full: tuple[HubServer, Repository]) -> None:
    hub, repository = full
    for form in ("table", "json"):
        of_hub = invoke("leaderboard", "--results", REPO, "--format", form)
        of_folder = invoke("leaderboard", "--results", repository.folder, "--format", form)
        assert of_hub.exit_code == 0, of_hub.output
        assert of_hub.output == of_folder.output
    content = json.loads(of_hub.stdout)
    (board,) = content["boards"]
    assert [len(each["rows"]) for each in board["sets"]] == [4]
    assert hub.sha("org/toy")[:12] in content["signature"]["text"]
    hub.requests.clear()
    assert invoke("leaderboard", "--results", REPO, "--check").exit_code == 0
    assert not hub.seen(r"/cdn/", "GET")  # all of it lies in the cache


@pytest.mark.slow
def test_bad_ones_are_refused_and_large_ones_not_fetched(
    full: tuple[HubServer, Repository],
) -> None:
    hub, _ = full
    large = bytes(LIMITS.file_bytes + 1)
    digest = hashlib.sha256(large).hexdigest()
    odd = ["submissions/[a-z]*.parquet", f"submissions/deeper/{'1' * 64}.parquet"]
    wrong = f"submissions/{'0' * 64}.parquet"
    added = {f"submissions/{digest}.parquet": large, wrong: b"junk"}
    hub.commit(REPO, added | dict.fromkeys(odd, b"junk"))
    hub.requests.clear()
    found = json.loads(invoke("leaderboard", "--results", REPO, "--format", "json").stdout)
    assert [len(each["rows"]) for each in found["boards"][0]["sets"]] == [4]
    said = {each["name"]: each["what"] for each in found["refused"]}
    assert said.pop(wrong) == "its name is not the SHA-256 of its bytes"
    assert f"{len(large):,} bytes" in said.pop(f"submissions/{digest}.parquet")
    assert not said
    assert sorted(each["name"] for each in found["ignored"]) == odd
    assert not hub.seen(digest)
    assert invoke("leaderboard", "--results", REPO, "--check").exit_code == 1
