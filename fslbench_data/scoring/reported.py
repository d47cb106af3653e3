"""Judge a printed "91.72 ± 0.55" by the sizes of its data set alone.

The tasks of a paper reuse images and classes, so that its ± is about other tasks of the same
images.  The sizes of the data set bound how much wider an interval for new images or new classes
can be (:class:`Design`); how wide it typically is was measured on other data (:data:`SHARES`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from math import hypot, inf, isfinite, log, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis_sql.comparisons import constant_p
from analysis_sql.intervals.intervals import check_level
from analysis_sql.leave_one_out.design import variance_factor
from benchmark_spec.catalogue import plain, unknown_split
from benchmark_spec.errors import (
    AccuracyError,
    FSLBenchError,
    ResultsError,
    UnknownNameError,
    listing,
    many,
    quoted,
)
from fslbench_data.release.release import load_release, split_of
from fslbench_data.submission.columns import column_remedy, doubled
from fslbench_data.submission.frames import Frame, frame_table
from fslbench_data.submission.reading import (
    is_accuracies,
    read_accuracies,
    read_csv_texts,
    readable,
)

Spread = Literal["ci", "se", "sd"]
"""What ± is: half a confidence interval, a standard error or a standard deviation."""

LEVEL = 0.95
OF_TASKS = ("dataset", "classes", "images", "ways", "shots", "queries", "tasks")
"""Columns, options and parameters that describe the tasks of a result."""
COLUMNS = ("result", "method", *OF_TASKS)
KINDS = ("tasks", "images", "classes")
"""What intervals are about: other tasks of the same images, new images, new classes."""

SHARES = {
    (1, 1): (0.10, 0.12),
    (1, 5): (0.13, 0.30),
    (1, 15): (0.09, 0.39),
    (5, 1): (0.03, 0.13),
    (5, 5): (0.11, 0.34),
    (5, 15): (0.08, 0.74),
}
"""The shares of the bound's extra variance that intervals for new images and new classes reach, by
shots and queries: medians over image collections, made by ``python -m studies.reported.shares``."""

_DIGITS = 15
"""Digits of the largest number of tasks, classes or images; with commas."""
_WIDEST = 0.2
"""Share by which accuracies of tasks may vary beyond chance; of uniform tasks inside the package it
is at most 0.12."""

_ROUNDING = 1e-9
"""Percentage points by which equal accuracies may differ."""

_PRINTED = re.compile(
    r"(?P<mean>\d+(?:\.\d+)?)\s*%?\s*"
    r"(?:±|\+\s*/?\s*-|\\pm|\()\s*(?P<half>\d+(?:\.\d+)?)\s*%?\s*\)?\s*%?"
)


class Design(Struct, frozen=True):
    """The tasks that a result was measured on, drawn uniformly with images and classes reused.

    Attributes
    ----------
    classes, images
        Number of classes that tasks are drawn from, and of images of the smallest class.
    ways, shots, queries
        Of a task; shots and queries are of each class.
    tasks
        Number of tasks that the mean is over.
    dataset
        Name of the data set; may be empty.
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
        sizes = f"{self.classes} classes of at least {many(self.images, 'image')}"
        return f"{self.dataset}, {sizes}" if self.dataset else sizes

    @property
    def task_set(self) -> str:
        """The data set, ways and shots in words."""
        return f"{self.dataset} {self.ways}-way {self.shots}-shot".strip()

    @property
    def question(self) -> tuple[object, ...]:
        """What results must have in common to be compared."""
        return plain(self.dataset), self.classes, self.images, self.ways, self.shots

    @property
    def image_factor(self) -> float:
        """How many times wider an interval for new images is, at most.

        By Hoeffding's bound with the share K m/(C N) (:func:`variance_factor`).
        """
        shown = self.ways * (self.shots + self.queries)
        return sqrt(variance_factor(self.tasks, shown / (self.classes * self.images)))

    @property
    def class_factor(self) -> float:
        """How many times wider one for new classes is, at most; infinite if tasks have all classes.

        By the same bound, with the share K/C.
        """
        return sqrt(variance_factor(self.tasks, self.ways / self.classes))

    def widths(self, width: float, error: float, level: float) -> dict[str, Any]:
        """Return half-widths for new images and new classes: bounds and typical ones.

        Bounds follow from the standard error over tasks and Student's quantile of T - 1 degrees of
        freedom (for new classes of C - 1 if that is less).  Typical ones follow from the half-width
        for other tasks and the share of :data:`SHARES` with the nearest shots and queries.
        """
        image_share, class_share = SHARES[
            min(SHARES, key=lambda k: abs(log(k[0] / self.shots)) + abs(log(k[1] / self.queries)))
        ]
        found = {}
        for kind, factor, number, share in (
            ("images", self.image_factor, self.tasks, image_share),
            ("classes", self.class_factor, min(self.tasks, self.classes), class_share),
        ):
            if isfinite(factor):
                found[kind] = error * float(stdtrit(number - 1, (1 + level) / 2)) * factor
                found[f"typical_{kind}"] = width * sqrt(1 + share * (factor**2 - 1))
        return found


