"""Results with all classes at once: the predicted class of every test image, of few draws."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import adjust
from analysis_sql.intervals.all_ways import Spread, spread
from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import (
    DoubledTaskError,
    MissingTaskError,
    SchemaError,
    SpecError,
    listing,
    many,
    rows,
    shown,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.scoring.selection import Names, whole_names
from fslbench_data.scoring.task_log import names_in, whole_numbers
from fslbench_data.validation.log_source import table_of

NEEDED = ("method", "image", "class", "predicted")
OPTIONAL = ("draw", "shots", "second")
POINTS = ("mean", "halfwidth", "new_classes")
"""What of :class:`Spread` is shown in percentage points."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Answered:
    """A method's mean at a number of shots: over all test images alike, and over classes.

    A method without `support`, such as a zero-shot one, counts as one draw.
    """

    method: str
    shots: int | None
    draws: int
    support: bool
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
        return _verdict(self.images.mean, self.images.p, level, self.images.halfwidth)

    def verdict_of_classes(self, level: float) -> str:
        """Say whether it is significant for new classes."""
        new = self.images
        return _verdict(new.mean, new.p_new_classes, level, new.new_classes)


def _verdict(mean: float, p: float, level: float, halfwidth: float) -> str:
    if np.isnan(halfwidth):
        return "n/a"
    return ("better" if mean > 0 else "worse") if p < 1.0 - level else "ns"


