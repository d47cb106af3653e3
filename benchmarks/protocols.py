"""`score` of 100 methods on episodes that differ, on all classes at once, and with predictions.

``python -m benchmarks.protocols``: 20,000 episodes by Meta-Dataset's rule; 16 draws of 16 shots of
ten classes, each of which asks 10,000 test images; and 600 tasks of 75 queries on each of ten data
sets, of which it is known how many queries of a class were right, or which.  A release is made with
the tasks, and files of results; the command is timed as `benchmarks.commands` times it.  Last, a
log without a release: three draws of ten classes and 1,000 test images, a row a prediction.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace
from numpy.typing import NDArray

import fslbench_data as fb
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.schemas import IMAGES
from benchmarks.commands import COMMAND, Run, run
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data.submission.model import Method
from fslbench_data.tasks import TaskSetInfo

ABOUT = About("Nothing", "https://example.org", "CC0", "@misc{x}")
METHODS, EPISODES, DRAWS, DATASETS = 100, 20_000, 16, 10
LIMITS = {"episodes": (20.0, 2.0), "allway": (5.0, None), "log": (10.0, None)}
"""Seconds of processor time, and gigabytes."""
QUERIES_KNOWN = 1.5
"""Times the seconds without predictions."""


def episodes(writer: ReleaseWriter) -> TaskSetName:
    """Draw episodes of up to 30 of 85 classes with 60 to 300 images."""
    sizes = np.random.default_rng(0).integers(60, 301, 85).tolist()
    name = TaskSetName.parse("episodes-30w100s10q")
    writer.add_dataset("many", ABOUT, [str(c) for c in range(85)], sizes)
    writer.add_tasks("many", name, *draw_task_set("many", name, sizes, seed=0, tasks=EPISODES))
    return name


def allway(writer: ReleaseWriter) -> TaskSetName:
    """Draw support sets of ten classes with 500 images, and 1,000 more as a test part."""
    sizes, names = [1500] * 10, list("abcdefghij")
    paths = [f"{'train' if i % 1500 < 500 else 'test'}/{i}.png" for i in range(15_000)]
    owner = np.repeat(range(10), sizes)
    columns = [range(15_000), owner, np.array(names)[owner], paths, *[[None] * 15_000] * 4]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, IMAGES, strict=True)]
    writer.add_dataset("ten", ABOUT, names, sizes, pa.Table.from_arrays(arrays, schema=IMAGES))
    name = TaskSetName.parse("allway-10w16s10000q")
    drawn = draw_task_set("ten", name, sizes, seed=0, tasks=DRAWS, paths=paths, test="test/")
    writer.add_tasks("ten", name, *drawn, drawn=True)
    return name


def log(path: Path) -> str:
    """Write predictions of methods that are right 60 to 80 % of the time, and return a heading."""
    methods, draws, images = np.indices((METHODS, 3, 1000)).reshape(3, -1)
    owner, rng = images % 10, np.random.default_rng(0)
    right = rng.random(methods.size) < 0.6 + methods / 500
    names = np.array([f"method{number:03d}" for number in range(METHODS)])
    columns = {
        "method": names[methods],
        "draw": draws,
        "shots": np.full(methods.size, 16),
        "image": images,
        "class": owner,
        "predicted": np.where(right, owner, (owner + 1) % 10),
    }
    pq.write_table(pa.table(columns), path)
    return "log: 3 draws, 1,000 images"


def closed(writer: ReleaseWriter) -> TaskSetName:
    """Draw 600 tasks that reuse images of 20 classes with 600 images, of each data set."""
    name = TaskSetName.parse("closed-5w5s15q")
    for dataset in (f"d{number}" for number in range(DATASETS)):
        writer.add_dataset(dataset, ABOUT, [str(c) for c in range(20)], [600] * 20)
        writer.add_tasks(
            dataset, name, *draw_task_set(dataset, name, [600] * 20, seed=0, tasks=600)
        )
    return name


def write_results(release: fb.Release, path: Path, *, predictions: bool = True) -> None:
    """Write results of methods that are right 60 to 80 % of the time."""
    every = [release.task_set(info.dataset, str(info.name)) for info in release.task_sets]
    parts = []
    for number in range(METHODS):
        rng = np.random.default_rng(number)
        about = Method(f"method{number:03d}", trained=False, inductive=True)
        for tasks in every:
            if tasks.info.name.varies:
                queries = np.array([len(task.query_label) for task in tasks])
                right = rng.binomial(queries, 0.6 + number / 500)
                parts.append(_counted(tasks.info, right, queries, about))
                continue
            known = rng.random(tasks.query.shape) < 0.6 + number / 500
            predicted = rng.integers(0, tasks.info.name.protocol.way, known.shape)
            predicted = np.where(known, tasks.query_label, predicted)
            if predictions:
                recorder = fb.Recorder(about.name, trained=False, inductive=True)
                recorder.add_task_set(tasks, predicted)
                parts.append(recorder.submission())
            else:
                right = (predicted == tasks.query_label).sum(axis=1)
                queries = np.full(len(tasks), tasks.info.protocol.n_query)
                parts.append(_counted(tasks.info, right, queries, about))
    fb.merge(parts).write(path)


def _counted(
    info: TaskSetInfo, right: NDArray[np.int64], queries: NDArray[np.int64], about: Method
) -> fb.Submission:
    """Make a submission of counts, without predictions."""
    how: dict[str, Any] = {"percent": False, "bind": True}
    found = fb.Submission.from_accuracies(right / queries, info, about.name, queries=queries, **how)
    return replace(found, methods={about.name: about})


def queries_known(folder: Path) -> int:
    """Print a row for counts and one for predictions; return whether these take too long."""
    writer = ReleaseWriter(folder / "release", "r", "1.0.0", "R.")
    task_set, took = closed(writer), {}
    writer.finish()
    release = fb.load_release(folder / "release")
    for known in (False, True):
        write_results(release, folder / "results.parquet", predictions=known)
        command = ["score", "results.parquet", "--release", "release"]
        found = run(["-c", COMMAND, *command], folder)
        took[known] = found.processor
        times = found.processor / took[False]
        limit = f"{times:.2f} times, at most {QUERIES_KNOWN:g}" if known else ""
        over = times > QUERIES_KNOWN
        print_row(f"{DATASETS} x {task_set}{', predictions' * known}", found, limit, over)
    return int(over)


def print_row(tasks: object, found: Run, limit: str, over: bool) -> None:
    """Print the row of a run."""
    print(
        f"| {tasks} | {METHODS} | {found.seconds:.1f} | {found.processor:.1f} "
        f"| {found.gigabytes:.2f} | {limit}{' **missed**' * over} |",
        flush=True,
    )


def main() -> int:
    """Print a row for each; exit 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*LIMITS, "queries"])
    only, missed = parser.parse_args().only, 0
    print(
        "| tasks | methods | seconds | processor s | peak GB | limit |\n|---|---|---|---|---|---|"
    )
    for name, (seconds, gigabytes) in LIMITS.items():
        if only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            if name == "log":
                task_set, command = log(folder / "log.parquet"), ["score", "log.parquet"]
            else:
                writer = ReleaseWriter(folder / "release", "r", "1.0.0", "R.")
                task_set = str({"episodes": episodes, "allway": allway}[name](writer))
                writer.finish()
                write_results(fb.load_release(folder / "release"), folder / "results.parquet")
                command = ["score", "results.parquet", "--release", "release"]
            found = run(["-c", COMMAND, *command], folder)
        over = found.processor > seconds or found.gigabytes > (gigabytes or np.inf)
        limit = f"{seconds:g} s{f', {gigabytes:g} GB' if gigabytes else ''}"
        print_row(task_set, found, limit, over)
        missed += over
    if only in (None, "queries"):
        with tempfile.TemporaryDirectory() as scratch:
            missed += queries_known(Path(scratch))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