class Printed(Struct, frozen=True):
    """A printed accuracy in per cent, and half-widths of its intervals in points.

    Attributes
    ----------
    design
        What the tasks were drawn from; None if only accuracies are known.
    tasks
        Half-width for other tasks of the same images, as printed.
    images, typical_images
        Half-width for new images of the same classes: bound and typical one; None without a design.
    classes, typical_classes
        The same for new classes; also None if every task has all classes.
    n_tasks
        Number of accuracies, if these were given, not a printed result.
    """

    method: str
    mean: float
    design: Design | None
    tasks: float
    images: float | None = None
    typical_images: float | None = None
    classes: float | None = None
    typical_classes: float | None = None
    warning: str = ""
    n_tasks: int | None = None


class Difference(Struct, frozen=True):
    """Two results on the same data set, ways and shots, the higher first.

    Attributes
    ----------
    difference
        Points that the first is above the second.
    significant
        By kind, whether the difference exceeds √(h₁² + h₂²) for other tasks, or h₁ + h₂ for new
        images and new classes, since both may rest on the same ones.  If accuracies of the same
        tasks are known, whether it exceeds its own half-widths; where it is the same on every task,
        by the sign-flip test.
    halfwidths
        The difference's own half-widths by kind, or None.
    """

    first: Printed
    second: Printed
    difference: float
    significant: dict[str, bool]
    halfwidths: dict[str, float | None] | None = None

    @classmethod
    def of(
        cls, one: Printed, other: Printed, halfwidths: dict[str, float | None] | None = None
    ) -> Difference:
        """Compare two results, in whichever order."""
        first, second = (one, other) if one.mean >= other.mean else (other, one)
        difference, significant = first.mean - second.mean, {}
        for kind in KINDS:
            widths = [getattr(first, kind), getattr(second, kind)]
            if halfwidths is not None:
                widths = [halfwidths[kind]]
            width = inf
            if None not in widths:
                width = hypot(*widths) if kind == "tasks" else sum(widths)
            significant[kind] = difference > width + _ROUNDING
        return cls(first, second, difference, significant, halfwidths)


class Reported(Struct, frozen=True):
    """Printed results, or means of accuracies, and what can be concluded from them.

    There is a difference of every two results on the same data set, ways and shots.
    """

    results: tuple[Printed, ...]
    differences: tuple[Difference, ...]
    level: float = LEVEL
    spread: Spread = "ci"
    as_text: ClassVar[Callable[[Reported], str] | None] = None

    def __str__(self) -> str:
        """Return the results as the terminal shows them, by `as_text` where it is set."""
        write = type(self).as_text
        return repr(self) if write is None else write(self)

    def __repr__(self) -> str:
        on = f"{many(len(self.results), 'result')}, {many(len(self.differences), 'difference')}"
        return f"<Reported: {on}, level {self.level:g}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        differences = []
        for pair in self.differences:
            design = pair.first.design
            differences.append(
                {
                    "first": pair.first.method,
                    "second": pair.second.method,
                    "dataset": design and design.dataset,
                    "ways": design and design.ways,
                    "shots": design and design.shots,
                    "difference": round(pair.difference, 6) + 0.0,  # never -0.0
                    "halfwidths": pair.halfwidths,
                    "significant": pair.significant,
                }
            )
        results = [asdict(result) for result in self.results]
        return {"level": self.level, "results": results, "differences": differences}


