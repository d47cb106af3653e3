"""What studies share: tables, jobs that go on where they stopped, and pooled tasks and answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from analysis_sql.bias import RankCorrelation
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from fslbench_data.release.release import Release
from fslbench_data.sampling.draw import draw_pooled
from fslbench_data.tasks import groups_of

LEVEL = 0.95
Z = 1.959964

Array = np.ndarray[Any, Any]


def row(*cells: object) -> str:
    """Write a row of a Markdown table; numbers with one decimal."""
    return "| " + " | ".join(f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells) + " |"


def head(*names: str) -> str:
    """Write the head of a Markdown table; columns whose names end with a colon stand right."""
    marks = ("---:" if name.endswith(":") else "---" for name in names)
    return f"{row(*names)}\n|{'|'.join(marks)}|"


def printed(headings: str, rows: Iterable[Sequence[object]]) -> None:
    """Print a table whose headings are parted by blanks around bars."""
    print(head(*headings.split(" | ")), flush=True)
    for cells in rows:
        print(row(*cells), flush=True)
    print()


def marked(value: float, missed: bool, digits: int = 1) -> str:
    """Write a number, and whether it misses its limit."""
    return f"{value:.{digits}f}{' MISSED' if missed else ''}"


def signed(value: Interval, sign: str = "+") -> str:
    """Write a mean with its half-width."""
    return f"{value.mean:{sign}.2f} ± {value.halfwidth:.2f}"


def correlation(found: RankCorrelation) -> str:
    """Write Spearman's correlation with its interval."""
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _said(done: int, of: int) -> None:
    """Say on a terminal how many jobs are done."""
    if sys.stderr.isatty():
        print(f"{done} of {of}", end="\n" if done == of else "\r", file=sys.stderr, flush=True)


_held: list[Callable[[Any], Any]] = []
"""What this process works with: inherited, since a population is large."""


def _hold(work: Callable[[Any], Any]) -> None:
    _held[:] = [work]


def _do(job: Any) -> Any:
    return _held[0](job)


def spread_out(work: Callable[[Any], Any], jobs: Sequence[Any], processes: int) -> list[Any]:
    """Work jobs off, and return their results in the order of the jobs."""
    results = []
    with Pool(processes, _hold, (work,)) as pool:
        for result in pool.imap(_do, jobs):
            results.append(result)
            _said(len(results), len(jobs))
    return results


def chunks(results: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the results of so many jobs at a time."""
    for start in range(0, len(results), size):
        yield results[start : start + size]


def rounded(values: Array) -> Any:
    """Give lists of numbers with seven digits, None for NaN."""
    if values.ndim:
        return [rounded(v) for v in values]
    value = float(values)
    return None if np.isnan(value) else float(f"{value:.7g}")


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a file of JSON Lines that were written whole."""
    if path.exists():
        for text in path.read_text().splitlines(keepends=True):
            if text.endswith("\n"):
                yield json.loads(text)


def work_off(folder: Path, todo: Sequence[Any], processes: int) -> None:
    """Do jobs in any order; what `run` of one gives is appended to its `file`, whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in {folder / job.file for job in todo}:
        whole = path.read_bytes() if path.exists() else b""
        if not whole.endswith(b"\n"):  # a record that was cut off is made again
            path.write_bytes(whole[: whole.rfind(b"\n") + 1])
    with Pool(processes) as pool:
        made = map(_run, todo) if processes == 1 else pool.imap_unordered(_run, todo)
        for done, (job, record) in enumerate(made, 1):
            with (folder / job.file).open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            _said(done, len(todo))


def _run(job: Any) -> tuple[Any, dict[str, Any]]:
    return job, job.run()


def image_owners(release: Release, dataset: str) -> tuple[Array, Array]:
    """Return the class and the group of each image (N,); images alone are groups of their own."""
    images = release.images(dataset)
    groups = groups_of(images)
    groups = np.where(groups < 0, groups.max() + 1 + np.arange(groups.size), groups)
    return images.column("class_id").to_numpy().astype(np.int64), groups


def pooled_tasks(
    owner: Array, protocol: Protocol, classes: int = 0, *, dataset: str, seed: int, **options: Any
) -> tuple[Array, Array, Any]:
    """Draw tasks as in a `pooled` set of images, which come by class; -1 leaves some out.

    Gives their classes (B, K) and images (B, K, S+Q), and the pool; `options` are those of
    :func:`fslbench_data.sampling.draw.draw_pooled`, `groups` (N,) those of all images.
    """
    images = np.flatnonzero(owner >= 0)
    sizes = np.bincount(owner[images], minlength=classes)
    if "groups" in options:
        options["groups"] = options["groups"][images]
    drawn, pool = draw_pooled(sizes.tolist(), protocol, dataset=dataset, seed=seed, **options)
    first = (np.cumsum(sizes) - sizes)[drawn.class_ids][..., None]
    chosen = images[first + np.concatenate([drawn.support, drawn.query], axis=2)]
    return drawn.class_ids.astype(np.int64), chosen, pool


def right_answers(methods: Iterable[Predictor], images: Array, protocol: Protocol) -> Array:
    """Say which queries (M, B, K·Q) methods answer rightly on tasks of these images (B, K, S+Q)."""
    support, query = images[..., : protocol.shot], images[..., protocol.shot :]
    label = np.repeat(np.arange(protocol.way), protocol.query)
    rows = query.reshape(len(images), -1)
    return np.array([method(support, rows) == label for method in methods])


def accuracies(methods: Iterable[Predictor], images: Array, protocol: Protocol) -> Array:
    """Compute the accuracies (M, B) of methods on tasks of these images (B, K, S+Q)."""
    return np.asarray(right_answers(methods, images, protocol).mean(axis=2))
