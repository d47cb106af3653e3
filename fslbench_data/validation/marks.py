"""Which methods are transductive, by the column that says so where metadata cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import ContradictionError, rows
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission

COLUMN = "transductive"


def with_marks(submission: Submission) -> Submission:
    """The submission, its methods marked as the column says; a null says nothing.

    Raises
    ------
    ContradictionError
        If two rows of a method, or a row and the method's metadata, say different things.
    """
    if COLUMN not in submission.table.column_names:
        return submission
    table = submission.table.select(["method", COLUMN]).unify_dictionaries()
    pairs = table.group_by(["method", COLUMN]).aggregate([]).to_pylist()
    said = [(row["method"], row[COLUMN]) for row in pairs if row[COLUMN] is not None]
    marked = dict(submission.methods)
    for method, value in said:
        about = submission.methods.get(method)
        if (method, not value) in said or (about is not None and about.transductive != value):
            other = "other rows" if (method, not value) in said else "the file's metadata"
            is_here = pc.and_(
                pc.equal(table.column("method").cast(pa.string()), method),
                pc.fill_null(pc.equal(table.column(COLUMN), value), pa.scalar(False)),
            )
            at = np.flatnonzero(is_here.to_numpy(zero_copy_only=False))
            raise ContradictionError(
                f"{COLUMN} of {method} is {str(value).lower()}, and {other} say otherwise",
                where=f"{submission.source}, {rows(at)}",
                expected="the same in all rows of a method, and in its metadata",
                fix="write what is true of the method, or leave it empty",
            )
        marked[method] = about or Method(method, transductive=value)
    return replace(submission, methods=marked)
