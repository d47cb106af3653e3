"""Which methods a method of a submission is compared with, where not with all."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fslbench_data.scoring.task_set_report import TaskSetReport

MOST_ACCURATE = 3
"""Reference methods that one meets by default where none is of its own features."""


def opponents(
    task_set: TaskSetReport, row: int, against: Collection[str], *, all_references: bool
) -> list[int]:
    """Return positions of the methods that the submission's method number `row` meets on a set.

    Those named in `against`, if any are; else the submission's other methods, and of the reference
    methods those of its own features, or where there are none the most accurate ones.  A run with
    a rule to stop meets the one that it was compared with too.
    """
    if against:
        return [i for i, name in enumerate(task_set.methods) if name in against and i != row]
    own = len(task_set.asked)
    peers = [*range(row), *range(row + 1, own)]
    references = range(own, len(task_set.scores))
    if all_references:
        return [*peers, *references]
    chosen = {*(of_same_features(task_set, row) or _best(task_set, references))}
    return [*peers, *sorted(chosen | {i for i in rival(task_set, row) if i >= own})]


def rival(task_set: TaskSetReport, row: int) -> list[int]:
    """Return the position of the method that a run with a rule to stop was run against, if any."""
    stopped = task_set.scores[row].stopped
    if stopped is None:
        return []
    return [i for i, name in enumerate(task_set.methods) if name == stopped.versus]


def of_same_features(task_set: TaskSetReport, row: int) -> list[int]:
    """Return positions of the reference methods on the features of method number `row`."""
    backbone = task_set.scores[row].backbone
    references = range(len(task_set.asked), len(task_set.scores))
    return [i for i in references if backbone and task_set.scores[i].backbone == backbone]


def most_accurate(task_set: TaskSetReport, positions: Iterable[int]) -> int | None:
    """Return which of some methods has the highest mean; None without any."""
    return next(iter(_best(task_set, positions)), None)


def _best(task_set: TaskSetReport, positions: Iterable[int]) -> list[int]:
    """Return some methods from the highest mean down, no more than one meets by default.

    Those that answer only some of the tasks come last.
    """

    def order(position: int) -> tuple[bool, float]:
        accuracy = task_set.scores[position].accuracy
        return accuracy.tasks < task_set.scored.n_tasks, -accuracy.mean

    return sorted(positions, key=order)[:MOST_ACCURATE]
