"""Which release a submission answers, and why files are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from results_repository import KEY, Repository, answers, random_counts

from benchmark_spec.errors import HubUnreachableError
from fslbench_data.leaderboard import leaderboard as checked
from fslbench_data.leaderboard.leaderboard import Accepted, Rejected
from fslbench_data.leaderboard.leaderboard import check_submission as check
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding, Method
from fslbench_data.submission.model import Submission
from fslbench_data.validation import rows as runs


def _rejected(found: Accepted | Rejected) -> Rejected:
    assert isinstance(found, Rejected), found
    for text in (found.name, found.what, found.where, found.expected, found.fix, found.reason):
        assert text.isprintable()
        assert len(text) <= 300
    return found


def _accepted(found: Accepted | Rejected) -> Accepted:
    assert isinstance(found, Accepted), found
    return found


def test_what_is_kept(repository: Repository, newer: Release, older: Release) -> None:
    counts = {key: random_counts(newer, key) for key in (KEY, "dogs/closed-2w1s2q")}
    name = repository.add(answers(newer, counts, transductive=True))
    found = _accepted(check(repository.files, name, [newer, older]))
    assert (found.name, found.release) == (name, 0)
    assert found.name == f"submissions/{found.digest}.parquet"
    assert {r.info.text: r.counts.tolist() for r in found.results} == counts
    for result in found.results:
        assert result.counts.dtype == np.int16
        assert (result.method, result.runs, result.queries_per_task) == ("mine", 1, 4)
        assert result.transductive
        assert result.stopped is None


def test_the_first_release_whose_tasks_are_answered(
    repository: Repository, newer: Release, older: Release
) -> None:
    assert (
        older.task_set_info(*KEY.split("/")).n_tasks > newer.task_set_info(*KEY.split("/")).n_tasks
    )
    old = repository.add(answers(older, {KEY: random_counts(older)}))
    new = repository.add(answers(newer, {KEY: random_counts(newer)}))
    # dogs are the same in both
    both = repository.add(
        answers(older, {"dogs/open-2w1s2q": random_counts(older, "dogs/open-2w1s2q")})
    )
    mixed = repository.add(
        answers(older, {k: random_counts(older, k) for k in (KEY, "dogs/open-2w1s2q")}, "mixed")
    )
    releases = [newer, older]
    numbers = {n: _accepted(check(repository.files, n, releases)).release for n in (old, new, both)}
    assert numbers == {old: 1, new: 0, both: 0}
    assert _accepted(check(repository.files, mixed, releases)).release == 1  # never split up
    assert "there is no task" in _rejected(check(repository.files, old, [newer])).what


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


def test_results_of_no_release(
    repository: Repository, newer: Release, older: Release, embedded: Release
) -> None:
    name = repository.add(answers(older, {KEY: random_counts(older)}))
    assert "unknown data set 'cats'" in _rejected(check(repository.files, name, [embedded])).what
    # half of one release and half of another
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


def test_a_name_that_is_not_the_content_s(repository: Repository, newer: Release) -> None:
    right = repository.add(answers(newer, {KEY: random_counts(newer)}))
    wrong = f"submissions/{'0' * 64}.parquet"
    (repository.folder / right).rename(repository.folder / wrong)
    found = _rejected(check(repository.files, wrong, [newer]))
    assert found.what == "its name is not the SHA-256 of its bytes"
    assert found.expected == right


def test_a_large_file_is_not_read(repository: Repository, newer: Release) -> None:
    name = f"submissions/{'2' * 64}.parquet"
    with (repository.folder / name).open("wb") as file:
        file.truncate(10 << 30)  # a hole
    found = _rejected(check(repository.files, name, [newer]))
    assert "bytes" in found.what


def test_more_runs_than_can_be_compared_exactly(
    repository: Repository, newer: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = newer.task_set_info(*KEY.split("/"))
    once = answers(newer, {KEY: [1] * info.n_tasks})
    runs_of = [pa.repeat(pa.scalar(str(run)), info.n_tasks) for run in range(4)]
    table = pa.concat_tables([once.table.append_column("run", run) for run in runs_of])
    name = repository.add(replace(once, table=table))
    _accepted(check(repository.files, name, [newer]))
    # T · K·Q · runs² is to stay below the root of 2^63
    monkeypatch.setattr(runs, "EXACT", 9 * info.n_tasks * 4)
    found = _rejected(check(repository.files, name, [newer]))
    assert "has 4 runs" in found.what
    assert found.expected.startswith("at most 3 ")


def test_content_does_not_depend_on_how_it_is_written(
    repository: Repository, newer: Release
) -> None:
    one = answers(newer, {KEY: random_counts(newer)})
    order = np.random.default_rng(0).permutation(one.table.num_rows)
    written_otherwise = Submission(
        one.table.take(order), {"mine": Method("mine", link="https://example.org")}, one.bindings
    )
    marked = answers(newer, {KEY: random_counts(newer)}, transductive=True)
    other = answers(newer, {KEY: random_counts(newer, seed=1)})
    found = [
        _accepted(check(repository.files, repository.add(s), [newer]))
        for s in (one, written_otherwise, marked, other)
    ]
    assert len({each.digest for each in found}) == 4
    assert found[0].content == found[1].content
    assert len({each.content for each in found}) == 3


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


def test_bindings_of_another_release_in_the_metadata_alone(
    repository: Repository, newer: Release, older: Release
) -> None:
    """Rows of one task set, a fingerprint of another: refused, whatever the order."""
    one = answers(newer, {KEY: random_counts(newer)})
    wrong = {
        ("mine", "cats", "open-2w1s2q"): Binding(
            older.task_set_info("cats", "open-2w1s2q").fingerprint
        )
    }
    name = repository.add(Submission(one.table, one.methods, wrong))
    for releases in ([newer, older], [older, newer], [newer]):
        _rejected(check(repository.files, name, releases))
