"""Strangers' Parquet files: whatever they hold, memory and time are bounded and errors clear."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bombs import BOMBS, few, lists, many, slow
from msgspec.structs import replace
from processes import python

from benchmark_spec import errors
from fslbench_data.sandbox import client
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.sandbox.limits import LIMITS
from fslbench_data.submission.bindings import METADATA_KEY, Binding, Method, written_metadata
from fslbench_data.submission.model import Submission

TooLarge, Unreadable, Schema = errors.TooLargeError, errors.UnreadableError, errors.SchemaError
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")

# bomb: its error, and what it says
OUTCOMES: dict[str, tuple[type[errors.FSLBenchError], str]] = {
    "a_billion_rows": (TooLarge, "1000000000 rows"),
    "a_billion_rows_said_to_be_31": (TooLarge, "40[0-9]{5} rows"),
    "rows_beyond_counting": (TooLarge, "4611686018427387904 rows"),
    "fewer_rows_than_none": (Unreadable, "cannot be read"),
    "values_that_are_not_there": (Unreadable, "cannot be read"),
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
    "nested_footer": (Unreadable, "cannot be read"),
    "list_said_to_be_long": (Unreadable, "cannot be read"),
    "footer_said_to_be_large": (TooLarge, "4294967295 bytes of footer"),
    "schema_that_is_none": (Unreadable, "cannot be read"),
    "nested_metadata": (Schema, "it is not JSON"),
    "metadata_of_many_methods": (TooLarge, "50000 methods in its metadata"),
    "a_histogram_too_long": (Unreadable, "cannot be read"),
}


HEAVY = {"a_billion_rows_said_to_be_31", "name_of_a_gigabyte", "names_that_repeat_a_megabyte"}
HEAVY |= {"page_said_to_be_large"}
"""Those that take long to make, and pass a limit that another passes as well."""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes them, each once, of some kilobytes, or megabytes where it must be."""
    folder = tmp_path_factory.mktemp("bombs")

    def make(name: str) -> Path:
        path = folder / f"{name}.parquet"
        if not path.exists():
            path.write_bytes(BOMBS[name]())
            assert path.stat().st_size < 20 << 20
        return path

    return make


@pytest.fixture
def fresh() -> Iterator[None]:
    """A process of its own for a test, before and after."""
    client.stop()
    yield
    client.stop()


def _write(path: Path, table: pa.Table | None = None) -> Path:
    pq.write_table(few() if table is None else table, path)
    return path


# ---- what is refused, and at which price ---------------------------------------------------------


@on_linux
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in HEAVY)) for n in BOMBS]
)
def test_bombs_are_refused(name: str, bombs: Callable[[str], Path]) -> None:
    kind, said = OUTCOMES[name]
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
def test_memory_stays_bounded_and_good_files_are_read(
    bombs: Callable[[str], Path], tmp_path: Path, root: Path
) -> None:
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
def test_what_is_slow_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(slow())
    assert path.stat().st_size < 1 << 20
    start = time.monotonic()
    with pytest.raises(TooLarge, match="takes more than 1 seconds"):
        read_untrusted(path, replace(LIMITS, seconds=1.0))
    assert time.monotonic() - start < 15
    assert read_untrusted(_write(path)).table.num_rows == 31


SMALL: dict[str, tuple[dict[str, int], str]] = {
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
def test_each_limit(name: str, tmp_path: Path) -> None:
    limits, said = SMALL[name]
    table = few(
        62,
        method=["a", "b"] * 31,
        run=["r"] * 31 + ["s"] * 31,
        predictions=[[0] * 25] * 62,
    )
    if name == "declared methods":
        about = json.dumps({"methods": {method: {} for method in "abc"}})
        table = table.replace_schema_metadata({"fslbench": about})
    path = _write(tmp_path / "x.parquet", table)
    assert read_untrusted(path).table.num_rows == 62
    with pytest.raises(TooLarge, match=said):
        read_untrusted(path, replace(LIMITS, **limits))
    assert read_untrusted(path).table.num_rows == 62


# ---- good files are read as ever -----------------------------------------------------------------


BOUND = {("mine", "digits", "open-5w5s5q"): Binding("0" * 64, 31)}
TABLES: dict[str, pa.Table] = {
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
def test_both_readers_agree(options: dict[str, object], tmp_path: Path) -> None:
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


# ---- paths ---------------------------------------------------------------------------------------


def _paths(folder: Path) -> dict[str, Path]:
    os.mkfifo(folder / "pipe.parquet")
    (folder / "folder.parquet").mkdir()
    (folder / "zero.parquet").symlink_to("/dev/zero")
    (folder / "loop.parquet").symlink_to(folder / "loop.parquet")
    (folder / "empty.parquet").touch()
    (folder / "text.parquet").write_text("hello")
    (folder / "x.csv").write_text("method\n")
    (folder / "\x1b[31mred.parquet").touch()
    names = ("pipe", "folder", "zero", "loop", "empty", "text", "nowhere", "\x1b[31mred")
    found = {name: folder / f"{name}.parquet" for name in names}
    return found | {"csv": folder / "x.csv", "null": folder / "a\0b.parquet"}


def test_what_is_no_parquet_file(tmp_path: Path) -> None:
    for name, path in _paths(tmp_path).items():
        with pytest.raises(Unreadable) as caught:
            read_untrusted(path)
        assert str(caught.value).replace("\n", "").isprintable(), name


# ---- the process that reads ----------------------------------------------------------------------


def _pid() -> int:
    return client._server._process.pid


@pytest.mark.slow
def test_one_process_reads_many_files_until_it_ends(
    fresh: None, tmp_path: Path, bombs: Callable[[str], Path]
) -> None:
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


@pytest.mark.slow
def test_a_file_that_ends_the_process(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a crash in pyarrow would; the next file is read all the same."""
    crash = (
        "import os\n"
        "from fslbench_data.sandbox import reader\n"
        "read = reader.read_bounded\n"
        "reader.read_bounded = lambda path, *x: "
        "os.abort() if 'bad' in path.name else read(path, *x)\n"
    )
    monkeypatch.setattr(client, "_CODE", client._CODE.replace("; from", "\n" + crash + "from", 1))
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
@on_linux
def test_the_process_gets_no_token(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    read_untrusted(_write(tmp_path / "x.parquet"))
    environment = Path(f"/proc/{_pid()}/environ").read_bytes()
    assert b"hf_secret" not in environment
    assert b"PATH=" in environment


@pytest.mark.slow
def test_the_process_runs_no_code_that_lies_about(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "pyarrow", "fslbench_data"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')")
    _write(tmp_path / "x.parquet")
    monkeypatch.chdir(tmp_path)
    assert read_untrusted(Path("x.parquet")).table.num_rows == 31


def test_where_no_process_can_be_started(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_CODE", "raise SystemExit(3)")
    with pytest.raises(Unreadable, match=r"no process could be started(.|\n)*ended with 3"):
        read_untrusted(_write(tmp_path / "x.parquet"))


@pytest.mark.slow
def test_an_interrupted_question_is_not_answered_later(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = _write(tmp_path / "1.parquet"), _write(tmp_path / "2.parquet", few(5))
    read_untrusted(one)
    with monkeypatch.context() as patch:
        patch.setattr(client.json, "loads", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            read_untrusted(one)
    assert read_untrusted(two).table.num_rows == 5


def _interrupt(_: object) -> None:
    raise KeyboardInterrupt


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
def test_a_forked_process_starts_its_own(tmp_path: Path) -> None:
    path = _write(tmp_path / "x.parquet")
    subprocess.run([sys.executable, "-c", FORK, str(path)], check=True, timeout=60)
