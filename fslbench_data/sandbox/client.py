"""The process that reads strangers' files, from outside.

One process reads many files, one after another; a file that it does not survive, or whose reading
takes too much memory or time, costs a new one.
"""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import asdict
from pathlib import Path
from threading import RLock

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, TooLargeError, UnreadableError
from fslbench_data.sandbox.limits import MIB, Limits
from fslbench_data.sandbox.process import EndedError, Process

_lock = RLock()
_worker: Process | None = None


def read(path: Path, where: str, limits: Limits) -> pa.Table:
    """The table of a Parquet file of which nothing is known, read by another process.

    Raises
    ------
    FSLBenchError
        Whatever is wrong with the file, which messages call `where`.
    """
    global _worker
    with _lock:
        while True:
            first = _worker is None
            worker = _worker = _worker or _started()
            request = {"path": str(path.absolute()), "where": where, "limits": asdict(limits)}
            try:
                (table,) = worker.ask(request, limits.seconds)
            except EndedError as ended:
                if first or ended.cause == "late":  # else earlier files may be to blame
                    raise _error_of(ended, where, limits) from None
            else:
                return table
            finally:
                if worker.stopped:
                    _worker = None


def _started() -> Process:
    process = Process("read")
    try:
        process.greet()
    except EndedError as ended:
        raise UnreadableError(
            "no process could be started to read submissions",
            where=f"{sys.executable} ended with {ended.code}",
        ) from None
    return process


def _error_of(ended: EndedError, where: str, limits: Limits) -> FSLBenchError:
    """What a file has done to the process that read it."""
    if ended.cause == "late":
        return _too_large(where, f"takes more than {limits.seconds:g} seconds to read")
    if ended.cause == "memory":
        most = f"takes more than {limits.memory_bytes // MIB} MiB of memory to read"
        return _too_large(where, most)
    return UnreadableError(
        f"{where} ends the process that reads it ({ended.code})",
        expected="a Parquet file that is not damaged",
        fix="write the submission again with Submission.write",
    )


def _too_large(where: str, what: str) -> TooLargeError:
    return TooLargeError(
        f"{where} {what}",
        expected="a submission of the usual kind, which takes a second or two",
        fix="split it into several files; write it again with Submission.write",
    )


@atexit.register
def stop() -> None:
    """End the process; the next file starts another."""
    global _worker
    with _lock:
        if _worker is not None:
            _worker.stop()
        _worker = None


def _forget() -> None:
    """In a forked process: the parent's reader is not ours."""
    global _worker, _lock
    _lock = RLock()
    if _worker is not None:
        _worker.forget()
    _worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
