"""The page's first words: among which methods a best one is, in a sentence a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmark_spec.suites import suite_of
from fslbench_data.leaderboard.page.suites import CLASSES, IMAGES, OfSet, OfSuite, shots_of
from fslbench_data.render.short_names import shortened

NAME = 60
"""Characters of a method's name, at most."""

MOST_NAMED = 3
"""Methods that a sentence names."""


def opening(level: float) -> str:
    """Say what the sentences below claim."""
    return (
        f"With {100 * level:.8g} % confidence on each task set, a best method is among those that "
        "may be best, and for each of the others there is one at least as good. That those which "
        "may be best are equally good is not claimed."
    )


def heading(of_suite: OfSuite) -> str:
    """Name a suite, and say whether its tasks share images."""
    shares = suite_of(of_suite.suite).interval == "closed"
    return f"{of_suite.suite}: {'tasks that reuse images' if shares else 'no image in two tasks'}"


def sentences(of_suite: OfSuite) -> list[str]:
    """Say of each data set who may be best, for new images and for new classes."""
    return [
        f"{dataset} ({_shots(sets)}): for new images {_who(sets, IMAGES)}; for new classes "
        f"{_who(sets, CLASSES)}."
        for dataset, sets in of_suite.datasets.items()
    ]


def _shots(sets: Sequence[OfSet]) -> str:
    texts = shots_of(sets)
    if all(" " in text for text in texts):
        return f"{listed([text.split()[0] for text in texts])} {texts[-1].split()[1]}"
    return listed(texts)


def _who(sets: Sequence[OfSet], about: str) -> str:
    """Name the methods that may be best, and on how many of the task sets."""
    possible = [(of_set, names) for of_set in sets if (names := of_set.could_be_best(about))]
    if not possible:
        return "nothing is claimed"
    unclaimed = len(sets) - len(possible)
    silent = f"; nothing is claimed on {unclaimed}" if unclaimed else ""
    numbers = [of_set.standing.compared for of_set, _ in possible]
    if all(len(names) == number > 1 for (_, names), number in zip(possible, numbers, strict=True)):
        few, many = min(numbers), max(numbers)
        every = f"any of the {few if few == many else f'{few} to {many}'} methods"
        return f"{every} ({silent[2:]})" if silent else every
    counts = Counter(name for _, names in possible for name in names)
    most = max(counts.values())
    named = _some([name for name in counts if counts[name] == most])
    if len(possible) == 1:
        return f"{named} ({len(counts)} of {numbers[0]} methods{silent})"
    where = f"on {'all' if most == len(sets) else f'{most} of'} {len(sets)}"
    compared = {name for of_set, _ in possible for name in of_set.compared}
    return f"{named} {where} ({len(counts)} of {len(compared)} methods on at least one{silent})"


def _some(names: Sequence[str]) -> str:
    """Name the first of some methods, and count the others."""
    shown = [shortened(name, NAME) for name in names[:MOST_NAMED]]
    left = len(names) - len(shown)
    return listed([*shown, *([f"{left} more"] if left else [])])


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
