"""Whole commands as users type them, against plain programs: ``python -m benchmarks.commands``.

Submissions on the 27 published task sets of Meta-Dataset, and on the closed sets of the embedded
release.  Their accuracies are those of the release's reference methods of the same number of shots,
with differences between classes, methods, and both, of a fixed seed.

The peers read the same Parquet file and compute the interval of every pair's difference, and
nothing else: no check of a rule, no new classes, no verdict.  Each program is a process of its own;
its processor time (of all its processes) and its peak memory are what the system counted for it.
Ratios are of processor time, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = str(ROOT / "examples/my_results.parquet")
COMMAND = (
    "import sys; from fslbench_data.entry import fslbench; sys.argv[0] = 'fslbench'; fslbench()"
)
IMPORTS = "import click, duckdb, numpy, pyarrow.parquet, rich.table, scipy.special"
PEERS = ("numpy", "pandas", "polars")
FEW = 100
"""Methods of the outputs that grow with the number of pairs."""


@dataclass(frozen=True)
class Line:
    """A command on a file of so many methods, and its limits.

    Attributes
    ----------
    suite
        Of the file's task sets; empty where the command has no such file.
    against
        What its time is a multiple of: numpy on the same file, or the bare imports.
    times, gigabytes
        Limits; None for none.
    """

    name: str
    arguments: tuple[str, ...]
    methods: int = 0
    suite: str = ""
    against: str = "numpy"
    times: float | None = None
    gigabytes: float | None = None


def lines(many: int) -> list[Line]:
    """Return the lines of the table, of `many` methods where there are many."""
    published = "published"
    return [
        Line("help", ("--help",), against="imports"),
        Line("example", ("score", EXAMPLE), against="imports", times=2),
        Line("references", ("score",), against="imports"),
        Line("score", ("score", "FILE"), FEW, published, times=3, gigabytes=0.5),
        Line("score", ("score", "FILE"), many, published, times=4, gigabytes=1.2),
        Line("closed", ("score", "FILE", "--against", "pixels/NCC"), many, "closed"),
        Line("csv", ("score", "FILE", "-o", "OUT.csv"), FEW, published, times=6),
        Line("json", ("score", "FILE", "-o", "OUT.json"), FEW, published, times=8, gigabytes=0.8),
        Line("details", ("score", "FILE", "--details", "-o", "OUT.txt"), FEW, published),
        Line("report", ("report", "FILE", "-o", "OUT"), FEW, published, times=16),
    ]


def make(path: Path, suite: str, methods: int) -> None:
    """Write a submission in long form, with fingerprints, in row groups of at most 20 methods."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fslbench_data.release.release import load_release
    from fslbench_data.scoring.score import score

    release = load_release()
    rng = np.random.default_rng(0)
    scores = score(task_sets=[f"open-{p}" for p in ("5w1s1q", "5w5s5q", "5w10s7q")]).scores
    sets, easy, classes, own = [], [], [], rng.normal(0.0, 0.02, methods)
    for info in (info for info in release.task_sets if info.name.suite == suite):
        ids = release.class_ids(info)
        prefix = f"open-5w{info.protocol.shot}s"
        alike = [s.accuracy.mean for s in scores if s.task_set.startswith(prefix)]
        typical = np.resize(rng.permutation(alike), methods) / 100.0 + own
        by_class = rng.normal(0.0, 0.08, ids.max() + 1)
        sets.append(info)
        classes.append(ids)
        easy.append((typical, by_class))
    coded = {
        "method": [f"features{i % 7}/method{i:04d}" for i in range(methods)],
        **{
            name: [str(getattr(info, field)) for info in sets]
            for name, field in (
                ("dataset", "dataset"),
                ("task_set", "name"),
                ("fingerprint", "fingerprint"),
            )
        },
    }
    names = {name: list(dict.fromkeys(values)) for name, values in coded.items()}
    fields = [(name, pa.dictionary(pa.int32(), pa.string())) for name in names]
    numbers = [("task_id", pa.int32()), ("n_correct", pa.int16()), ("n_query", pa.int16())]
    schema = pa.schema([*fields, *numbers])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, methods, 20):
            batches = []
            for method in range(start, min(start + 20, methods)):
                for number, (info, ids, (typical, by_class)) in enumerate(
                    zip(sets, classes, easy, strict=True)
                ):
                    mine = by_class + rng.normal(0.0, 0.02, by_class.size)
                    chance = np.clip(typical[method] + mine[ids].mean(axis=1), 0.02, 0.98)
                    n_query, tasks = info.protocol.n_query, len(ids)
                    columns = [
                        pa.DictionaryArray.from_arrays(
                            np.full(
                                tasks,
                                names[name].index(values[number if name != "method" else method]),
                                np.int32,
                            ),
                            names[name],
                        )
                        for name, values in coded.items()
                    ]
                    columns += [
                        pa.array(np.arange(tasks, dtype=np.int32)),
                        pa.array(rng.binomial(n_query, chance).astype(np.int16)),
                        pa.array(np.full(tasks, n_query, np.int16)),
                    ]
                    batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
            writer.write_table(pa.Table.from_batches(batches).combine_chunks())


def peer(name: str, path: Path) -> None:
    """Read a file, and compute the half-widths of the differences of all pairs on each task set."""
    {"numpy": _numpy, "pandas": _pandas, "polars": _polars}[name](path)


