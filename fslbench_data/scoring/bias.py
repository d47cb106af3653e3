"""What methods lose on attribute-biased tasks: the steps of a ladder, and the gaps between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis_sql.bias.rank_correlation import rank_correlation
from benchmark_spec.errors import SubmissionError
from benchmark_spec.suites import FAMILIES, suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.bias_report import LadderReport, Ranking, ladder_report
from fslbench_data.scoring.ladder_answers import step_of
from fslbench_data.scoring.selection import Answers, Selected, Selection, select
from fslbench_data.scoring.signature import Signature, signature_of
from fslbench_data.tasks import TaskSetInfo


@dataclass(frozen=True)
class BiasReport:
    """What `fslbench score --bias` shows: each ladder, and how alike ladders rank the methods."""

    signature: Signature
    ladders: tuple[LadderReport, ...]
    agreement: tuple[Ranking, ...]

    def __repr__(self) -> str:
        return f"<BiasReport on {len(self.ladders)} ladders, level {self.signature.level:g}>"


def bias(
    submission: Answers | None = None,
    release: Release | None = None,
    selection: Selection | None = None,
) -> BiasReport:
    """Worst-class accuracies and gaps of the methods of a submission, beside the references.

    Without a submission only methods that the selection is `against` are compared with each other.

    Raises
    ------
    SubmissionError
        If no task set of a ladder is answered.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    release = load_release() if release is None else release
    return bias_on(select(submission, release, selection, by_class=True))


def bias_on(selected: Selected) -> BiasReport:
    """Report on the ladders of selected methods, whose answers must be known by class."""
    release, infos = selected.release, selected.infos
    ladders, level = _ladders(infos), selected.selection.level
    if not ladders:
        raise SubmissionError(
            "no task set that is made with attributes of images is answered",
            where=f"release {release}",
            expected="task sets such as biased_titles-5w5s5q and random_titles-5w5s5q",
            fix="see `fslbench info` for those that the release has",
        )
    reports = tuple(ladder_report(name, steps, selected) for name, steps in ladders.items())
    used = {str(info) for info in infos}
    signature = signature_of(release, selected.answers, used, level)
    return BiasReport(signature, reports, tuple(agreement(reports, level)))


def agreement(ladders: Sequence[LadderReport], level: float) -> Iterator[Ranking]:
    """Correlate how ladders of one data set rank the methods, two by two.

    Those of two captioners, say, or of texts and of pixels: they have other tasks.
    """
    for one, other in combinations(ladders, 2):
        methods = [method for method in one.last if method in other.last]
        if (one.dataset, one.kind) == (other.dataset, other.kind) and len(methods) >= 3:
            a, b = (np.array([ladder.last[m] for m in methods]) for ladder in (one, other))
            first, second = (f"wAcc on {e.dataset}/{e.name}, last step" for e in (one, other))
            yield Ranking(first, second, rank_correlation(a, b, level, same_tasks=False))


def _ladders(infos: Sequence[TaskSetInfo]) -> dict[str, list[TaskSetInfo]]:
    """Put the task sets of one ladder together, in the order of its steps."""
    order = [step for steps in FAMILIES.values() for step in steps]
    ladders: dict[str, list[TaskSetInfo]] = {}
    for info in infos:
        suite = suite_of(info.name.suite)
        if suite.attributes:
            name = suite.name.replace(f"{suite.step}_", "*_", 1)
            ladder = f"{info.dataset}/{name}-{info.protocol}"
            family = "" if suite.family == "ladder" else f" {suite.family}"
            ladders.setdefault(f"{ladder}{family}", []).append(info)
    for steps in ladders.values():
        steps.sort(key=lambda info: order.index(step_of(info)))
    for name, steps in ladders.items():
        if name.endswith(" ablation"):  # against the tasks whose queries they have
            whole = ladders.get(name.removesuffix(" ablation"), [])
            steps += [info for info in whole if step_of(info) == "biased"]
    return ladders
