"""Files and SQL in processes of their own: memory and time are bounded, errors are clear."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import own_logs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bombs import BOMBS, few, lists, many, slow
from commands import invoke
from hostile_parquet import NUM_ROWS, Parquet, put, with_page
from msgspec.structs import replace
from processes import python

from analysis_sql.engine import run_query
from benchmark_spec import errors
from benchmark_spec.errors import QueryError
from fslbench_data.sampling.draw import Pool
from fslbench_data.sandbox import client
from fslbench_data.sandbox.client import (
    QueryProcess,
    read_untrusted,
    read_untrusted_columns,
    read_untrusted_table,
)
from fslbench_data.sandbox.limits import LIMITS, LOG_LIMITS, MIB
from fslbench_data.scoring.score import interval
from fslbench_data.scoring.sql import connect, tables
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.submission.model import (
    METADATA_KEY,
    Binding,
    Method,
    Submission,
    written_metadata,
)
from fslbench_data.validation.log_source import numbers_by_id

TooLarge, Unreadable, Schema = errors.TooLargeError, errors.UnreadableError, errors.SchemaError
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")

# bomb: its error, and what it says; of others, that they cannot be read
OUTCOMES = {
    "a_billion_rows": (TooLarge, "1000000000 rows"),
    "a_billion_rows_said_to_be_31": (TooLarge, "40[0-9]{5} rows"),
    "rows_beyond_counting": (TooLarge, "4611686018427387904 rows"),
    "inflating_zstd": (TooLarge, "more than 768 MiB of memory"),
    "page_said_to_be_large": (TooLarge, "more than 768 MiB of memory"),
    "name_of_a_gigabyte": (TooLarge, "more than 768 MiB of memory"),
    "names_that_repeat_a_megabyte": (TooLarge, "1000000 bytes in a text of method"),
    "name_too_long": (TooLarge, "100000 bytes in a text of method"),
    "many_names": (TooLarge, "different texts in method"),
    "many_runs": (TooLarge, "300000 different texts in run"),
    "many_groups": (TooLarge, "100000 combinations of"),
    "lists_too_long": (TooLarge, "2000001 entries in a list of predictions"),
    "many_columns": (TooLarge, "500 columns"),
    "doubled_column": (Schema, "doubles column 'method'"),
    "nested_schema": (Unreadable, "cannot be read|ends the process"),
    "footer_said_to_be_large": (TooLarge, "4294967295 bytes of footer"),
    "nested_metadata": (Schema, "it is not JSON"),
    "metadata_of_many_methods": (TooLarge, "50000 methods in its metadata"),
}

HEAVY = {"a_billion_rows_said_to_be_31", "name_of_a_gigabyte", "names_that_repeat_a_megabyte"}
HEAVY |= {"page_said_to_be_large"}
"""Those that take long to make, and pass a limit that another passes as well."""
LOG = own_logs.log(tasks=7, classes=8, images=20, per_class=3)


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")

    def make(name):
        path = folder / f"{name}.parquet"
        if not path.exists():
            path.write_bytes(BOMBS[name]())
            assert path.stat().st_size < 20 << 20
        return path

    return make


@pytest.fixture
def fresh():
    client.stop()
    yield
    client.stop()


def _write(path, table=None):
    pq.write_table(few() if table is None else table, path)
    return path


@on_linux
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in HEAVY)) for n in BOMBS]
)
def test_bombs_are_refused(name, bombs):
    kind, said = OUTCOMES.get(name, (Unreadable, "cannot be read"))
    with pytest.raises(kind, match=said) as caught:
        read_untrusted(bombs(name))
    assert type(caught.value) is kind
    assert f"{name}.parquet" in str(caught.value)
    assert str(caught.value).replace("\n", "").isprintable()


MEASURE = """
import re, resource, sys
from pathlib import Path
from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import load_release
from fslbench_data.sandbox import client
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.validation.validate import validate

good = Path(sys.argv[1])
for path in sorted(Path(sys.argv[2]).iterdir()):
    try:
        validate(read_untrusted(path), load_release())
    except FSLBenchError as error:
        pass
    else:
        sys.exit(f"{path} is read")
    assert read_untrusted(good).table.num_rows == 2026
