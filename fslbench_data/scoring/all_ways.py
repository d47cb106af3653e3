"""Results with all classes at once: the predicted class of every test image, of few draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis_sql.intervals.all_ways import Spread, spread
from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import (
    DoubledTaskError,
    MissingTaskError,
    SchemaError,
    SpecError,
    listing,
    rows,
    shown,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.scoring.task_log import names_in, whole_numbers
from fslbench_data.validation.log_source import table_of

NEEDED = ("method", "image", "class", "predicted")
OPTIONAL = ("draw", "shots")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Answered:
    """A method's mean at a number of shots: over all test images alike, and over classes."""

    method: str
    shots: int | None
    draws: int
    images: Spread
    classes: Spread


@dataclass(frozen=True)
class Compared:
    """A paired difference of two methods on the same draws; fractions as of :class:`Answered`."""

    method: str
    versus: str
    shots: int | None
    images: Spread
    classes: Spread

    def verdict(self, level: float) -> str:
        """Say whether the difference is significant for new test images and new draws."""
        if self.images.mean == 0 and self.images.halfwidth == 0:
            return "identical"
        if np.isnan(self.images.halfwidth):
            return "n/a"
        better = "better" if self.images.mean > 0 else "worse"
        return better if self.images.p < 1.0 - level else "ns"


@dataclass(frozen=True, eq=False)
class AllWays:
    """What a log of predicted classes shows for new test images and new draws."""

    source: str
    level: float
    test_images: int
    test_classes: int
    pool: int
    results: tuple[Answered, ...]
    differences: tuple[Compared, ...]

    def __repr__(self) -> str:
        about = f"{self.test_images} test images of {self.test_classes} classes, all at once"
        lines = [f"<AllWays: {about}, {100 * self.level:g} % intervals"]
        lines += [f" {a.method}: {_text(a.images)}, {a.draws} draws" for a in self.results]
        for pair in self.differences:
            verdict = pair.verdict(self.level)
            lines.append(f" {pair.method} - {pair.versus}: {_text(pair.images)}, {verdict}")
        return "\n".join(lines) + ">"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it, in percentage points; NaN as None."""
        return {
            "level": self.level,
            "images": self.test_images,
            "classes": self.test_classes,
            "pool": self.pool,
            "results": [_points(asdict(one)) for one in self.results],
            "differences": [
                {**_points(asdict(one)), "verdict": one.verdict(self.level)}
                for one in self.differences
            ],
        }


def _text(one: Spread) -> str:
    return f"{100 * one.mean:.2f} ± {100 * one.halfwidth:.2f}"


def _points(content: dict[str, Any]) -> dict[str, Any]:
    for name in ("images", "classes"):
        own = content[name]
        scaled = {k: 100.0 * own[k] if k in ("mean", "halfwidth") else own[k] for k in own}
        content[name] = {k: v if np.isfinite(v) else None for k, v in scaled.items()}
    return content


@dataclass(frozen=True, eq=False)
class _Log:
    source: str
    methods: tuple[str, ...]
    draws: tuple[str, ...]
    classes: tuple[str, ...]
    method: Ints
    draw: Ints
    image: Ints
    shots: Ints
    class_of_image: Ints
    right: NDArray[np.bool_]


def all_ways(log: object, *, level: float = 0.95, pool: int = 0) -> AllWays:
    """Compute intervals for new test images and new draws of the support.

    Parameters
    ----------
    log
        One row a method, draw and test image: method, image, class and predicted (names or
        numbers), draw (of the support; not for methods without any, such as zero-shot ones), and
        shots where several are compared.  A file, a frame, a mapping of columns or a list of rows.
    level
        Such as 0.95.
    pool
        Training images of a class that support draws are taken from; 0 where they are many.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log.
    """
    check_level(level)
    read = _read(log)
    results, differences = [], []
    for shots, of_methods in _by_shots(read):
        if pool and shots >= pool:
            raise SpecError(f"{shots} shots of {pool} training images", expected="fewer shots")
        overlap = max(shots, 0) / pool if pool else 0.0

        def both(x: NDArray[Any], overlap: float = overlap) -> tuple[Spread, Spread]:
            return tuple(  # type: ignore[return-value]
                spread(x, read.class_of_image, level, alike=alike, overlap=overlap)
                for alike in (True, False)
            )

        told = shots if shots >= 0 else None
        for name, x in of_methods:
            results.append(Answered(name, told, len(x), *both(x)))
        for (name, x), (other, y) in combinations(of_methods, 2):
            if len(x) == len(y) or 1 in (len(x), len(y)):
                apart = np.asarray(x, np.float64) - y
                differences.append(Compared(name, other, told, *both(apart)))
    images, classes = len(read.class_of_image), len(read.classes)
    return AllWays(read.source, level, images, classes, pool, tuple(results), tuple(differences))


def _read(log: object) -> _Log:
    where = str(log) if isinstance(log, str) or hasattr(log, "suffix") else "the log"
    table = table_of(log, NEEDED, where, OPTIONAL)
    if missing := [name for name in NEEDED if name not in table.column_names]:
        raise SchemaError(
            f"the log misses the column{'s' if len(missing) > 1 else ''} {listing(missing)}",
            where=f"{where}, which has {listing(table.column_names)}",
            expected="method, image, class, predicted, and perhaps draw and shots",
        )
    if not table.num_rows:
        raise SchemaError("the log has no rows", where=where)
    names, codes = zip(*(_codes(table, name, where) for name in (*NEEDED, "draw")), strict=True)
    methods, images, classes, guesses, draws = names
    for name in methods:
        check_method_name(name, where)
    owner = np.zeros(len(images), np.int64)
    owner[codes[1]] = codes[2]
    if (bad := np.flatnonzero(owner[codes[1]] != codes[2])).size:
        raise SchemaError(
            f"image {shown(images[codes[1][bad[0]]])} is of two classes",
            where=f"{where}, {rows(bad)}",
            expected="one class for every test image",
        )
    same = {name: number for number, name in enumerate(classes)}
    position = np.array([same.get(name, -1) for name in guesses], np.int64)
    shots = np.full(table.num_rows, -1, np.int64)
    if "shots" in table.column_names:
        shots = _shots(table.column("shots"), where)
    right = position[codes[3]] == codes[2]
    return _Log(where, methods, draws, classes, codes[0], codes[4], codes[1], shots, owner, right)


def _shots(column: pa.ChunkedArray, where: str) -> Ints:
    """Return the shots of each row, -1 where there is none."""
    try:
        numbers = pc.fill_null(column.cast(pa.float64()), -1.0).to_numpy()
    except pa.ArrowException:
        numbers = np.full(len(column), np.nan)
    if (bad := np.flatnonzero((numbers != np.floor(numbers)) | (numbers < -1))).size:
        raise SchemaError(
            f"shots is {shown(column[int(bad[0])].as_py())}",
            where=f"{where}, {rows(bad)}",
            expected="a whole number, or nothing of a method without support",
        )
    return np.asarray(numbers, np.int64)


def _codes(table: pa.Table, name: str, where: str) -> tuple[tuple[str, ...], Ints]:
    """Return the different values of a column as texts, and each row's position."""
    if name not in table.column_names:
        return ("",), np.zeros(table.num_rows, np.int64)
    column = whole_numbers(table.column(name))
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    if name == "draw":
        column = pc.fill_null(column.cast(pa.string()), "")
    return names_in(column, name, where)


