"""Leaderboards: "no" where it hits one of the best, and rules that would prevent it."""

from __future__ import annotations

import argparse

from studies.coverage import boards
from studies.coverage.measure import head, marked, row
from studies.coverage.processes import spread_out


def part(options: argparse.Namespace) -> int:
    """Print how often each rule denies one of the best, and what it costs."""
    accuracies = (boards.equal, boards.nearly_equal, boards.spread)
    sizes = [(methods, tasks) for methods in boards.METHODS for tasks in boards.TASKS]
    jobs = [
        boards.Cell(accuracy(methods), tasks, options.sets, options.seed)
        for methods, tasks in sizes
        for accuracy in accuracies
    ]
    results = spread_out(boards.run, jobs, options.processes)
    print(
        head(
            "methods",
            "tasks",
            *(f"equal, some no: {rule}" for rule in boards.RULES),
            "the one best, no: leader",
            "right noes a board: leader",
            *(f"kept: {rule}" for rule in boards.RULES[1:]),
        )
    )
    missed = 0
    limit = 5.0 + 200 * (0.05 * 0.95 / options.sets) ** 0.5
    for i, (methods, tasks) in enumerate(sizes):
        equal, nearly, spread = results[3 * i : 3 * i + 3]
        best_missed = 100 * nearly["leader"].wrong / options.sets
        missed += best_missed > limit
        right = spread["leader"].right
        print(
            row(
                methods,
                tasks,
                *(100 * equal[rule].wrong / options.sets for rule in boards.RULES),
                marked(best_missed, best_missed > limit),
                f"{right / options.sets:.2f}",
                *(100 * spread[rule].right / right for rule in boards.RULES[1:]),
            )
        )
    return missed + _new_class_boards(options)


def _new_class_boards(options: argparse.Namespace) -> int:
    """Print the same rule for new classes, on a tenth as many boards."""
    many = max(options.sets // 10, 1)
    accuracies = (boards.equal, boards.nearly_equal)
    jobs = [
        boards.Cell(accuracy(methods), boards.CLASS_TASKS, many, options.seed)
        for methods in boards.METHODS
        for accuracy in accuracies
    ]
    results = spread_out(boards.new_classes, jobs, options.processes)
    print()
    print(head("methods", "equal, some no: new images", "new classes", "the one best: new classes"))
    missed = 0
    limit = 5.0 + 200 * (0.05 * 0.95 / many) ** 0.5
    for i, methods in enumerate(boards.METHODS):
        (images, classes), (_, best) = results[2 * i : 2 * i + 2]
        missed += 100 * best / many > limit
        shares = [100 * n / many for n in (images, classes)]
        print(row(methods, *shares, marked(100 * best / many, 100 * best / many > limit)))
    return missed
