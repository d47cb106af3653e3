"""The order in which methods stand in an answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fslbench_data.scoring.standings import Standings


def best_first(names: Sequence[str], columns: Sequence[Standings]) -> list[str]:
    """Sort methods by how far they are behind the highest mean, on average over their task sets.

    One that leaves out hard task sets gains nothing by it: a method moves above those right above
    it that it is ahead of on the task sets which both answer.  Equals stay in the order of `names`.
    """
    of = {
        name: {at: c.by_method[name].behind for at, c in enumerate(columns) if name in c.by_method}
        for name in names
    }
    placed: list[str] = []
    for name in sorted(names, key=lambda name: _mean(of[name].values())):
        place = len(placed)
        while place and _ahead(of[name], of[placed[place - 1]]):
            place -= 1
        placed.insert(place, name)
    return placed


def _ahead(one: dict[int, float], other: dict[int, float]) -> bool:
    both = sorted(one.keys() & other.keys())
    return _mean([one[at] for at in both]) < _mean([other[at] for at in both])


def _mean(gaps: Collection[float]) -> float:
    return sum(gaps) / len(gaps) if gaps else 0.0
