"""SQL in a process of its own: no query takes more memory or time than it may, none writes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from commands import invoke

from analysis_sql.queries.engine import run_query
from benchmark_spec.errors import QueryError
from fslbench_data.sandbox import client as process_module
from fslbench_data.sandbox.client import QueryProcess
from fslbench_data.scoring.sql import connect, tables

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")

HUGE = "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))"
"""Hours inside one function, which DuckDB does not interrupt."""


@pytest.fixture(scope="module")
def views(toy):
    return tables(toy)


@pytest.fixture
def started(views):
    opened = []

    def start(seconds=60, memory="1GB", held=views):
        opened.append(QueryProcess(seconds=seconds, memory=memory))
        opened[-1].load(held)
        return opened[-1]

    yield start
    for process in opened:
        process.__exit__(None, None, None)


def _is_alive(process):
    return process._process._process.poll() is None


@pytest.mark.slow
def test_it_answers_as_this_process_does(started, embedded):
    process = started(held=tables(embedded))
    with connect(embedded) as connection:
        exact = "SELECT COLUMNS(* EXCLUDE (mean, deviation)) FROM accuracies"
        for sql in (exact, "FROM results", "FROM tasks LIMIT 0", "EXPLAIN SELECT 1"):
            assert process.run(sql).equals(connection.sql(sql).to_arrow_table()), sql
    with pytest.raises(QueryError, match='Did you mean "accuracies"'):
        process.run("FROM accuracy")
    assert process.run("SELECT 1 AS a").to_pylist() == [{"a": 1}]  # and it goes on
    assert _is_alive(process)


@pytest.mark.slow
def test_one_function_that_takes_hours_is_ended(started):
    process = started(seconds=1)
    with pytest.raises(QueryError, match="ran for more than 1 seconds"):
        process.run(HUGE)
    assert not _is_alive(process)
    # limits that are large are none in effect
    assert started(seconds=1e300, memory="900TB").run("SELECT 1").num_rows == 1


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(repeat('x', 4000000000))",
        "SELECT count(DISTINCT md5(range::VARCHAR)) FROM range(30000000)",
    ],
)
def test_memory_that_duckdb_does_not_count_is_bounded(started, sql):
    with pytest.raises(QueryError, match="memory"):
        started(memory="300MB").run(sql)


@pytest.mark.slow
def test_a_result_is_as_large_as_memory_at_most(started):
    sql = "SELECT repeat('x', 1000) AS a FROM range({})"
    assert started(memory="50MB").run(sql.format(40_000)).num_rows == 40_000
    process = started(memory="50MB")
    with pytest.raises(QueryError, match=r"the result takes more than 50MB|more memory") as caught:
        process.run(sql.format(4_000_000))
    assert "the result" not in str(caught.value) or not _is_alive(process)


def test_a_process_that_ends_is_an_error(started, monkeypatch):
    process = started()
    os.kill(process._process._process.pid, 9)
    with pytest.raises(QueryError, match=r"ended the process that ran it \(-9\)"):
        process.run("SELECT 1")
    monkeypatch.setattr(process_module, "_CODE", "raise SystemExit(3)")
    with pytest.raises(QueryError, match=r"no process could be started .*\(ended, 3\)"):
        started()


NO_QUERIES = [
    "EXPLAIN ANALYZE CREATE TEMP TABLE made AS SELECT 1",
    "EXPLAIN (FORMAT JSON, ANALYZE) CREATE TEMP VIEW made AS SELECT 1",
    "EXPLAIN /* SELECT */ ANALYZE -- SELECT 1\n CREATE TEMP TABLE made AS SELECT 1",
    "/* EXPLAIN SELECT 1 */ EXPLAIN ANALYZE CREATE TEMP TABLE made AS SELECT 1",
    "EXPLAIN CREATE TABLE made (a INT)",
    "EXPLAIN ANALYZE INSERT INTO results SELECT * FROM results",
    "EXPLAIN ANALYZE COPY tasks TO 'made.csv'",
    "EXPLAIN ANALYZE SET VARIABLE made = 1",
    "EXPLAIN EXPLAIN SELECT 1",
    "EXPLAIN PIVOT accuracies ON method USING first(mean)",
    "EXPLAIN ANALYZE",
    "PREPARE made AS SELECT 1",
    "SET VARIABLE made = 1",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "CREATE MACRO made() AS 1",
    "WITH a AS (INSERT INTO task_sets FROM task_sets RETURNING 1) FROM a",
    "FROM query('CREATE TEMP TABLE made AS SELECT 1')",
    "SELECT 1; EXPLAIN ANALYZE CREATE TEMP TABLE made AS SELECT 1",
]


@pytest.mark.slow
def test_what_is_no_query_is_refused_and_not_done(started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    process = started()
    there = "SELECT (SELECT count(*) FROM duckdb_tables()), (SELECT count(*) FROM duckdb_views()), "
    there += "(SELECT count(*) FROM duckdb_functions()), getvariable('made') AS made"
    before = process.run(there).to_pylist()
    for sql in NO_QUERIES:
        with pytest.raises(QueryError):
            process.run(sql)
        assert process.run(there).to_pylist() == before, sql
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "explain analyze SELECT 1",
        "EXPLAIN (ANALYZE, FORMAT JSON) FROM accuracies",
        "EXPLAIN (SELECT 1)",
        "-- a remark\nEXPLAIN -- another\nSELECT 1",
        "SUMMARIZE accuracies",
        "SHOW TABLES",
        "VALUES (1)",
    ],
)
def test_what_explains_a_query_is_one(sql, toy):
    with connect(toy) as connection:
        assert pa.Table.from_batches(run_query(connection, sql)).num_rows


@pytest.mark.parametrize(
    "options",
    [
        *(["--memory", amount] for amount in ("1KB", "80%", "nanGB", "9999999999999TB", "", "١GB")),
        *(["--seconds", amount] for amount in ("nan", "inf", "0", "-1")),
    ],
    ids=" ".join,
)
def test_limits_that_are_none_are_refused(options):
    result = invoke("sql", "SELECT 1", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert "for a query\n  expected: a " in result.stderr


HOURS = f"""
from fslbench_data.release.release import load_release
from fslbench_data.sandbox.client import QueryProcess
from fslbench_data.scoring.sql import tables
process = QueryProcess()
process.load(tables(load_release()))
print(process._process._process.pid, flush=True)
process.run({HUGE!r})
"""


@pytest.mark.slow
@on_linux
def test_a_query_ends_soon_after_a_killed_command():
    command = subprocess.Popen([sys.executable, "-c", HOURS], stdout=subprocess.PIPE, text=True)
    status = Path(f"/proc/{int(command.stdout.readline())}/stat")
    time.sleep(1.0)
    command.kill()
    command.wait()
    deadline = time.monotonic() + 20.0
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.2)
