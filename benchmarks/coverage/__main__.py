"""The command: ``python -m benchmarks.coverage PART``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage import (
    boards,
    fashion,
    gaussian,
    hangul,
    kinds,
    perfect,
    published,
    real,
    superclass_prior,
    superclasses,
)
from benchmarks.coverage.leave_one_out.command import main as leave_one_out
from benchmarks.coverage.measure import Summary, head, row, together

WIDEST = {7: 2.6, 15: 1.65, 30: 1.3}
"""Limits of the mean half-width, by the number of classes, and otherwise:"""
WIDE = 1.1


def gaussian_part(options: argparse.Namespace, accuracy: float | None = None) -> int:
    """Gaussian classes, at a given τ or at the τ of an accuracy."""
    cells = []
    for protocol in gaussian.PROTOCOLS:
        spread = options.spread
        if accuracy is not None:
            spread = gaussian.spread_for(protocol.shot, accuracy, options.seed)
        for classes, images in gaussian.SIZES:
            true = gaussian.truth(protocol.shot, spread, options.seed)
            cells.append(
                gaussian.Cell(classes, images, protocol, spread, true, options.seed, options.sets)
            )
    cells.sort(key=lambda c: gaussian.SIZES.index((c.classes, c.images)))
    jobs = [(cell, s) for cell in cells for s in range(gaussian.SEQUENCES)]
    found = _spread_out(partial(_gaussian_job, accuracy is None), jobs, options.processes)
    least = 93.0 if accuracy is None else 90.0
    extra = ["closed"] if accuracy is None else ["no interval"]
    print(
        head("C, N", "S, Q", "T", "of", "truth", "true sd", "open", *extra, "class-aware", "width")
    )
    missed = 0
    for i, cell in enumerate(cells):
        parts = found[i * gaussian.SEQUENCES : (i + 1) * gaussian.SEQUENCES]
        method, difference, *closed = gaussian.gathered(parts)
        truths = (cell.truth[0], cell.truth[0] - cell.truth[1])
        for what, judged, true, of_closed in zip(
            ("NCC", "difference"), (method, difference), truths, closed, strict=True
        ):
            s = Summary.of(judged)
            limit = WIDEST.get(cell.classes, WIDE) if accuracy is None else np.inf
            missed += s.aware < least or s.width > limit
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p.tasks for p in parts])),
                    what,
                    f"{100 * true:.2f}",
                    f"{s.deviation:.2f}",
                    s.open,
                    of_closed if accuracy is None else s.none,
                    _marked(s.aware, s.aware < least),
                    _marked(s.width, s.width > limit, 2),
                )
            )
    return missed


def _gaussian_job(with_closed: bool, job: tuple[gaussian.Cell, int]) -> gaussian.Found:
    return gaussian.run(*job, with_closed)


def published_part(options: argparse.Namespace) -> int:
    """The model itself on the published class sequences."""
    names = published.task_sets()
    jobs = [(*name, s, options.sets, options.seed) for name in names for s in published.STRENGTHS]
    found = _spread_out(_published_job, jobs, options.processes)
    print(head("task set", *(f"λ̄g = {s:g}" for s in published.STRENGTHS)))
    many = len(published.STRENGTHS)
    for i, (dataset, name) in enumerate(names):
        cells = [
            f"{_marked(coverage, coverage < 92.5)} ({width:.2f})"
            for coverage, width in found[i * many : (i + 1) * many]
        ]
        print(row(f"{dataset}/{name}", *cells))
    return sum(coverage < 92.5 for coverage, _ in found)


def _published_job(job: tuple[str, str, float, int, int]) -> tuple[float, float]:
    return published.run(*job)


def hangul_part(options: argparse.Namespace) -> int:
    """Hangul syllables in many fonts as the population of classes."""
    population = hangul.population(options.raw)
    print(population.describe(), end="\n\n")
    shots = sorted({cell.protocol.shot for cell in hangul.CELLS})
    jobs: list[Any] = [(shot, part) for shot in shots for part in range(real.TRUTH_PARTS)]
    parts = _spread_out(partial(population.truth, options.seed), jobs, options.processes)
    means = np.reshape(parts, (len(shots), real.TRUTH_PARTS, 2)).mean(axis=1)
    truths = dict(zip(shots, map(tuple, means.tolist()), strict=True))
    jobs = [(c, s, options.sets) for c in hangul.CELLS for s in range(real.SEQUENCES)]
    work = partial(real.run, population, truths, options.seed)
    found = _spread_out(work, jobs, options.processes)
    print(head("C, N", "S, Q", "T", "of", "truth", "true sd", "open", "class-aware", "width"))
    missed = 0
    for i, cell in enumerate(hangul.CELLS):
        parts = found[i * real.SEQUENCES : (i + 1) * real.SEQUENCES]
        one, other = truths[cell.protocol.shot]
        for what, which, true in (("NCC", 1, one), ("difference", 2, one - other)):
            s = Summary.of(together(p[which] for p in parts))
            missed += s.aware < 93.0
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p[0] for p in parts])),
                    what,
                    f"{100 * true:.2f}",
                    f"{s.deviation:.2f}",
                    s.open,
                    _marked(s.aware, s.aware < 93.0),
                    f"{s.width:.2f}",
                )
            )
    return missed


def fashion_part(options: argparse.Namespace) -> int:
    """Fashion-MNIST: the open interval against its own estimand."""
    population = fashion.population(options.raw)
    print(population.describe(), end="\n\n")
    many = len(fashion.CHOICES)
    jobs: list[Any] = [(shot, k) for shot in fashion.SHOTS for k in range(many)]
    expected = partial(fashion.accuracies, population, options.seed)
    each = _spread_out(expected, jobs, options.processes)
    tables = {
        shot: fashion.by_classes(each[i * many : (i + 1) * many])
        for i, shot in enumerate(fashion.SHOTS)
    }
    jobs = [(c, s, options.sets) for c in fashion.CELLS for s in range(real.SEQUENCES)]
    work = partial(fashion.run, population, tables, options.seed)
    found = _spread_out(work, jobs, options.processes)
    print(head("C, N", "S, Q", "T", "of", "true sd", "open"))
    missed = 0
    for i, cell in enumerate(fashion.CELLS):
        parts = found[i * real.SEQUENCES : (i + 1) * real.SEQUENCES]
        for which, what in enumerate(("NCC", "difference")):
            errors = np.concatenate([p[1 + which].error for p in parts])
            widths = np.concatenate([p[1 + which].open for p in parts])
            coverage = 100 * float((np.abs(errors) <= widths).mean())
            missed += coverage < 94.0
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p[0] for p in parts])),
                    what,
                    f"{errors.std():.2f}",
                    _marked(coverage, coverage < 94.0),
                )
            )
    return missed


def kinds_part(make: Callable[[], list[kinds.Kind]], options: argparse.Namespace) -> int:
    """Populations that the model of class effects does not describe; no limit is set for them."""
    populations = make()
    jobs = [(kind, error) for kind in populations for error in kinds.ERRORS]
    found = _spread_out(partial(kinds.run, options.seed, options.sets), jobs, options.processes)
    columns = [f"{what}, {e:g}" for e in kinds.ERRORS for what in ("holds", "above", "below")]
    print(head("C, N", "T", "of", *columns))
    many = len(kinds.ERRORS)
    for i, kind in enumerate(populations):
        held = found[i * many : (i + 1) * many]
        cells = [x for h in held for x in (h.holds, h.above, h.below)]
        size = f"{kind.classes}, {kind.images}"
        print(row(size, round(held[0].tasks), kind.words, *cells))
    return 0


def leaderboard_part(options: argparse.Namespace) -> int:
    """Leaderboards: "no" where it hits one of the best, and rules that would prevent it."""
    accuracies = (boards.equal, boards.nearly_equal, boards.spread)
    sizes = [(methods, tasks) for methods in boards.METHODS for tasks in boards.TASKS]
    jobs = [
        boards.Cell(accuracy(methods), tasks, options.sets, options.seed)
        for methods, tasks in sizes
        for accuracy in accuracies
    ]
    found = _spread_out(boards.run, jobs, options.processes)
    print(
        head(
            "methods",
            "tasks",
            *(f"equal, some no: {rule}" for rule in boards.RULES),
            "the one best, no: leader",
            "right noes a board: leader",
            *(f"kept: {rule}" for rule in boards.RULES[1:]),
        )
    )
    missed = 0
    limit = 5.0 + 200 * (0.05 * 0.95 / options.sets) ** 0.5
    for i, (methods, tasks) in enumerate(sizes):
        equal, nearly, spread = found[3 * i : 3 * i + 3]
        best_missed = 100 * nearly["leader"].wrong / options.sets
        missed += best_missed > limit
        right = spread["leader"].right
        print(
            row(
                methods,
                tasks,
                *(100 * equal[rule].wrong / options.sets for rule in boards.RULES),
                _marked(best_missed, best_missed > limit),
                f"{right / options.sets:.2f}",
                *(100 * spread[rule].right / right for rule in boards.RULES[1:]),
            )
        )
    return missed + _new_class_boards(options)


def _new_class_boards(options: argparse.Namespace) -> int:
    """The same rule for new classes, on a tenth as many boards."""
    many = max(options.sets // 10, 1)
    accuracies = (boards.equal, boards.nearly_equal)
    jobs = [
        boards.Cell(accuracy(methods), boards.CLASS_TASKS, many, options.seed)
        for methods in boards.METHODS
        for accuracy in accuracies
    ]
    found = _spread_out(boards.new_classes, jobs, options.processes)
    print()
    print(head("methods", "equal, some no: new images", "new classes", "the one best: new classes"))
    missed = 0
    limit = 5.0 + 200 * (0.05 * 0.95 / many) ** 0.5
    for i, methods in enumerate(boards.METHODS):
        (images, classes), (_, best) = found[2 * i : 2 * i + 2]
        missed += 100 * best / many > limit
        shares = [100 * n / many for n in (images, classes)]
        print(row(methods, *shares, _marked(100 * best / many, 100 * best / many > limit)))
    return missed


def _marked(value: float, missed: bool, digits: int = 1) -> str:
    return f"{value:.{digits}f}{' MISSED' if missed else ''}"


def _spread_out(work: Callable[[Any], Any], jobs: list[Any], processes: int) -> list[Any]:
    """Results of `jobs`, in their order."""
    found = []
    with Pool(processes, _hold, (work,)) as pool:
        for done in pool.imap(_do, jobs):
            found.append(done)
            if sys.stderr.isatty():
                end = "\n" if len(found) == len(jobs) else "\r"
                print(f"{len(found)} of {len(jobs)}", end=end, file=sys.stderr, flush=True)
    return found


_held: list[Callable[[Any], Any]] = []
"""What this process works with: inherited, since a population is large."""


def _hold(work: Callable[[Any], Any]) -> None:
    _held[:] = [work]


def _do(job: Any) -> Any:
    return _held[0](job)


PARTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "gaussian": gaussian_part,
    "accurate": partial(gaussian_part, accuracy=0.98),
    "published": published_part,
    "hangul": hangul_part,
    "fashion": fashion_part,
    "perfect": perfect.part,
    "rare": partial(kinds_part, kinds.rare_kinds),
    "superclasses": partial(kinds_part, kinds.superclass_kinds),
    "new-superclasses": lambda options: superclasses.part(options, _spread_out),
    "superclass-prior": superclass_prior.part,
    "leaderboard": leaderboard_part,
}


def main() -> int:
    """Print a part's table; exit 1 if a limit is missed."""
    if sys.argv[1:2] == ["leave-one-out"]:  # has options of its own, and is run in several sittings
        return leave_one_out(sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="The part leave-one-out has options of its own: see its --help."
    )
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--sets", type=int, default=10_000, help="simulated data sets of a cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spread", type=float, default=1.0, help="τ of the part gaussian")
    parser.add_argument("--raw", type=Path, default=Path("raw"), help="folder of fetched packages")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    start = time.perf_counter()
    missed = PARTS[options.part](options)
    seconds = time.perf_counter() - start
    spread = f" --spread {options.spread:g}" if options.part == "gaussian" else ""
    print()
    print(
        f"`python -m benchmarks.coverage {options.part} --sets {options.sets} --seed "
        f"{options.seed}{spread}`: {seconds:.0f} s in {options.processes} processes, "
        f"numpy {np.__version__}, limits missed: {missed}"
    )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