def _numpy(path: Path) -> None:
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["method", "dataset", "task_set", "task_id", "n_correct"])
    table = table.unify_dictionaries().combine_chunks()
    methods, datasets, task_sets = (
        table.column(name).chunk(0).indices.to_numpy() for name in ("method", "dataset", "task_set")
    )
    key = datasets.astype(np.int64) * (int(task_sets.max()) + 1) + task_sets
    tasks, correct = (table.column(name).to_numpy() for name in ("task_id", "n_correct"))
    order = np.argsort(key, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        x = np.zeros((int(methods[rows].max()) + 1, int(tasks[rows].max()) + 1))
        x[methods[rows], tasks[rows]] = correct[rows]
        _widths(np.cov(x), x.shape[1])


def _pandas(path: Path) -> None:
    import pandas as pd

    frame = pd.read_parquet(path)
    for _, part in frame.groupby(["dataset", "task_set"], observed=True):
        wide = part.pivot_table(
            index="task_id", columns="method", values="n_correct", observed=True
        )
        _widths(wide.cov().to_numpy(), len(wide))


def _polars(path: Path) -> None:
    import numpy as np
    import polars as pl

    frame = pl.read_parquet(path, columns=["method", "dataset", "task_set", "task_id", "n_correct"])
    for part in frame.partition_by("dataset", "task_set"):
        wide = part.pivot(on="method", index="task_id", values="n_correct").drop("task_id")
        _widths(np.cov(wide.to_numpy(), rowvar=False), len(wide))


def _widths(covariance: Any, tasks: int) -> Any:
    import numpy as np
    from scipy.special import stdtrit

    variance = np.diag(covariance)
    scatter = variance[:, None] + variance[None, :] - 2 * covariance
    return stdtrit(tasks - 1, 0.975) * np.sqrt(np.maximum(scatter, 0) / tasks)


@dataclass(frozen=True)
class Run:
    """What a process took: of the clock, of the processors, and memory at its peak."""

    seconds: float
    processor: float
    gigabytes: float


def run(arguments: Sequence[object], folder: Path) -> Run:
    """Run Python with some arguments, one thread a product; an error if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    with (folder / "said.txt").open("w+b") as output:
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{arguments}: exit {process.returncode}\n{output.read().decode()}")
    return Run(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6)


def main() -> int:
    """Print the table; exit 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--methods", type=int, default=200, help="how many are many; 1000 takes long"
    )
    parser.add_argument("--only", nargs="*", default=(), help="lines by name; all")
    parser.add_argument("--rounds", type=int, default=1, help="the quickest of so many")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the files made")
    parser.add_argument("--make", nargs=3, metavar=("FILE", "SUITE", "METHODS"))
    parser.add_argument("--peer", nargs=2, metavar=("NAME", "FILE"))
    options = parser.parse_args()
    if options.make:
        make(Path(options.make[0]), options.make[1], int(options.make[2]))
        return 0
    if options.peer:
        peer(options.peer[0], Path(options.peer[1]))
        return 0
    chosen = [
        some for some in lines(options.methods) if not options.only or some.name in options.only
    ]
    with tempfile.TemporaryDirectory() as scratch:
        return _table(chosen, Path(scratch), options.keep or Path(scratch), options.rounds)


def _table(chosen: Sequence[Line], scratch: Path, kept: Path, rounds: int) -> int:
    def quickest(*arguments: object) -> Run:
        runs = []
        for _ in range(rounds):
            for made in scratch.glob("out*"):
                shutil.rmtree(made) if made.is_dir() else made.unlink()
            runs.append(run(arguments, scratch))
        return min(runs, key=lambda one: one.processor)

    print("| what | methods | seconds | processor s | times | peak GB | limit |")
    print("|---|---|---|---|---|---|---|")
    missed, yardsticks = 0, {}
    if any(line.against == "imports" for line in chosen):
        yardsticks["imports", 0] = quickest("-c", IMPORTS)
        _print("bare imports", 0, yardsticks["imports", 0], 1.0)
    for line in chosen:
        file = (kept / f"{line.suite}{line.methods}.parquet").resolve()
        key = line.suite or line.against, line.methods
        if line.suite and key not in yardsticks:
            if not file.exists():
                run(["-m", "benchmarks.commands", "--make", file, *key], scratch)
            for name in PEERS:
                found = quickest("-m", "benchmarks.commands", "--peer", name, file)
                plain = yardsticks.setdefault(key, found)
                _print(
                    f"{name}, {line.suite}", line.methods, found, found.processor / plain.processor
                )
        names = {"FILE": str(file)}
        arguments = (names.get(a, a.replace("OUT", str(scratch / "out"))) for a in line.arguments)
        found = quickest("-c", COMMAND, *arguments)
        times = found.processor / yardsticks[key].processor
        limits = (line.times, "times", times), (line.gigabytes, "GB", found.gigabytes)
        limit = ", ".join(f"{most:g} {unit}" for most, unit, _ in limits if most is not None)
        over = any(most is not None and value > most for most, _, value in limits)
        _print(
            f"fslbench {' '.join(line.arguments)}".replace(EXAMPLE, "README's"),
            line.methods,
            found,
            times,
            limit + over * " **missed**",
        )
        missed += over
    return int(missed > 0)


def _print(what: str, methods: int, found: Run, times: float, limit: str = "") -> None:
    print(
        f"| {what} | {methods or ''} | {found.seconds:.2f} | {found.processor:.2f} | {times:.1f} "
        f"| {found.gigabytes:.2f} | {limit} |",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
