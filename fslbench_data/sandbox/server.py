"""Serve requests in a process of the sandbox, which limits itself.

:mod:`fslbench_data.sandbox.client` starts it.  A request on standard input is a line of JSON, and
Arrow streams of the sizes in that line.  A reply on standard output has, for each table, a line
with its size and the table as an Arrow stream; and a last line with the end, or the error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, QueryError
from fslbench_data.sandbox.limits import MIB, Limits

_OVERHEAD = 192 * MIB
"""Bytes of address space, for threads and batches, that DuckDB's own limit does not count."""

Tables = Mapping[str, pa.Table]
Service = Callable[[Any, Tables], Iterable[pa.Table]]


def serve(service: str) -> None:
    """Serve requests until standard input or the client ends."""
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output is not part of replies
    run = {"read": _reading, "query": _querying}[service]()
    _reply(replies, {"end": "whole"})
    for line in requests:
        request = json.loads(line)
        tables = {
            name: pa.ipc.open_stream(pa.py_buffer(requests.read(size))).read_all()
            for name, size in request["tables"].items()
        }
        try:
            for table in run(request, tables):
                _reply(replies, {"bytes": stream_size(table)})
                write_stream(replies, table)
            _reply(replies, {"end": "whole"})
        except MemoryError:
            _limit(sys.maxsize)
            _reply(replies, {"end": "memory"})
        except FSLBenchError as error:
            about = {key: getattr(error, key) for key in ("what", "where", "expected", "fix")}
            _reply(replies, {"error": type(error).__name__, "about": about})
        pa.default_memory_pool().release_unused()


def _end_with(parent: int) -> None:
    """End this process soon after its parent ends."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _reading() -> Service:
    """Return the service that reads strangers' files, each with the limits of its request."""
    from fslbench_data.sandbox import reader
    from fslbench_data.submission import reading

    base = _address_space()

    def read(request: Any, _: Tables) -> Iterable[pa.Table]:
        where, limits = request["where"], Limits(**request["limits"])
        path, options = Path(request["path"]), request["options"]
        pages = limits.memory_bytes if request["what"] == "table" else 0  # besides their values
        _limit(base + limits.memory_bytes + pages, limits.seconds)
        try:
            if request["what"] == "submission":
                yield reader.read_bounded(path, where, limits)
            elif request["what"] == "columns":
                yield reader.read_columns(path, where, options, limits)
            else:
                yield reading.read_parquet_table(path, where, **options)
        except (FSLBenchError, MemoryError):
            raise
        except Exception as error:
            raise reader.unreadable(where, error) from None

    return read


def _querying() -> Service:
    """Return the service that opens a database with the first request, and then runs queries."""
    from analysis_sql import engine
    from analysis_sql.query_limits import memory_bytes

    database: Any = None
    memory = 0

    def query(request: Any, tables: Tables) -> Iterable[pa.Table]:
        nonlocal database, memory
        if database is None:
            database = engine.open_database(tables, memory=request["memory"])
            memory = _address_space() + memory_bytes(request["memory"]) + _OVERHEAD
            return
        _limit(memory, request["seconds"] * (os.cpu_count() or 1))
        try:
            for batch in engine.run_query(database, request["sql"]):
                yield pa.Table.from_batches([batch])
        except (FSLBenchError, MemoryError):
            raise
        except Exception as error:
            raise QueryError(f"the query failed: {error}") from None

    return query


def _reply(replies: BinaryIO, content: dict[str, Any]) -> None:
    replies.write(json.dumps(content).encode() + b"\n")
    replies.flush()


def stream_size(table: pa.Table) -> int:
    """Return the size in bytes of a table as an Arrow stream."""
    counter = pa.MockOutputStream()
    write_stream(counter, table)
    size: int = counter.size()
    return size


def write_stream(sink: Any, table: pa.Table) -> None:
    """Write a table as an Arrow stream."""
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _address_space() -> int:
    """Return the bytes of address space of this process."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit(memory: int, seconds: float | None = None) -> None:
    """Limit the memory of this process and, if given, its further CPU time.

    The client has a timer; the limit on time ends a process that no client waits for.
    """
    if sys.platform != "linux":
        return
    import resource

    def set_limit(kind: int, most: int) -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))

    set_limit(resource.RLIMIT_AS, memory)
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        set_limit(resource.RLIMIT_CPU, int(min(time.process_time() + 2 * seconds, 2**31)) + 1)
