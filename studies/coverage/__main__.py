"""The command: ``python -m studies.coverage PART``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from studies.coverage import (
    all_ways,
    all_ways_halves,
    boards,
    dataset_means,
    episodes,
    fashion,
    few_appearances,
    gaussian,
    hangul,
    kinds,
    level,
    perfect,
    published,
    queries_known,
    superclasses,
    training_runs,
)
from studies.coverage.kinds import rare_kinds, superclass_kinds
from studies.coverage.leave_one_out.__main__ import main as leave_one_out

PARTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "gaussian": gaussian.part,
    "accurate": partial(gaussian.part, accuracy=0.98),
    "published": published.part,
    "hangul": hangul.part,
    "fashion": fashion.part,
    "perfect": perfect.part,
    "rare": partial(kinds.part, rare_kinds),
    "superclasses": partial(kinds.part, superclass_kinds),
    "new-superclasses": superclasses.part,
    "superclass-prior": superclasses.prior_part,
    "leaderboard": boards.part,
    "training-runs": training_runs.part,
    "few-runs": training_runs.few_runs,
    "one-run": training_runs.one_run,
    "own-task-runs": training_runs.own_task_runs,
    "own-task-means": training_runs.own_task_means,
    "all-ways": all_ways.part,
    "all-ways-new-classes": all_ways.new_classes,
    "all-ways-halves": all_ways_halves.part,
    "episodes": episodes.part,
    "queries-known": queries_known.part,
    "queries-known-real": queries_known.real_part,
    "few-appearances": few_appearances.part,
    "level": level.part,
    "dataset-means": dataset_means.part,
    "dataset-means-own-tasks": dataset_means.own_tasks,
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
    parser.add_argument(
        "--lines",
        default="",
        help="of training runs and few appearances only lines whose first words match this",
    )
    options = parser.parse_args()
    start = time.perf_counter()
    missed = PARTS[options.part](options)
    seconds = time.perf_counter() - start
    spread = f" --spread {options.spread:g}" if options.part == "gaussian" else ""
    print()
    print(
        f"`python -m studies.coverage {options.part} --sets {options.sets} --seed "
        f"{options.seed}{spread}`: {seconds:.0f} s in {options.processes} processes, "
        f"numpy {np.__version__}, limits missed: {missed}"
    )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
