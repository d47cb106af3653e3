"""Attribute-biased tasks as the released code of FewSTAB draws them (Zheng et al., ECCV 2024).

docs/bias.md has the differences from the paper, which :mod:`builders.sampling.attribute_biased`
follows.  Where tasks of that code change with the hashes of names, they follow from the seed here;
where it never ends, or lacks attributes, an error is raised.
"""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from builders.sampling.attribute_biased import Bools, ImageAttributes, Ladder
from fslbench_data.sampling.draw import DrawnTasks, Ints, check_number, split_support

ATTEMPTS = 20_000
"""Draws in a row without a task, after which drawing ends."""

PATIENCE = 5
"""Misses in a row after which the requirements are relaxed."""

_INVERSE_EPSILON = 10**10
"""The inverse of what the code adds to a share before it takes the logarithm."""


def draw_released(
    attributes: ImageAttributes,
    protocol: Protocol,
    *,
    dataset: str,
    label: str,
    seed: int,
    tasks: int | None,
) -> Ladder:
    """Draw `tasks` tasks, ``released``, and ``matched`` random ones of the same classes.

    Images recur from task to task.  Raises a SamplingError if too few attributes fit a class, or no
    task can be found.
    """
    check_number(tasks, True, dataset)
    drawing = _Drawing(attributes, protocol, ("fewstab", dataset, label, str(protocol), seed))
    if drawing.fitting.size < protocol.way:
        raise SamplingError(
            f"{drawing.fitting.size} attributes {label} fit a class",
            where=dataset,
            expected=f"at least {protocol.way}, each of which {protocol.shot} images of a class "
            f"have and {protocol.query} lack",
            fix="ask for fewer ways, shots or queries, or use other attributes",
        )
    drawn = [drawing.task(f"{dataset}, attributes {label}") for _ in range(tasks or 0)]
    ids, support, query, inter_class = (
        np.array([[place[part] for place in places] for _, places in drawn]) for part in range(4)
    )
    steps = {
        "released": DrawnTasks(protocol, ids, support, query),
        "matched": drawing.matched(ids),
    }
    return Ladder(steps, np.array([chosen for chosen, _ in drawn], np.int64), inter_class)


Place = tuple[int, Ints, Ints, bool]
"""A class of a task: support and query images, and whether its queries are inter-class."""


class _Drawing:
    def __init__(
        self, attributes: ImageAttributes, protocol: Protocol, key: tuple[str | int, ...]
    ) -> None:
        self._protocol = protocol
        self._has = [of_class.has for of_class in attributes.classes]
        self._stream = {part: Stream(*key, part) for part in ("tasks", "ties", "matched")}
        fits = [
            (has.sum(axis=1) >= protocol.shot) & ((~has).sum(axis=1) >= protocol.query)
            for has in self._has
        ]
        self._present: list[Bools] = [np.asarray(has.any(axis=1)) for has in self._has]
        self._holders = [frozenset(np.flatnonzero(row).tolist()) for row in np.array(fits).T]
        self.fitting = np.flatnonzero([bool(holders) for holders in self._holders])

    def task(self, where: str) -> tuple[Ints, list[Place]]:
        """Draw until there is a task; return each class's attribute, and the classes."""
        misses: Counter[str] = Counter()
        for _ in range(ATTEMPTS):
            found = self._attempt(misses)
            if found is not None:
                return found
        raise SamplingError(
            f"of {ATTEMPTS} draws in a row none gave a {self._protocol} task",
            where=where,
            expected="attributes that several classes share, had by some of their images",
            fix="ask for fewer ways, shots or queries, or use other attributes",
        )

    def _attempt(self, misses: Counter[str]) -> tuple[Ints, list[Place]] | None:
        way = self._protocol.way
        which = self._stream["tasks"].subsets(np.array([self.fitting.size]), way)[0]
        chosen: Ints = self.fitting[which]
        places: list[Place] = []
        for i, attribute in enumerate(chosen):
            shared = frozenset().union(*(self._holders[a] for a in np.delete(chosen, i)))
            taken = {place[0] for place in places}
            classes = sorted(self._holders[attribute] & shared - taken)
            if not classes:
                return None
            label = classes[int(self._stream["tasks"].integers(np.array([len(classes)]))[0])]
            place = self._place(label, int(attribute), chosen, misses)
            if place is None:
                return None
            places.append(place)
        return chosen, places

    def _place(
        self, label: int, attribute: int, chosen: Ints, misses: Counter[str]
    ) -> Place | None:
        """Draw the images of a class, or return None and count the miss."""
        shot, query = self._protocol.shot, self._protocol.query
        has = self._has[label]
        others = chosen[(chosen != attribute) & self._present[label][chosen]]
        if not others.size:
            return None
        of_others = has[others].sum(axis=0)
        for_support = np.flatnonzero(has[attribute] & (of_others <= misses["support"] // PATIENCE))
        if for_support.size < shot:
            misses["support"] += 1
            return None
        misses["support"] = 0
        picked = self._stream["tasks"].subsets(np.array([for_support.size]), shot)[0]
        inter_class = misses["query"] < PATIENCE
        candidates = np.flatnonzero(~has[attribute] & ((of_others > 0) | (not inter_class)))
        if candidates.size < query:
            misses["query"] += 1
            return None
        misses["query"] = 0
        scores = self._scores(label, candidates, chosen)
        chance = self._stream["ties"].words(candidates.size).tolist()
        order = sorted(range(candidates.size), key=lambda i: (scores[i], chance[i]))
        return label, for_support[picked], candidates[order[:query]], inter_class

    def _scores(self, label: int, candidates: Ints, chosen: Ints) -> list[int]:
        """Return whole numbers in the order of the candidates' scores.

        If k of n candidates have attribute a, the exponential of a score is, up to a common factor,
        the product of (10^10 k + n)/n over the attributes of the image.
        """
        counting = np.setdiff1d(self.fitting[self._present[label][self.fitting]], chosen)
        has = self._has[label][np.ix_(counting, candidates)]
        n = int(candidates.size)
        weights = [_INVERSE_EPSILON * int(k) + n for k in has.sum(axis=1)]
        most = int(has.sum(axis=0).max(initial=0))
        return [
            prod(weights[a] for a in np.flatnonzero(column)) * n ** (most - int(column.sum()))
            for column in has.T
        ]

    def matched(self, ids: Ints) -> DrawnTasks:
        """Draw random images of the same classes."""
        sizes = np.array([has.shape[1] for has in self._has])[ids.reshape(-1)]
        images = self._stream["matched"].subsets(sizes, self._protocol.per_class)
        return split_support(self._protocol, ids, images.reshape(*ids.shape, -1))
