"""SQL over a release: the same numbers as the report, and nothing else within reach."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import fslbench_data as fb
from analysis_sql.queries.engine import run_query
from analysis_sql.queries.limits import memory_bytes
from benchmark_spec.errors import QueryError
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.scoring.sql import VIEWS, connect, only_named, tables
from fslbench_data.submission.model import Submission


@pytest.fixture(scope="module")
def connection(embedded: Release, example: Submission) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(embedded, example) as opened:
        yield opened


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pa.Table.from_batches(run_query(connection, sql)).to_pylist()
    return rows


def test_class_accuracies_follow_from_what_says_which_queries_are_right(embedded: Release) -> None:
    """Counts by class, right and wrong, and predictions give the same; counts alone give none."""
    of_set = "dataset = 'digits' AND task_set = 'open-5w5s5q'"
    with connect(embedded) as opened:
        answered = opened.sql(
            "SELECT task_id, n_correct, n_query, class_correct, correct, query_label "
            f"FROM (FROM results WHERE method = 'pixels/NCC' AND {of_set}) "
            f"JOIN (FROM tasks WHERE {of_set}) USING (task_id) ORDER BY task_id"
        ).to_arrow_table()
    label = np.array(answered["query_label"].to_pylist())
    right = np.array(answered["correct"].to_pylist())
    columns = {
        "class_correct": answered["class_correct"],
        "correct": pa.array(right.tolist()),
        "predictions": pa.array(np.where(right == 1, label, (label + 1) % 5).tolist()),
        "nothing": None,
    }
    fingerprint = embedded.task_set("digits", "open-5w5s5q").info.fingerprint
    submissions = []
    for name, column in columns.items():
        counts = answered.select(["task_id", "n_correct", "n_query"])
        whole = {"method": name, "dataset": "digits", "task_set": "open-5w5s5q"}
        for key, value in {**whole, "fingerprint": fingerprint, "transductive": False}.items():
            counts = counts.append_column(key, pa.array([value] * len(counts)))
        if column is not None:
            counts = counts.append_column(name, column)
        submissions.append(Submission.from_frame(counts))
    with connect(embedded, submissions) as opened:
        found = opened.execute(
            "SELECT method, "
            "list([class_name, tasks::VARCHAR, accuracy::VARCHAR] ORDER BY class_name) "
            f"FROM class_accuracies WHERE {of_set} AND method IN ? GROUP BY method",
            [[*columns, "pixels/NCC"]],
        ).fetchall()
        pooled = opened.execute(
            "SELECT count(DISTINCT method) FROM class_accuracies "
            "WHERE dataset = 'digits' AND task_set = 'pooled-5w5s5q'"
        ).fetchone()
    of = dict(found)
    assert of.keys() == {"class_correct", "correct", "predictions", "pixels/NCC"}
    assert len(of["correct"]) == 10
    assert all(rows == of["pixels/NCC"] for rows in of.values())
    assert pooled == (3,)


def test_tasks_join_with_images(connection: duckdb.DuckDBPyConnection) -> None:
    (row,) = _rows(
        connection,
        "SELECT count(*) AS n, count(*) FILTER (i.class_id <> t.class_ids[t.label + 1]) AS wrong "
        "FROM (SELECT dataset, class_ids, unnest(query) AS image_id, unnest(query_label) AS label "
        "FROM tasks WHERE dataset = 'digits') AS t JOIN images AS i USING (dataset, image_id)",
    )
    assert row["wrong"] == 0
    queries = ((176, 5), (31, 25), (19, 35), (600, 65), (4000, 5), (2876, 25), (2893, 35))
    of_allway, of_episodes = 5 * (1787 + 1637), 45_300
    assert row["n"] == sum(n * q for n, q in queries) + of_allway + of_episodes


def test_tasks_join_with_attributes(connection: duckdb.DuckDBPyConnection) -> None:
    """Every support image of a biased task has its class's attribute."""
    (wrong, right) = connection.execute(
        """
        WITH chosen AS (
            SELECT unnest(t.attributes) AS chosen, unnest(t.class_ids) AS class_id, t.task_id,
                   t.support, s.attributes AS name
            FROM tasks t JOIN task_sets s USING (dataset, task_set)
            WHERE task_set = 'open_biased_titles-5w5s5q'
        ), supports AS (
            SELECT chosen, class_id, name, unnest(support) AS image_id FROM chosen
        )
        SELECT count(*) FILTER (NOT list_contains(a.attributes, chosen)),
               count(*) FILTER (list_contains(a.attributes, chosen))
        FROM supports JOIN images i USING (image_id, class_id)
        JOIN attributes a USING (image_id, name)
        WHERE i.dataset = 'openclipart' AND a.dataset = 'openclipart'
        """
    ).fetchone()
    assert (wrong, right) == (0, 21 * 25)


