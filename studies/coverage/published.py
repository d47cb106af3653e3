"""The model itself, on the class sequences of the 27 published task sets.

Class effects and errors are normal, so that only what is unknown, the ratio of their variances,
and the unequal use of classes can keep the class-aware interval from its level.
"""

from __future__ import annotations

import argparse

import numpy as np

import fslbench_data
from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixtures_of, relative_halfwidths
from studies.common import LEVEL, head, marked, row, spread_out

STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0, 100.0)
_AT_ONCE = 1000


def task_sets() -> list[tuple[str, str]]:
    """Return data set and name of each published task set."""
    infos = fslbench_data.load_release().task_sets
    return [(i.dataset, str(i.name)) for i in infos if i.name.suite == "published"]


def run(dataset: str, name: str, strength: float, sets: int, seed: int) -> tuple[float, float]:
    """Return coverage in per cent, and mean half-width by 1.96 true sd, for λ̄g `strength`."""
    ids = fslbench_data.load_release().task_set(dataset, name).class_ids
    design = ClassDesign.of(ids)
    key = [ord(letter) for letter in f"{dataset}/{name}"]
    rng = np.random.default_rng([seed, 3, int(10 * strength), *key])
    effect = np.sqrt(strength / design.mean_eigenvalue)
    covered, widths = 0, 0.0
    for start in range(0, sets, _AT_ONCE):
        some = min(_AT_ONCE, sets - start)
        b = effect * rng.standard_normal((some, design.classes))
        y = rng.standard_normal((some, design.tasks))
        for slot in design.members.T:
            y += b[:, slot]
        mean = y.mean(axis=1, keepdims=True)
        norm2 = np.square(y - mean).sum(axis=1)
        h = relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), LEVEL) * np.sqrt(
            norm2
        )
        covered += int((np.abs(mean[:, 0]) <= h).sum())
        widths += float(h.sum())
    true = np.sqrt(1 / design.tasks + effect**2 * design.concentration)
    return 100 * covered / sets, widths / sets / (1.959964 * float(true))


def part(options: argparse.Namespace) -> int:
    """Print how the class-aware interval holds at each strength of class effects."""
    names = task_sets()
    jobs = [(*name, s, options.sets, options.seed) for name in names for s in STRENGTHS]
    results = spread_out(_published_job, jobs, options.processes)
    print(head("task set", *(f"λ̄g = {s:g}" for s in STRENGTHS)))
    many = len(STRENGTHS)
    for i, (dataset, name) in enumerate(names):
        cells = [
            f"{marked(coverage, coverage < 92.5)} ({width:.2f})"
            for coverage, width in results[i * many : (i + 1) * many]
        ]
        print(row(f"{dataset}/{name}", *cells))
    return sum(coverage < 92.5 for coverage, _ in results)


def _published_job(job: tuple[str, str, float, int, int]) -> tuple[float, float]:
    return run(*job)