client.stop()
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
own = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print([children >> 10, int(own) >> 10])
"""


@pytest.mark.slow
@on_linux
def test_memory_stays_bounded_and_good_files_are_read(bombs, tmp_path, root):
    folder = tmp_path / "files"
    folder.mkdir()
    for name in BOMBS:
        shutil.copy(bombs(name), folder)
    rows = 4_000_000  # as large as may be: what validation makes of it counts too
    more = {name: lists(rows, 8, np.int64) for name in ("class_correct", "predictions")}
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), ["a" * 64])
    more |= {"run": texts, "fingerprint": texts.cast(pa.string())}
    _write(folder / "largest.parquet", many(rows, **more))
    out = python(MEASURE, root / "examples/my_results.parquet", folder, check=True)
    children, own = json.loads(out.stdout)
    assert 200 < own < 1280  # MiB
    assert children < 1280  # which counts what its parent had when it was forked


@pytest.mark.slow
@on_linux
def test_what_is_slow_is_ended(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(slow())
    assert path.stat().st_size < 1 << 20
    start = time.monotonic()
    with pytest.raises(TooLarge, match="takes more than 1 seconds"):
        read_untrusted(path, replace(LIMITS, seconds=1.0))
    assert time.monotonic() - start < 15
    assert read_untrusted(_write(path)).table.num_rows == 31


SMALL = {
    "file": ({"file_bytes": 100}, "101 bytes"),
    "footer": ({"metadata_bytes": 100}, "bytes of footer"),
    "rows": ({"rows": 61}, "62 rows"),
    "list": ({"list_length": 24}, "25 entries in a list of predictions"),
    "lists": ({"list_values": 1000}, "1550 entries in predictions"),
    "methods": ({"methods": 1}, "2 different texts in method"),
    "declared methods": ({"methods": 2}, "3 methods in its metadata"),
    "names": ({"names": 1}, "2 different texts in run"),
    "groups": ({"groups": 3}, "4 combinations"),
    "a name": ({"name_length": 2}, "bytes in a text of"),
}


@on_linux
@pytest.mark.parametrize("name", SMALL)
def test_each_limit(name, tmp_path):
    limits, said = SMALL[name]
    more = {"method": ["a", "b"] * 31, "run": ["r"] * 31 + ["s"] * 31}
    table = few(62, **more, predictions=[[0] * 25] * 62)
    if name == "declared methods":
        about = json.dumps({"methods": {method: {} for method in "abc"}})
        table = table.replace_schema_metadata({"fslbench": about})
    path = _write(tmp_path / "x.parquet", table)
    assert read_untrusted(path).table.num_rows == 62
    with pytest.raises(TooLarge, match=said):
        read_untrusted(path, replace(LIMITS, **limits))
    assert read_untrusted(path).table.num_rows == 62


BOUND = {("mine", "digits", "open-5w5s5q"): Binding("0" * 64, 31)}
TABLES = {
    "plain": few(),
    "with lists": few(
        predictions=[[0] * 25] * 31, second=[[1] * 25] * 31, class_correct=[[1, 2]] * 30 + [None]
    ),
    "with runs as numbers": few(run=[7] * 31),
    "with fingerprints": few(fingerprint=["0" * 64] * 30 + [None]),
    "without a fingerprint": few(fingerprint=pa.nulls(31)),
    "of other types": few(
        method=pa.array(["mine"] * 31, pa.large_string()),
        task_id=pa.array(range(31), pa.uint64()),
        predictions=pa.array([[0] * 25] * 31, pa.list_(pa.int64(), 25)),
    ),
    "of dictionaries": few(method=pa.array(["mine"] * 31).dictionary_encode()),
    "with metadata": few().replace_schema_metadata(
        {METADATA_KEY: written_metadata({"mine": Method("mine", link="l")}, BOUND, "0.1.0")}
    ),
}
OPTIONS = ({}, {"row_group_size": 7, "data_page_version": "2.0"}, {"store_schema": False})
DELTA = {"use_dictionary": False, "column_encoding": {"method": "DELTA_BYTE_ARRAY"}}


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
@pytest.mark.parametrize("options", [*OPTIONS, DELTA], ids=["as ever", "pieces", "bare", "delta"])
def test_both_readers_agree(options, tmp_path):
    path = tmp_path / "x.parquet"
    for name, table in TABLES.items():
        if options is DELTA and name == "of dictionaries":
            continue  # pyarrow writes such files and cannot read them
        pq.write_table(table, path, **options)
        ours, theirs = read_untrusted(path), Submission.read(path)
        assert ours.table.schema == theirs.table.schema, name
        assert ours.table.to_pydict() == theirs.table.to_pydict(), name
        about = [(x.methods, x.bindings, x.package_version, x.source) for x in (ours, theirs)]
        assert about[0] == about[1], name


def test_what_is_no_parquet_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "zero.parquet").symlink_to("/dev/zero")
    (tmp_path / "loop.parquet").symlink_to(tmp_path / "loop.parquet")
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "text.parquet").write_text("hello")
    (tmp_path / "x.csv").write_text("method\n")
    (tmp_path / "\x1b[31mred.parquet").touch()
    for path in (*tmp_path.iterdir(), tmp_path / "nowhere.parquet", tmp_path / "a\0b.parquet"):
        with pytest.raises(Unreadable) as caught:
            read_untrusted(path)
        assert str(caught.value).replace("\n", "").isprintable(), path


def _pid():
    return client._server._process.pid


@pytest.mark.slow
def test_one_process_reads_many_files_until_it_ends(fresh, tmp_path, bombs):
    good = _write(tmp_path / "x.parquet")
    read_untrusted(good)
    first = _pid()
    start = time.monotonic()
    for _ in range(3):
        read_untrusted(good)
        with pytest.raises(Schema):
            read_untrusted(bombs("doubled_column"))
    assert _pid() == first
    assert time.monotonic() - start < 10
    os.kill(first, 9)
    assert read_untrusted(good).table.num_rows == 31
    assert _pid() != first


CRASH = """
import os
from fslbench_data.sandbox import reader
read = reader.read_bounded
reader.read_bounded = lambda path, *x: os.abort() if 'bad' in path.name else read(path, *x)
"""


@pytest.mark.slow
def test_a_file_that_ends_the_process(fresh, tmp_path, monkeypatch):
    """As a crash in pyarrow would; the next file is read all the same."""
    monkeypatch.setattr(client, "_CODE", client._CODE.replace("; from", f"{CRASH}from", 1))
    good, bad = _write(tmp_path / "good.parquet"), _write(tmp_path / "bad.parquet")
    for first in (bad, good):  # a new process, and one that has been used
        client.stop()
        for path in (first, bad, good, bad, good):
            if path == good:
                assert read_untrusted(path).table.num_rows == 31
                continue
            with pytest.raises(Unreadable, match=r"bad\.parquet ends the process.*\(-6\)"):
                read_untrusted(path)


@pytest.mark.slow
def test_the_process_gets_no_token_and_runs_no_code_that_lies_about(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    for name in ("json", "pyarrow", "fslbench_data"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')")
    _write(tmp_path / "x.parquet")
    monkeypatch.chdir(tmp_path)
    assert read_untrusted(Path("x.parquet")).table.num_rows == 31
    if sys.platform == "linux":
        environment = Path(f"/proc/{_pid()}/environ").read_bytes()
        assert b"hf_secret" not in environment
        assert b"PATH=" in environment


def test_where_no_process_can_be_started(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "_CODE", "raise SystemExit(3)")
    with pytest.raises(Unreadable, match=r"no process could be started(.|\n)*ended with 3"):
        read_untrusted(_write(tmp_path / "x.parquet"))


@pytest.mark.slow
def test_an_interrupted_question_is_not_answered_later(fresh, tmp_path, monkeypatch):
    one, two = _write(tmp_path / "1.parquet"), _write(tmp_path / "2.parquet", few(5))
    read_untrusted(one)
    with monkeypatch.context() as patch:
        patch.setattr(client.json, "loads", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            read_untrusted(one)
    assert read_untrusted(two).table.num_rows == 5


FORK = """
import os, sys
from pathlib import Path
from fslbench_data.sandbox.client import read_untrusted
path = Path(sys.argv[1])
read_untrusted(path)
child = os.fork()
rows = {read_untrusted(path).table.num_rows for _ in range(50)}
if not child:
    os._exit(0 if rows == {31} else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or rows != {31})
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_process_starts_its_own(tmp_path):
    path = _write(tmp_path / "x.parquet")
    subprocess.run([sys.executable, "-c", FORK, str(path)], check=True, timeout=60)


