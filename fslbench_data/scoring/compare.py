"""Compare two methods, named by files, methods of files, logs or reference methods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from benchmark_spec.errors import SubmissionError, UnknownNameError, listing, many
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.scoring.open_log import open_log
from fslbench_data.scoring.own_release import OwnLog
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score_selected
from fslbench_data.scoring.selection import (
    Names,
    Selection,
    beside_a_log,
    features_in,
    sets_named,
    whole_name,
)
from fslbench_data.scoring.task_log import log_table
from fslbench_data.submission.columns import TableKind
from fslbench_data.submission.merging import merge, renamed
from fslbench_data.submission.model import Source, Submission
from fslbench_data.submission.reading import ENDINGS, check_file, is_all_ways, is_log
from fslbench_data.validation.log_source import table_of


def compare(
    a: Source,
    b: Source,
    release: AnyRelease = None,
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
        methods, a frame, or the name of a reference method, such as ``NCC`` for that on the
        features of the other (:mod:`fslbench_data.scoring.selection`).  For a log of one's own
        tasks, ``LOG::METHOD`` and another of its methods.  Two methods of one name get the names of
        their files, or (A) and (B).
    release
        Or what :func:`fslbench_data.load_release` opens; None is the one inside the package.
    datasets, task_sets, level, allow_unbound
        As of :func:`fslbench_data.score`.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, more or fewer than two, or nothing that both answered.
    """
    opened = load_release(release)
    selection = Selection.of(
        datasets=datasets, task_sets=task_sets, level=level, allow_unbound=allow_unbound
    )
    results, selection = find_two([a, b], opened, selection)
    return score_selected(results, opened, selection, only_compared=True)


def find_two(
    names: Sequence[Source], release: Release, selection: Selection, **log_options: Any
) -> tuple[Submission | OwnLog, Selection]:
    """Find the results of two methods, and select that the first is compared with the second.

    `names` are submissions, files, ``FILE::METHOD`` and reference methods, which together hold two
    methods; or logs of own tasks, with further options of :func:`fslbench_data.open_log`.
    """
    if any(isinstance(name, str | Path) and is_log(str(name).partition("::")[0]) for name in names):
        if not all(isinstance(name, str | Path) for name in names):
            raise beside_a_log([*map(_source_text, names)])
        own = _two_of_log(list(map(str, names)), log_options)
        return own, replace(selection, against=own.answers.methods[1:])
    parts = _parts(names, release)
    methods_by_part = [_names(part) for part in parts]
    methods = list(dict.fromkeys(name for held in methods_by_part for name in held))
    if len(parts) == 2 and methods_by_part[0] == methods_by_part[1] and len(methods) == 1:
        method = methods[0]
        methods = _told_apart(method, names)
        parts = [renamed(part, {method: new}) for part, new in zip(parts, methods, strict=True)]
    elif len(methods) != 2:
        several = next(
            (name for name, held in zip(names, methods_by_part, strict=True) if len(held) > 1), None
        )
        raise SubmissionError(
            f"{listing([*map(_source_text, names)], 4)} hold{'s' if len(names) == 1 else ''} "
            f"{many(len(methods), 'method')}: {listing(methods)}",
            expected="two",
            fix=f"say which: {_source_text(several)}::{methods[0]}"
            if isinstance(several, str | Path)
            else "name another file or a reference method",
        )
    one, other = (
        merge([_rows_of(part, method) for part in parts if method in _names(part)])
        for method in methods
    )
    pair = [_on_sets_of(other, one, release), _on_sets_of(one, other, release)]
    both = merge(pair, " and ".join(part.source for part in pair))
    return both, replace(selection, against=(methods[1],), references=False)


def _told_apart(method: str, names: Sequence[Source]) -> list[str]:
    """Return two names for a method of two sources: with those of their files, or (A) and (B)."""
    files = [
        Path(str(n).partition("::")[0]).stem if isinstance(n, str | Path) else "" for n in names
    ]
    return [f"{method} ({mark})" for mark in (files if files[0] != files[1] else ["A", "B"])]


def _on_sets_of(other: Submission, part: Submission, release: Release) -> Submission:
    """Keep of a reference method's results those on the task sets of another, if there are any."""
    if not part.bindings or not all(bound.of_release for bound in part.bindings.values()):
        return part
    answered = _answered(other)
    common = part.on([info for info in release.task_sets if info.text in answered])
    return common if common.table.num_rows else part


