"""Accuracies, runs, and two methods against each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from scipy import stats

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    AccuracyError,
    UnboundError,
    UnreadableError,
)
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import read_accuracies

SET = "dtd/published-5w10s7q"  # 9 tasks of 35 queries
COUNTS = [35, 30, 28, 0, 7, 33, 34, 20, 21]


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


# ---- accuracies ----------------------------------------------------------------------------------


def test_fractions_and_percentages(embedded: Release) -> None:
    info = embedded.task_set_info(*SET.split("/"))
    for scale in (1, 100):
        found = Submission.from_accuracies(scale * np.array(COUNTS) / 35, info, "mine")
        assert found.table.column("n_correct").to_pylist() == COUNTS
        assert found.bindings == {}
        with pytest.raises(UnboundError):
            fb.score(found, embedded)
        assert fb.score(found, embedded, allow_unbound=True).signature.unbound
    vouched = Submission.from_accuracies(np.array(COUNTS) / 35, info, "mine", bind=True)
    assert not fb.score(vouched, embedded).signature.unbound


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5] * 9, "no multiple of 1/35"),
        ([81.2] * 9, "percentages"),
        ([1.0] * 8, r"\(8,\)"),
        ([float("nan")] + [1.0] * 8, "tasks 0"),
        ([-0.2] + [1.0] * 8, "tasks 0"),
        ([120.0] + [100.0] * 8, "tasks 0"),
        ([[1.0]] * 9, r"\(9, 1\)"),
    ],
)
def test_accuracies_that_no_tasks_give(values: Any, said: str, embedded: Release) -> None:
    with pytest.raises(AccuracyError, match=said):
        Submission.from_accuracies(values, embedded.task_set_info(*SET.split("/")), "mine")


def test_every_way_to_write_a_list(tmp_path: Path) -> None:
    values = 100 * np.array(COUNTS) / 35
    np.save(tmp_path / "a.npy", values.astype(np.float32))
    (tmp_path / "b.txt").write_text("\n".join(map(repr, values.tolist())))
    (tmp_path / "c.txt").write_text(", ".join(map(str, values.tolist())))
    (tmp_path / "d.csv").write_text("\n".join(map(str, values.tolist())))
    (tmp_path / "e.csv").write_text("accuracy\n" + "\n".join(map(str, values.tolist())))
    rows = "".join(f"{i},{v}\n" for i, v in enumerate(values.tolist()))
    (tmp_path / "f.csv").write_text("task,accuracy\n" + rows)
    for name in ("a.npy", "b.txt", "c.txt", "d.csv", "e.csv", "f.csv"):
        assert read_accuracies(tmp_path / name) == pytest.approx(values)


def test_lists_that_cannot_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "words.txt").write_text("good bad")
    (tmp_path / "wide.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("objects.npy", "words.txt", "wide.csv", "empty.csv", "nowhere.txt"):
        with pytest.raises(UnreadableError):
            read_accuracies(tmp_path / name)


# ---- runs ----------------------------------------------------------------------------------------


def _table(runs: dict[Any, list[int]], embedded: Release, method: str = "mine") -> pa.Table:
    dataset, task_set = SET.split("/")
    rows = [(run, t, n) for run, counts in runs.items() for t, n in enumerate(counts)]
    n = len(rows)
    return pa.table(
        {
            "method": [method] * n,
            "dataset": [dataset] * n,
            "task_set": [task_set] * n,
            "task_id": pa.array([r[1] for r in rows], pa.int32()),
            "n_correct": pa.array([r[2] for r in rows], pa.int16()),
            "n_query": pa.array([35] * n, pa.int16()),
            "fingerprint": [embedded.task_set_info(dataset, task_set).fingerprint] * n,
            "run": [r[0] for r in rows],
        }
    )


def test_counts_are_summed_over_runs(embedded: Release, tmp_path: Path) -> None:
    runs = {0: COUNTS, 1: [n // 2 for n in COUNTS], 2: [35 - n for n in COUNTS]}
    path = tmp_path / "x.parquet"
    pq.write_table(_table(runs, embedded), path)
    (score,) = fb.score(path).scores
    accuracy = 100 * np.array([runs[r] for r in runs]).sum(axis=0) / 105
    assert score.accuracy.tasks == 9
    assert score.accuracy.mean == pytest.approx(accuracy.mean())
    width = 2.306004 * accuracy.std(ddof=1) / 3  # t(8)
    means = [100 * np.mean(runs[r]) / 35 for r in runs]
    whole = (width / 1.959964) ** 2 + np.var(means, ddof=1) / 3  # and three runs, by Satterthwaite
    degrees = whole**2 / ((np.var(means, ddof=1) / 3) ** 2 / 2)
    expected = stats.t.ppf(0.975, degrees) * np.sqrt(whole)
    assert score.accuracy.halfwidth == pytest.approx(expected, rel=1e-6)
    assert (score.runs, score.run_spread) == (3, pytest.approx(np.std(means, ddof=1)))


def test_methods_of_different_numbers_of_runs_are_compared_exactly(embedded: Release) -> None:
    three = {"a": COUNTS, "b": COUNTS, "c": COUNTS}
    two = {"a": COUNTS, "b": COUNTS}
    parts = [
        Submission(_table(three, embedded, "three")),
        Submission(_table(two, embedded, "two")),
        Submission(_table({"a": COUNTS}, embedded, "one")),
    ]
    report = fb.score(Submission(pa.concat_tables(p.table for p in parts)), embedded)
    assert [c.verdict for c in report.comparisons] == ["=", "=", "="]


def test_predictions_of_runs_are_checked(embedded: Release) -> None:
    tasks = embedded.task_set("digits", "open-5w5s5q")
    recorder = fb.Recorder("mine")
    recorder.add_task_set(tasks, tasks.query_label)
    table = recorder.submission().table
    both = pa.concat_tables(
        [table.append_column("run", pa.repeat(pa.scalar(r), len(table))) for r in ("a", "b")]
    )
    prints = pa.repeat(pa.scalar(tasks.info.fingerprint), len(both))
    found = fb.validate(Submission(both.append_column("fingerprint", prints)), embedded)
    assert found.groups[0].runs == ("a", "b")
    assert found.groups[0].counts.tolist() == [50] * 31


# ---- two methods ---------------------------------------------------------------------------------


@pytest.fixture
def files(embedded: Release, tmp_path: Path) -> tuple[Path, Path]:
    """Two files of a method called `mine`: the second worse on one task set."""
    paths = (tmp_path / "old.parquet", tmp_path / "new.parquet")
    for path, loss in zip(paths, (0, 3), strict=True):
        recorder = fb.Recorder("mine")
        rng = np.random.default_rng(0)
        for name, less in (("open-5w5s5q", loss), ("open-5w10s7q", 0)):
            tasks = embedded.task_set("digits", name)
            recorder.add_counts(tasks, rng.integers(15, 24, len(tasks)) - less)
        recorder.submission().write(path)
    return paths


def test_compare_fails_if_worse(files: tuple[Path, Path], root: Path) -> None:
    old, new = files
    root_example = root / "examples/my_results.parquet"
    result = _run("compare", new, old, "--fail-if-worse")
    assert result.exit_code == 1
    assert "mine (new) is worse on digits/open-5w5s5q" in result.stderr
    assert "mine (old)" in result.stdout
    assert "pixels/NCC" not in result.stdout
    one = _run("compare", new, root_example, "--task-set", "open-5w5s5q", "--signature").stdout
    assert "closed" not in one
    assert one.count("#") == 2  # the release and one task set
    assert _run("compare", old, new, "--fail-if-worse").exit_code == 0
    assert (
        "answered by one of the two only: digits/closed"
        in _run("compare", new, root_example).stderr
    )
    assert _run("compare", new, old).exit_code == 0
    only = _run("compare", new, old, "--task-set", "open-5w10s7q", "--fail-if-worse")
    assert only.exit_code == 0
    assert "identical" in only.stdout


def test_selecting_and_merging_keep_what_is_bound(root: Path, files: tuple[Path, Path]) -> None:
    from fslbench_data.scoring.score import selected

    parts = [Submission.read(root / "examples/my_results.parquet"), Submission.read(files[0])]
    both = merge(parts)
    for part, name in zip(parts, ("pixels/Ridge", "mine"), strict=True):
        again = selected(both, name)
        assert again.bindings == part.bindings
        columns = part.table.column_names
        assert content_digest(again.table.select(columns)) == content_digest(part.table)
