"""What leaving one out changes: ``python -m studies.what_it_changes [RELEASE]``.

The reference methods of a release are compared with each other, every pair, on the sets of each
image collection and protocol, and what each kind of interval would claim is counted.

error bars: in tables `closed error bars`
    The field's habit: two closed intervals of a set that reuses images do not overlap.
closed
    The closed interval of the difference, task by task, on the same set leaves out 0.
open, class-aware
    On the `open` set, whose tasks share no image: for new images, and for new classes.
images, classes, superclasses
    On a set that reuses images, left out one after another; groups of images where they have such.

A claim is *kept* by a kind that makes it too, for the same method.  Each verdict stands alone, at
95 %.  Pairs count that were compared on all sets of a row.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparisons import BETTER, WORSE
from benchmark_spec.protocol import TaskSetName
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score
from fslbench_data.scoring.task_set_report import TaskSetReport

SUITES = ("open", "closed", "pooled")
CLAIMED = {"error bars": "closed error bars", "closed": "closed interval"}
"""Kinds of which a table says what others keep, with the headings of their columns."""

LEFT_OUT = ("images", "classes", "superclasses")
SHORT = {
    "error bars": "two closed error bars",
    "closed": "the closed interval of the difference",
    "open": "open",
    "class-aware": "class-aware",
    "images": "images left out",
    "classes": "classes left out",
}

Claims = Mapping[tuple[str, str], int]
"""1 where the first method of a pair, in the order of names, is claimed to be better, -1, or 0."""


def claims(task_set: TaskSetReport) -> dict[str, Claims]:
    """Say what each kind of interval claims of the pairs compared on a task set."""
    pairs = {kind: task_set.pairs_of(kind) for kind in task_set.kinds}
    codes = {str(kind): of_kind.verdict for kind, of_kind in pairs.items()}
    codes["error bars"] = task_set.pairs.direct
    return {kind: _by_names(task_set, code) for kind, code in codes.items()}


def _by_names(task_set: TaskSetReport, code: NDArray[np.int8]) -> Claims:
    sign = (code == BETTER).astype(int) - (code == WORSE)
    named = {}
    for row, column in np.argwhere(task_set.counted).tolist():
        first, second = task_set.methods[row], task_set.methods[column]
        if first < second:
            named[first, second] = int(sign[row, column])
        else:
            named[second, first] = -int(sign[row, column])
    return named


@dataclass(frozen=True)
class Row:
    """What is claimed on one data set and protocol.

    Attributes
    ----------
    by_kind
        Claims by kind of interval; those of :data:`LEFT_OUT` are absent where there is none.
    """

    name: str
    by_kind: Mapping[str, Claims]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Those compared by every kind."""
        return sorted(set.intersection(*(set(claims) for claims in self.by_kind.values())))

    def conclusive(self, kind: str) -> int | None:
        """Count the pairs of which something is claimed; None if there is no such interval."""
        if kind not in self.by_kind:
            return None
        return sum(self.by_kind[kind][pair] != 0 for pair in self.pairs)

    def kept(self, claimed: str, kind: str) -> int | None:
        """Count the claims of one kind that another one makes too."""
        if kind not in self.by_kind:
            return None
        both = ((self.by_kind[claimed][pair], self.by_kind[kind][pair]) for pair in self.pairs)
        return sum(first != 0 and first == second for first, second in both)


def rows(report: Report, suite: str) -> list[Row]:
    """Collect what is claimed, with one of the suites that reuse images for :data:`LEFT_OUT`."""
    sets = {(each.scored.dataset, each.scored.task_set): each for each in report.sets}
    made = []
    for (dataset, text), task_set in sets.items():
        name = TaskSetName.parse(text)
        opened = sets.get((dataset, f"open-{name.protocol}"))
        if name.suite != suite or opened is None:
            continue
        disjoint, reusing = claims(opened), claims(task_set)
        by_kind = {kind: reusing[kind] for kind in CLAIMED}
        by_kind |= {kind: disjoint[kind] for kind in ("open", "class-aware")}
        by_kind |= {kind: reusing[kind] for kind in LEFT_OUT if kind in reusing}
        shots = name.protocol.shot
        made.append(Row(f"{dataset}, {shots} shot{'s' if shots > 1 else ''}", by_kind))
    return made


def add(numbers: Iterable[int | None]) -> int:
    """Sum, where there is something."""
    return sum(number for number in numbers if number is not None)


def table(every: list[Row]) -> str:
    """Write a row each; the total is of those with an interval that leaves images out."""
    names = ["data set", "comparisons"]
    for heading in CLAIMED.values():
        names += [heading, "kept: images · classes"]
    names += ["open", "class-aware", *LEFT_OUT]
    lines = [_line(names), "|---" + "|---:" * (len(names) - 1) + "|"]
    lines += [_cells(row.name, [row]) for row in every]
    counted = [row for row in every if "images" in row.by_kind]
    name = "all" if counted == every else f"all with intervals for new images ({len(counted)})"
    lines.append(_cells(name, counted))
    return "\n".join(lines)


def _cells(name: str, of: list[Row]) -> str:
    cells: list[object] = [name, sum(len(row.pairs) for row in of)]
    for claimed in CLAIMED:
        cells.append(add(row.conclusive(claimed) for row in of))
        kept = [[row.kept(claimed, kind) for row in of] for kind in LEFT_OUT[:2]]
        cells.append(" · ".join(map(_sum, kept)))
    for kind in ("open", "class-aware", *LEFT_OUT):
        some = [row for row in of if kind in row.by_kind]
        cell = _sum([row.conclusive(kind) for row in of])
        if 0 < len(some) < len(of):
            cell += f" of {sum(len(row.pairs) for row in some)}"
        cells.append(cell)
    return _line(cells)


def _sum(numbers: list[int | None]) -> str:
    return "–" if all(number is None for number in numbers) else str(add(numbers))


def short(by_suite: Mapping[str, list[Row]]) -> str:
    """Write a row each kind of interval, and how many comparisons are conclusive by it."""
    counted = {
        suite: [row for row in every if "images" in row.by_kind]
        for suite, every in by_suite.items()
    }
    totals = {suite: sum(len(row.pairs) for row in of) for suite, of in counted.items() if of}
    names = [f"{suite} sets: conclusive, of {total:,}" for suite, total in totals.items()]
    lines = [_line(["interval", *names]), "|---" + "|---:" * len(names) + "|"]
    for kind, name in SHORT.items():
        made = {suite: add(row.conclusive(kind) for row in counted[suite]) for suite in totals}
        shares = [f"{many} ({100 * many / totals[suite]:.0f} %)" for suite, many in made.items()]
        lines.append(_line([name, *shares]))
    return "\n".join(lines)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def compared(release: Release, datasets: tuple[str, ...] = ()) -> dict[str, list[Row]]:
    """Compare the reference methods on the sets that are asked for, by suite that reuses images."""
    infos = [info for info in release.task_sets if info.name.suite in SUITES]
    wanted = sorted({str(info.name) for info in infos})
    report = score(release=release, task_sets=wanted, datasets=datasets)
    return {suite: rows(report, suite) for suite in SUITES[1:]}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", nargs="?", help="by default the one inside the package")
    by_suite = compared(load_release(parser.parse_args().release))
    for suite, every in by_suite.items():
        if every:
            print(f"Images, classes, superclasses left out of `{suite}` sets:\n\n{table(every)}\n")
    print(short(by_suite))


if __name__ == "__main__":
    main()
