"""What methods lose on attribute-biased tasks: the steps of a ladder, and the gaps between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import SubmissionError
from benchmark_spec.protocol import COUNTERFACTUAL, LADDER, suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.bias_report import LadderReport, Ranking, agreement, ladder_report
from fslbench_data.scoring.score import signature_of
from fslbench_data.scoring.scores import Signature
from fslbench_data.scoring.selection import Entrants, enter
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo, names_of


@dataclass(frozen=True)
class BiasReport:
    """What `fslbench score --bias` shows: each ladder, and how alike ladders rank the methods."""

    signature: Signature
    ladders: tuple[LadderReport, ...]
    agreement: tuple[Ranking, ...]


def bias(
    submission: Submission | str | Path | None = None,
    release: Release | None = None,
    *,
    against: str | Sequence[str] = (),
    datasets: str | Sequence[str] = (),
    task_sets: str | Sequence[str] = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    references: bool = True,
) -> BiasReport:
    """Worst-class accuracies and gaps of the methods of a submission, beside the references.

    Parameters
    ----------
    submission, release, against, datasets, task_sets, level, allow_unbound, references
        As :func:`fslbench_data.score` takes them; without a submission only methods that `against`
        names are compared with each other.

    Raises
    ------
    SubmissionError
        If no task set of a ladder is answered.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    release = load_release() if release is None else release
    check_level(level)
    entrants = enter(
        submission,
        release,
        against=names_of(against),
        datasets=names_of(datasets),
        task_sets=names_of(task_sets),
        allow_unbound=allow_unbound,
        references=references,
        by_class=True,
    )
    return bias_on(entrants, release, level, names_of(against))


def bias_on(
    entrants: Entrants, release: Release, level: float, against: Sequence[str] = ()
) -> BiasReport:
    """The ladders of those who entered, whose answers must be known by class; see :func:`bias`."""
    ladders = _ladders(entrants.infos)
    if not ladders:
        raise SubmissionError(
            "no task set that is made with attributes of images is answered",
            where=f"release {release}",
            expected="task sets such as biased_titles-5w5s5q and random_titles-5w5s5q",
            fix="see `fslbench info` for those that the release has",
        )
    reports = tuple(
        ladder_report(name, infos, entrants.parts, release, level, against)
        for name, infos in ladders.items()
    )
    used = {str(info) for info in entrants.infos}
    signature = signature_of(release, entrants.answers, used, level)
    return BiasReport(signature, reports, tuple(agreement(reports, level)))


def _ladders(infos: Sequence[TaskSetInfo]) -> dict[str, list[TaskSetInfo]]:
    """Task sets of one ladder together, in the order of its steps."""
    order = [*LADDER, *COUNTERFACTUAL]
    found: dict[str, list[TaskSetInfo]] = {}
    for info in infos:
        suite = suite_of(info.name.suite)
        if suite.attributes:
            name = suite.name.replace(f"{suite.step}_", "*_", 1)
            family = "" if suite.step in LADDER else " counterfactual"
            found.setdefault(f"{info.dataset}/{name}-{info.protocol}{family}", []).append(info)
    for each in found.values():
        each.sort(key=lambda info: order.index(suite_of(info.name.suite).step))
    return found
