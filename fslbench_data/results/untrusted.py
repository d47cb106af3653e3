"""Reading Parquet submissions that come from strangers: memory and time stay bounded."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from benchmark_spec.errors import TooLargeError, UnreadableError
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import read_submission

_MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What a stranger's submission may be at most.

    Attributes
    ----------
    file_bytes
        Size of the file.
    metadata_bytes
        Size of the Parquet footer, with the metadata of fslbench in it.
    rows
        Answers: tasks, summed over task sets, methods and runs.
    list_length
        Entries of one list: predictions of a task, or counts of its classes.
    list_values
        Entries of all lists of a column.
    methods, names
        Different methods; different data sets, task sets, runs or fingerprints.
    name_length
        Characters of such a name.
    memory_bytes, seconds
        What reading may take.
    """

    file_bytes: int = 64 * _MIB
    metadata_bytes: int = 4 * _MIB
    rows: int = 4_000_000
    list_length: int = 32_767
    list_values: int = 32_000_000
    methods: int = 100
    names: int = 1_000
    name_length: int = 200
    memory_bytes: int = 768 * _MIB
    seconds: float = 30.0


LIMITS = Limits()
"""A method's answers to every task set of a large release fit several times."""


def read_untrusted(path: Path, limits: Limits = LIMITS) -> Submission:
    """Read a Parquet submission without trusting a byte of it.

    Raises
    ------
    TooLargeError
        If the file, or what it says it holds, passes a limit.
    SubmissionError, SchemaError
        If it cannot be read, or is not a submission.
    """
    path = Path(path)
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path} cannot be opened: {error}") from None
    if not stat.S_ISREG(found.st_mode) or path.suffix.lower() != ".parquet":
        raise UnreadableError(
            f"{path} is not a Parquet file",
            expected="a regular file ending in .parquet",
            fix="write the submission with Submission.write",
        )
    if found.st_size > limits.file_bytes:
        raise TooLargeError(
            f"{path} has {found.st_size} bytes", expected=f"at most {limits.file_bytes}"
        )
    submission = read_submission(path)
    if submission.table.num_rows > limits.rows:
        raise TooLargeError(
            f"{path} has {submission.table.num_rows} rows", expected=f"at most {limits.rows}"
        )
    return submission
