"""Files of results and the reference methods together, for figures and the report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark_spec.errors import SubmissionError, UnknownNameError, listing
from fslbench_data.entrants import Entrants, enter
from fslbench_data.release import Release
from fslbench_data.scoring import report_on
from fslbench_data.set_report import SetReport
from fslbench_data.submission.model import Submission, merge


def read_all(files: Sequence[Path]) -> Submission | None:
    """Several files of results as one submission; None without any.

    Raises
    ------
    SubmissionError
        If one cannot be read, or two have the same method on the same tasks.
    """
    if not files:
        return None
    read = [Submission.read(file) for file in files]
    return read[0] if len(read) == 1 else merge(read, ", ".join(map(str, files)))


def gather(
    files: Sequence[Path],
    release: Release,
    *,
    datasets: Sequence[str] = (),
    task_sets: Sequence[str] = (),
    allow_unbound: bool = False,
    by_class: bool = False,
) -> Entrants:
    """The methods of some files beside the references; see :func:`fslbench_data.entrants.enter`."""
    return enter(
        read_all(files),
        release,
        datasets=datasets,
        task_sets=task_sets,
        allow_unbound=allow_unbound,
        by_class=by_class,
    )


def methods_of(entrants: Entrants, names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once, if there are such methods.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    """
    for name in names:
        if name not in entrants.methods:
            raise UnknownNameError("method", name, entrants.methods, where="--method")
    return tuple(dict.fromkeys(names))


def sets_of(
    entrants: Entrants, release: Release, level: float, methods: Sequence[str] = ()
) -> list[SetReport]:
    """The reports on all task sets, with every pair of `methods`.

    Without `methods`, as :func:`fslbench_data.score` compares: the files' methods with all others.

    Raises
    ------
    SubmissionError
        If none of `methods` has results there.
    """
    report = report_on(entrants, release, level=level)
    if not methods:
        return list(report.sets)
    found = [some for each in report.sets if (some := each.only(methods)).scores]
    if not found:
        raise no_results(methods, entrants)
    return found


def no_results(methods: Sequence[str], entrants: Entrants) -> SubmissionError:
    """The error of methods that have none on the chosen task sets."""
    return SubmissionError(
        f"{listing(methods)}: no results on {listing(entrants.infos, 4)}",
        fix="choose other methods, or another data set",
    )
