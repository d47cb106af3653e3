"""What a printed "91.72 ± 0.55" shows, from the sizes of the data set alone.

Images and classes come again in the tasks of a paper, so that its ± is about other tasks of the
same images.  How much wider an interval for new images or new classes can be is bounded by the
sizes of the data set (:class:`Design`); where it lies below typically was measured on others
(:data:`SHARES`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot, isfinite, log, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis_sql.intervals.bounds import variance_factor
from benchmark_spec.catalogue import plain, unknown_split
from benchmark_spec.errors import (
    AccuracyError,
    FSLBenchError,
    ResultsError,
    SchemaError,
    UnknownNameError,
    listing,
    many,
    quoted,
)
from fslbench_data.release.release import load_release, split_of
from fslbench_data.submission.columns import column_remedy
from fslbench_data.submission.reading import is_accuracies, read_accuracies

Spread = Literal["ci", "se", "sd"]
"""What ± is: a confidence interval, a standard error or a standard deviation."""

LEVEL = 0.95
MOST_BYTES = 2**24
OF_TASKS = ("dataset", "classes", "images", "ways", "shots", "queries", "tasks")
"""Columns, options and parameters that describe the tasks of a result."""
COLUMNS = ("result", "method", *OF_TASKS)
SHARES = {
    (1, 1): (0.10, 0.12),
    (1, 5): (0.13, 0.30),
    (1, 15): (0.09, 0.39),
    (5, 1): (0.03, 0.13),
    (5, 5): (0.11, 0.34),
    (5, 15): (0.08, 0.74),
}
"""By shots and queries: the share of the bound's extra variance that intervals for new images and
new classes reach, median over image collections; made by ``python -m studies.reported.shares``."""

_ROUNDING = 1e-9
"""Accuracies in per cent that differ by less are equal."""

_PRINTED = re.compile(
    r"(?P<mean>\d+(?:\.\d+)?)\s*%?\s*"
    r"(?:±|\+\s*/?\s*-|\\pm|\()\s*(?P<half>\d+(?:\.\d+)?)\s*%?\s*\)?\s*%?"
)


class Design(Struct, frozen=True):
    """The tasks that a result was measured on, drawn uniformly with images and classes reused.

    Attributes
    ----------
    classes, images
        Classes of the part of the data set that tasks are drawn from, and images of the class that
        has the fewest.
    ways, shots, queries
        Of a task; queries of each class.
    tasks
        How many tasks the mean is over.
    dataset
        Its name, perhaps empty.
    """

    classes: int
    images: int
    ways: int
    shots: int
    queries: int
    tasks: int
    dataset: str = ""

    def __post_init__(self) -> None:
        for name in ("classes", "images", "ways", "shots", "queries", "tasks"):
            least = 2 if name in ("ways", "tasks", "classes") else 1
            if getattr(self, name) < least:
                raise ResultsError(f"{name} is {getattr(self, name)}", expected=f"at least {least}")
        if self.ways > self.classes:
            raise ResultsError(f"tasks of {self.ways} ways from {self.classes} classes")
        if (each := self.shots + self.queries) > self.images:
            raise ResultsError(
                f"a task takes {each} images of a class, and a class has {self.images}",
                fix="give --shots and --queries of a class, and --images of the smallest class",
            )
        if (self.ways, each) == (self.classes, self.images):
            raise ResultsError("every task has all images of all classes: all tasks are the same")

    def __str__(self) -> str:
        each = f"{many(self.shots, 'shot')}, {many(self.queries, 'query', 'queries')} a class"
        return f"{self.tasks:,} tasks of {self.ways} ways, {each}; {self.drawn_from}"

    @property
    def drawn_from(self) -> str:
        """The data set, its classes and its images."""
        of = f"{self.classes} classes of at least {many(self.images, 'image')}"
        return f"{self.dataset}, {of}" if self.dataset else of

    @property
    def image_factor(self) -> float:
        """How many times wider an interval for new images is, at most.

        By Hoeffding's bound with the share K m/(C N) (:mod:`analysis_sql.intervals.bounds`).
        """
        each = self.shots + self.queries
        return self._factor(self.ways * each / (self.classes * self.images))

    @property
    def class_factor(self) -> float:
        """The same for new classes, with K/C; infinite where every task has all classes."""
        return max(self.image_factor, self._factor(self.ways / self.classes))

    def _factor(self, share: float) -> float:
        return sqrt(variance_factor(self.tasks, share))

    def typical(self, factor: float, of: int) -> float:
        """Return how many times wider an interval for new images (0) or classes (1) typically is.

        With the share of :data:`SHARES` whose shots and queries are nearest.
        """
        near = min(
            SHARES,
            key=lambda known: abs(log(known[0] / self.shots)) + abs(log(known[1] / self.queries)),
        )
        return sqrt(1 + SHARES[near][of] * (factor**2 - 1))


class Printed(Struct, frozen=True):
    """A printed accuracy in per cent, and half-widths of its intervals in points.

    Attributes
    ----------
    design
        What the tasks were drawn from; None where only accuracies are known.
    tasks
        For other tasks of the same images: what was printed.
    images, typical_images
        For new images of the same classes: at most, and typically; None without a design.
    classes, typical_classes
        For new classes; None where every task has all classes, too.
    n_tasks
        Number of accuracies, where these are known and not what was printed.
    """

    method: str
    mean: float
    design: Design | None
    tasks: float
    images: float | None
    typical_images: float | None
    classes: float | None
    typical_classes: float | None
    warning: str = ""
    n_tasks: int | None = None


class Difference(Struct, frozen=True):
    """Two results on the same data set, ways and shots: for what they differ significantly.

    For other tasks if the difference exceeds √(h₁² + h₂²); for new images and new classes if it
    exceeds h₁ + h₂, since both may rest on the same images and classes.  Where accuracies of the
    same tasks are known, if it exceeds its own half-widths, `paired`.
    """

    first: Printed
    second: Printed
    paired: Printed | None = None

    @property
    def design(self) -> Design | None:
        """What the tasks of both were drawn from; numbers of queries and tasks are the first's."""
        return self.first.design

    @property
    def difference(self) -> float:
        """Points that the first is above the second."""
        return self.first.mean - self.second.mean

    @property
    def tasks(self) -> bool:
        """Whether it is significant for other tasks of the same images."""
        return self._exceeds("tasks")

    @property
    def images(self) -> bool:
        """Whether it is certainly significant for new images."""
        return self._exceeds("images")

    @property
    def classes(self) -> bool:
        """Whether it is certainly significant for new classes."""
        return self._exceeds("classes")

    def _exceeds(self, kind: Literal["tasks", "images", "classes"]) -> bool:
        parts = (self.first, self.second) if self.paired is None else (self.paired,)
        widths = [getattr(part, kind) for part in parts]
        if None in widths:
            return False
        return abs(self.difference) > (hypot(*widths) if kind == "tasks" else sum(widths))


