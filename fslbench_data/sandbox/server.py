"""Serve requests in a process of the sandbox, under limits that it sets on itself.

It takes requests from standard input, a line of JSON each and the Arrow streams of the sizes in
that line. It replies on standard output: lines with the size of a table, each before the table as
an Arrow stream, and a last line with the end, or the error that it met.
:mod:`fslbench_data.sandbox.client` starts it and sends them.
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
"""Of address space that DuckDB takes beyond what its own limit counts: threads, batches."""

Tables = Mapping[str, pa.Table]
Service = Callable[[Any, Tables], Iterable[pa.Table]]


def serve(service: str) -> None:
    """Serve requests until standard input ends, or the process that sends them does."""
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no reply
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
            _bound(sys.maxsize)
            _reply(replies, {"end": "memory"})
        except FSLBenchError as error:
            about = {key: getattr(error, key) for key in ("what", "where", "expected", "fix")}
            _reply(replies, {"error": type(error).__name__, "about": about})
        pa.default_memory_pool().release_unused()


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, whatever it is at."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _reading() -> Service:
    """Read strangers' files; `taken` before any of them counts for none of them."""
    from fslbench_data.sandbox import reader

    taken = _address_space()

    def read(request: Any, _: Tables) -> Iterable[pa.Table]:
        where, limits = request["where"], Limits(**request["limits"])
        path, options = Path(request["path"]), request["options"]
        pages = limits.memory_bytes if request["what"] == "table" else 0  # besides what they hold
        _bound(taken + limits.memory_bytes + pages, limits.seconds)
        try:
            if request["what"] == "submission":
                yield reader.read_bounded(path, where, limits)
            elif request["what"] == "columns":
                yield reader.read_columns(path, where, options, limits)
            else:
                yield reader.read_parquet_table(path, where, **options)
        except (FSLBenchError, MemoryError):
            raise
        except Exception as error:
            raise reader.unreadable(where, error) from None

    return read


def _querying() -> Service:
    """Open a database over the tables that it gets, and then run queries of it."""
    from analysis_sql.queries import engine
    from analysis_sql.queries.limits import memory_bytes

    opened: list[Any] = []
    taken = 0

    def query(request: Any, tables: Tables) -> Iterable[pa.Table]:
        nonlocal taken
        if not opened:
            opened.append(engine.open_database(tables, memory=request["memory"]))
            taken = _address_space() + memory_bytes(request["memory"]) + _OVERHEAD
            return
        _bound(taken, request["seconds"] * (os.cpu_count() or 1))
        try:
            for batch in engine.run_query(opened[0], request["sql"]):
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
    """Return the bytes of a table as an Arrow stream."""
    counter = pa.MockOutputStream()
    write_stream(counter, table)
    size: int = counter.size()
    return size


def write_stream(sink: Any, table: pa.Table) -> None:
    """Write a table as an Arrow stream."""
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _address_space() -> int:
    """Return the bytes of address space that this process has taken with all its packages."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _bound(memory: int, seconds: float | None = None) -> None:
    """Limit this process to so much memory in all, and perhaps so much more CPU time.

    The time is for a process that nobody waits for any more; the client has a timer.
    """
    if sys.platform != "linux":
        return
    import resource

    def limit(kind: int, most: int) -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))

    limit(resource.RLIMIT_AS, memory)
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit(resource.RLIMIT_CPU, int(min(time.process_time() + 2 * seconds, 2**31)) + 1)
