"""Whatever a query gives, every format can hold it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis_sql.queries.engine import run_query
from benchmark_spec.errors import OutputError
from fslbench_data.cli.options import FORMATS
from fslbench_data.cli.sql import _write
from fslbench_data.release.release import Release
from fslbench_data.scoring.sql import connect

EVERY = [*FORMATS, "parquet"]
ODD = [
    "MAP {DATE '99999-01-01': [1, 2]}",
    "5::VARIANT",
    "[DATE '99999-01-01', NULL]",
    "{'a': INTERVAL 1 DAY, 'b': [1.5]}",
    "[union_value(a := 1)]",
    "'nan'::DOUBLE",
    "['infinity'::FLOAT, NULL, 1]",
    "[]",
    "{'\x1b[31m': 1}",
    "chr(27) || '[31m' || chr(8238) || chr(10) || chr(7)",
    "[" * 40 + "1" + "]" * 40,
]


OLD_ARROW = int(pa.__version__.split(".")[0]) < 26
"""Whether Arrow cannot write every type of DuckDB's as Parquet."""


@pytest.fixture(scope="module")
def connection(toy: Release) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(toy) as opened:
        yield opened


def _table(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return pa.Table.from_batches(run_query(connection, sql))


def _written(table: pa.Table, folder: Path) -> dict[str, Path]:
    """The table in every format."""
    for form in EVERY:
        cannot = OutputError if form == "parquet" and OLD_ARROW else ()
        with suppress(cannot):
            _write(table, form, folder / f"x.{form}")
    return {form: folder / f"x.{form}" for form in EVERY}


def _no_constant(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


@pytest.mark.parametrize("value", ODD)
def test_odd_values_in_every_format(
    connection: duckdb.DuckDBPyConnection, value: str, tmp_path: Path
) -> None:
    paths = _written(_table(connection, f"SELECT {value} AS a, 1 AS b"), tmp_path)
    row = json.loads(paths["json"].read_text("utf-8"), parse_constant=_no_constant)[0]
    assert row["b"] == 1
    for form in ("table", "markdown", "latex"):
        text = paths[form].read_text("utf-8")
        assert all(c.isprintable() or c == "\n" for c in text), form
    cells = next(csv.DictReader(io.StringIO(paths["csv"].read_text("utf-8"), newline="")))
    exact = duckdb.sql(f"SELECT ({value})::VARCHAR").fetchall()[0][0]
    kind = pq.read_schema(paths["parquet"]).field("a").type
    if not pa.types.is_nested(kind):
        assert cells["a"] == (exact or "")
        assert row["a"] is None if exact is None else str(row["a"]) == exact


def test_every_type_that_duckdb_has(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Its own table of all types, with their smallest and largest values."""
    every = duckdb.sql("FROM test_all_types()").columns
    sql = "FROM test_all_types()"
    table = _table(connection, sql)
    assert table.column_names == every
    assert table.num_rows == 3
    paths = _written(table, tmp_path)
    for form in ("table", "markdown", "latex"):
        assert all(c.isprintable() or c == "\n" for c in paths[form].read_text("utf-8")), form
    rows = json.loads(paths["json"].read_text("utf-8"), parse_constant=_no_constant)
    cells = csv.DictReader(io.StringIO(paths["csv"].read_text("utf-8"), newline=""))
    texts = duckdb.sql(f"SELECT COLUMNS(*)::VARCHAR {sql}").fetchall()
    for row, line, text in zip(rows, cells, texts, strict=True):
        for (name, value), exact in zip(row.items(), text, strict=True):
            if isinstance(value, str):
                assert value == line[name] == exact, name
            elif isinstance(value, int) and not isinstance(value, bool):
                assert str(value) == line[name] == exact, name
            elif isinstance(value, float):
                assert math.isclose(value, float(exact), rel_tol=1e-6), name
            else:
                assert (value is None) == (exact is None), name


def test_order_is_kept_where_values_become_texts(connection: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT DATE '2000-01-01' + ((i * 7919) % 200003)::INT AS day, (i * 7919) % 200003 AS n "
        "FROM range(200003) AS t(i) ORDER BY n"
    )
    table = _table(connection, sql)
    assert table["n"].to_pylist() == list(range(200003))
    assert table["day"][0].as_py() == "2000-01-01"
