"""Read Parquet files of strangers, and run queries, in bounded memory and time.

A Parquet file of some kilobytes can hold, or claim to hold, billions of rows, pages that inflate to
gigabytes and schemas nested so deep that the reader crashes.  So a separate process
(:mod:`.server`) reads such files, with limited memory and time, and counts values as it decodes
them (:mod:`.reader`).  One process reads many files; a new one replaces it if a file crashes it or
exceeds a limit.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from io import BufferedReader, BufferedWriter
from pathlib import Path
from threading import RLock
from typing import Any, Literal, cast

import pyarrow as pa
from msgspec.structs import asdict

from analysis_sql.query_limits import MEMORY, SECONDS, check_seconds, memory_bytes
from benchmark_spec import errors
from benchmark_spec.errors import FSLBenchError, QueryError, TooLargeError, UnreadableError
from fslbench_data.files import refuse_lfs_pointer
from fslbench_data.sandbox.limits import LIMITS, LOG_LIMITS, MIB, Limits
from fslbench_data.sandbox.server import stream_size, write_stream
from fslbench_data.submission.columns import printable
from fslbench_data.submission.model import Submission, metadata_of

_START_SECONDS = 120.0
_LONGEST_LINE = MIB
_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from fslbench_data.sandbox.server import serve; serve(sys.argv[2])"
)
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
"""Environment variables that the process gets; no token is among them."""
_SET = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve more address space than they use
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class EndedError(Exception):
    """The process ended without a complete reply.

    The cause is ``late``: it took too long; ``memory``: it ran out of memory; ``large``: its reply
    is too large; or ``ended``: it ended by itself, with `code`, perhaps before it had `started`.
    """

    def __init__(self, cause: str, code: int, *, started: bool) -> None:
        super().__init__(cause)
        self.cause, self.code, self.started = cause, code, started


class Process:
    """A process of the sandbox that does one service until it is stopped."""

    def __init__(self, service: Literal["read", "query"]) -> None:
        self.stopped = self._late = self._started = False
        path = [entry for entry in sys.path if entry]  # never the current folder
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", _CODE, json.dumps(path), service],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a crash may quote the file
            env=environment | _SET,
        )
        self._pipes = (
            cast(BufferedWriter, self._process.stdin),
            cast(BufferedReader, self._process.stdout),
        )

    def ask(
        self,
        request: Mapping[str, Any],
        seconds: float,
        *,
        tables: Mapping[str, pa.Table] | None = None,
        most_bytes: int = sys.maxsize,
    ) -> list[pa.Table]:
        """Send a request as JSON, with tables by name, and return the tables of the reply.

        The request may take `seconds`, besides the start of the process, and the reply have
        `most_bytes`.  Raises the FSLBenchError that the process met, or an EndedError if it gave no
        reply; the process is then stopped.
        """
        sizes = {name: stream_size(table) for name, table in (tables or {}).items()}
        line = json.dumps({**request, "tables": sizes}).encode() + b"\n"
        if not self._started:
            self._exchange(b"", {}, _START_SECONDS, 0)
            self._started = True
        return self._exchange(line, tables or {}, seconds, most_bytes)

    def _exchange(
        self, line: bytes, tables: Mapping[str, pa.Table], seconds: float, most_bytes: int
    ) -> list[pa.Table]:
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._expire)
        timer.daemon = True
        timer.start()
        received: list[pa.Table] = []
        try:
            reply = self._talk(line, tables, most_bytes, received)
        except BaseException:  # such as Ctrl-C between request and reply
            self.stop()
            raise
        finally:
            timer.cancel()
        if "error" in reply:
            kind = getattr(errors, reply["error"])
            error: FSLBenchError = kind.__new__(kind)
            FSLBenchError.__init__(error, **reply["about"])
            raise error
        if reply.get("end") == "whole":
            return received
        self.stop()
        cause = "late" if self._late else reply.get("end", "ended")
        raise EndedError(cause, self._process.returncode, started=self._started)

    def _talk(
        self,
        line: bytes,
        tables: Mapping[str, pa.Table],
        most_bytes: int,
        received: list[pa.Table],
    ) -> dict[str, Any]:
        """Send a request, add the tables of the reply to `received`, and return its last line."""
        requests, replies = self._pipes
        with contextlib.suppress(OSError, ValueError):  # the process may end meanwhile
            requests.write(line)
            for table in tables.values():
                write_stream(requests, table)
            requests.flush()
            while (text := replies.readline(_LONGEST_LINE)).endswith(b"\n"):
                reply: dict[str, Any] = json.loads(text)
                if "bytes" not in reply:
                    return reply
                most_bytes -= reply["bytes"]
                if most_bytes < 0:
                    return {"end": "large"}
                data = pa.allocate_buffer(reply["bytes"])
                if replies.readinto(memoryview(data)) < reply["bytes"]:
                    break
                received.append(pa.ipc.open_stream(data).read_all())
        return {"end": "ended"}

    def _expire(self) -> None:
        self._late = True
        self._process.kill()

    def stop(self) -> None:
        """End the process at once."""
        self.stopped = True
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes to the process."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()


_lock = RLock()
_server: Process | None = None


def read_untrusted(path: Path, limits: Limits = LIMITS) -> Submission:
    """Read a Parquet submission without trusting a byte of it, in some milliseconds.

    The limit on memory holds on Linux only.  Raises a TooLargeError if the file exceeds a limit on
    its content, memory or time; an UnreadableError if it cannot be read, or crashes the process; a
    SubmissionError or a SchemaError if it is not a submission.
    """
    source = _checked(path)
    table = _read("submission", path, source, limits)
    methods, bindings, version = metadata_of(table.schema, source) or ({}, {}, "unknown")
    return Submission(table.replace_schema_metadata(None), methods, bindings, source, version)


def read_untrusted_columns(
    path: Path, wanted: Collection[str], limits: Limits = LOG_LIMITS
) -> pa.Table:
    """Read the wanted columns of any Parquet file as they are, without trusting a byte of it.

    The limit on memory holds on Linux only.  Raises a TooLargeError if the file exceeds a limit on
    its content, memory or time; an UnreadableError if it cannot be read, or crashes the process.
    """
    try:
        return _read("columns", path, _checked(path), limits, sorted(wanted))
    except UnreadableError as error:
        raise error.with_advice(fix="write the file again") from None
    except TooLargeError as error:
        raise error.with_advice(fix="give the log of fewer tasks or methods") from None


def read_untrusted_table(
    path: Path, where: str, options: dict[str, Any], most_bytes: int, seconds: float
) -> pa.Table:
    """Read a table of a release in the sandbox, by :func:`reading.read_parquet_table`.

    Raises a TooLargeError if it takes more bytes or time; an UnreadableError if it cannot be read.
    """
    limits = Limits(memory_bytes=most_bytes, seconds=seconds)
    return _read("table", path, where, limits, options, most_bytes)


def _checked(path: Path) -> str:
    """Return a file's name for messages; raise an UnreadableError unless it is a Parquet file."""
    source = printable(str(path))
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableError(f"{source} cannot be opened: {reason}") from None
    if not is_file or path.suffix.lower() != ".parquet":
        raise UnreadableError(
            f"{source} is not a Parquet file",
            expected="a file ending in .parquet",
            fix="write the submission with Submission.write",
        )
    refuse_lfs_pointer(path)
    return source