def _two_of_log(names: Sequence[str], log_options: dict[str, Any]) -> OwnLog:
    """Open one log of own tasks or several, and keep two methods, in the order of their names.

    Methods of one name in different logs are two methods.
    """
    parts = [name.partition("::") for name in names]
    logs = [*dict.fromkeys(file for file, _, _ in parts if is_log(file))]
    methods_of_log: dict[str, set[str]] = {}
    for file in logs if len(logs) > 1 else ():
        table = table_of(file, TableKind("the log", {"method": pa.string()}, ["method"], "method"))
        methods_of_log[file] = {*table.column("method").unique().to_pylist()}
    if len(logs) == len(parts) == 2 and not any(map(is_all_ways, logs)):
        one, other = ({method} if method else methods_of_log.get(file) for file, _, method in parts)
        if one and one == other and len(one) == 1:
            (name,) = one
            renamed_logs = [
                _of_one_method(log_table(file)[1], name, new)
                for file, new in zip(logs, _told_apart(name, names), strict=True)
            ]
            return open_log(renamed_logs, **log_options)
    own = open_log(logs, **log_options)
    known = own.answers.methods
    for file, _, _ in parts:
        if file not in logs and file not in known:
            if Path(file).suffix.lower() in ENDINGS or Path(file).exists():
                check_file(Path(file))
                raise beside_a_log(names)
            raise UnknownNameError(
                "method",
                file,
                known,
                where=listing(logs),
                fix="name a method of the log: reference methods answered other tasks",
            )
    named = [method or file for file, _, method in parts if method or file not in logs]
    methods: list[str] = []
    for file, _, method in parts:
        if method or file not in logs:
            methods.append(method or file)
        else:
            held = methods_of_log.get(file, known)
            methods += [name for name in known if name in held and name not in named]
    if len(methods) != 2:
        raise SubmissionError(
            f"{listing(names, 4)} name{'s' if len(names) == 1 else ''} "
            f"{many(len(methods), 'method')} of {listing(logs)}, which "
            f"{'holds' if len(logs) == 1 else 'hold'} {listing(known)}",
            expected="two",
            fix=f"say which: {logs[0]}::{known[0]} {known[1]}"
            if len(known) > 1
            else "name another log besides",
        )
    return own.only(methods)


def _of_one_method(log: pa.Table, method: str, new_name: str) -> pa.Table:
    """Return a method's rows of a log, under a new name."""
    rows = log.filter(pc.equal(log.column("method").cast(pa.string()), method))
    place = rows.column_names.index("method")
    return rows.set_column(place, "method", pa.repeat(new_name, len(rows)))


def answered_by_one(both: Submission, selection: Selection, release: Release) -> list[str]:
    """Return the chosen task sets that only one of two methods answers, ``dataset/task_set``."""
    one, other = (_answered(_rows_of(both, method)) for method in _names(both))
    chosen = sets_named(release.task_sets, selection)
    return sorted(info.text for info in chosen if info.text in one ^ other)


def _answered(part: Submission) -> set[str]:
    """Return the task sets that a submission answers, ``dataset/task_set``."""
    sets = part.table.group_by(["dataset", "task_set"]).aggregate([])
    return {f"{row['dataset']}/{row['task_set']}" for row in sets.to_pylist()}


def find_method(text: str, release: Release) -> Submission:
    """Return the results of one method of a file, or of the release."""
    submission = _methods_of(text, release)
    if len(names := _names(submission)) > 1:
        raise SubmissionError(
            f"{text} holds {len(names)} methods: {', '.join(names)}",
            expected="one",
            fix=f"say which: {text}::{names[0]}",
        )
    return submission


def _source_text(source: Source) -> str:
    """Return the name of a source in messages."""
    if isinstance(source, str | Path):
        return str(source)
    return source.source if isinstance(source, Submission) else "the frame"


def _parts(sources: Sequence[Source], release: Release) -> list[Submission]:
    """Read the sources; a name is that of a method in the others, or on their features."""
    whole = cache(Submission.read)  # a file may be named twice, and hold the methods of a name
    read = [None if _is_name(s) else _methods_of(s, release, read=whole) for s in sources]
    features = set[str]().union(*(features_in(part, _names(part)) for part in read if part))
    texts = [str(s) for s in sources if isinstance(s, str | Path) and not _is_name(s)]
    files = [whole(text.partition("::")[0]) for text in texts]
    return [
        part or _in_files(str(source), files) or _methods_of(source, release, features)
        for source, part in zip(sources, read, strict=True)
    ]


def _in_files(method: str, files: Iterable[Submission]) -> Submission | None:
    """Return a method's results in the first file that has some."""
    return next((_rows_of(file, method) for file in files if method in _names(file)), None)


def _is_name(source: Source) -> bool:
    """Return whether a source is the name of a reference method, not a file."""
    if not isinstance(source, str | Path):
        return False
    file = Path(str(source).partition("::")[0])
    return not file.suffix and not file.exists()


def _methods_of(
    source: Source,
    release: Release,
    features: Collection[str] = frozenset(),
    read: Callable[[str], Submission] = Submission.read,
) -> Submission:
    """Return the results of a file, of one method of it, or of a reference method."""
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
        return release.reference(name).declare(trained=False)
    file, _, method = text.partition("::")
    submission = read(file)
    if not method:
        return submission
    return _rows_of(submission, whole_name(method, _names(submission), where=file))


def _rows_of(submission: Submission, method: str) -> Submission:
    """Return the results of one method of a submission."""
    column = submission.table.column("method").cast(pa.string())
    table = submission.table.filter(pc.equal(column, pa.scalar(method)))
    return replace(
        submission,
        table=table,
        methods={name: about for name, about in submission.methods.items() if name == method},
        bindings={key: bound for key, bound in submission.bindings.items() if key[0] == method},
    )


def _names(submission: Submission) -> list[str]:
    """Return the names of a submission's methods, in the order of their first rows."""
    names: list[str] = submission.table.column("method").unique().to_pylist()
    return names
