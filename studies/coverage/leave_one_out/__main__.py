"""The command: ``python -m studies.coverage leave-one-out run|table|holm FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from studies.common import LEVEL, work_off
from studies.coverage.leave_one_out import holm
from studies.coverage.leave_one_out.data_sets import population
from studies.coverage.leave_one_out.lines import Kind, chosen
from studies.coverage.leave_one_out.runs import PEERS, jobs, results, rows, table

KINDS: tuple[Kind, ...] = ("images", "classes", "superclasses")


def main(arguments: list[str]) -> int:
    """Run what is left to run, or print what was run; exit 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.coverage leave-one-out", description=__doc__
    )
    parser.add_argument("what", choices=["lines", "run", "table", "holm", "holm-table"])
    parser.add_argument("folder", type=Path, nargs="?", help="where results are kept")
    parser.add_argument("--data-sets", type=int, help="of each line, instead of 2000 or 1000")
    parser.add_argument(
        "--lines", action="append", default=[], help="lines whose names fit, as in a shell; again"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--raw", type=Path, default=Path("raw"), help="folder of fetched packages")
    options = parser.parse_args(arguments)
    if options.what == "lines":
        print("\n".join(line.name for line in chosen(options.lines)))
        return 0
    if options.folder is None:
        parser.error(f"{options.what} needs a folder")
    if options.what == "run":
        lines = chosen(options.lines)
        for name in {line.population for line in lines} - {""}:
            population(name, options.raw)  # before processes are forked, which then have it
        todo = jobs(options.folder, lines, options.seed, options.data_sets, options.raw)
        work_off(options.folder, todo, options.jobs)
        return 0
    if options.what == "holm":
        holm.run(options.folder, options.seed, options.data_sets, options.jobs)
        return 0
    return _print(options) if options.what == "table" else holm.print_table(options)


def _print(options: argparse.Namespace) -> int:
    missed, seconds = 0, 0.0
    said = "".join(f" --lines '{pattern}'" for pattern in options.lines)
    for kind in KINDS:
        every = [
            found
            for line in chosen(options.lines)
            if kind in line.kinds
            for found in rows(options.folder, line, kind, options.seed)
        ]
        if not every:
            continue
        usual = [r for r in every if r.level == LEVEL]
        print(f"New {kind} (the other: {PEERS[kind]}):\n\n{table(usual)}\n")
        if len(usual) < len(every):
            others = table([r for r in every if r.level != LEVEL])
            print(f"New {kind}, other levels:\n\n{others}\n")
        missed += sum(r.missed for r in every)
        known = (
            results(options.folder, line, kind, options.seed)
            for line in dict.fromkeys(r.line for r in every)
        )
        seconds += sum(k.seconds for k in known if k is not None)
    print(
        f"`python -m studies.coverage leave-one-out run FOLDER --seed {options.seed}{said}`, "
        f"then `table`: {seconds:.0f} s of a processor, numpy {np.__version__}, "
        f"rows that miss a limit: {missed}"
    )
    return int(missed > 0)
