"""Scores and comparisons as tables: for pandas, polars, Arrow, SQL and CSV the same rows."""

from pathlib import Path

import pyarrow as pa
import pytest
from golden_inputs import INPUTS

import fslbench_data as fb
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


def test_nothing_compared_is_a_table_without_rows(report: Report) -> None:
    none = Report(report.signature, ())
    assert none.scores.to_arrow().schema == SCORES
    assert none.comparisons.to_arrow().num_rows == 0
