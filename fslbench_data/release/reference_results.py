"""Reading a reference method's results, as a release holds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmark_spec.tables import Table
from fslbench_data.release import values
from fslbench_data.release.tables import open_table, readable
from fslbench_data.submission.canonical import canonical
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import read_parquet


def read_results(entry: Table, path: Path, *, counts_only: bool) -> Submission:
    """Read the results that a release lists, perhaps only the columns that all must have.

    The release's maker chose how many tasks they answer, before anyone compares with them.

    Raises
    ------
    CorruptReleaseError
        If the file cannot be read, or holds results of another method.
    """
    open_table(path, entry, lambda table: canonical(table, entry.path))
    with readable(path, entry):
        content = read_parquet(path, counts_only=counts_only, any_texts=False)
        results = values.check_results(Submission(*content), entry)
    bound = {key: replace(one, of_release=True) for key, one in results.bindings.items()}
    return replace(results, bindings=bound)