class Reported(Struct, frozen=True):
    """Printed results, or means of accuracies, and what can be concluded from them."""

    results: tuple[Printed, ...]
    level: float = LEVEL
    spread: Spread = "ci"
    paired: tuple[Difference, ...] = ()

    @property
    def differences(self) -> list[Difference]:
        """Every pair of results on the same data set, ways and shots, the higher one first."""
        if self.paired:
            return [*self.paired]
        pairs = []
        for one, other in combinations(self.results, 2):
            if one.design and other.design and _question(one.design) == _question(other.design):
                higher, lower = (one, other) if one.mean >= other.mean else (other, one)
                pairs.append(Difference(higher, lower))
        return pairs

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values: for JSON."""
        return {
            "level": self.level,
            "results": [asdict(result) for result in self.results],
            "differences": [
                {
                    "first": pair.first.method,
                    "second": pair.second.method,
                    **{name: getattr(pair.design, name, None) for name in _QUESTION},
                    "difference": round(pair.difference, 6) + 0.0,  # never -0.0
                    "halfwidths": pair.paired and {k: getattr(pair.paired, k) for k in _KINDS},
                    "significant": {name: getattr(pair, name) for name in _KINDS},
                }
                for pair in self.differences
            ],
        }


_KINDS = ("tasks", "images", "classes")
_QUESTION = ("dataset", "ways", "shots")


def _question(design: Design) -> tuple[object, ...]:
    return plain(design.dataset), design.classes, design.images, design.ways, design.shots


def reported(
    results: str | Path | Iterable[str | Path | Mapping[str, Any]] | ArrayLike,
    *,
    dataset: str | None = None,
    classes: int | None = None,
    images: int | None = None,
    ways: int | None = None,
    shots: int | None = None,
    queries: int | None = None,
    tasks: int | None = None,
    spread: Spread = "ci",
    level: float = LEVEL,
) -> Reported:
    """Compute what printed results show for other tasks, new images and new classes.

    Parameters
    ----------
    results
        A result such as ``"91.72 ± 0.55"``, several, the path of a CSV file, or rows.  Rows have a
        `result` and may have `method` and any of the parameters below, for rows that differ in it.
        Or accuracies, one a task: an array, a list, or a .npy, .txt or .csv file of one column;
        several such files, or a mapping from methods to accuracies, of the same tasks in the same
        order.
    dataset
        A data set whose test split is known, such as miniImageNet, one of the release inside the
        package, or any name if sizes are given.
    classes, images
        Classes that tasks are drawn from, and images of the smallest class.
    ways, shots, queries, tasks
        Of the tasks; queries of each class.
    spread
        What ± is: a confidence interval (`ci`), a standard error or deviation.
    level
        Confidence level of what was printed and of what is returned.

    Raises a ResultsError if a result cannot be read, or cannot be a mean of so many accuracies.

    >>> tasks = {"dataset": "miniImageNet", "ways": 5, "shots": 5, "queries": 15, "tasks": 600}
    >>> (one,) = reported("91.72 ± 0.55", **tasks).results
    >>> f"{one.images:.2f} {one.classes:.1f}"
    '1.35 7.8'
    """
    if not 0 < level < 1:
        raise ResultsError(f"level is {level}", expected="a number between 0 and 1, such as .95")
    given = dict(
        zip(OF_TASKS, (dataset, classes, images, ways, shots, queries, tasks), strict=True)
    )
    if accuracies := _accuracies(results):
        return _of_accuracies(accuracies, given, level)
    rows: Iterable[Mapping[str, Any]]
    if isinstance(results, str) and _PRINTED.search(_plain(results)):
        rows, where = [{"result": results}], ""
    elif isinstance(results, (str, Path)):
        rows, where = _read(Path(results)), str(results)
    else:
        given_rows = cast("Iterable[str | Mapping[str, Any]]", results)
        rows = [{"result": row} if isinstance(row, str) else row for row in given_rows]
        where = ""
    made = []
    for number, row in enumerate(rows, 1):
        try:
            made.append(_printed(row, given, spread, level))
        except FSLBenchError as error:
            raise ResultsError(
                error.what,
                where=f"{where + ', ' if where else ''}row {number}" if where or number > 1 else "",
                expected=error.expected,
                fix=error.fix,
            ) from error
    if not made:
        raise ResultsError("there are no results", where=where)
    _check_once(made, where)
    return Reported(tuple(made), level, spread)


def _check_once(made: Sequence[Printed], where: str) -> None:
    """Refuse two results of a named method on the same data set, ways and shots."""
    rows: dict[tuple[object, ...], int] = {}
    for number, one in enumerate(made, 1):
        if one.method and one.design:
            first = rows.setdefault((one.method, *_question(one.design)), number)
            if first != number:
                of = " ".join(filter(None, [one.design.dataset, f"{one.design.ways}-way"]))
                raise ResultsError(
                    f"{one.method} has two results on {of} {one.design.shots}-shot",
                    where=f"{where + ', ' if where else ''}rows {first} and {number}",
                    fix="leave one out, or name the methods differently",
                )


def _accuracies(results: object) -> dict[str, NDArray[np.float64]] | None:
    """Return accuracies by where they are from; None if results are something else."""
    if isinstance(results, str | Path):
        is_result = isinstance(results, str) and _PRINTED.search(_plain(results))
        if is_result or not is_accuracies(Path(results)):
            return None
        results = [results]
    if not isinstance(results, Mapping) and hasattr(results, "__len__"):
        parts = list(results)  # type: ignore[call-overload]
        files = [part for part in parts if isinstance(part, str | Path)]
        if files and files == parts and all(is_accuracies(Path(file)) for file in files):
            return {str(file): read_accuracies(Path(file)) for file in files}
        results = {"accuracies": results}
    if not isinstance(results, Mapping):
        return None
    try:
        return {str(name): np.asarray(values, np.float64) for name, values in results.items()}
    except (TypeError, ValueError):
        return None


def _of_accuracies(
    named: Mapping[str, NDArray[np.float64]], given: Mapping[str, Any], level: float
) -> Reported:
    """Compute what accuracies show; of new images and classes only with a design.

    Means have the usual interval, 1.96 standard errors; differences have Student's quantile.
    """
    percent = {where: _in_percent(values, where, given) for where, values in named.items()}
    sizes = {where: values.size for where, values in percent.items()}
    if len({*sizes.values()}) > 1:
        raise ResultsError(
            f"there are accuracies of {listing([f'{n} tasks in {w}' for w, n in sizes.items()])}",
            expected="accuracies of the same tasks, in the same order",
        )
    known = any(given[name] is not None for name in given if name != "tasks")
    tasks = next(iter(sizes.values()))
    design = _design({**given, "tasks": tasks}) if known else None
    student = float(stdtrit(tasks - 1, (1 + level) / 2))

    def of(
        method: str,
        values: NDArray[np.float64],
        design: Design | None,
        quantile: float | None = None,
    ) -> Printed:
        alike = np.ptp(values) < _ROUNDING
        error = 0.0 if alike else float(values.std(ddof=1)) / sqrt(values.size)
        found = _widths(method, float(values.mean()), error, design, level, quantile)
        return replace(found, n_tasks=int(values.size))

    stems = [Path(w).stem if w.endswith((".npy", ".txt", ".csv")) else w for w in named]
    names = stems if len({*stems}) == len(stems) else [*named]
    results = [
        replace(
            of(name if len(named) > 1 else "", values, design),
            warning=_perhaps_counts(named[where], design, where),
        )
        for name, (where, values) in zip(names, percent.items(), strict=True)
    ]
    pairs = []
    for (one, a), (other, b) in combinations(zip(results, percent.values(), strict=True), 2):
        higher, lower, paired = (
            (one, other, a - b) if one.mean >= other.mean else (other, one, b - a)
        )
        varies = np.ptp(paired) >= _ROUNDING  # else tasks say nothing of images
        pairs.append(Difference(higher, lower, of("", paired, design if varies else None, student)))
    return Reported(tuple(results), level, paired=tuple(pairs))


def _in_percent(
    accuracies: NDArray[np.float64], where: str, given: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Return accuracies of at least two tasks in per cent, which were so or fractions."""
    if accuracies.ndim != 1 or accuracies.size < 2:
        raise AccuracyError(
            f"the accuracies are of shape {accuracies.shape}",
            where=where,
            expected="one number a task, of at least 2 tasks",
        )
    scale = 100.0 if accuracies.max(initial=0) > 1 else 1.0
    outside = ~((accuracies >= 0) & (accuracies <= scale))
    if (bad := np.flatnonzero(outside)).size:
        raise AccuracyError(
            f"{bad.size} accuracies are not numbers from 0 to {scale:g}",
            where=f"{where}, tasks {listing(bad.tolist())}",
            fix="run these tasks again",
        )
    if given["tasks"] not in (None, accuracies.size):
        raise ResultsError(
            f"tasks is {given['tasks']}",
            where=where,
            expected=f"{accuracies.size}, as there are accuracies, or none",
        )
    return accuracies * (100 / scale)


