"""Many data sets in several sittings: each piece of work is appended whole, and never done twice.

In a folder, a file of JSON Lines for each line and kind.  A record is the truths of one draw of
classes, or :data:`BLOCK` data sets; the seed of each data set follows from its number.  What was
cut off while it was written is done again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from studies.coverage.leave_one_out.data_sets import Found, data_set
from studies.coverage.leave_one_out.lines import CLASS_DRAWS, Kind, Line
from studies.coverage.leave_one_out.truths import truth

BLOCK = CLASS_DRAWS
"""Data sets of a record: one for each draw of classes."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Job:
    """A record to be made: `part` is "truth", with the number of the draw, or "sets"."""

    line: Line
    kind: Kind
    part: str
    number: int
    seed: int
    raw: Path

    @property
    def file(self) -> str:
        """Where it is kept."""
        return file_of(self.line, self.kind, self.seed)

    def run(self) -> dict[str, Any]:
        """Do the work."""
        start, about = time.process_time(), (self.line, self.kind, self.seed)
        if self.part == "truth":
            values = {"truth": truth(*about, self.number, self.raw).tolist()}
        else:
            first = self.number * BLOCK
            made = [data_set(*about, i, self.raw) for i in range(first, first + BLOCK)]
            values = {
                f.name: rounded(np.array([getattr(m, f.name) for m in made])) for f in fields(Found)
            }
        seconds = round(time.process_time() - start, 3)
        return {"part": self.part, "number": self.number, "seconds": seconds, **values}


@dataclass(frozen=True)
class Results:
    """What is known of a line and kind.

    Attributes
    ----------
    truths
        Of each draw of classes (CLASS_DRAWS or 1, M): methods' expected accuracies.
    draws : (sets,)
        Which of them each data set has.
    found
        As of one data set, with a first axis of data sets.
    seconds
        Of a processor.
    """

    truths: Array
    draws: Array
    found: Found
    seconds: float


def file_of(line: Line, kind: Kind, seed: int) -> str:
    """Name the file of a line and kind."""
    name = line.name.replace(" %", "percent").replace(" ", "_").replace(",", "x")
    return f"{name}.{kind}.{seed}.jsonl"


def rounded(values: Array) -> Any:
    """Give lists of numbers with seven digits, None for NaN."""
    if values.ndim:
        return [rounded(v) for v in values]
    value = float(values)
    return None if np.isnan(value) else float(f"{value:.7g}")


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Read what was written whole."""
    if path.exists():
        for text in path.read_text().splitlines(keepends=True):
            if text.endswith("\n"):
                yield json.loads(text)


def jobs(
    folder: Path, lines: Iterable[Line], seed: int, data_sets: int | None, raw: Path
) -> list[Job]:
    """List what is still to be done, a block of every line before the next block."""
    left = []
    for line in lines:
        for kind in line.kinds:
            have = {(r["part"], r["number"]) for r in records(folder / file_of(line, kind, seed))}
            blocks = -(-(data_sets or line.data_sets) // BLOCK)
            wanted = [("truth", i) for i in range(line.draws(kind))] + [
                ("sets", i) for i in range(blocks)
            ]
            left += [Job(line, kind, *each, seed, raw) for each in wanted if each not in have]
    return sorted(left, key=lambda job: (job.part == "sets", job.number))


def work_off(folder: Path, todo: list[Any], processes: int) -> None:
    """Do jobs, each appended to its file when it is done."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in {job.file for job in todo}:
        _cut(folder / file)
    for done, (job, record) in enumerate(_results(todo, processes), 1):
        with (folder / job.file).open("a") as stream:
            stream.write(json.dumps(record) + "\n")
        if sys.stderr.isatty():
            end = "\n" if done == len(todo) else "\r"
            print(f"{done} of {len(todo)}", end=end, file=sys.stderr, flush=True)


def _results(todo: list[Any], processes: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    if processes == 1:
        yield from map(_run, todo)
        return
    with Pool(processes) as pool:
        yield from pool.imap_unordered(_run, todo)


def _run(job: Any) -> tuple[Any, dict[str, Any]]:
    return job, job.run()


def _cut(path: Path) -> None:
    """Take away a record that was not written whole."""
    whole = path.read_bytes() if path.exists() else b""
    if whole and not whole.endswith(b"\n"):
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])


def results(folder: Path, line: Line, kind: Kind, seed: int) -> Results | None:
    """Read what is known of a line and kind; None unless truths and some data sets are there."""
    every = {(r["part"], r["number"]): r for r in records(folder / file_of(line, kind, seed))}
    truths = sorted(number for part, number in every if part == "truth")
    blocks = sorted(number for part, number in every if part == "sets")
    if not blocks or len(truths) < line.draws(kind):
        return None
    parts = {
        f.name: np.concatenate([np.array(every["sets", i][f.name], dtype=float) for i in blocks])
        for f in fields(Found)
    }
    numbers = np.concatenate([np.arange(i * BLOCK, (i + 1) * BLOCK) for i in blocks])
    return Results(
        np.array([every["truth", i]["truth"] for i in truths]),
        numbers % line.draws(kind),
        Found(**parts),
        sum(r["seconds"] for r in every.values()),
    )
