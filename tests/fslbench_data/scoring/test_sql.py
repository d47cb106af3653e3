"""SQL over a release: the same numbers as the report, and nothing else within reach."""

import json
import os
import sys
from pathlib import Path

import duckdb
import numpy as np
import own_logs
import pyarrow as pa
import pytest
from msgspec.structs import replace
from processes import python
from recorded import answered, recorded

from analysis_sql.engine import open_database, query_names, run_query
from analysis_sql.query_limits import memory_bytes
from benchmark_spec.errors import QueryError
from fslbench_data.render.query_result import json_pieces
from fslbench_data.scoring.open_log import open_log
from fslbench_data.scoring.sql import VIEWS, connect, only_named, tables


@pytest.fixture(scope="module")
def connection(embedded, example):
    with connect(embedded, example) as opened:
        yield opened


def _rows(connection, sql):
    return pa.Table.from_batches(run_query(connection, sql)).to_pylist()


@pytest.mark.parametrize("told", ["class_correct", "correct", "predictions", "nothing"])
def test_class_accuracies_follow_from_what_says_which_queries_are_right(toy, told):
    """Counts by class, right and wrong, and predictions give the same; counts alone give none."""
    tasks = toy.task_set("cats", "closed-2w1s2q")
    answers = np.random.default_rng(0).integers(0, 2, tasks.query_label.shape)
    whole, right = answered(tasks, answers), answers == tasks.query_label
    table = whole.table.drop_columns(["class_correct", "predictions"])
    if told == "correct":
        table = table.append_column("correct", pa.array(right.astype(np.int8).tolist()))
    elif told != "nothing":
        table = table.append_column(told, whole.table[told])
    with connect(toy, replace(whole, table=table)) as opened:
        found = dict(opened.sql("SELECT class_name, accuracy FROM class_accuracies").fetchall())
    owner = np.take_along_axis(tasks.class_ids, tasks.query_label.astype(int), axis=1)
    by_hand = {"abcd"[c]: pytest.approx(100 * right[owner == c].mean()) for c in np.unique(owner)}
    assert found == ({} if told == "nothing" else by_hand)


