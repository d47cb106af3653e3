"""Which release a submission answers, and why files are refused."""

from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace
from results_repository import KEY, Repository, answers, random_counts

from benchmark_spec.errors import HubUnreachableError
from fslbench_data.leaderboard import leaderboard as checked
from fslbench_data.leaderboard.leaderboard import Accepted, Rejected
from fslbench_data.leaderboard.leaderboard import check_submission as check
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission


def _rejected(found: Accepted | Rejected) -> Rejected:
    assert isinstance(found, Rejected), found
    for text in (found.name, found.what, found.where, found.expected, found.fix, found.reason):
        assert text.isprintable()
        assert len(text) <= 300
    return found


def _accepted(found: Accepted | Rejected) -> Accepted:
    assert isinstance(found, Accepted), found
    return found


def test_a_rule_that_is_broken_is_broken_though_another_release_has_it_not(
    repository: Repository, embedded: Release, newer: Release
) -> None:
    """A name that the newest release's reference has is no reason to score it on an older one."""
    key = "digits/open-5w5s5q"
    name = repository.add(answers(embedded, {key: [3] * 31}, "pixels/LR"))
    found = _rejected(check(repository.files, name, [embedded, newer]))
    assert "reference method" in found.what
    assert "LR" in found.expected
    part = repository.add(answers(newer, {KEY: [1, 2]}))
    assert "tasks are missing" in _rejected(check(repository.files, part, [embedded, newer])).what


def test_half_of_one_release_and_half_of_another(
    repository: Repository, newer: Release, older: Release
) -> None:
    other = answers(newer, {KEY: random_counts(newer)}, "a")
    one = answers(older, {KEY: random_counts(older)}, "b")
    both = Submission(
        pa.concat_tables([one.table, other.table]),
        {**one.methods, **other.methods},
        {**one.bindings, **other.bindings},
    )
    _rejected(check(repository.files, repository.add(both), [newer, older]))


def test_fingerprints_in_a_column(repository: Repository, newer: Release, older: Release) -> None:
    info = older.task_set_info(*KEY.split("/"))
    table = answers(older, {KEY: [1] * info.n_tasks}).table
    prints = pa.array([info.fingerprint[:12]] * info.n_tasks)
    name = repository.add(Submission(table.append_column("fingerprint", prints)))
    assert _accepted(check(repository.files, name, [newer, older])).release == 1
    unbound = repository.add(Submission(table))
    found = _rejected(check(repository.files, unbound, [older, newer]))
    assert "does not say which tasks" in found.what


def test_a_large_file_is_not_read(repository: Repository, newer: Release) -> None:
    name = f"submissions/{'2' * 64}.parquet"
    with (repository.folder / name).open("wb") as file:
        file.truncate(10 << 30)  # a hole
    found = _rejected(check(repository.files, name, [newer]))
    assert "bytes" in found.what


def test_what_nobody_thought_of_is_a_refusal_too(
    repository: Repository, newer: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = repository.add(answers(newer, {KEY: random_counts(newer)}))

    def fail(*_: object) -> None:
        raise RuntimeError("oh\x1b[31m")

    monkeypatch.setattr(checked, "validate", fail)
    assert "cannot be checked" in _rejected(check(repository.files, name, [newer])).what


def test_a_hub_that_does_not_answer_refuses_nobody(newer: Release) -> None:
    class Away:
        where = "a/b"

        def names(self) -> list[str]:
            return []

        def path(self, name: str) -> Path:
            raise HubUnreachableError("away")

    with pytest.raises(HubUnreachableError):
        check(Away(), f"submissions/{'0' * 64}.parquet", [newer])


def test_marks_and_names_are_of_the_content_and_descriptions_are_not(
    repository: Repository, newer: Release
) -> None:
    one = answers(newer, {KEY: random_counts(newer)})
    described = replace(one, methods={"mine": Method("mine", link="https://example.org")})
    marked = answers(newer, {KEY: random_counts(newer)}, transductive=True)
    other = answers(newer, {KEY: random_counts(newer)}, "other")
    names = [repository.add(each) for each in (one, described, marked, other)]
    found = [_accepted(check(repository.files, name, [newer])) for name in names]
    assert len({each.digest for each in found}) == 4
    assert found[0].content == found[1].content
    assert len({each.content for each in found}) == 3
