"""Comparing two methods, wherever their results are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import SubmissionError, listing
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.bias import BiasReport, bias
from fslbench_data.scoring.method_names import features_in, whole_name
from fslbench_data.scoring.own_release import OwnLog, is_log, open_log
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score_selected
from fslbench_data.scoring.selection import Names, Selection, untrained
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.submission.renaming import renamed
from fslbench_data.submission.streaming import Source


def compare(
    a: Source,
    b: Source,
    release: Release | None = None,
    *,
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
) -> Report:
    """Compare two methods, A with B, on the task sets that both answered.

    Parameters
    ----------
    a, b
        Results of one method each: a submission, a file, ``FILE::METHOD`` for one of a file's
        methods, a frame, or the name of a reference method, or ``NCC`` for that on the features
        of the other (:mod:`fslbench_data.scoring.method_names`).  Of a log of one's own tasks
        ``LOG::METHOD`` and another of its methods.  Two methods of one name are told
        apart by the names of their files, or as (A) and (B).
    release
        None is the one inside the package.
    datasets, task_sets, level, allow_unbound
        As of :func:`fslbench_data.score`.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, more or fewer than two, or nothing that both answered.
    """
    opened = load_release() if release is None else release
    selection = Selection.of(
        datasets=datasets, task_sets=task_sets, level=level, allow_unbound=allow_unbound
    )
    if isinstance(a, str | Path) and (own := two_of_log([str(a), str(b)])) is not None:
        return score_of_log(own, selection)
    return score_two(*find_two([a, b], opened), opened, selection)


def two_of_log(names: Sequence[str], **pool: Any) -> OwnLog | None:
    """Find two methods of one log of own tasks, in the order in which they are named.

    Parameters
    ----------
    names
        The log, if it holds two methods; else ``LOG::METHOD`` twice, or once and then a method.
    pool
        What :func:`fslbench_data.open_log` takes besides.

    Returns
    -------
    OwnLog or None
        The log with these two alone; None where the first name is of no log.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, or they are not two.
    """
    file = names[0].partition("::")[0]
    if not is_log(file):
        return None
    parts = [name.removeprefix(file).removeprefix("::") for name in names]
    own = open_log(file, **pool)
    methods = [part for part in parts if part] or [*own.answers.methods]
    if len(methods) != 2:
        raise SubmissionError(
            f"{listing(names, 4)} name{'s' if len(names) == 1 else ''} {len(methods)} methods of "
            f"{file}, which holds {listing(own.answers.methods)}",
            expected="two",
            fix=f"say which: {file}::{own.answers.methods[0]} {own.answers.methods[-1]}",
        )
    return own.only(methods)


def find_two(names: Sequence[Source], release: Release) -> tuple[Submission, Submission]:
    """Find the results of two methods, in the order in which they are named.

    Parameters
    ----------
    names
        Submissions, files, ``FILE::METHOD`` and names of reference methods, which together hold two
        methods.  Two of one method each may hold methods of the same name; the file's name is then
        added.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, or they are not two.
    """
    parts = _parts(names, release)
    of_parts = [_names(part) for part in parts]
    if len(parts) == 2 and of_parts[0] == of_parts[1] and len(of_parts[0]) == 1:
        (name,) = of_parts[0]
        stems = [_stem(name) for name in names]
        marks = stems if stems[0] != stems[1] else ["A", "B"]
        first, second = (
            renamed(part, {name: f"{name} ({mark})"})
            for part, mark in zip(parts, marks, strict=True)
        )
        return first, second
    methods = list(dict.fromkeys(name for part in of_parts for name in part))
    if len(methods) != 2:
        several = next((n for n, held in zip(names, of_parts, strict=True) if len(held) > 1), None)
        said = listing([_said(name) for name in names], 4)
        raise SubmissionError(
            f"{said} hold{'s' if len(names) == 1 else ''} {len(methods)} "
            f"method{'s' if len(methods) > 1 else ''}: {listing(methods)}",
            expected="two",
            fix=f"say which: {_said(several)}::{methods[0]}"
            if isinstance(several, str | Path)
            else "name another file or a reference method",
        )
    first, second = (
        merge([selected(part, method) for part in parts if method in _names(part)])
        for method in methods
    )
    return first, second


def score_of_log(own: OwnLog, selection: Selection) -> Report:
    """Compare the first of two methods of a log with the second."""
    selection = replace(selection, against=own.answers.methods[1:])
    return score_selected(own, None, selection, only_compared=True)


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
    submission = _methods_of(text, release)
    if len(names := _names(submission)) > 1:
        raise SubmissionError(
            f"{text} holds {len(names)} methods: {', '.join(names)}",
            expected="one",
            fix=f"say which: {text}::{names[0]}",
        )
    return submission


def _said(source: Source) -> str:
    """Say what messages call a source."""
    if isinstance(source, str | Path):
        return str(source)
    return source.source if isinstance(source, Submission) else "the frame"


def _stem(source: Source) -> str:
    is_file = isinstance(source, str | Path)
    return Path(str(source).partition("::")[0]).stem if is_file else ""


def _parts(sources: Sequence[Source], release: Release) -> list[Submission]:
    """The results of what is named; a short name is looked for on the features of the others."""
    read = [None if _is_name(source) else _methods_of(source, release) for source in sources]
    features = {own for part in read if part is not None for own in _features(part)}
    return [
        _methods_of(source, release, features) if part is None else part
        for source, part in zip(sources, read, strict=True)
    ]


def _features(part: Submission) -> frozenset[str]:
    return features_in(part, _names(part))


def _is_name(source: Source) -> bool:
    """Whether something is the name of a reference method, and no file."""
    if not isinstance(source, str | Path):
        return False
    file = Path(str(source).partition("::")[0])
    return not file.suffix and not file.exists()


def _methods_of(
    source: Source, release: Release, features: Collection[str] = frozenset()
) -> Submission:
    """The results of the methods that are named: of a file, of one method of it, a reference."""
    if not isinstance(source, str | Path):
        return merge(source)
    text = str(source)
    if text in release.methods or _is_name(source):
        name = whole_name(
            text,
            release.methods,
            features,
            where=f"release {release}",
            fix="name a submission file, FILE::METHOD, or a reference method",
        )
        return untrained(release.reference(name))
    file, _, method = text.partition("::")
    submission = Submission.read(file)
    if not method:
        return submission
    return selected(submission, whole_name(method, _names(submission), where=file))


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


def _names(submission: Submission) -> list[str]:
    """Names of its methods, in the order of their first row."""
    names: list[str] = submission.table.column("method").unique().to_pylist()
    return names


def _only_method(submission: Submission) -> str:
    return _names(submission)[0]


def _both(first: Submission, second: Submission) -> Submission:
    return merge([first, second], f"{first.source} and {second.source}")