def _perhaps_counts(accuracies: NDArray[np.float64], design: Design | None, where: str) -> str:
    """Refuse numbers of right queries; warn of what may be such, and of equal accuracies."""
    if np.ptp(accuracies) < _ROUNDING:
        return (
            f"the accuracies of all {accuracies.size:,} tasks are equal: ± 0 says nothing of others"
        )
    small = accuracies[(accuracies > 0) & (accuracies < 1)]
    if accuracies.max() > 1 and small.size:
        return (
            f"{small[0]:g} and {accuracies.max():g} are both read as per cent: is one a fraction?"
        )
    if accuracies.max() <= 1 or (accuracies % 1).any():
        return ""
    if design is None:  # in per cent with steps of 1, of 100 queries or a multiple
        step = np.gcd.reduce(accuracies.astype(np.int64))
        text = "all accuracies are whole numbers, read as per cent; if they are numbers of right"
        return f"{text} queries, divide them by the queries of a task (K·Q)" if step == 1 else ""
    queries = design.ways * design.queries
    if (accuracies * queries % 100).any():
        raise AccuracyError(
            f"the accuracies are whole numbers, and no per cent of {queries} queries (K·Q)",
            where=where,
            expected="accuracies, in per cent or as fractions",
            fix=f"if they are numbers of right queries, divide them by {queries}",
        )
    return ""


