"""Many data sets in several sittings: each piece of work is appended whole, and never done twice.

In a folder, a file of JSON Lines for each line and kind.  A record is the truths of one draw of
classes, or :data:`BLOCK` data sets; the seed of each data set follows from its number.  What was
cut off while it was written is done again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from analysis_sql.leave_one_out.design import LEAST_APPEARANCES, LEFT_OUT
from studies.common import Array, head, records, rounded, row
from studies.coverage.leave_one_out.data_sets import Found, data_set, judged, truth
from studies.coverage.leave_one_out.lines import CLASS_DRAWS, OF, Kind, Line

BLOCK = CLASS_DRAWS
"""Data sets of a record: one for each draw of classes."""


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


WIDEST_OVER_OPEN = 0.55
PEERS = {"images": "open", "classes": "class-aware", "superclasses": "class-aware"}


@dataclass(frozen=True)
class Judged:
    """A row: a line, a number of tasks, a level and one of :data:`OF`.

    Attributes
    ----------
    coverage, width, over
        Per cent; mean half-width over z true standard deviations; and over the mean half-width of
        the open or class-aware interval on the same images.  Each with its Monte Carlo error.
    """

    line: Line
    kind: Kind
    tasks: int
    of: int
    level: float
    sets: int
    truth: float
    accuracy: float
    deviation: float
    coverage: tuple[float, float]
    width: tuple[float, float]
    over: tuple[float, float]

    @property
    def offered(self) -> bool:
        """Whether the package gives such intervals at all."""
        return self.line.appearances(self.tasks) >= LEAST_APPEARANCES

    @property
    def least(self) -> float:
        """The coverage that was wanted; 0 where none was set."""
        if not (self.line.limited and self.offered and self.level == 0.95):
            return 0.0
        if self.kind == "superclasses" or self.line.classes < 15 or self.accuracy >= 0.95:
            return 91.0
        return 94.0 if self.kind == "images" else 93.0

    @property
    def too_rare(self) -> bool:
        """Whether coverage with two Monte Carlo errors falls short."""
        return self.coverage[0] + 2 * self.coverage[1] < self.least

    @property
    def too_wide(self) -> bool:
        """Whether the larger number of tasks gives an interval over its limit."""
        usual = self.least > 0 and self.tasks == self.line.most and self.line.about == ""
        if not usual or OF[self.of].startswith("small"):
            return False
        least = round(sum(self.line.sizes) / self.line.classes)
        if self.kind == "images":
            return least >= 60 and self.width[0] > 1.15
        return self.kind == "classes" and self.line.classes >= 30 and self.width[0] > 1.2

    @property
    def too_wide_for_open(self) -> bool:
        """Whether it is too wide beside the open interval."""
        judged = self.kind == "images" and self.level == 0.95 and self.line.limited
        enough = self.tasks == self.line.most and self.line.enough
        return judged and enough and self.over[0] > WIDEST_OVER_OPEN

    @property
    def missed(self) -> bool:
        """Whether any limit is missed."""
        return self.too_rare or self.too_wide or self.too_wide_for_open


def rows(folder: Path, line: Line, kind: Kind, seed: int) -> Iterator[Judged]:
    """Judge all that was run of a line and kind."""
    known = results(folder, line, kind, seed)
    if known is None:
        return
    truths = expected(known.truths)
    which = LEFT_OUT.index(kind)
    for b, tasks in enumerate(line.counts):
        for of in range(line.methods):
            error = known.found.mean[:, b, of] - truths[known.draws, of]
            for at, level in enumerate(line.levels):
                half = known.found.half[:, b, which, at, of]
                if np.isnan(half).all():
                    continue
                yield _row(known, line, kind, (tasks, of, level), error, half, truths)


def _row(
    known: Results,
    line: Line,
    kind: Kind,
    cell: tuple[int, int, float],
    error: Array,
    half: Array,
    truths: Array,
) -> Judged:
    tasks, of, level = cell
    has = ~np.isnan(half)  # where images are seldom seen, some data sets have no interval
    error, half, peer = error[has], half[has], known.found.peer[has, int(kind != "images"), of]
    sets, z = error.size, -float(ndtri((1 - level) / 2))
    share = float((np.abs(error) <= half).mean())
    finite = np.isfinite(half)
    deviation = float(np.sqrt(np.mean(error**2)))
    width = float(half[finite].mean()) / (z * deviation)
    spread = float(half[finite].std()) / float(half[finite].mean())
    return Judged(
        line,
        kind,
        tasks,
        of,
        level,
        sets,
        100 * float(truths[:, of].mean()),
        float(truths[:, 0].mean()),
        100 * deviation,
        (100 * share, 100 * float(np.sqrt(max(share * (1 - share), 0.25 / sets) / sets))),
        (width, width * float(np.sqrt((0.5 + spread**2) / sets))),
        _over(half, peer) if level == 0.95 else _NONE,
    )


_NONE = (float("nan"), float("nan"))


def _over(half: Array, peer: Array) -> tuple[float, float]:
    """Return the ratio of mean half-widths on the same images, and its error."""
    both = np.isfinite(half) & np.isfinite(peer)
    if both.sum() < 2:
        return _NONE
    a, b = half[both], peer[both]
    ratio = float(a.mean() / b.mean())
    return ratio, float((a - ratio * b).std() / b.mean() / np.sqrt(both.sum()))


def expected(truths: Array) -> Array:
    """Turn methods' accuracies (draws, M) into those of what is judged (draws, of)."""
    rows = []
    for each in truths:
        apart = np.subtract.outer(each, each)
        np.fill_diagonal(apart, each)
        rows.append(judged(apart))
    return np.array(rows)


def table(every: list[Judged]) -> str:
    """Write rows as a Markdown table."""
    names = ("C, N", "K, S, Q", "", "B", "seen", "of", "level", "sets", "truth", "true sd")
    lines = [head(*names, "coverage", "width", "over the other's")]
    for r in every:
        p = r.line.protocol
        lines.append(
            row(
                r.line.size,
                f"{p.way}, {p.shot}, {p.query}",
                r.line.about,
                r.tasks,
                f"{r.line.appearances(r.tasks):.1f}{'' if r.offered else ' (not offered)'}",
                OF[r.of],
                f"{100 * r.level:g} %",
                r.sets,
                f"{r.truth:.2f}",
                f"{r.deviation:.2f}",
                _with_error(r.coverage, 1, r.too_rare),
                _with_error(r.width, 2, r.too_wide),
                _with_error(r.over, 2, r.too_wide_for_open),
            )
        )
    return "\n".join(lines)


def _with_error(value: tuple[float, float], digits: int, missed: bool) -> str:
    if np.isnan(value[0]):
        return ""
    mark = " MISSED" if missed else ""
    return f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}{mark}"
