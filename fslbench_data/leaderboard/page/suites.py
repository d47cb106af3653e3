"""A release's task sets by suite, and its methods on them: what the page's tables are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis_sql.interval_kinds import ABOUT
from benchmark_spec.protocol import Protocol, TaskSetName
from benchmark_spec.suites import IntervalKind
from fslbench_data.leaderboard.leaderboard import Board
from fslbench_data.leaderboard.standing import Row, Standing
from fslbench_data.scoring.summary import ORDER

IMAGES, CLASSES = "new images", "new classes"


@dataclass(frozen=True)
class OfSet:
    """A task set and the lines of its methods, by name, best first."""

    standing: Standing
    name: TaskSetName
    rows: Mapping[str, Row]

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.standing.scored.dataset

    @property
    def compared(self) -> list[str]:
        """The methods among which a best one is looked for."""
        entries = self.standing.entries
        return [entry.label for entry in entries if entry.result.ordinary]

    def kind(self, about: str) -> IntervalKind | None:
        """Return the kind of interval by which something is claimed about new images, or others."""
        kinds = (kind for kind in self.standing.claiming if ABOUT[kind] == about)
        return next(kinds, None)

    def could_be_best(self, about: str) -> list[str] | None:
        """Name the methods among which a best one is, best first; None where nothing is claimed."""
        kind = self.kind(about)
        if kind is None or self.standing.leader is None:
            return None
        of_kind = {name: row.intervals[kind] for name, row in self.rows.items()}
        return [name for name, interval in of_kind.items() if interval.could_be_best]


@dataclass(frozen=True)
class OfSuite:
    """The task sets of one suite: those of a data set together, the fewest shots first.

    Attributes
    ----------
    methods
        All that answer one of them, best first: by the mean place, where the last place stands for
        a task set that is not answered.
    """

    suite: str
    sets: tuple[OfSet, ...]
    methods: tuple[str, ...]

    @property
    def datasets(self) -> dict[str, list[OfSet]]:
        """The task sets by data set."""
        by_dataset: dict[str, list[OfSet]] = {}
        for of_set in self.sets:
            by_dataset.setdefault(of_set.dataset, []).append(of_set)
        return by_dataset


def suites_of(board: Board) -> list[OfSuite]:
    """Return a release's suites, those first whose tasks use the most images."""
    datasets = [*dict.fromkeys(standing.scored.dataset for standing in board.sets)]
    by_suite: dict[str, list[OfSet]] = {}
    for standing in board.sets:
        name = TaskSetName.parse(standing.scored.task_set)
        of_set = OfSet(standing, name, {row.method: row for row in standing.rows()})
        by_suite.setdefault(name.suite, []).append(of_set)
    for sets in by_suite.values():
        sets.sort(key=lambda of_set: (datasets.index(of_set.dataset), of_set.name.protocol))
    order = [*(suite for suite in ORDER if suite in by_suite)]
    order += [suite for suite in by_suite if suite not in order]
    return [OfSuite(suite, (*by_suite[suite],), _best_first(by_suite[suite])) for suite in order]


def _best_first(sets: Sequence[OfSet]) -> tuple[str, ...]:
    places: dict[str, list[float]] = {}
    for number, of_set in enumerate(sets):
        for position, (method, row) in enumerate(of_set.rows.items()):
            place = position if row.rank is None else row.rank - 1
            places.setdefault(method, [1.0] * len(sets))[number] = place / len(of_set.rows)
    return tuple(sorted(places, key=lambda method: float(np.mean(places[method]))))


def shots_of(sets: Sequence[OfSet]) -> list[str]:
    """Tell the task sets of a data set apart: by their shots, or by the whole protocol."""
    protocols: list[Protocol] = [of_set.name.protocol for of_set in sets]
    if len({protocol.shot for protocol in protocols}) < len(protocols):
        return [str(protocol) for protocol in protocols]
    return [f"{p.shot} shot{'s' if p.shot > 1 else ''}" for p in protocols]