def _read(path: Path) -> Sequence[Mapping[str, Any]]:
    if not path.is_file():
        raise ResultsError(
            f"{str(path)!r} is neither a result nor a file",
            expected='"91.72 ± 0.55", or a CSV file with a column "result"',
        )
    if path.stat().st_size > MOST_BYTES:
        raise ResultsError(f"more than {MOST_BYTES:,} bytes", where=str(path))
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            rows, columns = [*reader], list(reader.fieldnames or ())
    except (UnicodeDecodeError, csv.Error) as error:
        raise ResultsError(f"no CSV file in UTF-8: {error}", where=str(path)) from error
    expected = f"columns result, and perhaps {', '.join(COLUMNS[1:])}"
    if rows and "result" not in columns:
        there = f"{path}, whose columns are {listing(list(map(quoted, columns)), 12)}"
        fix = column_remedy(columns, ["result"])
        raise ResultsError("there is no column 'result'", where=there, expected=expected, fix=fix)
    _check_names(columns, str(path))
    if twice := [name for name in COLUMNS if columns.count(name) > 1]:
        raise SchemaError(f"the file doubles column {twice[0]}", where=str(path), expected=expected)
    if uneven := [number for number, row in enumerate(rows, 1) if None in row]:
        raise SchemaError(
            "a row has more fields than there are columns",
            where=f"{path}, row {uneven[0]}",
            expected=many(len(columns), "field"),
            fix='put fields with commas in quotes: "1,000"',
        )
    return rows


