"""The SQL, against numpy."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from analysis_sql.engine import Engine, query_names, query_text
from analysis_sql.moments import Moments
from benchmark_spec.errors import UnknownNameError


def _tables() -> dict[str, pa.Table]:
    # b answers only the first two tasks, and its rows are shuffled
    counts = {"a": {0: 3, 1: 5, 2: 4}, "b": {1: 4, 0: 1}}
    rows = [(m, t, n) for m, of in counts.items() for t, n in of.items()]
    results = pa.table(
        {
            "dataset": ["d"] * 5,
            "task_set": ["s"] * 5,
            "method": [r[0] for r in rows],
            "task_id": pa.array([r[1] for r in rows], pa.int32()),
            "n_correct": pa.array([r[2] for r in rows], pa.int16()),
            "is_reference": [False] * 3 + [True] * 2,
        }
    )
    sets = pa.table({"dataset": ["d"], "task_set": ["s"], "n_tasks": [3], "n_query": [5]})
    pairs = pa.table({"dataset": ["d"], "task_set": ["s"], "method": ["a"], "versus": ["b"]})
    return {"results": results, "task_sets": sets, "pairs": pairs}


def test_method_moments() -> None:
    with Engine(_tables()) as engine:
        first, second = engine.run("method_moments")
    assert first == {
        "dataset": "d",
        "task_set": "s",
        "method": "a",
        "is_reference": False,
        "n_tasks": 3,
        "n_query": 5,
        "tasks": 3,
        "total": 12,
        "squares": 50,
    }
    assert (second["method"], second["tasks"], second["total"]) == ("b", 2, 5)


def test_pairs_join_on_the_task_and_use_the_common_ones() -> None:
    with Engine(_tables()) as engine:
        (row,) = engine.run("pair_moments")
    # task 0: 3 against 1, task 1: 5 against 4
    assert (row["tasks"], row["n_query"]) == (2, 5)
    assert (row["total"], row["squares"]) == (8, 34)
    assert (row["versus_total"], row["versus_squares"]) == (5, 17)
    assert (row["difference_total"], row["difference_squares"]) == (3, 5)


def test_large_sets_against_numpy() -> None:
    rng = np.random.default_rng(0)
    n, methods = 2000, ["a", "b", "c"]
    x = rng.integers(0, 26, (3, n))
    order = rng.permutation(3 * n)
    results = pa.table(
        {
            "dataset": ["d"] * (3 * n),
            "task_set": ["s"] * (3 * n),
            "method": np.repeat(methods, n)[order],
            "task_id": pa.array(np.tile(np.arange(n), 3)[order], pa.int32()),
            "n_correct": pa.array(x.reshape(-1)[order], pa.int16()),
            "is_reference": [False] * (3 * n),
        }
    )
    sets = pa.table({"dataset": ["d"], "task_set": ["s"], "n_tasks": [n], "n_query": [25]})
    names = [("a", "b"), ("a", "c"), ("b", "c")]
    pairs = pa.table(
        {
            "dataset": ["d"] * 3,
            "task_set": ["s"] * 3,
            "method": [p[0] for p in names],
            "versus": [p[1] for p in names],
        }
    )
    with Engine({"results": results, "task_sets": sets, "pairs": pairs}) as engine:
        rows = engine.run("pair_moments")
    assert [(r["method"], r["versus"]) for r in rows] == names
    for row in rows:
        i, j = methods.index(row["method"]), methods.index(row["versus"])
        expected = Moments.of(x[i] - x[j], 25)
        assert (row["difference_total"], row["difference_squares"]) == (
            expected.total,
            expected.squares,
        )


@pytest.mark.parametrize("name", query_names())
def test_every_query_says_what_it_asks_and_ends_in_order_by(name: str) -> None:
    text = query_text(name)
    assert text.startswith("-- ")
    assert "-- reads" in text
    statement = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    assert statement.upper().rpartition("ORDER BY")[1]
    assert ")" not in statement.upper().rpartition("ORDER BY")[2]


def test_unknown_queries() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'pair_moments'"):
        query_text("pair_moment")


def test_the_engine_reaches_no_files() -> None:
    with Engine({}) as engine, pytest.raises(duckdb.Error, match="disabled"):
        engine._connection.execute("SELECT * FROM read_csv('/etc/passwd')")
    outside = pa.table({"a": [1]})
    with Engine({}) as engine, pytest.raises(duckdb.Error, match="outside"):
        engine._connection.execute("SELECT * FROM outside")
    assert outside.num_rows == 1
