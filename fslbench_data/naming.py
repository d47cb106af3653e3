"""Arguments that are one name or several."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.protocol import task_sets_of


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; a single text is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def task_set_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of task sets; one such as ``ladder_titles-5w5s5q`` stands for all steps.

    What is no such name is left as it is, for those who know which there are to refuse.
    """
    found: dict[str, None] = {}
    for name in names_of(names):
        try:
            found |= dict.fromkeys(task_sets_of(name))
        except FSLBenchError:
            found[name] = None
    return tuple(found)