def reported(
    results: str | Path | Frame | Iterable[str | Path | Mapping[str, Any]] | ArrayLike,
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
        A result such as ``"91.72 ± 0.55"``, several, a CSV file, a frame, or rows.  Rows have a
        `result` and may have `method` and any of the parameters below in which they differ.  Or
        accuracies, one per task: an array, a list, or a .npy, .txt or .csv file of one column;
        several such files, or a mapping from methods to accuracies, of the same tasks in the same
        order.
    dataset
        A data set whose test split is known, such as miniImageNet, one of the release inside the
        package, or any name if sizes are given.
    classes, images
        Number of classes that tasks are drawn from, and of images of the smallest class.
    ways, shots, queries, tasks
        Of the tasks; shots and queries are of each class.
    spread
        What ± is: a confidence interval (`ci`), a standard error (`se`) or deviation (`sd`).
    level
        Confidence level of what was printed and of what is returned.

    Raises a ResultsError if a result cannot be read, or cannot be a mean of so many accuracies, and
    a SpecError if `level` is no confidence level.

    >>> tasks = {"dataset": "miniImageNet", "ways": 5, "shots": 5, "queries": 15, "tasks": 600}
    >>> (one,) = reported("91.72 ± 0.55", **tasks).results
    >>> f"{one.images:.2f} {one.classes:.1f}"
    '1.35 8.3'
    """
    check_level(level)
    if spread not in get_args(Spread):
        raise ResultsError(f"spread is {spread!r}", expected=listing(get_args(Spread)))
    options = (dataset, classes, images, ways, shots, queries, tasks)
    given = dict(zip(OF_TASKS, options, strict=True))
    if accuracies := _accuracies(results):
        if spread != "ci":
            raise ResultsError(
                f"spread is {spread!r}, and accuracies have no printed ±", fix="leave it out"
            )
        return _of_accuracies(accuracies, given, level)
    rows, where = cast("Iterable[str | Mapping[str, Any]]", results), ""
    if isinstance(results, str | Path):
        file = Path(results)
        if file.suffix.lower() != ".csv" and _PRINTED.search(_plain(str(results))):
            rows = [str(results)]
        else:
            rows, where = _read(file), str(results)
    elif isinstance(results, Frame):
        rows = _rows(frame_table(results, "the frame"), "the frame")
    printed_results: list[Printed] = []
    questions: list[tuple[object, ...]] = []
    seen: dict[tuple[object, ...], int] = {}
    for number, row in enumerate(rows, 1):
        try:
            row = row if isinstance(row, Mapping) else {"result": row}
            _check_columns(row)
            mean, plus_minus = _parsed(str(row["result"] or ""))
            design, method = _design(row, given), str(row.get("method") or "")
            error = plus_minus / _standard_errors(level, design.tasks)[spread]
            warning = _implausible(mean, error, design, spread, level)
            printed = _printed(method, mean, error, design, level, warning)
            first = seen.setdefault((method, *design.question), number)
            if method and first != number:
                raise ResultsError(
                    f"{method} has two results on {design.task_set}, the first in row {first}",
                    fix="leave one out, or name the methods differently",
                )
        except FSLBenchError as refused:
            place = f"row {number}" if where or number > 1 else ""
            place = f"{where}, {place}" if where else place
            raise ResultsError(
                refused.what, where=place, expected=refused.expected, fix=refused.fix
            ) from refused
        printed_results.append(printed)
        questions.append(design.question)
    if not printed_results:
        raise ResultsError("there are no results", where=where)
    differences = []
    for (one, a), (other, b) in combinations(zip(printed_results, questions, strict=True), 2):
        if a == b:
            differences.append(Difference.of(one, other))
    return Reported(tuple(printed_results), tuple(differences), level, spread)


def _accuracies(results: object) -> dict[str, NDArray[np.float64]]:
    """Return accuracies by their file or method; none if results are something else."""
    files = [results] if isinstance(results, str | Path) else results
    if isinstance(files, list | tuple) and files and isinstance(files[0], str | Path):
        if all(isinstance(file, str | Path) and is_accuracies(Path(file)) for file in files):
            return {str(file): read_accuracies(Path(file)) for file in files}
        return {}
    named = results if isinstance(results, Mapping) else {"accuracies": results}
    try:
        return {str(name): np.asarray(values, np.float64) for name, values in named.items()}
    except (TypeError, ValueError):
        return {}


def _of_accuracies(
    named: Mapping[str, NDArray[np.float64]], given: Mapping[str, Any], level: float
) -> Reported:
    """Compute intervals from accuracies; those for new images and classes need a design.

    Means have the usual interval of 1.96 standard errors, differences use Student's quantile.
    """
    percent = {where: _in_percent(values, where) for where, values in named.items()}
    sizes = {f"{values.size} tasks in {where}": values.size for where, values in percent.items()}
    tasks, *others = dict.fromkeys(sizes.values())
    if others:
        raise ResultsError(
            f"there are accuracies of {listing([*sizes])}",
            expected="accuracies of the same tasks, in the same order",
        )
    known = any(value is not None for value in given.values())
    design = _design({"tasks": tasks}, given) if known else None
    stems = [Path(w).stem if w.endswith((".npy", ".txt", ".csv")) else w for w in named]
    names = stems if len({*stems}) == len(stems) else [*named]
    results = []
    for name, (where, values) in zip(names, percent.items(), strict=True):
        warning = _perhaps_counts(named[where], design, where)
        method, mean = name if len(named) > 1 else "", float(values.mean())
        results.append(_printed(method, mean, _error(values), design, level, warning, tasks))
    student = float(stdtrit(tasks - 1, (1 + level) / 2))
    differences = []
    for (one, a), (other, b) in combinations(zip(results, percent.values(), strict=True), 2):
        error = _error(a - b)
        widths: dict[str, float] = {"tasks": student * error}
        if not error and one.mean != other.mean and constant_p(tasks) > 1 - level:
            widths = {}  # equal differences of so few tasks allow no conclusion
        if design is not None and error:  # equal accuracies say nothing of images
            widths |= design.widths(student * error, error, level)
        differences.append(Difference.of(one, other, {kind: widths.get(kind) for kind in KINDS}))
    return Reported(tuple(results), tuple(differences), level)


def _error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean, 0 if values are equal but for rounding."""
    return 0.0 if np.ptp(values) < _ROUNDING else float(values.std(ddof=1)) / sqrt(values.size)


def _in_percent(accuracies: NDArray[np.float64], where: str) -> NDArray[np.float64]:
    """Return accuracies of at least two tasks in per cent, given as such or as fractions."""
    if accuracies.ndim != 1 or accuracies.size < 2:
        raise AccuracyError(
            f"the accuracies are of shape {accuracies.shape}",
            where=where,
            expected="one number a task, of at least 2 tasks",
            fix="give each method a file of its own",
        )
    scale = 100.0 if np.fmax.reduce(accuracies, initial=0) > 1 else 1.0  # some may be NaN
    outside = ~((accuracies >= 0) & (accuracies <= scale))
    if (bad := np.flatnonzero(outside)).size:
        raise AccuracyError(
            f"{bad.size} accuracies are not numbers from 0 to {scale:g}",
            where=f"{where}, tasks {listing(bad.tolist())}",
            fix="run these tasks again",
        )
    return accuracies * (100 / scale)


def _perhaps_counts(accuracies: NDArray[np.float64], design: Design | None, where: str) -> str:
    """Refuse numbers of correct queries; warn of what may be such, and of equal accuracies."""
    if np.ptp(accuracies) < _ROUNDING:
        return (
            f"the accuracies of all {accuracies.size:,} tasks are equal: ± 0 says nothing of others"
        )
    small = accuracies[(accuracies > 0) & (accuracies < 1)]
    if accuracies.max() > 1 and small.size:
        return (
            f"{small[0]:g} and {accuracies.max():g} are both read as per cent: is one a fraction?"
        )
    if design is not None and accuracies.max() * (queries := design.ways * design.queries) < 1:
        return (
            f"the highest accuracy is {accuracies.max():g}, less than one right answer of "
            f"{queries} queries (K·Q): were per cent divided by 100 twice?"
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


def _rows(table: pa.Table, where: str) -> list[dict[str, Any]]:
    """Return the rows of a table; refuse columns of one name."""
    if names := doubled(table.column_names):
        raise ResultsError(
            f"{where} doubles column {listing(names, 12)}",
            expected="every column once",
            fix="drop one of them",
        )
    return cast("list[dict[str, Any]]", table.to_pylist())


def _read(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a CSV file, whose values are texts."""
    if not path.is_file():
        raise ResultsError(
            f"{str(path)!r} is neither a result nor a file",
            expected='"91.72 ± 0.55", or a CSV file with a column "result"',
        )
    if path.suffix.lower() != ".csv":
        raise ResultsError(
            f"{path} does not end in .csv",
            expected='"91.72 ± 0.55", or a CSV file with a column "result"',
            fix="results by task, in files of any kind: fslbench score FILE",
        )
    with readable(path):
        return _rows(read_csv_texts(path), str(path))


def _plain(text: str) -> str:
    """Remove the markup of LaTeX, except the command for ±."""
    return re.sub(r"\\(?!pm)(?:[a-zA-Z]+|[,;! ])|[${}_^]", "", text)


def _parsed(text: str) -> tuple[float, float]:
    """Return the mean in per cent and the number after ±, in points."""
    found = _PRINTED.fullmatch(_plain(text).strip())
    if found is None:
        fix = "put the whole result in quotes"
        if re.search(r"\d,\d{1,2}(?!\d)", text):
            fix = "write decimals with a point"
        raise ResultsError(
            f"{text!r} is no printed result", expected='such as "91.72 ± 0.55"', fix=fix
        )
    if "." in found["mean"] and re.fullmatch(r"[^(]*\d\(\d+\)", _plain(text).strip()):
        raise ResultsError(
            f"{text!r} may mean units of the last digit", fix="write it with ± and all digits"
        )
    mean, half = float(found["mean"]), float(found["half"])
    if mean <= 1 and "." in found["mean"] and half < 1 and "%" not in text:
        mean, half = 100 * mean, 100 * half  # shares of 1
    if mean > 100:
        raise ResultsError(f"the mean is {mean:g}", expected="an accuracy in per cent")
    return mean, half


def _check_columns(row: Mapping[str, Any]) -> None:
    if "result" not in row:
        raise ResultsError(
            f"there is no column 'result' among {listing([*map(quoted, row)], 12)}",
            expected=f"columns result, and perhaps {', '.join(COLUMNS[1:])}",
            fix=column_remedy([*row], ["result"]),
        )
    if unknown := [name for name in row if name not in COLUMNS]:
        raise UnknownNameError("column", unknown[0], COLUMNS, fix="rename or drop it")


def _whole(value: object) -> int | None:
    """Return the whole number that 1000, 1,000 or 1000.0 is; None of anything else."""
    found = re.fullmatch(r"(\d+|\d{1,3}(?:,\d{3})+)(?:\.0+)?", str(value))
    return int(found[1].replace(",", "")) if found and len(found[1]) <= _DIGITS else None


def _same(value: object) -> str:
    """Return a key that is the same for 1,000 and 1000, and for spellings of a data set's name."""
    return plain(str(value if (whole := _whole(value)) is None else whole))


def _normal_quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _printed(
    method: str,
    mean: float,
    error: float,
    design: Design | None,
    level: float,
    warning: str,
    n_tasks: int | None = None,
) -> Printed:
    """Return a result with the half-widths that follow from a standard error over tasks."""
    width = _normal_quantile(level) * error
    if design is not None and width == 0:
        raise ResultsError(
            f"{f'{method}, ' if method else ''}{mean:g} ± 0: tasks that do not differ say nothing "
            "of other images or classes",
            expected="a ± above 0",
            fix="give the digits that were rounded off, or leave this result out",
        )
    widths = design.widths(width, error, level) if design else {}
    return Printed(method, mean, design, width, warning=warning, n_tasks=n_tasks, **widths)


def _design(row: Mapping[str, Any], given: Mapping[str, Any]) -> Design:
    """Return the tasks that a row and the options describe; both must agree."""
    values = dict(given)
    for name in OF_TASKS:
        if (value := row.get(name)) in (None, ""):
            continue
        if given[name] is not None and _same(value) != _same(given[name]):
            raise ResultsError(
                f"{name} is {value}, and {given[name]} as an option",
                fix=f"leave out --{name} (in Python {name}=) or the column",
            )
        values[name] = value
    dataset = str(values["dataset"] or "")
    if dataset and None in (values["classes"], values["images"]):
        split = split_of(dataset)
        if split is None and values["classes"] is None:
            fix, more = "or give --classes and --images", load_release().datasets
            raise unknown_split(dataset, fix, more)
        for name in ("classes", "images") if split else ():
            values[name] = getattr(split, name) if values[name] is None else values[name]
    if missing := [name for name in OF_TASKS[1:] if values[name] is None]:
        what = f"it is not known how many {listing(missing)} there are"
        options = ", ".join(f"--{name}" for name in missing)
        fix = f"give {options} (in Python without the dashes); a known --dataset has sizes"
        raise ResultsError(what, fix=fix)
    numbers = {}
    for name in OF_TASKS[1:]:
        if (whole := _whole(values[name])) is None:
            expected = f"a whole number of at most {_DIGITS} digits"
            raise ResultsError(f"{name} is {values[name]!r:.40}", expected=expected)
        numbers[name] = whole
    return Design(**numbers, dataset=dataset)


def _standard_errors(level: float, tasks: int) -> dict[Spread, float]:
    """Return how many standard errors of the mean each kind of ± is."""
    return {"ci": _normal_quantile(level), "se": 1.0, "sd": sqrt(tasks)}


_SPREADS = {"ci": "a confidence interval", "se": "a standard error", "sd": "a standard deviation"}

_OTHER_SPREAD = {
    "ci": "is it a standard error (--spread se), or ",
    "se": "",
    "sd": "is it a confidence interval (--spread ci), or ",
}


def _implausible(mean: float, error: float, design: Design, spread: Spread, level: float) -> str:
    """Refuse a spread that no accuracies can have; warn of one that is smaller than by chance."""
    p = min(max(mean, 0.05), 99.95) / 100  # a printed 0 or 100 may be rounded
    deviation = error * sqrt(design.tasks) / 100
    most = sqrt(p * (1 - p) * design.tasks / (design.tasks - 1))
    if deviation > most:
        errors = _standard_errors(level, design.tasks)
        possible = [s for s in errors if deviation * errors[spread] / errors[s] <= most]
        raise ResultsError(
            f"accuracies of {design.tasks:,} tasks with mean {mean:g} would have a standard "
            f"deviation of {100 * deviation:.1f} points, more than is possible",
            fix="say what stands behind ±: it can be "
            + " or ".join(f"{_SPREADS[s]} (--spread {s})" for s in possible)
            + "; in Python spread="
            if possible
            else "give mean and ± both in per cent, or both as shares of 1, and the right number "
            "of tasks: ± can be no interval, standard error or deviation of these",
        )
    least = sqrt(p * (1 - p) / (design.ways * design.queries))
    if mean <= 1:
        return f"{mean:g} is read as per cent: is it a share of 1?"
    if deviation * (1 + 2 / sqrt(2 * design.tasks)) < least:
        return (
            f"{mean:g}: accuracies of {design.ways * design.queries} queries vary by "
            f"{100 * least:.1f} points by chance alone, and ± would make it {100 * deviation:.1f}: "
            f"{_OTHER_SPREAD[spread]}are there more tasks or queries?"
        )
    if deviation > hypot(least, _WIDEST):
        return (
            f"{mean:g}: tasks would vary by {100 * deviation:.1f} points, by chance alone by "
            f"{100 * least:.1f}: is ± a standard deviation (--spread sd), or are "
            "there fewer tasks?"
        )
    return ""
