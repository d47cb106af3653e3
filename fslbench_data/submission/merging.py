"""Several submissions as one, which says all that they say, and nothing twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import SubmissionError, listing
from fslbench_data.submission.agreement import check_agreement, merged_bindings, merged_methods
from fslbench_data.submission.canonical import TYPES, canonical, is_canonical
from fslbench_data.submission.columns import NAMES
from fslbench_data.submission.model import Submission
from fslbench_data.submission.renaming import named_by_features
from fslbench_data.submission.streaming import Source, Streamed, open_all

_NAMED = ("method", "dataset", "task_set", "run", "fingerprint")


def merge(sources: Source | Sequence[Source], source: str = "") -> Submission:
    """Join several submissions, files or frames of them; what each says of itself is kept.

    Rows stand in the order of the sources, and in each as they were.  A column that one of them has
    not is null in its rows.  A name that rests on other features in another source is another
    method, and called so (:func:`fslbench_data.submission.renaming.named_by_features`).  Where a
    Parquet file is streamed, so is the whole.

    Parameters
    ----------
    sources
        Results of different methods, or of one method on different task sets, or different runs of
        one.
    source
        What messages call the whole; by default the names of all.

    Raises
    ------
    DoubledTaskError
        If two of them answer the same task set with the same method, in the same run or without
        naming runs.
    ContradictionError
        If they say different things of a method, or of how many tasks its runs answer.
    FingerprintError
        If they were made on different tasks of the same name.
    SubmissionError, SchemaError
        As :meth:`Submission.read` does, or if there are none.
    """
    parts = [_canonical(part) for part in open_all(sources)]
    if not parts:
        raise SubmissionError("there is nothing to merge", expected="files of results")
    if len(parts) == 1:
        (part,) = parts
        return replace(part, source=source) if source and not isinstance(part, Streamed) else part
    parts = named_by_features(parts)
    check_agreement(parts)
    if any(isinstance(part, Streamed) for part in parts):
        return _Together(parts, source)
    tables = [part.table for part in parts]
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    table = table.select([name for name in TYPES if name in table.column_names])
    return Submission(table, **_about(parts, source))


def _canonical(part: Submission) -> Submission:
    if isinstance(part, Streamed) or is_canonical(part.table):
        return part
    return replace(part, table=canonical(part.table, part.source))


def _about(parts: Sequence[Submission], source: str) -> dict[str, Any]:
    """What the whole says of itself; versions are those of all who know theirs."""
    versions = dict.fromkeys(part.package_version for part in parts)
    known = [version for version in versions if version != "unknown"]
    return {
        "methods": merged_methods(parts),
        "bindings": merged_bindings(parts),
        "source": source or listing([part.source for part in parts]),
        "package_version": ", ".join(known) or "unknown",
    }


class _Together(Streamed):
    """Several submissions, of which some are streamed, one after the other."""

    def __init__(self, parts: Sequence[Submission], source: str) -> None:
        self.__dict__ |= {"_parts": parts, **_about(parts, source)}

    def __repr__(self) -> str:
        return f"<Submission from {self.source}>"

    def whole(self) -> Submission:
        """Read all of them at once; what is wrong is said with the rows of its file."""
        parts: Sequence[Submission] = self.__dict__["_parts"]
        read = [part.whole() if isinstance(part, Streamed) else part for part in parts]
        return merge(read, self.source)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that any of them has."""
        names = {name for part in self.__dict__["_parts"] for name in part.columns}
        return [name for name in TYPES if name in names]

    def batches(self, only: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """The pieces of all, with the same columns."""
        columns = [name for name in self.columns if not only or name in only]
        for part in self.__dict__["_parts"]:
            for batch in part.batches(only and [name for name in part.columns if name in columns]):
                arrays = [
                    batch.column(name)
                    if name in batch.schema.names
                    else pa.nulls(len(batch), NAMES if name in _NAMED else TYPES[name])
                    for name in columns
                ]
                yield pa.RecordBatch.from_arrays(arrays, columns)
