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
from click.testing import CliRunner

from analysis_sql.queries.engine import run_query
from benchmark_spec.errors import OutputError
from fslbench_data.cli import main
from fslbench_data.cli.sql import _write
from fslbench_data.release.release import Release
from fslbench_data.scoring.sql import connect

FORMATS = ["table", "csv", "json", "parquet", "markdown", "latex"]
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
    for form in FORMATS:
        cannot = OutputError if form == "parquet" and OLD_ARROW else ()
        with suppress(cannot):
            _write(table, form, folder / f"x.{form}")
    return {form: folder / f"x.{form}" for form in FORMATS}


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


def test_columns_of_one_name_keep_their_values(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    table = _table(connection, 'SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS "x""y", 5 AS "x""y"')
    paths = _written(table, tmp_path)
    wanted = {"a": 1, "a_1": 2, "a_1_1": 3, 'x"y': 4, 'x"y_1': 5}
    assert json.loads(paths["json"].read_text()) == [wanted]
    assert paths["csv"].read_text().splitlines()[1] == "1,2,3,4,5"
    assert pq.read_table(paths["parquet"]).to_pylist() == [wanted]
    assert paths["table"].read_text().split()[5:] == ["1", "2", "3", "4", "5"]


def test_order_is_kept_where_values_become_texts(connection: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT DATE '2000-01-01' + ((i * 7919) % 200003)::INT AS day, (i * 7919) % 200003 AS n "
        "FROM range(200003) AS t(i) ORDER BY n"
    )
    table = _table(connection, sql)
    assert table["n"].to_pylist() == list(range(200003))
    assert table["day"][0].as_py() == "2000-01-01"


@pytest.mark.slow
def test_long_results_come_whole(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    paths = _written(_table(connection, "SELECT range AS n FROM range(150000)"), tmp_path)
    assert json.loads(paths["json"].read_text()) == [{"n": n} for n in range(150_000)]
    assert paths["csv"].read_text() == "n\n" + "".join(f"{n}\n" for n in range(150_000))
    assert "149,954 more rows left out" in paths["table"].read_text()
    empty = _written(_table(connection, "SELECT 1 AS n LIMIT 0"), tmp_path)
    assert json.loads(empty["json"].read_text()) == []
    assert empty["csv"].read_text() == "n\n"


@pytest.mark.slow
def test_errors_of_duckdb_hold_no_commands_to_a_terminal() -> None:
    for sql in ("SELECT error('\x1b[31mred\x07')", 'SELECT "\x1b[31m\u202e"'):
        result = CliRunner().invoke(main, ["sql", sql])
        assert result.exit_code == 2
        assert r"\x1b[31m" in result.stderr
        assert result.stderr.replace("\n", "").isprintable()