def _histogram(columns, name):
    """A file whose statistics of a column have an entry too many, which ends who looks at it."""
    file = Parquet.of(pa.table(columns))
    chunk = file.chunk(list(columns).index(name))
    chunk[16][1][2][1][1].append(0)  # of repetition levels, in SizeStatistics
    return file.build()


def test_files_of_a_log_that_end_the_process_that_looks_at_a_footer(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(_histogram(LOG, "image_ids"))
    with pytest.raises(Unreadable, match=r"log\.parquet (cannot be read|ends the process)"):
        TaskLog.read(path)
    path = tmp_path / "sizes.parquet"
    columns = {"class": [[c] for c in range(8)], "n_images": [20] * 8}
    path.write_bytes(_histogram(columns, "class"))
    with pytest.raises(Unreadable, match=r"sizes\.parquet"):
        numbers_by_id(path, "class", "n_images", "sizes")
    pq.write_table(pa.table(columns | {"class": range(8)}), path)
    assert numbers_by_id(path, "class", "n_images", "sizes") == {str(c): 20 for c in range(8)}


@pytest.mark.slow
def test_a_page_that_inflates(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(with_page(pa.table(LOG), "n_correct", 1200 * MIB))
    assert path.stat().st_size < MIB
    limits = replace(LOG_LIMITS, memory_bytes=256 * MIB)
    with pytest.raises(TooLarge, match="more than 256 MiB of memory to read"):
        read_untrusted_columns(path, ("method", "n_correct"), limits)
    assert read_untrusted_columns(path, ("method",), limits).num_rows == 21


def test_each_limit_of_a_log(tmp_path):
    path = _write(tmp_path / "log.parquet", pa.table(LOG))
    # 21 + 21·5 + 21·5·3 values are 441, and three times 21
    wanted = ("method", "class_ids", "image_ids", "task", "n_query", "n_correct")
    assert read_untrusted_columns(path, wanted, replace(LOG_LIMITS, list_values=504))
    for limit, most, said in (
        ("list_values", 503, "more than 503 values"),
        ("file_bytes", 100, "101 bytes"),
        ("metadata_bytes", 100, "bytes of footer"),
    ):
        with pytest.raises(TooLarge, match=said):
            read_untrusted_columns(path, wanted, replace(LOG_LIMITS, **{limit: most}))


def test_damaged_pages_and_footers_are_told_and_end_no_process(tmp_path):
    path = _write(tmp_path / "log.parquet", pa.table(LOG))
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 36 + data[40:])
    for read, how in (
        (read_untrusted_columns, (LOG,)),
        (read_untrusted_table, ("a table", {}, 64 * MIB, 10.0)),
    ):
        with pytest.raises(Unreadable, match="cannot be read as parquet: "):
            read(path, *how)
    file = Parquet.of(pa.table(LOG))
    put(file.footer, NUM_ROWS, 9)
    path.write_bytes(file.build())
    with pytest.raises(Unreadable, match="claims 9 rows, it holds 21"):
        read_untrusted_columns(path, LOG)


@pytest.mark.parametrize("options", [{}, {"row_group_size": 4}, DELTA])
def test_columns_come_as_they_are(options, tmp_path):
    """Texts within lists, with other dictionaries in each row group, and other columns left out."""
    texts = [[[f"{i}" for i in own] for own in ids] for ids in LOG["image_ids"]]
    table = pa.table({**LOG, "image_ids": texts, "note": [{"a": 1}] * 21})
    path = tmp_path / "log.parquet"
    pq.write_table(table.replace_schema_metadata({"x": "y"}), path, **options)
    read = read_untrusted_columns(path, own_logs.ROW)
    assert read.column_names == list(LOG)
    assert read.to_pydict() == {**LOG, "image_ids": texts}
    assert not read.schema.metadata
    assert read_untrusted_columns(path, ("nothing",)).column_names == []
    pq.write_table(table.slice(0, 0), path)
    assert read_untrusted_columns(path, ("task",)).num_rows == 0


def test_sizes_of_a_billion_images(tmp_path):
    sizes = tmp_path / "sizes.json"
    sizes.write_text(json.dumps({str(c): 999_999_999 for c in range(15)}))
    with pytest.raises(TooLarge, match=r"have 14,999,999,985 images\n.*class sizes"):
        interval(own_logs.log(tasks=60), class_sizes=sizes)
    with pytest.raises(TooLarge, match="2,000,000,000 images"):  # as a release may claim
        Pool.of([10**9] * 2, dataset="cub", seed=1)


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
        for sql in (exact, "FROM results", "FROM tasks LIMIT 0"):
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
    monkeypatch.setattr(client, "_CODE", "raise SystemExit(3)")
    with pytest.raises(QueryError, match=r"no process could be started .*\(ended, 3\)"):
        started()


NO_QUERIES = [
    "EXPLAIN ANALYZE CREATE TEMP TABLE made AS SELECT 1",
    "EXPLAIN SELECT 1",
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


@pytest.mark.parametrize("sql", ["SUMMARIZE accuracies", "SHOW TABLES", "VALUES (1)"])
def test_what_lists_and_sums_up_is_a_query(sql, toy):
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