def _by_shots(read: _Log) -> Iterator[tuple[int, list[tuple[str, NDArray[np.float64]]]]]:
    """Give the answers (R, n) of each method, those of one number of shots after another.

    A method without shots, such as a zero-shot one, stands beside all.
    """
    numbers = np.unique(read.shots)
    wanted = numbers[numbers > 0] if (numbers > 0).any() else numbers[:1]
    for shots in wanted.tolist():
        found = []
        for number, name in enumerate(read.methods):
            own = np.flatnonzero((read.method == number) & (read.shots == shots))
            if not own.size:
                own = np.flatnonzero((read.method == number) & (read.shots <= 0))
            if own.size:
                found.append((name, _answers(read, name, own)))
        yield shots, found


def _answers(read: _Log, name: str, own: Ints) -> NDArray[np.float64]:
    draws, of = np.unique(read.draw[own], return_inverse=True)
    images = len(read.class_of_image)
    key = of.ravel() * images + read.image[own]
    times = np.bincount(key, minlength=len(draws) * images)
    if (twice := np.flatnonzero(times[key] > 1)).size:
        raise DoubledTaskError(
            f"{name} answers an image twice in one draw",
            where=f"{read.source}, {rows(own[twice])}",
            expected="one row a method, draw and test image",
            fix="name the draws of the support (seeds) in a column `draw`, and shots in `shots`",
        )
    x = np.full(len(draws) * images, np.nan)
    x[key] = read.right[own]
    answers = x.reshape(len(draws), images)
    lacking = np.isnan(answers).all(axis=0)
    if lacking.any():
        raise MissingTaskError(
            f"{name} answers {int((~lacking).sum())} of {images} test images",
            where=read.source,
            expected="every test image in some draw, of every method",
            fix="answer the images that others answer, or leave these out of all methods",
        )
    return answers