FORBIDDEN = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_parquet('x.parquet')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/*')",
    "COPY tasks TO '/tmp/fslbench-stolen.csv'",
    "EXPORT DATABASE '/tmp/fslbench-stolen'",
    "ATTACH '/tmp/fslbench.db' AS x",
    "ATTACH ':memory:' AS x",
    "INSTALL httpfs",
    "LOAD json",
    "SET memory_limit = '100GB'",
    "RESET memory_limit",
    "PRAGMA threads = 64",
    "CREATE TABLE x AS SELECT 1",
    "DROP VIEW accuracies",
    "CALL pragma_version()",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY tasks TO '/tmp/fslbench-stolen.csv'",
    "SELECT * FROM secret_of_this_module",
    "SELECT * FROM no_such_view",
    "SELEC 1",
    "",
]
secret_of_this_module = __import__("pyarrow").table({"a": [1]})


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_what_a_query_may_not(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(QueryError):
        _rows(connection, sql)
    assert not list(Path("/tmp").glob("fslbench-stolen*"))


@pytest.mark.parametrize(
    "sql",
    [
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "COPY tasks TO '/tmp/fslbench-stolen.csv'",
        "ATTACH '/tmp/fslbench.db' AS x",
        "INSTALL httpfs",
        "SELECT * FROM secret_of_this_module",
    ],
)
def test_the_connection_itself_is_locked(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(duckdb.Error):
        connection.execute(sql)


@pytest.mark.slow
def test_limit_of_memory(embedded: Release) -> None:
    with connect(embedded, memory="200MB") as small:
        with pytest.raises(QueryError, match="more memory"):
            _rows(small, "SELECT count(DISTINCT md5(range::VARCHAR)) FROM range(10000000)")
        # and it goes on working
        assert _rows(small, "SELECT 1 AS a") == [{"a": 1}]
    for amount in ("lots", "-1", "0GB"):
        with pytest.raises(QueryError, match="amount of memory"):
            connect(embedded, memory=amount)


def test_duckdbs_hints_come_through(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match='Did you mean "accuracies"'):
        _rows(connection, "SELECT * FROM accuracy")
    with pytest.raises(QueryError, match="name them: PIVOT"):
        _rows(connection, "PIVOT accuracies ON method USING first(mean)")
    named = (
        "PIVOT (FROM accuracies WHERE dataset = 'digits') "
        "ON method IN ('pixels/NCC', 'pixels/LR') USING first(mean) "
        "GROUP BY task_set ORDER BY task_set"
    )
    assert len(_rows(connection, named)) == 12
    assert "\\b" not in CliRunner().invoke(main, ["sql", "--help"]).stdout


def test_amounts_of_memory() -> None:
    assert [memory_bytes(text) for text in ("1GB", "1g", "0.5 GiB", "512mib", "20000000B")] == [
        10**9,
        10**9,
        2**29,
        2**29,
        2 * 10**7,
    ]


def test_scores_are_made_only_for_queries_that_name_them(
    toy: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = toy.task_set_info("cats", "open-2w1s2q")
    recorder = fb.Recorder("mine")
    recorder.add_counts(info, np.arange(info.n_tasks))
    everything = tables(toy, recorder.submission())
    limits = {"seconds": 60.0, "memory": "1GB"}
    assert {*everything} == {*VIEWS}
    made = only_named(everything, "FROM Scores", **limits)
    assert {*VIEWS} - {*made} == {"comparisons", "dataset_means"}
    assert made["scores"].num_rows > 0
    with pytest.raises(QueryError, match=r"more than 1e-09 seconds"):
        only_named(everything, "FROM scores", seconds=1e-9, memory="1GB")
    monkeypatch.setattr("fslbench_data.scoring.sql.score", None)
    assert "scores" not in only_named(tables(toy), "FROM accuracies", **limits)
