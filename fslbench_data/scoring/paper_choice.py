"""Which methods and task sets a table of a paper shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis_sql.interval_kinds import ABOUT
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.suites import IntervalKind
from fslbench_data.scoring.method_names import whole_names
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.signature import ScoredSet
from fslbench_data.scoring.summary import baselines, own_methods, primary_sets
from fslbench_data.scoring.task_set_report import TaskSetReport

About = Literal["new images", "new classes", "new superclasses", "closed"]
"""What half-widths are about: these, or with ``closed`` only tasks of the very same images."""

ABOUTS: tuple[About, ...] = ("new images", "new classes", "new superclasses", "closed")


@dataclass(frozen=True)
class PaperRow:
    """A method, or with `versus` the difference of two, the first minus the second."""

    method: str
    versus: str = ""


@dataclass(frozen=True)
class Asked:
    """What is asked for of a report.

    Attributes
    ----------
    methods
        The rows; by default those of the submission, and the reference methods that these meet.
    against
        Differences from these, instead of accuracies.
    suites
        Only task sets of these; by default, as without `every`, one a data set, ways and shots.
    every
        Every task set, not only the leading ones.
    all_references
        All reference methods too.
    """

    about: About = "new images"
    methods: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    every: bool = False
    all_references: bool = False

    def __post_init__(self) -> None:
        if self.about not in ABOUTS:
            raise SpecError(
                f"{self.about!r} is nothing that intervals are about", expected=", ".join(ABOUTS)
            )


def kind_about(each: TaskSetReport, about: About) -> IntervalKind | None:
    """Return the kind of interval of a task set that is about something, if it has one."""
    if about == "closed":
        return "closed" if each.interval_kind == "closed" else None
    return next((kind for kind in each.shown_kinds if ABOUT[kind] == about), None)


def chosen_sets(report: Report, asked: Asked) -> list[tuple[TaskSetReport, IntervalKind]]:
    """Choose task sets that have such intervals, the leading ones or every one, and these' kind.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such suite, or no such interval.
    """
    suites = {
        str(each.scored): TaskSetName.parse(each.scored.task_set).suite for each in report.sets
    }
    for suite in asked.suites:
        if suite not in suites.values():
            raise UnknownNameError("suite", suite, dict.fromkeys(suites.values()), where="--suite")
    sets = [s for s in report.sets if not asked.suites or suites[str(s.scored)] in asked.suites]
    having = [each for each in sets if kind_about(each, asked.about) is not None]
    if not having:
        about = next(word for word in ABOUTS if any(kind_about(each, word) for each in sets))
        raise SubmissionError(
            f"no interval {_of(asked.about)} on {listing([each.scored for each in sets], 4)}",
            expected="task sets that have one",
            fix=f'ask for other intervals, such as --kind "{about}", or answer other task sets',
        )
    chosen = having if asked.every else primary_sets(having)
    kinds = [(each, kind_about(each, asked.about)) for each in chosen]
    return [(each, kind) for each, kind in kinds if kind is not None]


def _of(about: About) -> str:
    return "that is closed" if about == "closed" else f"for {about}"


def rows_of(sets: Sequence[TaskSetReport], asked: Asked) -> list[PaperRow]:
    """Choose the rows.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, or nothing to compare.
    """
    return _pairs(sets, asked) if asked.against else _methods(sets, asked)


def _methods(sets: Sequence[TaskSetReport], asked: Asked) -> list[PaperRow]:
    """One row a method."""
    if asked.methods:
        return [PaperRow(name) for name in _known(asked.methods, sets, "--method")]
    own = _own(sets)
    met = dict.fromkeys(
        each.methods[i]
        for each in sets
        for row in range(len(each.asked))
        for i in baselines(each, row, (), all_references=asked.all_references)
    )
    return [PaperRow(name) for name in dict.fromkeys([*own, *met])]


def _pairs(sets: Sequence[TaskSetReport], asked: Asked) -> list[PaperRow]:
    """One row a difference: each method minus each that it is compared with."""
    against = _known(asked.against, sets, "--against")
    methods = _known(asked.methods, sets, "--method") or [m for m in _own(sets) if m not in against]
    rows = [PaperRow(m, other) for m in methods for other in against if m != other]
    if not rows:
        raise SubmissionError(
            f"there is nothing to compare with {listing(against)}",
            fix="name other methods with --method or --against",
        )
    return rows


def _own(sets: Iterable[TaskSetReport]) -> list[str]:
    return [*dict.fromkeys(name for each in sets for name in own_methods(each))]


def _known(names: Sequence[str], sets: Sequence[TaskSetReport], where: str) -> list[str]:
    """Say whom names mean, whole or short ones."""
    there = dict.fromkeys(name for each in sets for name in each.methods)
    own = {score.backbone for each in sets for score in each.scores[: len(each.asked)]} - {""}
    return [*whole_names(names, there, own, where=where)]


def headings(sets: Sequence[ScoredSet]) -> list[str]:
    """Name task sets as shortly as can be, without two of one name in a data set."""
    protocols = [TaskSetName.parse(scored.task_set).protocol for scored in sets]
    if len({(s.dataset, p) for s, p in zip(sets, protocols, strict=True)}) < len(sets):
        return [scored.task_set for scored in sets]
    one_way = len({p.way for p in protocols}) == 1
    if one_way and len({*protocols}) == len({p.shot for p in protocols}):
        return [f"{p.shot}-shot" for p in protocols]
    return [str(p) for p in protocols]
