"""Whether a submission's results were made on the release's tasks, as far as the results tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log

import numpy as np

from analysis_sql.recognition import ALPHA, Answered, Recognitions, log_orders, recognise
from fslbench_data.release.release import Release
from fslbench_data.scoring.selection import reference_results
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated

SEED = 0
"""Of the permutations: the same results are always told the same."""


@dataclass(frozen=True)
class Recognised:
    """What is found of a submission's results.

    `same_as` are reference methods whose counts a group equals on every task, by its position.
    """

    groups: tuple[Group, ...]
    found: Recognitions
    same_as: dict[int, tuple[str, ...]]


def recognise_tasks(
    answers: Validated,
    release: Release,
    *,
    groups: Iterable[Group] | None = None,
    seed: int = SEED,
    progress: Callable[[str], object] = lambda _: None,
) -> Recognised:
    """Test whether results were made on the tasks of the release, in their order.

    See :mod:`analysis_sql.recognition`.

    Parameters
    ----------
    answers
        What :func:`fslbench_data.validate` gave.
    groups
        Those of ``answers.groups`` to look at; by default all.
    seed
        Of the permutations.
    progress
        Called with the name of each of the groups before it is looked at.
    """
    chosen = answers.groups if groups is None else tuple(groups)
    references = reference_results(release, [group.info for group in chosen])
    class_ids = {}
    answered, same_as = [], {}
    for index, group in enumerate(chosen):
        info = group.info
        if info.text not in class_ids:
            class_ids[info.text] = release.class_ids(info)
        others = references.on(info.dataset, str(info.name)) if references is not None else []
        beside = [other for other in others if other.tasks >= group.tasks]
        accuracies = [o.counts[: group.tasks] / o.queries_per_task for o in beside]
        answered.append(
            Answered(
                group.method,
                info.dataset,
                str(info.name),
                class_ids[info.text][: group.tasks],
                group.counts,
                np.asarray(np.mean(accuracies, axis=0)) if accuracies else None,
            )
        )
        if same := _same(group, beside):
            same_as[index] = same
    return Recognised(chosen, recognise(answered, seed=seed, progress=progress), same_as)


def _same(group: Group, references: list[Group]) -> tuple[str, ...]:
    """Reference methods that a group equals on every task, where that is no matter of course.

    It is where the counts are such that few orders of them differ; and at one shot, where class
    means are the images themselves, so that methods that compare with either coincide: there a
    reference method that coincides with another is left out.
    """
    if log_orders(group.counts) < log(1.0 / ALPHA):
        return ()
    equal = []
    for other in references:
        mine = group.counts.astype(np.int64) * other.queries_per_task
        theirs = other.counts[: group.tasks].astype(np.int64) * group.queries_per_task
        equal += [other.method] if (mine == theirs).all() else []
    if group.info.protocol.shot == 1 and len(equal) > 1:
        return ()
    return tuple(equal)
