"""The ten methods of FewSTAB, trained on glyphs: what they answer, and what it says of them.

``runs/*.toml`` are their trainings; ``trainings`` keeps what each was and its learning curve, but
no weights.  ``tasks.toml`` is the release that they answer, and ``results/*.parquet`` are the
correct queries of each class of each task, with the training's seed as the run.  ``python -m
studies.trained_methods`` prints the tables of studies/trained_methods/README.md.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

HERE = Path(__file__).parent
RELEASE, RESULTS, TRAININGS = HERE / "release", HERE / "results", HERE / "trainings"
MANY = HERE / "many_results"
"""What the trainings of seed 0 answer to as many tasks as the paper has: ``many_tasks.toml``."""
DATASET = "glyphs"
UNTRAINED = "untrained"
OPEN = ("open-5w1s1q", "open-5w5s5q", "open-5w10s7q", "open-20w1s1q", "open-20w5s5q")
"""The open task sets: what training brought is measured on them."""
TUNED = "open-20w5s5q"
"""What FT answers."""
METHODS = (
    "ANIL", "LEO", "BOIL", "ProtoNet", "DN4", "R2D2", "CAN", "RENet", "Baseline++", "RFS"
)  # fmt: skip
"""In the order of the paper's Table 3."""
MEANS = "means"
"""Of a network's maps over places: what a head is given of them, beside the whole."""
FIVE, ONE = "5w5s", "5w1s"
"""How methods were trained."""


def named(present: Container[str], trained: str) -> list[tuple[str, str]]:
    """List methods that were trained so, in the paper's order: name and key."""
    return [(name, f"{name}-{trained}") for name in METHODS if f"{name}-{trained}" in present]
