"""Tables of what was run: coverage and widths, with their Monte Carlo errors and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from analysis_sql.leave_one_out.design import LEAST_APPEARANCES, LEFT_OUT
from studies.coverage.leave_one_out.data_sets import judged
from studies.coverage.leave_one_out.lines import OF, Kind, Line
from studies.coverage.leave_one_out.runs import Results, results
from studies.coverage.measure import head, row

WIDEST_OVER_OPEN = 0.55
PEERS = {"images": "open", "classes": "class-aware", "superclasses": "class-aware"}

Array = np.ndarray[Any, Any]


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
    """Ratio of mean half-widths on the same images, and its error."""
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
