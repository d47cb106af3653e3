"""What a proposal would bring, next to what is there already."""

from pathlib import Path

import numpy as np
import pytest
from results_repository import KEY, Repository, answers, random_counts

from fslbench_data.leaderboard import review as module
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.review import review, review_text
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission


@pytest.fixture
def proposal(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "proposal")


def test_the_rows_are_those_of_the_leaderboard_afterwards(
    repository: Repository,
    proposal: Repository,
    newer: Release,
    older: Release,
) -> None:
    repository.add(answers(newer, {KEY: random_counts(newer, seed=1)}, "theirs"))
    repository.add(answers(older, {KEY: random_counts(older, seed=2)}, "older"))
    new = proposal.add(answers(newer, {KEY: [4] * len(random_counts(newer))}, "mine"))
    old = proposal.add(answers(older, {KEY: random_counts(older, seed=3)}, "theirs"))
    found = review(proposal.files, [new, old], repository.files, [newer, older])
    assert {one.name for one in found.accepted} == {new, old}
    assert found.rejected == ()
    assert found.reports == (None, None)  # no reference methods there
    for name in (new, old):
        (repository.folder / name).write_bytes((proposal.folder / name).read_bytes())
    after = leaderboard(repository.files, [newer, older])
    assert [str(board) for board in found.boards] == [str(board) for board in after.boards]
    text = review_text(found)
    for board in after.boards:
        assert str(board) in text
        assert f"Answers `{board.release}`, 1 task set of it." in text
    assert f"mine would lead {KEY}. Next is theirs, behind by: " in text
    assert "| 1 of 2 | 100.00 on every task | leader | mine | yes | yes |" in text


def test_the_next_may_be_identical(repository: Repository, tmp_path: Path, newer: Release) -> None:
    proposal, counts = Repository(tmp_path / "proposed"), {KEY: random_counts(newer)}
    names = [proposal.add(answers(newer, counts, method)) for method in ("a", "b")]
    text = review_text(review(proposal.files, names, repository.files, [newer]))
    assert f"a would lead {KEY}. Next is b, identical on every task." in text


def test_the_base_counts_as_it_stands(
    repository: Repository, proposal: Repository, newer: Release
) -> None:
    """A file that is in both is judged once; one that says the same as another is refused."""
    there = repository.add(answers(newer, {KEY: random_counts(newer, seed=1)}, "theirs"))
    again = answers(newer, {KEY: random_counts(newer, seed=1)}, "theirs")
    order = np.arange(again.table.num_rows)[::-1]
    copy = proposal.add(Submission(again.table.take(order), again.methods, again.bindings))
    found = review(proposal.files, [copy], repository.files, [newer])
    assert [each.where for each in found.rejected] == [there]
    assert found.boards == ()
    assert "says what another submission says, which came first" in review_text(found)


def test_nothing_proposed(repository: Repository, proposal: Repository, newer: Release) -> None:
    found = review(proposal.files, [], repository.files, [newer])
    assert review_text(found) == "No submission is added.\n"


@pytest.mark.slow
def test_at_most_a_comment(
    repository: Repository,
    proposal: Repository,
    newer: Release,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = random_counts(newer)
    names = [proposal.add(answers(newer, {KEY: counts}, f"m{i} {'#' * 150}")) for i in range(12)]
    whole = review_text(review(proposal.files, names, repository.files, [newer]))
    monkeypatch.setattr(module, "MOST_CHARACTERS", 5000)
    cut = review_text(review(proposal.files, names, repository.files, [newer]))
    assert len(cut) < 5200 < len(whole)
    assert cut.startswith(whole[:1000])
    assert "The rest is left out here" in cut
