"""The process that reads strangers' submissions, under limits that it sets on itself.

It takes requests from standard input, a line of JSON each, and answers each on standard output: a
line of JSON that gives an error or a number of bytes, then so many bytes, the submission's table as
an Arrow stream.  :mod:`fslbench_data.sandbox.worker` starts it and asks.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError
from fslbench_data.sandbox.bounded import read_bounded, unreadable
from fslbench_data.sandbox.limits import MIB, Limits

_RESERVE = 64 * MIB
"""For saying that memory ran out."""


def serve() -> None:
    """Answer requests until standard input ends."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer
    taken = _address_space()
    _reply(replies, {})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        where, limits = request["where"], Limits(**request["limits"])
        _bound(taken + limits.memory_bytes, limits.seconds)
        try:
            _send(replies, read_bounded(Path(request["path"]), where, limits))
        except MemoryError:
            _bound(taken + limits.memory_bytes + _RESERVE, limits.seconds)
            _reply(replies, {"memory": True})
        except FSLBenchError as error:
            _reply(replies, _described(error))
        except Exception as error:
            _reply(replies, _described(unreadable(where, error)))
        pa.default_memory_pool().release_unused()


def _reply(replies: BinaryIO, content: dict[str, Any]) -> None:
    replies.write(json.dumps(content).encode() + b"\n")
    replies.flush()


def _described(error: FSLBenchError) -> dict[str, Any]:
    about = {key: getattr(error, key) for key in ("what", "where", "expected", "fix")}
    return {"error": type(error).__name__, "about": about}


def _send(replies: BinaryIO, table: pa.Table) -> None:
    counter = pa.MockOutputStream()
    _write(counter, table)
    _reply(replies, {"bytes": counter.size()})
    _write(replies, table)
    replies.flush()


def _write(sink: Any, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _address_space() -> int:
    """Bytes of address space that this process has taken with all its packages."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _bound(memory: int, seconds: float) -> None:
    """Let this process take so much memory in all, and so much more time of a processor.

    The time is for a process that nobody waits for any more; who waits has a clock.
    """
    if sys.platform != "linux":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (_capped(memory, hard), hard))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = int(time.process_time() + 2 * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (_capped(most, hard), hard))


def _capped(limit: int, hard: int) -> int:
    return limit if hard < 0 else min(limit, hard)
