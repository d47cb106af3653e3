"""Task sets that lead, and differences, in the words of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fslbench_data.render.short_names import shortened
from fslbench_data.scoring.headlines import Headline

NAME = 60
"""Characters of a method's name in a sentence, at most."""
THESE = "of these images alone"
"""What is said of task sets where nothing is said of new images."""


def places(headlines: Sequence[Headline]) -> str:
    """Name task sets that lead: ``digits (5 and 10 shots), emoji (1 shot)``."""
    by_dataset: dict[str, list[Headline]] = {}
    for headline in headlines:
        by_dataset.setdefault(headline.scored.dataset, []).append(headline)
    return ", ".join(f"{dataset} ({_shots(of)})" for dataset, of in by_dataset.items())


def of_places(differences: Iterable[tuple[Headline, str]]) -> list[str]:
    """Name methods and where: ``A and B on digits (5 and 10 shots)``, ``C on emoji (1 shot)``."""
    by_method: dict[str, list[Headline]] = {}
    for headline, name in differences:
        by_method.setdefault(name, []).append(headline)
    by_places: dict[str, list[str]] = {}
    for name, headlines in by_method.items():
        by_places.setdefault(places(headlines), []).append(shortened(name, NAME))
    return [f"{listed(names)} on {where}" for where, names in by_places.items()]


def _shots(headlines: Iterable[Headline]) -> str:
    protocols = sorted({headline.name.protocol for headline in headlines})
    shots = sorted({protocol.shot for protocol in protocols})
    if len(shots) < len(protocols):
        return listed([str(protocol) for protocol in protocols])
    return f"{listed([str(shot) for shot in shots])} shot{'s' if shots != [1] else ''}"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def by_points(points: float, number: int) -> str:
    """Say how large a difference is, or of several the largest."""
    return f"by {'up to ' if number > 1 else ''}{points:.2f} points"
