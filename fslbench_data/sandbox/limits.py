"""Set the limits on a stranger's submission or log."""

from __future__ import annotations

from msgspec import Struct

MIB = 1 << 20


class Limits(Struct, frozen=True):
    """Limits on a stranger's submission.

    Attributes
    ----------
    metadata_bytes
        Size of the Parquet footer, which includes fslbench's metadata.
    rows
        Tasks, summed over task sets, methods and runs.
    list_length, list_values
        Entries of one list, such as the predictions on a task; and of all lists of a column.
    methods, names, groups
        Different methods; different data sets, task sets, runs or fingerprints; and combinations of
        method, task set and run.
    name_length
        Characters of any of these names.
    memory_bytes, seconds
        Memory and time of reading, besides those of Python and its packages.
    """

    file_bytes: int = 64 * MIB
    metadata_bytes: int = 4 * MIB
    rows: int = 4_000_000
    list_length: int = 2_000_000
    list_values: int = 32_000_000
    methods: int = 100
    names: int = 1_000
    groups: int = 20_000
    name_length: int = 200
    memory_bytes: int = 768 * MIB
    seconds: float = 20.0


LIMITS = Limits()
"""Four times a method's results on a release with Quickdraw in it, which are about a million."""

LOG_LIMITS = Limits(
    file_bytes=1024 * MIB,
    metadata_bytes=64 * MIB,
    list_values=200_000_000,
    memory_bytes=6144 * MIB,
    seconds=300.0,
)
"""Limits on a log, whose rows, names and groups are not limited; `list_values` counts all columns,
such as forty methods' predictions on 40,000 tasks of 100 images."""