def _read(
    what: Literal["submission", "columns", "table"],
    path: Path,
    where: str,
    limits: Limits,
    options: Any = None,
    most_bytes: int = sys.maxsize,
) -> pa.Table:
    """Read a file, named `where` in messages, in the sandbox."""
    global _server
    request = {
        "what": what,
        "path": str(path.absolute()),
        "where": where,
        "limits": asdict(limits),
        "options": options,
    }
    with _lock:
        while True:
            is_new = _server is None
            server = _server = _server or Process("read")
            try:
                (table,) = server.ask(request, limits.seconds, most_bytes=most_bytes)
            except EndedError as ended:
                if is_new or ended.cause in ("late", "large"):  # else earlier files may be to blame
                    raise _error_of(ended, where, limits) from None
            else:
                return table
            finally:
                if server.stopped:
                    _server = None


def _error_of(ended: EndedError, where: str, limits: Limits) -> FSLBenchError:
    """Return the error about a file that ended the process that read it."""
    if not ended.started:
        return UnreadableError(
            "no process could be started to read submissions",
            where=f"{sys.executable} ended with {ended.code}",
        )
    if ended.cause == "ended":
        return UnreadableError(
            f"{where} ends the process that reads it ({ended.code})",
            expected="a Parquet file that is not damaged",
            fix="write the submission again with Submission.write",
        )
    seconds, memory = f"{limits.seconds:g} seconds", f"{limits.memory_bytes // MIB} MiB of memory"
    return TooLargeError(
        f"{where} takes more than {seconds if ended.cause == 'late' else memory} to read",
        expected="a file of the usual kind, which takes a second or two",
        fix="split it into several files; write it again with Submission.write",
    )


