"""Results that two methods have, under different names."""

from pathlib import Path

import numpy as np
import pytest
from results_repository import Repository

from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.review import review, review_text
from fslbench_data.leaderboard.standing import REFERENCE, Entry, Result, duplicates
from fslbench_data.leaderboard.tables import duplicates_text, leaderboard_tables
from fslbench_data.release.release import Release
from fslbench_data.submission.merging import renamed
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

KEY = "digits/open-5w5s5q"


@pytest.fixture(scope="session")
def info(embedded: Release) -> TaskSetInfo:
    return embedded.task_set_info(*KEY.split("/"))


def _entry(info: TaskSetInfo, counts: list[int], label: str, source: str, runs: int = 1) -> Entry:
    found = Result(label, info, np.array(counts, np.int16), runs, None, None, False)
    return Entry(label, source, found)


@pytest.mark.slow
def test_a_copy_under_another_name(
    repository: Repository, example: Submission, embedded: Release, tmp_path: Path
) -> None:
    theirs = repository.add(example)
    copy = repository.add(renamed(example, {"pixels/Ridge": "mine/Better"}))
    found = leaderboard(repository.files, [embedded], datasets="digits")
    assert found.rejected == ()
    ours, others = (f"{name[12:20]}" for name in (copy, theirs))
    note = f"Identical on every task: mine/Better ({ours}) and pixels/Ridge ({others})."
    for each, (table, _) in zip(found.boards[0].sets, leaderboard_tables(found), strict=True):
        answered = each.scored.task_set.partition("-")[0] in ("open", "closed")
        assert duplicates_text(each) == [note] * answered
        assert (table.notes[-1] == note) is answered
    proposal = Repository(tmp_path / "proposal")
    (repository.folder / copy).rename(proposal.folder / copy)
    text = review_text(review(proposal.files, [copy], repository.files, [embedded]))
    assert text.count("is identical on every task to") == 1
    said = f"mine/Better ({ours}) is identical on every task to pixels/Ridge ({others}): {KEY[:6]}"
    assert said in text
    assert text.partition(said)[2].partition("\n")[0].count(", ") == 5  # all six sets


def test_what_is_the_same_by_itself_is_not_told(info: TaskSetInfo) -> None:
    few = [25] * 27 + [24] * 4
    for counts in ([25] * 31, [0] * 31, few):
        assert duplicates([_entry(info, counts, label, label) for label in "ab"]) == ()
    ((one, other),) = duplicates([_entry(info, [25] * 26 + [24] * 5, x, x) for x in "ab"])
    assert (one.label, other.label) == ("a", "b")
    half = [12] * 31
    apart = [_entry(info, counts, "x", "x") for counts in (half, [*half[:30], 13], half[:30])]
    assert duplicates(apart) == ()
    references = [_entry(info, half, label, REFERENCE) for label in ("NCC", "MatchingNet")]
    assert duplicates(references) == ()
    ((*group,),) = duplicates([*references, _entry(info, half, "mine", "f" * 64)])
    assert [entry.label for entry in group] == ["NCC", "MatchingNet", "mine"]
    # the same counts out of more queries
    assert duplicates([_entry(info, half, "a", "a"), _entry(info, half, "b", "b", runs=2)]) == ()