def _check_names(names: Iterable[str], where: str = "") -> None:
    if unknown := [name for name in names if name not in COLUMNS]:
        raise UnknownNameError("column", unknown[0], COLUMNS, where=where, fix="rename or drop it")


def _plain(text: str) -> str:
    """Return what LaTeX shows, with the command for ± left."""
    return re.sub(r"\\(?!pm)(?:[a-zA-Z]+|[,;! ])|[${}_^]", "", text)


def _parsed(text: str) -> tuple[float, float]:
    """Return the mean in per cent and the number after ±, in points."""
    found = _PRINTED.fullmatch(_plain(text).strip())
    if found is None:
        fix = "write decimals with a point" if re.search(r"\d,\d{1,2}(?!\d)", text) else ""
        raise ResultsError(
            f"{text!r} is no printed result", expected='such as "91.72 ± 0.55"', fix=fix
        )
    mean, half = float(found["mean"]), float(found["half"])
    if mean <= 1 and "." in found["mean"] and half < 1 and "%" not in text:
        mean, half = 100 * mean, 100 * half  # shares of 1
    if mean > 100:
        raise ResultsError(f"the mean is {mean:g}", expected="an accuracy in per cent")
    return mean, half


def _printed(
    row: Mapping[str, Any], given: Mapping[str, Any], spread: Spread, level: float
) -> Printed:
    _check_names(row)
    values = dict(given)
    for name, value in given.items():
        if (own := row.get(name)) in (None, ""):
            continue
        if value is not None and _same(own) != _same(value):
            raise ResultsError(
                f"{name} is {own} in the column and {value} as an option",
                fix=f"leave out --{name} (in Python {name}=) or the column",
            )
        values[name] = own
    if "result" not in row:
        raise ResultsError("there is no 'result'", expected='such as "91.72 ± 0.55"')
    mean, half = _parsed(str(row["result"]))
    design = _design(values)
    z = NormalDist().inv_cdf((1 + level) / 2)
    error = half / {"ci": z, "se": 1.0, "sd": sqrt(design.tasks)}[spread]
    warning = _implausible(mean, error, design, spread)
    found = _widths(str(row.get("method") or ""), mean, error, design, level)
    return replace(found, warning=warning)