@dataclass(frozen=True, eq=False)
class AllWays:
    """What a log of predicted classes shows for new test images and draws, and new classes."""

    source: str
    level: float
    test_images: int
    test_classes: int
    pool: int
    results: tuple[Answered, ...]
    differences: tuple[Compared, ...]
    notes: tuple[str, ...]
    """What the verdicts leave open, such as which pairs are not compared."""

    @property
    def of_new_classes(self) -> bool:
        """Whether something is said of new classes."""
        shown = [one.images for one in self.results] + [one.images for one in self.differences]
        return any(one.new_classes >= 0 for one in shown)

    def __repr__(self) -> str:
        about = f"{self.test_images} test images of {self.test_classes} classes, all at once"
        lines = [f"<AllWays: {about}, {100 * self.level:g} % intervals"]
        for a in self.results:
            draws = many(a.draws, "draw") if a.support else "no support"
            lines.append(f" {a.method}: {_text(a.images)}, {draws}")
        for pair in self.differences:
            verdict = pair.verdict(self.level)
            lines.append(f" {pair.method} - {pair.versus}: {_text(pair.images)}, {verdict}")
        return "\n".join([*lines, *(f" {note}" for note in self.notes)]) + ">"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it, in percentage points; NaN as None."""
        return {
            "level": self.level,
            "images": self.test_images,
            "classes": self.test_classes,
            "pool": self.pool,
            "results": [_points(asdict(one)) for one in self.results],
            "differences": [
                {
                    **_points(asdict(one)),
                    "verdict": one.verdict(self.level),
                    "verdict_new_classes": one.verdict_of_classes(self.level),
                }
                for one in self.differences
            ],
            "notes": [*self.notes],
        }


def _text(one: Spread) -> str:
    return f"{100 * one.mean:.2f} ± {100 * one.halfwidth:.2f}"


def _points(content: dict[str, Any]) -> dict[str, Any]:
    for name in ("images", "classes"):
        own = content[name]
        scaled = {k: 100.0 * own[k] if k in POINTS else own[k] for k in own}
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
    regained: Ints | None
    """The class without which a row is right that is not now, or -1; None without `second`."""
    told: bool
    """Whether it says which methods have a support, by the columns draw or shots."""


@dataclass(frozen=True, eq=False)
class _Method:
    name: str
    draws: tuple[str, ...]
    support: bool
    right: NDArray[np.float64]
    """1 or 0 (R, n), NaN where a draw leaves the image out."""
    regained: Ints | None
    """As of :class:`_Log`, (R, n)."""


def all_ways(log: object, *, level: float = 0.95, pool: int = 0, against: Names = ()) -> AllWays:
    """Compute intervals for new test images and new draws of the support.

    Parameters
    ----------
    log
        One row a method, draw and test image: method, image, class and predicted (names or
        numbers), draw (of the support; not for methods without any, such as zero-shot ones), and
        shots where several are compared; for intervals for new classes second, the class with the
        highest score but one.  A file, a frame, a mapping of columns or a list of rows.
    level
        Such as 0.95.
    pool
        Training images of a class that support draws are taken from; 0 where they are many.
    against
        Compare only with these methods, by default all pairs.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log.
    """
    check_level(level)
    read = _read(log)
    named = [against] if isinstance(against, str) else against
    chosen = whole_names(named, read.methods, where=read.source)
    results, differences = [], []
    said: dict[str, list[str]] = {}
    by_shots = [*_by_shots(read)]
    for shots, of_methods in by_shots:
        if pool and shots >= pool:
            raise SpecError(
                f"{many(shots, 'shot')} of {many(pool, 'training image')}", expected="fewer shots"
            )
        if pool and shots < 1 and any(len(one.draws) > 1 for one in of_methods):
            raise SchemaError(
                f"a pool of {pool} training images says nothing without the number of shots",
                where=read.source,
                expected="the column shots",
                fix="log the shots, or leave the pool out",
            )
        overlap = max(shots, 0) / pool if pool else 0.0

        both = partial(_spreads, read, level=level, overlap=overlap)
        told = shots if shots >= 0 else None
        for one in of_methods:
            draws = len(one.draws)
            results.append(Answered(one.name, told, draws, one.support, *both(one.right, (one,))))
        for one, other in _pairs(of_methods, chosen):
            about, x = _difference(one, other, read.class_of_image)
            if about:
                at = f" at {many(shots, 'shot')}" if len(by_shots) > 1 else ""
                said.setdefault(about, []).append(f"{one.name} - {other.name}{at}")
            if x is not None:
                differences.append(Compared(one.name, other.name, told, *both(x, (one, other))))
    images, classes = len(read.class_of_image), len(read.classes)
    notes = [f"{about}: {listing(pairs, 4)}." for about, pairs in said.items()]
    notes = [*_notes(results, differences, level), *notes]
    found = tuple(results), tuple(differences), tuple(notes)
    return AllWays(read.source, level, images, classes, pool, *found)


def _spreads(
    read: _Log, x: NDArray[np.float64], of: tuple[_Method, ...], level: float, overlap: float
) -> tuple[Spread, Spread]:
    """Compute the intervals of x (R, n): all answers alike, and the mean over classes."""
    kept = ~np.isnan(x).all(axis=0)
    regained = [
        (np.broadcast_to(one.right, x.shape)[:, kept], np.broadcast_to(own, x.shape)[:, kept])
        for one in of
        if len(read.classes) > 2 and (own := one.regained) is not None
    ]
    owner = read.class_of_image[kept]
    alike, equal = (
        spread(x[:, kept], owner, level, alike=which, overlap=overlap, regained=regained)
        for which in (True, False)
    )
    return alike, equal


def _pairs(methods: list[_Method], chosen: Collection[str]) -> Iterator[tuple[_Method, _Method]]:
    """Give all pairs, or those with a chosen method, which comes second."""
    for one, other in combinations(methods, 2):
        if not chosen or other.name in chosen:
            yield one, other
        elif one.name in chosen:
            yield other, one


def _difference(
    one: _Method, other: _Method, owner: Ints
) -> tuple[str, NDArray[np.float64] | None]:
    """Return what is to be said of a pair, and its difference (R, n) if it is compared."""
    if one.draws != other.draws and 1 not in (len(one.draws), len(other.draws)):
        draws = " and ".join(
            listing([d.removesuffix(".0") for d in m.draws], 4) for m in (one, other)
        )
        return f"Not compared, since their draws differ ({draws})", None
    x = one.right - other.right
    there = ~np.isnan(x)
    if any(np.unique(owner[here]).size <= owner.max() for here in there):
        return "Not compared, since a draw has no image of some class that both answer", None
    if (np.isnan(one.right) == np.isnan(other.right)).all():
        return "", x
    number = there.sum(axis=1)
    few, most = int(number.min()), int(number.max())
    images = f"{few:,}" if few == most else f"{few:,} to {most:,}"
    return f"Compared on the {images} of {owner.size:,} images a draw that both answer", x


def _notes(results: list[Answered], differences: list[Compared], level: float) -> Iterator[str]:
    """Say which intervals are of one support, and that verdicts are not corrected."""
    if single := dict.fromkeys(a.method for a in results if a.support and a.draws == 1):
        yield (
            f"One draw of {listing([*single], 4)}: ± is for new test images with this one support"
            f"{', in differences too' * bool(differences)}."
        )
    if len(differences) > 1:
        apart = [one.verdict(level) in ("better", "worse") for one in differences]
        p = adjust(np.array([one.images.p for one in differences]), "holm").p
        holm = f", {int((p[apart] < 1.0 - level).sum())} by Holm" if any(apart) else ""
        yield (
            f"Not corrected for multiple comparisons: {len(differences)} pairs, "
            f"{sum(apart)} significant{holm}."
        )


def _read(log: object) -> _Log:
    where = str(log) if isinstance(log, str) or hasattr(log, "suffix") else "the log"
    table = table_of(log, NEEDED, where, OPTIONAL)
    if missing := [name for name in NEEDED if name not in table.column_names]:
        raise SchemaError(
            f"the log misses the column{'s' if len(missing) > 1 else ''} {listing(missing)}",
            where=f"{where}, which has {listing(table.column_names)}",
            expected="method, image, class, predicted, and perhaps draw, shots and second",
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
    regained = None
    if "second" in table.column_names:
        seconds, at = _codes(table, "second", where)
        second = np.array([same.get(name, -2) for name in seconds], np.int64)[at]
        if (bad := np.flatnonzero(second == position[codes[3]])).size:
            raise SchemaError(
                f"second is {shown(seconds[at[bad[0]]])}, as predicted",
                where=f"{where}, {rows(bad)}",
                expected="the class with the highest score but one",
            )
        regained = np.where(second == codes[2], position[codes[3]], -1)
    shots = np.full(table.num_rows, -1, np.int64)
    if "shots" in table.column_names:
        shots = _shots(table.column("shots"), where)
    for number, name in enumerate(methods):
        own = np.flatnonzero(codes[0] == number)
        if (position[codes[3][own]] < 0).all():
            said = [shown(guesses[code]) for code in np.unique(codes[3][own])]
            raise SchemaError(
                f"nothing that {name} predicts is a class of an image: {listing(said, 4)}",
                where=f"{where}, {rows(own, 3)}",
                expected=f"classes as in the column class: {listing([*map(shown, classes)], 4)}",
                fix="write class and predicted alike, both as names or both as numbers",
            )
    right = position[codes[3]] == codes[2]
    told = any(name in table.column_names for name in ("draw", "shots"))
    ids = codes[0], codes[4], codes[1]
    return _Log(where, methods, draws, classes, *ids, shots, owner, right, regained, told)


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


def _by_shots(read: _Log) -> Iterator[tuple[int, list[_Method]]]:
    """Give the answers of each method, those of one number of shots after another.

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
                found.append(_method(read, name, own))
        yield shots, found


def _method(read: _Log, name: str, own: Ints) -> _Method:
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
    answers, regained = x.reshape(len(draws), images), None
    if read.regained is not None:
        flat = np.full(x.size, -1)
        flat[key] = read.regained[own]
        regained = flat.reshape(answers.shape)
    called = tuple(read.draws[draw] for draw in draws)
    lacking = np.isnan(answers).all(axis=0)
    if lacking.any():
        raise MissingTaskError(
            f"{name} answers {int((~lacking).sum())} of {images} test images",
            where=read.source,
            expected="every test image in some draw, of every method",
            fix="answer the images that others answer, or leave these out of all methods",
        )
    for draw, here in zip(called, ~np.isnan(answers), strict=True):
        there = np.bincount(read.class_of_image[here], minlength=len(read.classes))
        if not there.all():
            raise MissingTaskError(
                f"{name} answers no image of class {shown(read.classes[int(there.argmin())])} in "
                f"draw {shown(draw)}",
                where=read.source,
                expected="images of every class in every draw",
                fix="log the whole test set of the draw, or leave the draw out",
            )
    support = not read.told or called != ("",) or bool((read.shots[own] > 0).any())
    return _Method(name, called, support, answers, regained)
