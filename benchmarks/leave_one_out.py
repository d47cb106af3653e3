"""All pairs of methods on tasks that reuse images: ``python benchmarks/leave_one_out.py``.

Intervals for new images, classes and superclasses, the design of the tasks included.  The peer is
the jackknife as it is written: leave out the tasks of one image (class) after another, take the
mean of the rest, pair by pair; without noise taken out.  It is timed on a sample of pairs and
scaled up.  Everything runs in one process, on one thread; peak memory is the process's.
"""

from __future__ import annotations

import resource
import time

from fslbench_data.entry import bound_threads

bound_threads()  # as the command does, before numpy is imported

import numpy as np  # noqa: E402

from analysis_sql.leave_one_out.design import TaskDesign  # noqa: E402
from analysis_sql.leave_one_out.leave_one_out import leave_one_out  # noqa: E402

WAY, PER_CLASS, CLASSES, IMAGES = 5, 10, 30, 100
SAMPLE = 3

Tasks = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(tasks: int, seed: int) -> Tasks:
    """Draw classes (B, K) and images (B, K, m); gives the class of each image, too."""
    rng = np.random.default_rng(seed)
    ids = np.argsort(rng.random((tasks, CLASSES)), axis=1)[:, :WAY]
    inside = np.argsort(rng.random((tasks, WAY, IMAGES)), axis=2)[:, :, :PER_CLASS]
    return ids, ids[:, :, None] * IMAGES + inside, np.repeat(np.arange(CLASSES), IMAGES)


def values(tasks: Tasks, methods: int, seed: int) -> np.ndarray:
    """Return accuracies (M, B) with effects of images and classes, in 25ths."""
    ids, images, owner = tasks
    rng = np.random.default_rng(seed)
    of_class = rng.normal(0.0, 0.08, (methods, CLASSES))
    of_image = rng.normal(0.0, 0.1, (methods, owner.size))
    y = np.empty((methods, len(ids)))
    for i in range(methods):
        y[i] = of_class[i][ids].mean(axis=1) + of_image[i][images].mean(axis=(1, 2))
    return np.rint(25 * np.clip(0.8 + y + rng.normal(0.0, 0.08, y.shape), 0, 1)) / 25


def ours(sets: list[tuple[Tasks, np.ndarray]]) -> float:
    """Return seconds for all pairs of some sets by all kinds."""
    start = time.perf_counter()
    superclasses = np.arange(CLASSES) // 3
    for tasks, y in sets:
        design = TaskDesign.of(*tasks, superclass_of_class=superclasses)
        result = leave_one_out(design, y, 0.95)
        assert not result.why
        assert result.superclasses is not None
        assert np.isfinite(result.superclasses.halfwidth).all()
    return time.perf_counter() - start


def literal(tasks: Tasks, y: np.ndarray) -> float:
    """Return seconds for a pair by leaving out tasks of an image, then of a class, literally."""
    ids, images, owner = tasks
    differences = y[0] - y[1]
    start = time.perf_counter()
    for members, units in ((images.reshape(len(ids), -1), owner.size), (ids, CLASSES)):
        means = [differences[~(members == unit).any(axis=1)].mean() for unit in range(units)]
        assert np.isfinite(means).all()
    return time.perf_counter() - start


def main() -> int:
    """Print the table; exit 1 if a limit of it is missed."""
    large, small = drawn(4000, 0), [drawn(600, seed) for seed in range(12)]
    y = values(large, 1000, 1)
    twelve = [(tasks, values(tasks, 12, 2)) for tasks in small]
    seconds = ours([(large, y)])
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    few = ours(twelve)
    one = float(np.median([literal(large, y[i : i + 2]) for i in range(SAMPLE)]))
    pairs = 1000 * 999 // 2
    print("| what | pairs | seconds | peak GB | limit |")
    print("|---|---|---|---|---|")
    print(
        f"| 1000 methods, 4000 tasks | {pairs:,} | {seconds:.1f} | {gigabytes:.2f} | 10 s, 4 GB |"
    )
    print(f"| 12 methods, 12 sets of 600 tasks | {66 * 12} | {few:.2f} | | 2 s |")
    scaled = one * pairs
    print(
        f"| the literal jackknife on 4000 tasks, {one:.2f} s a pair on {SAMPLE} | {pairs:,} "
        f"| {scaled:,.0f} | | {scaled / seconds:,.0f} times ours |"
    )
    return int(seconds > 10 or gigabytes > 4 or few > 2)


if __name__ == "__main__":
    raise SystemExit(main())
