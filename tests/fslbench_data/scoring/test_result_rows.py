"""Scores and comparisons as tables, and their p-values, which agree with intervals."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from golden_inputs import INPUTS, OPEN

import fslbench_data as fb
from analysis_sql.interval_kinds import ESTIMANDS
from fslbench_data.release.release import Release
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import COMPARISONS, SCORES


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "three.parquet"
    INPUTS["three.parquet"](path)
    return path


@pytest.fixture(scope="module")
def report(path: Path) -> Report:
    return fb.score(path)


def test_a_row_a_score_and_kind_of_interval(report: Report) -> None:
    table = report.scores.to_arrow()
    assert table.schema == SCORES
    wanted = [
        (s.dataset, s.task_set, s.method, kind, i.tasks, i.mean, i.halfwidth, s.run_spread)
        for s in report.scores
        for kind, i in s.intervals.items()
    ]
    names = ["dataset", "task_set", "method", "interval", "tasks", "mean", "halfwidth"]
    columns = [table.column(name).to_pylist() for name in [*names, "run_spread"]]
    assert list(zip(*columns, strict=True)) == wanted
    assert len(wanted) > len(report.scores)


def test_a_row_a_comparison_and_kind_of_interval(report: Report) -> None:
    table = report.comparisons.to_arrow()
    assert table.schema == COMPARISONS
    wanted = [
        (
            (c.dataset, c.task_set, c.method, c.versus, kind, pair.difference.tasks),
            (pair.mean.mean, pair.mean.halfwidth),
            (pair.versus_mean.mean, pair.versus_mean.halfwidth),
            (pair.difference.mean, pair.difference.halfwidth, pair.difference.level),
            (pair.verdict, pair.verdict_direct),
            c.verdict_closed if kind == c.interval_kind else None,
        )
        for c in report.comparisons
        for kind, pair in c.intervals.items()
    ]
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert [(r[:6], r[6:8], r[8:10], r[10:13], r[13:15], r[15]) for r in rows] == wanted


@pytest.mark.slow
def test_sql_has_the_same_tables(report: Report, path: Path) -> None:
    with fb.connect(None, path) as connection:
        for name in ("scores", "comparisons"):
            table = connection.sql(f"SELECT * FROM {name}").to_arrow_table()
            assert table.equals(getattr(report, name).to_arrow().cast(table.schema))


@pytest.mark.parametrize("name", ["scores", "comparisons"])
def test_pandas_and_arrow_have_the_same_tables(name: str, report: Report) -> None:
    rows = getattr(report, name)
    wanted, frame = rows.to_arrow(), rows.to_pandas()
    assert list(frame.columns) == wanted.column_names
    assert frame["mean"].tolist() == wanted["mean"].to_pylist()
    assert pa.table(rows).equals(wanted)


def test_scores_are_a_sequence(report: Report) -> None:
    scores = report.scores
    assert scores == tuple(scores)
    assert tuple(scores) == scores
    assert scores != tuple(scores)[1:]
    assert scores[1:3] == tuple(scores)[1:3]
    assert scores[:1].to_arrow().num_rows == len(scores[0].intervals)
    assert scores[-1] is list(scores)[-1]
    none = Report(report.signature, ())
    assert none.scores.to_arrow().schema == SCORES
    assert none.comparisons.to_arrow().num_rows == 0


# ---- p-values -----------------------------------------------------------------------------------

PAIR = ["efficientnet_lite0/NCC", "efficientnet_lite2/LR"]
SETS = {"datasets": ["emoji"], "task_sets": [OPEN, "closed-5w5s5q"]}


def rows_of(release: Release, level: float = 0.95) -> dict[str, dict[str, Any]]:
    """The rows of the pair on an open and a closed set, by kind."""
    report = fb.score(None, release, methods=PAIR, **SETS, level=level)
    return {row["interval"]: row for row in report.comparisons.to_arrow().to_pylist()}


@pytest.fixture(scope="module")
def pair(embedded: Release) -> dict[str, dict[str, Any]]:
    return rows_of(embedded)


@pytest.mark.parametrize("kind", sorted(ESTIMANDS))
def test_p_is_1_less_the_level_at_which_the_interval_ends_at_zero(
    embedded: Release, pair: dict[str, dict[str, Any]], kind: str
) -> None:
    row = pair[kind]
    assert 1e-6 < row["p"] < 0.99
    at = rows_of(embedded, 1 - row["p"])[kind]
    assert at["halfwidth"] == pytest.approx(abs(row["difference"]), rel=1e-5)
    assert at["p"] == row["p"]


def check(table: pa.Table, level: float) -> None:
    """Every interval has a p, below 1 - level where it excludes 0 and nowhere else."""
    p, width, difference = (
        table[name].to_numpy(zero_copy_only=False) for name in ("p", "halfwidth", "difference")
    )
    there = ~np.isnan(width)
    assert not np.isnan(p[there]).any()
    np.testing.assert_array_equal((p < 1 - level)[there], (np.abs(difference) > width)[there])
    verdict = np.array(table["verdict"].to_pylist())
    np.testing.assert_array_equal(np.isin(verdict, ["+", "-"]), p < 1 - level)
    assert (p[verdict == "="] == 1).all()


@pytest.mark.parametrize(
    ("sets", "levels"),
    [
        (SETS, (0.95, 0.5, 0.8, 0.9, 0.99, 0.999)),
        pytest.param({}, (0.95, 0.8), marks=pytest.mark.slow),
    ],
    ids=["two sets", "all"],
)
def test_p_agrees_with_intervals_at_every_level(
    embedded: Release, sets: dict[str, Any], levels: tuple[float, ...]
) -> None:
    found = []
    for level in levels:
        table = fb.score(None, embedded, **sets, level=level).comparisons.to_arrow()
        assert {*table["interval"].to_pylist()} == {*ESTIMANDS}
        check(table, level)
        found.append(table["p"])
    assert all(p.equals(found[0]) for p in found)


def test_p_counts_training_runs(tmp_path: Path) -> None:
    INPUTS["runs.parquet"](path := tmp_path / "runs.parquet")
    table = fb.score(path).comparisons.to_arrow()
    check(table, 0.95)
    row = table.to_pylist()[0]
    assert row["run_error"]
    assert 1e-4 < row["p"] < 0.2
    at = fb.score(path, level=1 - row["p"]).comparisons.to_arrow().to_pylist()[0]
    # interpolated between levels: docs/statistics.md
    assert at["halfwidth"] == pytest.approx(abs(row["difference"]), rel=0.03)


@pytest.mark.parametrize("name", ["prefix.parquet", "stopped.parquet"])
def test_runs_that_stopped_have_no_p(tmp_path: Path, name: str) -> None:
    INPUTS[name](path := tmp_path / name)
    rows = fb.score(path).comparisons.to_arrow().to_pylist()
    assert {row["p"] for row in rows if row["reason"] or row["halfwidth"] is None} == {None}
