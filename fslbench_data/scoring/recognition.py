"""Whether a submission's results were made on the release's tasks, as far as the results tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from analysis_sql.recognition.permutation import log_orders
from analysis_sql.recognition.recognition import ALPHA, Recognitions, recognise
from analysis_sql.recognition.statistics import Answered
from fslbench_data.release.release import Release
from fslbench_data.scoring.selection import reference_results
from fslbench_data.validation.runs import Group
from fslbench_data.validation.validate import Validated

SEED = 0
"""Of the permutations: the same results are always told the same."""


@dataclass(frozen=True)
class Recognised:
    """What is found of a submission's results.

    Attributes
    ----------
    groups
        The results that were looked at.
    found
        What is concluded of each of them, in their order, and of several together.
    same_as
        Reference methods whose counts a group equals on every task, where that is unexpected, by
        position in `groups`.
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

    See :mod:`analysis_sql.recognition.recognition`.

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
        beside = _beside(group, references)
        answered.append(
            Answered(
                group.method,
                info.dataset,
                str(info.name),
                class_ids[info.text][: group.tasks],
                group.counts,
                _mean_accuracy(beside, group.tasks),
            )
        )
        if same := _same(group, beside):
            same_as[index] = same
    return Recognised(chosen, recognise(answered, seed=seed, progress=progress), same_as)


def _beside(group: Group, references: Validated | None) -> list[Group]:
    """The reference methods that answered all of a group's tasks."""
    if references is None:
        return []
    beside = references.on(group.info.dataset, str(group.info.name))
    return [reference for reference in beside if reference.tasks >= group.tasks]


def _mean_accuracy(references: list[Group], tasks: int) -> NDArray[np.float64] | None:
    """Mean accuracy (T,) of reference methods on each task; None without any."""
    if not references:
        return None
    accuracies = [reference.counts[:tasks] / reference.queries_per_task for reference in references]
    return np.asarray(np.mean(accuracies, axis=0))


def _same(group: Group, references: list[Group]) -> tuple[str, ...]:
    """Reference methods that a group equals on every task, where that is no matter of course.

    It is where the counts are such that few orders of them differ; and at one shot, where class
    means are the images themselves, so that methods that compare with either coincide: there a
    reference method that coincides with another is left out.
    """
    if log_orders(group.counts) < log(1.0 / ALPHA):
        return ()
    equal = [reference for reference in references if _equal(group, reference)]
    if group.info.protocol.shot == 1 and len(equal) > 1:
        return ()
    return tuple(reference.method for reference in equal)


def _equal(group: Group, other: Group) -> bool:
    """Whether two methods have the same accuracy on every task that the first has answered."""
    mine = group.counts.astype(np.int64) * other.queries_per_task
    return bool(
        (mine == other.counts[: group.tasks].astype(np.int64) * group.queries_per_task).all()
    )
