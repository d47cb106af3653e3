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
from fslbench_data.scoring.own_release import OwnLog, open_log
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score_selected
from fslbench_data.scoring.selection import Names, Selection, features_in, untrained, whole_name
from fslbench_data.submission.contents import is_log
from fslbench_data.submission.merging import merge, renamed
from fslbench_data.submission.model import Source, Submission


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
        of the other (:mod:`fslbench_data.scoring.selection`).  Of a log of one's own tasks
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
    answers, selection = find_two([a, b], opened, selection)
    return score_selected(answers, opened, selection, only_compared=True)


def find_two(
    names: Sequence[Source], release: Release, selection: Selection, **pool: Any
) -> tuple[Submission | OwnLog, Selection]:
    """Find the results of two methods, and select that the first is compared with the second.

    `names` are submissions, files, ``FILE::METHOD`` and reference methods, which together hold two
    methods, or those of a log; `pool` is what :func:`fslbench_data.open_log` takes besides.
    """
    first = names[0]
    if isinstance(first, str | Path) and is_log(file := str(first).partition("::")[0]):
        own = _two_of_log(file, list(map(str, names)), pool)
        return own, replace(selection, against=own.answers.methods[1:])
    parts = _parts(names, release)
    of_parts = [_names(part) for part in parts]
    methods = list(dict.fromkeys(name for part in of_parts for name in part))
    if len(parts) == 2 and of_parts[0] == of_parts[1] and len(methods) == 1:
        files = [
            Path(str(n).partition("::")[0]).stem if isinstance(n, str | Path) else "" for n in names
        ]
        marks = files if files[0] != files[1] else ["A", "B"]
        methods = [f"{methods[0]} ({mark})" for mark in marks]
        parts = [
            renamed(part, {old: new})
            for part, (old,), new in zip(parts, of_parts, methods, strict=True)
        ]
    elif len(methods) != 2:
        several = next((n for n, held in zip(names, of_parts, strict=True) if len(held) > 1), None)
        raise SubmissionError(
            f"{listing([_said(name) for name in names], 4)} hold{'s' if len(names) == 1 else ''} "
            f"{len(methods)} method{'s' if len(methods) > 1 else ''}: {listing(methods)}",
            expected="two",
            fix=f"say which: {_said(several)}::{methods[0]}"
            if isinstance(several, str | Path)
            else "name another file or a reference method",
        )
    of_methods = [
        merge([selected(part, method) for part in parts if method in _names(part)])
        for method in methods
    ]
    both = merge(of_methods, " and ".join(part.source for part in of_methods))
    return both, replace(selection, against=(methods[1],), references=False)


def _two_of_log(file: str, names: Sequence[str], pool: dict[str, Any]) -> OwnLog:
    """Open a log of own tasks with two of its methods alone, in the order of their names."""
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


def answered_by_one(both: Submission) -> list[str]:
    """Return the task sets that one of two methods answers alone, as ``dataset/task_set``."""
    keys = ["dataset", "task_set"]
    table = both.table.select(["method", *keys]).group_by(["method", *keys]).aggregate([])
    rows = table.group_by(keys).aggregate([("method", "count")]).to_pylist()
    return sorted(f"{r['dataset']}/{r['task_set']}" for r in rows if r["method_count"] == 1)


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


def _parts(sources: Sequence[Source], release: Release) -> list[Submission]:
    """Read what is named; a short name is looked for on the features of the others."""
    read = [None if _is_name(source) else _methods_of(source, release) for source in sources]
    features = {own for part in read if part is not None for own in features_in(part, _names(part))}
    return [
        _methods_of(source, release, features) if part is None else part
        for source, part in zip(sources, read, strict=True)
    ]


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
