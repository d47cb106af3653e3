"""Read Parquet submissions and logs that come from strangers: memory and time stay bounded.

A Parquet file of some kilobytes can hold, or claim to hold, billions of rows, pages that inflate
to gigabytes and schemas nested so deep that the reader crashes; no look at its footer tells,
since a footer can lie.  So a process of its own reads such files (:mod:`.server`), under a limit
on its memory and on its time, and counts what comes out as it comes (:mod:`.reader`,
:mod:`.column_reader`).  One process reads many files; one that it does not survive, or that takes
too much, costs a new process.
"""

from __future__ import annotations

import atexit
import os
import stat
import sys
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from threading import RLock

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, TooLargeError, UnreadableError
from fslbench_data.files.lfs import refuse_lfs_pointer
from fslbench_data.sandbox.limits import LIMITS, LOG_LIMITS, MIB, Limits
from fslbench_data.sandbox.process import EndedError, Process
from fslbench_data.submission.bindings import METADATA_KEY
from fslbench_data.submission.canonical import printable
from fslbench_data.submission.metadata import read_metadata
from fslbench_data.submission.model import Submission

__all__ = ["LIMITS", "Limits", "read_untrusted", "read_untrusted_columns"]

_lock = RLock()
_server: Process | None = None


def read_untrusted(path: Path, limits: Limits = LIMITS) -> Submission:
    """Read a Parquet submission without trusting a byte of it, in some milliseconds.

    The limit on memory holds on Linux only.  Raises a TooLargeError if the file passes a limit, or
    reading it takes more memory or time than it may; an UnreadableError if it cannot be read, or
    ends the process that reads it; a SubmissionError or a SchemaError if it is not a submission.
    """
    path = Path(path)
    source = printable(str(path))
    _check(path, source)
    table = _read(path, source, limits)
    metadata = (table.schema.metadata or {}).get(METADATA_KEY)
    table = table.replace_schema_metadata(None)
    if metadata is None:
        return Submission(table, source=source, package_version="unknown")
    methods, bindings, version = read_metadata(metadata, source)
    return Submission(table, methods, bindings, source, version)


def read_untrusted_columns(
    path: Path, wanted: Collection[str], limits: Limits = LOG_LIMITS
) -> pa.Table:
    """Read the wanted columns of any Parquet file as they are, without trusting a byte of it.

    The limit on memory holds on Linux only.  Raises a TooLargeError if the file passes a limit, or
    reading it takes more memory or time than it may; an UnreadableError if it cannot be read, or
    ends the process that reads it.
    """
    path = Path(path)
    source = printable(str(path))
    try:
        _check(path, source)
        return _read(path, source, limits, sorted(wanted))
    except UnreadableError as error:
        raise error.saying(fix="write the file again") from None
    except TooLargeError as error:
        raise error.saying(fix="give the log of fewer tasks or methods") from None


def _check(path: Path, source: str) -> None:
    """Refuse what is no regular file with the ending of Parquet files."""
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


def _read(path: Path, where: str, limits: Limits, columns: list[str] | None = None) -> pa.Table:
    """Let the other process read a file, which messages call `where`: a submission, or columns."""
    global _server
    request = {
        "path": str(path.absolute()),
        "where": where,
        "limits": asdict(limits),
        "columns": columns,
    }
    with _lock:
        while True:
            first = _server is None
            server = _server = _server or _started()
            try:
                (table,) = server.ask(request, limits.seconds)
            except EndedError as ended:
                if first or ended.cause == "late":  # else earlier files may be to blame
                    raise _error_of(ended, where, limits) from None
            else:
                return table
            finally:
                if server.stopped:
                    _server = None


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
    """Say what a file has done to the process that read it."""
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
        expected="a file of the usual kind, which takes a second or two",
        fix="split it into several files; write it again with Submission.write",
    )


@atexit.register
def stop() -> None:
    """End the process; the next file starts another."""
    global _server
    with _lock:
        if _server is not None:
            _server.stop()
        _server = None


def _forget() -> None:
    """Leave the process to the parent, in a forked process."""
    global _server, _lock
    _lock = RLock()
    if _server is not None:
        _server.forget()
    _server = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
