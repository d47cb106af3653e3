"""The column `p` of comparisons: each kind's own, in agreement with its interval and verdict."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from golden_inputs import INPUTS, OPEN

import fslbench_data as fb
from fslbench_data.release.release import Release

PAIR = ["efficientnet_lite0/NCC", "efficientnet_lite2/LR"]
SETS = {"datasets": ["emoji"], "task_sets": [OPEN, "closed-5w5s5q"]}
KINDS = {"open", "class-aware", "superclass-aware", "closed", "images", "classes", "superclasses"}


def rows_of(release: Release, level: float = 0.95) -> dict[str, dict[str, Any]]:
    """The rows of the pair on an open and a closed set, by kind."""
    report = fb.score(None, release, methods=PAIR, **SETS, level=level)
    return {row["interval"]: row for row in report.comparisons.to_arrow().to_pylist()}


@pytest.fixture(scope="module")
def pair(embedded: Release) -> dict[str, dict[str, Any]]:
    return rows_of(embedded)


@pytest.mark.parametrize("kind", sorted(KINDS))
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
        assert {*table["interval"].to_pylist()} == KINDS
        check(table, level)
        found.append(table["p"])
    assert all(p.equals(found[0]) for p in found)


def test_p_counts_training_runs(tmp_path: Path) -> None:
    INPUTS["runs.parquet"](path := tmp_path / "runs.parquet")
    table = fb.score(path).comparisons.to_arrow()
    check(table, 0.95)
    row = table.to_pylist()[0]
    assert row["run_error"]
    assert 1e-4 < row["p"] < 0.04
    at = fb.score(path, level=1 - row["p"]).comparisons.to_arrow().to_pylist()[0]
    # interpolated between levels: docs/statistics.md
    assert at["halfwidth"] == pytest.approx(abs(row["difference"]), rel=0.03)


@pytest.mark.parametrize("name", ["prefix.parquet", "stopped.parquet"])
def test_runs_that_stopped_have_no_p(tmp_path: Path, name: str) -> None:
    INPUTS[name](path := tmp_path / name)
    rows = fb.score(path).comparisons.to_arrow().to_pylist()
    assert {row["p"] for row in rows if row["reason"] or row["halfwidth"] is None} == {None}
