"""Which of many methods are not significantly different: letters, and counts of verdicts.

In a *compact letter display* two methods share a letter if and only if they are not told apart
(Piepho, J. Comput. Graph. Statist. 2004)::

    groups   all the largest sets of methods none of which is told apart from another
    sweep    a method leaves a group whose every tie it shares in other groups too

The number of groups can grow exponentially with the methods, and does where few tasks tell few of
a hundred methods apart: then there are no letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import VERDICTS
from analysis_sql.intervals.arrays import Bools
from benchmark_spec.errors import SpecError

MOST_GROUPS = 400
"""Groups that may share a letter, before the sweep: more take minutes, and nobody reads them."""


@dataclass(frozen=True)
class LetterDisplay:
    """Letters of M methods: two share one if and only if they are not told apart."""

    letters: tuple[tuple[str, ...], ...]
    """Of each method, in the order they came in: ``("a",)``, or ``("a", "b")`` and so on."""
    groups: tuple[tuple[int, ...], ...]
    """Methods of each letter, positions from the highest mean down; the first is ``a``, and groups
    are ordered as their members are."""


@dataclass(frozen=True)
class VerdictCounts:
    """How many comparisons of one kind of interval came to which verdict, in the order of verdicts.

    `share` is that of the conclusive ones among those that could be made, None if there are none.
    """

    better: int
    worse: int
    inconclusive: int
    identical: int
    not_estimable: int

    @property
    def conclusive(self) -> int:
        """Comparisons that found a difference."""
        return self.better + self.worse

    @property
    def compared(self) -> int:
        """Comparisons that could be made; identical methods count."""
        return self.conclusive + self.inconclusive + self.identical

    @property
    def share(self) -> float | None:
        """Conclusive ones among those that could be made."""
        return self.conclusive / self.compared if self.compared else None


def by_mean(means: NDArray[np.floating[Any]]) -> list[int]:
    """Positions from the highest mean down; methods of equal means in the order they came in."""
    values = np.asarray(means, float)
    if values.ndim != 1 or np.isnan(values).any():
        raise SpecError("methods are ordered by their means", expected="a number for each method")
    return [int(i) for i in np.argsort(-values, kind="stable")]


def letter_display(means: NDArray[np.floating[Any]], apart: Bools) -> LetterDisplay:
    """Compact letter display; see the module's docstring.

    `apart` (M, M), after adjustment, is symmetric with nothing on the diagonal.  Raises a SpecError
    where there are more than :data:`MOST_GROUPS` groups.
    """
    order = by_mean(means)
    told = _checked(apart, len(order))[np.ix_(order, order)]
    groups = _sweep(_largest(told))
    ranked = sorted(sorted(group) for group in groups)  # by rank: `a` begins with the best
    names: list[list[str]] = [[] for _ in order]
    for number, group in enumerate(ranked):
        for rank in group:
            names[order[rank]].append(letter(number))
    return LetterDisplay(
        tuple(map(tuple, names)), tuple(tuple(order[rank] for rank in group) for group in ranked)
    )


def letter(number: int) -> str:
    """Name of a group: a to z, then a2 to z2, a3 and so on."""
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn + 1) if turn else "")


def count_verdicts(verdicts: Mapping[str, NDArray[np.int8]]) -> dict[str, VerdictCounts]:
    """Count verdicts by kind of interval, as Figure 6 of Lafargue et al. (TMLR 2024) does.

    They are positions in :data:`analysis_sql.comparison.verdicts.VERDICTS`, -1 where nothing was
    asked.
    """
    return {
        kind: VerdictCounts(*(int((codes == code).sum()) for code in range(len(VERDICTS))))
        for kind, codes in verdicts.items()
    }


def _checked(apart: Bools, methods: int) -> Bools:
    told = np.asarray(apart)
    if (
        told.shape != (methods, methods)
        or told.dtype != np.bool_
        or (told != told.T).any()
        or told.diagonal().any()
    ):
        raise SpecError(
            f"an array {told.shape} of {told.dtype} does not say who is told apart from whom",
            expected=f"booleans ({methods}, {methods}), symmetric, False on the diagonal",
        )
    return told


def _largest(told: Bools) -> list[frozenset[int]]:
    """All the largest sets of methods none of which is told apart from another.

    The maximal cliques of the graph of ties, by Bron and Kerbosch's algorithm with pivots.
    """
    alike = [{*np.flatnonzero(~row).tolist()} - {i} for i, row in enumerate(told)]
    found = []
    waiting = [(frozenset[int](), set(range(len(told))), set[int]())]
    while waiting:
        group, more, done = waiting.pop()
        if not more and not done:
            found.append(group)
            if len(found) > MOST_GROUPS:
                raise SpecError(
                    f"more than {MOST_GROUPS} groups of methods that are not told apart"
                )
            continue
        pivot = max(more | done, key=lambda one: len(more & alike[one]))
        for one in sorted(more - alike[pivot]):
            waiting.append((group | {one}, more & alike[one], done & alike[one]))
            more, done = more - {one}, done | {one}
    return found


def _sweep(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Take methods out of groups whose ties they share elsewhere, the lowest mean first."""
    kept = [set(group) for group in sorted(groups, key=sorted)]
    for group in kept:
        for one in sorted(group, reverse=True):
            others = [other for other in kept if other is not group and one in other]
            if others and all(any(tie in other for other in others) for tie in group - {one}):
                group.discard(one)
    return [frozenset(group) for group in kept if group]