def _same(value: object) -> str:
    """Return a key that is equal for 1,000 and 1000, and for spellings of a data set's name."""
    return plain(str(value).replace(",", ""))


def _widths(
    method: str,
    mean: float,
    error: float,
    design: Design | None,
    level: float,
    quantile: float | None = None,
) -> Printed:
    """Return the half-widths that follow from a standard error over tasks.

    For other tasks by `quantile`, the normal law's if there is none; bounds by Student's with T - 1
    degrees of freedom, for new classes with C - 1 where that is larger.
    """
    upper = (1 + level) / 2
    width = (quantile or NormalDist().inv_cdf(upper)) * error
    if design is None:
        return Printed(method, mean, None, width, None, None, None, None)
    if width == 0:
        raise ResultsError(
            f"{f'{method}, ' * bool(method)}{mean:g} ± 0: tasks that do not differ say nothing of "
            "other images or classes",
            expected="a ± above 0",
            fix="give the digits that were rounded off, or leave this result out",
        )
    bound = design.class_factor
    of_tasks, of_classes = (
        error * float(stdtrit(number - 1, upper))
        for number in (design.tasks, min(design.tasks, design.classes))
    )
    return Printed(
        method,
        mean,
        design,
        width,
        of_tasks * design.image_factor,
        width * design.typical(design.image_factor, 0),
        of_classes * bound if isfinite(bound) else None,
        width * design.typical(bound, 1) if isfinite(bound) else None,
    )


def _design(values: Mapping[str, Any]) -> Design:
    known: dict[str, Any] = {"dataset": str(values["dataset"] or "")}
    if known["dataset"] and None in (values["classes"], values["images"]):
        split = split_of(known["dataset"])
        if split is None and values["classes"] is None:
            more = load_release().datasets
            raise unknown_split(known["dataset"], f"or give {_SIZES}", more)
        if split is not None:
            given = {name: value for name, value in values.items() if value is not None}
            values = {**values, "classes": split.classes, "images": split.images, **given}
    missing = [name for name in OF_TASKS[1:] if values[name] is None]
    if missing:
        needed = [name for name in missing if name != "images" or "classes" not in missing]
        options = [_OPTIONS.get(name, f"--{name}") for name in needed]
        what = f"it is not known how many {listing(missing)} there are"
        raise ResultsError(what, fix=f"give {'; '.join(options)} (in Python without the dashes)")
    for name in OF_TASKS[1:]:
        try:
            known[name] = int(str(values[name]).replace(",", ""))
        except ValueError:
            raise ResultsError(f"{name} is {values[name]!r}", expected="a whole number") from None
    return Design(**known)


_SIZES = "--classes and --images"
_OPTIONS = {
    "classes": f"--dataset, or {_SIZES}",
    "images": "--images, of the smallest class",
}


def _implausible(mean: float, error: float, design: Design, spread: Spread) -> str:
    """Refuse a spread that no accuracies can have; warn of one that is smaller than by chance."""
    p = min(max(mean, 0.05), 99.95) / 100  # as far as means are rounded
    deviation = error * sqrt(design.tasks) / 100
    if deviation > sqrt(p * (1 - p) * design.tasks / (design.tasks - 1)):
        raise ResultsError(
            f"accuracies of {design.tasks:,} tasks with mean {mean:g} would have a standard "
            f"deviation of {100 * deviation:.1f} points, more than is possible",
            fix="say what stands behind ±: --spread ci (a confidence interval), se or sd; in "
            "Python spread=",
        )
    least = sqrt(p * (1 - p) / (design.ways * design.queries))
    if spread != "sd" and deviation * (1 + 2 / sqrt(2 * design.tasks)) < least:
        return (
            f"{mean:g}: accuracies of {design.ways * design.queries} queries vary by "
            f"{100 * least:.1f} points by chance alone, and ± would make it {100 * deviation:.1f}: "
            f"{'' if spread == 'se' else 'is it a standard error (--spread se), or '}are there "
            "more tasks or queries?"
        )
    return ""