def test_class_accuracies_of_a_log():
    columns = own_logs.with_roles(own_logs.log(methods={"m": 0.0}, tasks=120))
    rng = np.random.default_rng(0)
    rows, of = [], {str(c): [] for c in range(15)}
    for row in own_logs.rows(columns) * 2:
        right = rng.integers(0, 2, (5, 5))
        told = {"run": str(len(rows) // 120), "correct": right.ravel().tolist()}
        rows.append({**row, **told, "n_correct": right.sum()})
        for name, own in zip(row["class_ids"], right, strict=True):
            of[str(name)].append(100 * own.mean())
    log = open_log(rows, class_sizes=dict.fromkeys(range(15), 60))
    with connect(log.release, log) as opened:
        found = opened.sql("SELECT class_name, accuracy, tasks FROM class_accuracies").fetchall()
    assert {name: rest for name, *rest in found} == {
        name: [pytest.approx(np.mean(own)), len(own) // 2] for name, own in of.items()
    }


def test_tasks_join_with_attributes(connection):
    """Every support image of a biased task has its class's attribute."""
    right = connection.execute(
        """
        WITH chosen AS (
            SELECT unnest(t.attributes) AS chosen, unnest(t.class_ids) AS class_id,
                   t.support AS images, s.attributes AS name
            FROM tasks t JOIN task_sets s USING (dataset, task_set)
            WHERE task_set = 'open_biased_titles-5w5s5q' AND step = 'biased'
        )
        SELECT list_contains(a.attributes, chosen), count(*)
        FROM (SELECT chosen, class_id, name, unnest(images) AS image_id FROM chosen)
        JOIN images i USING (image_id, class_id) JOIN attributes a USING (image_id, name)
        WHERE i.dataset = 'openclipart' AND a.dataset = 'openclipart' GROUP BY ALL
        """
    ).fetchall()
    assert right == [(True, 21 * 25)]


def test_sums_and_decimals_are_numbers_in_json_as_far_as_it_has_them(connection):
    sql = "SELECT sum(x) AS sum, 1.5 AS half, 0.12345678901234567891 AS far FROM (VALUES (7)) t(x)"
    table = pa.Table.from_batches(run_query(connection, sql))
    (row,) = json.loads("".join(json_pieces(table)))
    assert row == {"sum": 7, "half": 1.5, "far": "0.12345678901234567891"}


secret_of_this_module = __import__("pyarrow").table({"a": [1]})


@pytest.mark.parametrize(
    ("sql", "locked"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", False),
        ("SELECT * FROM read_text('/etc/hostname')", False),
        ("SELECT * FROM read_parquet('x.parquet')", False),
        ("SELECT * FROM '/etc/passwd'", False),
        ("SELECT * FROM glob('/*')", False),
        ("COPY tasks TO '/tmp/fslbench-stolen.csv'", True),
        ("EXPORT DATABASE '/tmp/fslbench-stolen'", False),
        ("ATTACH '/tmp/fslbench.db' AS x", True),
        ("ATTACH ':memory:' AS x", False),
        ("INSTALL httpfs", True),
        ("LOAD json", False),
        ("SET memory_limit = '100GB'", True),
        ("SET enable_external_access = true", True),
        ("SET lock_configuration = false", True),
        ("RESET memory_limit", False),
        ("PRAGMA threads = 64", False),
        ("CREATE TABLE x AS SELECT 1", False),
        ("DROP VIEW accuracies", False),
        ("CALL pragma_version()", False),
        ("SELECT 1; SELECT 2", False),
        ("SELECT 1; COPY tasks TO '/tmp/fslbench-stolen.csv'", False),
        ("SELECT * FROM secret_of_this_module", True),
        ("SELECT * FROM no_such_view", False),
        ("SELEC 1", False),
        ("", False),
    ],
)
def test_what_a_query_may_not(connection, sql, locked):
    with pytest.raises(QueryError):
        _rows(connection, sql)
    if locked:
        with pytest.raises(duckdb.Error):
            connection.execute(sql)
    assert not list(Path("/tmp").glob("fslbench-stolen*"))


@pytest.mark.slow
def test_limit_of_memory(embedded):
    with connect(embedded, memory="200MB") as small:
        with pytest.raises(QueryError, match="more memory"):
            _rows(small, "SELECT count(DISTINCT md5(range::VARCHAR)) FROM range(10000000)")
        # and it goes on working
        assert _rows(small, "SELECT 1 AS a") == [{"a": 1}]


def test_amounts_of_memory(toy):
    amounts = {"1GB": 10**9, "1g": 10**9, "0.5 GiB": 2**29, "512mib": 2**29, "20000000B": 2 * 10**7}
    assert {text: memory_bytes(text) for text in amounts} == amounts
    for amount in ("lots", "-1", "0GB"):
        with pytest.raises(QueryError, match="amount of memory"):
            connect(toy, memory=amount)


def test_a_pivot_names_its_columns(connection):
    with pytest.raises(QueryError, match="name them: PIVOT"):
        _rows(connection, "PIVOT accuracies ON method USING first(mean)")
    named = (
        "PIVOT (FROM accuracies WHERE dataset = 'digits') ON method IN ('pixels/NCC', 'pixels/LR') "
        "USING first(mean) GROUP BY task_set ORDER BY task_set"
    )
    assert len(_rows(connection, named)) == 12


def test_scores_are_made_only_for_queries_that_name_them(toy, monkeypatch):
    info = toy.task_set_info("cats", "open-2w1s2q")
    everything = tables(toy, recorded(info, np.arange(info.n_tasks)))
    limits = {"seconds": 60.0, "memory": "1GB"}
    assert {*everything} == {*VIEWS}
    made = only_named(everything, "FROM Scores", **limits)
    assert [name for name in VIEWS if not made[name].num_rows] == [
        *("images", "attributes", "comparisons", "dataset_means")
    ]
    by_query = only_named(everything, "FROM query_table('sco' || 'res')", **limits)
    assert by_query["scores"].num_rows > 0
    with pytest.raises(QueryError, match=r"more than 1e-09 seconds"):
        only_named(everything, "FROM scores", seconds=1e-9, memory="1GB")
    monkeypatch.setattr("fslbench_data.scoring.sql.score", None)
    listed = only_named(tables(toy), "SHOW TABLES", **limits)
    schemas = ({name: table.schema for name, table in of.items()} for of in (listed, everything))
    assert next(schemas) == next(schemas)
    with open_database(listed) as opened:
        assert {row["name"] for row in _rows(opened, "SHOW TABLES")} == {*VIEWS, *query_names()}


IN_JUPYTER = (
    "from IPython.core.interactiveshell import InteractiveShell\n"
    "InteractiveShell.instance().config.IPKernelApp.name = 'kernel'\n"
)


@pytest.mark.parametrize("before", ["", IN_JUPYTER], ids=["python -c", "Jupyter"])
def test_a_slow_query_prints_no_progress(before, tmp_path, monkeypatch):
    """DuckDB does by itself where Python has no main file; in Jupyter it may refuse the setting."""
    if before:
        pytest.importorskip("IPython", reason="needs ipykernel, of the extra `test`")
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    code = (
        f"{before}from analysis_sql.engine import new_database\n"
        "asked = \"SELECT current_setting('enable_progress_bar')\"\n"
        "print(new_database().execute(asked).fetchone()[0])"
    )
    assert python(code, check=True).stdout == "False\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_process_checks_and_ends_after_its_parent_checked():
    """Closing the database of the parent, whose threads are not there, hung or crashed."""
    code = (
        "import os, signal, sys\n"
        "from analysis_sql.engine import working_database\n"
        "ask = lambda: working_database().execute('SELECT sum(i) FROM range(9999999) t(i)')\n"
        "ask()\n"
        "if not os.fork():\n"
        "    signal.alarm(30)\n"
        "    sys.exit(not ask().fetchall())\n"
        "print(os.wait()[1])"
    )
    assert python(code, check=True).stdout == "0\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no folder that is worked in")
def test_without_a_working_folder_an_error_says_so(tmp_path):
    code = (
        "import os\n"
        "from analysis_sql.engine import new_database\n"
        "os.rmdir(os.getcwd())\n"
        "new_database()"
    )
    said = python(code, cwd=tmp_path).stderr
    assert "QueryError: DuckDB cannot start" in said
    assert "fix: change to a folder that exists" in said
