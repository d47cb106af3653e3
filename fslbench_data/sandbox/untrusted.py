"""Reading Parquet submissions that come from strangers: memory and time stay bounded.

A Parquet file of some kilobytes can hold, or claim to hold, billions of rows, pages that inflate
to gigabytes and schemas nested so deep that the reader crashes; no look at its footer tells,
since a footer can lie.  So a process of its own reads such files (:mod:`.worker`), under a limit
on its memory and on its time, and counts what comes out as it comes (:mod:`.bounded`).
"""

from __future__ import annotations

import stat
from pathlib import Path

from benchmark_spec.errors import UnreadableError
from fslbench_data.sandbox import client as worker
from fslbench_data.sandbox.limits import LIMITS, Limits
from fslbench_data.submission.bindings import METADATA_KEY
from fslbench_data.submission.metadata import read_metadata
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import printable

__all__ = ["LIMITS", "Limits", "read_untrusted"]


def read_untrusted(path: Path, limits: Limits = LIMITS) -> Submission:
    """Read a Parquet submission without trusting a byte of it.

    Takes some milliseconds a file.  The limit on memory holds on Linux; elsewhere the limits on
    size and time, and that a crash ends only the process that reads, hold alone.

    Parameters
    ----------
    path
        Of a regular file ending in ``.parquet``.
    limits
        What it may be at most.

    Raises
    ------
    TooLargeError
        If the file passes a limit, or reading it takes more memory or time than it may.
    UnreadableError
        If it cannot be read, or ends the process that reads it.
    SubmissionError, SchemaError
        If it is not a submission.
    """
    path = Path(path)
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
    table = worker.read(path, source, limits)
    metadata = (table.schema.metadata or {}).get(METADATA_KEY)
    table = table.replace_schema_metadata(None)
    if metadata is None:
        return Submission(table, source=source, package_version="unknown")
    methods, bindings, version = read_metadata(metadata, source)
    return Submission(table, methods, bindings, source, version)