@atexit.register
def stop() -> None:
    """End the process that reads files; the next file starts another."""
    global _server
    with _lock:
        if _server is not None:
            _server.stop()
        _server = None


def _forget() -> None:
    """Leave the process to the parent after a fork."""
    global _server, _lock
    _lock = RLock()
    if _server is not None:
        _server.forget()
    _server = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


_LOAD_SECONDS = 600.0


class QueryProcess(AbstractContextManager["QueryProcess"]):
    """A process with its own database; it starts while this process reads the tables.

    `seconds` limits a query up to the last row of its result.  `memory`, such as ``1GB``, limits
    its memory besides the tables, and the size of its result; except on Linux, only the memory that
    DuckDB counts.  Raises a QueryError if one of them is no such limit.
    """

    def __init__(self, *, seconds: float = SECONDS, memory: str = MEMORY) -> None:
        check_seconds(seconds)
        self._seconds, self._memory, self._bytes = seconds, memory, memory_bytes(memory)
        self._process = Process("query")

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def load(self, tables: Mapping[str, object]) -> None:
        """Open the database over the Arrow tables among `tables`.

        Raises a QueryError if no process can do so.
        """
        loaded = {name: table for name, table in tables.items() if isinstance(table, pa.Table)}
        try:
            self._process.ask({"memory": self._memory}, _LOAD_SECONDS, tables=loaded)
        except EndedError as ended:
            raise QueryError(
                f"no process could be started to run the query ({ended.cause}, {ended.code})",
                fix="see whether the machine has memory left",
            ) from None

    def run(self, sql: str, *, spent: float = 0.0) -> pa.Table:
        """Run one SELECT over the tables of :meth:`load`; `spent` seconds count against its time.

        Raises a QueryError if it is no SELECT, fails, or exceeds its memory or time.
        """
        try:
            seconds = max(self._seconds - spent, 0.001)
            request = {"sql": sql, "seconds": seconds}
            tables = self._process.ask(request, seconds, most_bytes=self._bytes)
        except EndedError as ended:
            what, option = {
                "late": (f"the query ran for more than {self._seconds:g} seconds", "seconds"),
                "memory": (f"the query takes more than {self._memory} of memory", "memory"),
                "large": (f"the result takes more than {self._memory}", "memory"),
                "ended": (f"the query ended the process that ran it ({ended.code})", "memory"),
            }[ended.cause]
            fix = f"ask for less, or allow more with --{option}"
            raise QueryError(what, fix=fix) from None
        return pa.concat_tables(tables)
