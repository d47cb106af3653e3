"""Comparing two methods, wherever their results are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import SubmissionError, UnknownNameError
from fslbench_data.release.release import Release
from fslbench_data.scoring.bias import BiasReport, bias
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score_selected
from fslbench_data.scoring.selection import Selection
from fslbench_data.submission.columns import NAMES
from fslbench_data.submission.model import Submission, merge


def find_two(a: str, b: str, release: Release) -> tuple[Submission, Submission]:
    """Find the results of two methods, under two names.

    Parameters
    ----------
    a, b
        A submission file of one method, ``FILE::METHOD``, or a reference method's name. Two files
        may hold methods of the same name; the file's name is then added.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, or more than one in a file.
    """
    first, second = find_method(a, release), find_method(b, release)
    names = [_only_method(first), _only_method(second)]
    if names[0] == names[1]:
        stems = [Path(text.partition("::")[0]).stem for text in (a, b)]
        marks = stems if stems[0] != stems[1] else ["A", "B"]
        first = renamed(first, f"{names[0]} ({marks[0]})")
        second = renamed(second, f"{names[1]} ({marks[1]})")
    return first, second


def score_two(
    first: Submission, second: Submission, release: Release, selection: Selection
) -> Report:
    """Compare two submissions of one method each on the task sets that both answered."""
    selection = replace(selection, against=(_only_method(second),), references=False)
    return score_selected(_both(first, second), release, selection, only_compared=True)


def bias_of_two(
    first: Submission, second: Submission, release: Release, selection: Selection
) -> BiasReport:
    """Compare two submissions of one method each on tasks made with attributes of images.

    Raises
    ------
    SubmissionError
        If there are no such tasks that they answered.
    """
    selection = replace(selection, against=(_only_method(second),), references=False)
    return bias(_both(first, second), release, selection)


def answered(submission: Submission) -> set[str]:
    """Task sets that a submission answers, as ``dataset/task_set``."""
    table = submission.table.select(["dataset", "task_set"])
    pairs = table.group_by(["dataset", "task_set"]).aggregate([]).to_pylist()
    return {f"{row['dataset']}/{row['task_set']}" for row in pairs}


def find_method(text: str, release: Release) -> Submission:
    """The results of one method: of a file, or of the release."""
    if text in release.methods:
        return dict(zip(release.methods, release.references(), strict=True))[text]
    file, _, method = text.partition("::")
    if not Path(file).suffix and not Path(file).exists():
        raise UnknownNameError(
            "method",
            text,
            release.methods,
            where=f"release {release}",
            fix="name a submission file, FILE::METHOD, or a reference method",
        )
    submission = Submission.read(file)
    names = submission.table.column("method").unique().to_pylist()
    if method:
        if method not in names:
            raise UnknownNameError("method", method, names, where=file)
        return selected(submission, method)
    if len(names) > 1:
        raise SubmissionError(
            f"{file} holds {len(names)} methods: {', '.join(names)}",
            expected="one",
            fix=f"say which: {file}::{names[0]}",
        )
    return submission


def selected(submission: Submission, method: str) -> Submission:
    """The rows of one method of a submission."""
    column = submission.table.column("method").cast(pa.string())
    table = submission.table.filter(pc.equal(column, pa.scalar(method)))
    return replace(
        submission,
        table=table,
        methods={name: about for name, about in submission.methods.items() if name == method},
        bindings={key: bound for key, bound in submission.bindings.items() if key[0] == method},
    )


def renamed(submission: Submission, name: str) -> Submission:
    """A submission of one method under another name."""
    index = submission.table.column_names.index("method")
    about = next(iter(submission.methods.values()), None)
    column = pa.repeat(pa.scalar(name), submission.table.num_rows).cast(NAMES)
    return replace(
        submission,
        table=submission.table.set_column(index, "method", column),
        methods={name: replace(about, name=name)} if about is not None else {},
        bindings={(name, *key[1:]): bound for key, bound in submission.bindings.items()},
    )


def _only_method(submission: Submission) -> str:
    name: str = submission.table.column("method").unique()[0].as_py()
    return name


def _both(first: Submission, second: Submission) -> Submission:
    return merge([first, second], f"{first.source} and {second.source}")
