"""Test whether results were made on a release's tasks: ``python -m studies.recognition FILE...``.

Prints a line a method and task set, then one for all methods on a task set, then a summary.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from benchmark_spec.errors import listing
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.selection import reference_results
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated, validate
from studies.recognition.statistics import (
    ALPHA,
    Answered,
    Finding,
    Recognition,
    Recognitions,
    log_orders,
    recognise,
)

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

    See :mod:`studies.recognition.statistics`.

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
    """Find reference methods that a group equals on all tasks, where that is no matter of course.

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


def conclusion(found: Recognition) -> str:
    """Say the conclusion: ``tasks recognised, p = 0.0002 (classes 0.031, references 0.0001)``."""
    if found.p is None:
        return f"tasks not testable{': ' + found.reason if found.reason else ''}"
    said = "tasks recognised" if found.finding is Finding.RECOGNISED else "cannot tell the tasks"
    parts = {"classes": found.by_classes, "references": found.by_references}
    by = ", ".join(f"{name} {p:.4f}" for name, p in parts.items() if p is not None)
    return f"{said}, p = {found.p:.4f} ({by})"


def group_conclusions(found: Recognised) -> list[str]:
    """Return what is concluded of each group, in their order."""
    lines = []
    for index, recognition in enumerate(found.found.each):
        same = found.same_as.get(index)
        note = f"; equal to {listing(same)} on every task" if same else ""
        lines.append(conclusion(recognition) + note)
    return lines


def together(found: Recognised) -> Iterator[str]:
    """Yield what is concluded of several groups at once, and a summary."""
    methods = Counter(group.info.text for group in found.groups)
    for (dataset, task_set), each in found.found.task_sets.items():
        if (number := methods[f"{dataset}/{task_set}"]) > 1:
            yield f"all {number} methods on {dataset}/{task_set}: {conclusion(each)}"
    counts = Counter(each.finding for each in found.found.each)
    summary = ", ".join(
        f"{counts[finding]} {finding.value}" for finding in Finding if counts[finding]
    )
    if len(found.groups) > 1:
        summary += f"; all together: {conclusion(found.found.together)}"
    yield f"tasks of {len(found.groups)} results: {summary}"


def main() -> None:
    """Print what is found of each method on each task set, and of all together."""
    parser = argparse.ArgumentParser(description="Test whether results are of a release's tasks.")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--release", help="By default the one in the package.")
    options = parser.parse_args()
    release = load_release(options.release)
    found = recognise_tasks(validate(options.files, release, allow_unbound=True), release)
    for group, line in zip(found.groups, group_conclusions(found), strict=True):
        print(f"{group.method} on {group.info}: {group.tasks} tasks; {line}")
    print(*together(found), sep="\n")


if __name__ == "__main__":
    main()
