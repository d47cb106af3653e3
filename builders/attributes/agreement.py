"""How well two sets of attributes of the same images agree, as two captioners' do.

With A_i and B_i the attributes that two tables give image i, the **detection accuracy** of B
relative to A is the mean of |A_i ∩ B_i| / |A_i| over images with any in A.  Of **each attribute**
there is Cohen's kappa.  Images are taken as independent: intervals are Student's of a mean, and of
kappa the delta method's (Fleiss, Cohen & Everitt, Psychological Bulletin 1969).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from analysis_sql.intervals.intervals import check_level, halfwidth_per_deviation
from benchmark_spec.errors import SpecError
from fslbench_data.render.table import Column, Table, csv_text, right

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Detection:
    """Detection accuracy of one table relative to another, in percent.

    `by` detects, the attributes of `of` are taken for the truth, and `images` have any of these.
    """

    by: str
    of: str
    images: int
    accuracy: float | None
    halfwidth: float | None


@dataclass(frozen=True)
class AttributeAgreement:
    """How many images have one attribute in both tables, in one alone and in none.

    Cohen's `kappa` is None where all images have it in both tables, the half-width of its interval
    where the delta method sees no spread.
    """

    attribute: str
    both: int
    first_only: int
    second_only: int
    neither: int
    kappa: float | None
    halfwidth: float | None


@dataclass(frozen=True)
class Agreement:
    """Two tables of attributes, by name, compared.

    `detection` is of the second relative to the first, and the other way round; `attributes` are
    those of either table, those of most images first.
    """

    first: str
    second: str
    images: int
    level: float
    detection: tuple[Detection, Detection]
    attributes: tuple[AttributeAgreement, ...]


def agreement(
    first: pa.Table, second: pa.Table, names: tuple[str, str], level: float = 0.95
) -> Agreement:
    """Compare two tables of the schema :data:`benchmark_spec.schemas.ATTRIBUTES`.

    SpecError if they are not of the same images, or of none.
    """
    check_level(level)
    ids = [table.column("image_id").to_pylist() for table in (first, second)]
    if ids[0] != ids[1] or not ids[0]:
        raise SpecError(
            f"{names[0]} has rows for {len(ids[0])} images, {names[1]} for {len(ids[1])}",
            expected="a row for each image in both, in the same order",
        )
    a, b = (
        [frozenset(words) for words in table.column("attributes").to_pylist()]
        for table in (first, second)
    )
    return Agreement(
        *names,
        len(a),
        level,
        (_detection(names[1], names[0], b, a, level), _detection(names[0], names[1], a, b, level)),
        _by_attribute(a, b, level),
    )


Words = list[frozenset[str]]
"""The attributes of each image."""


def _detection(by: str, of: str, detected: Words, true: Words, level: float) -> Detection:
    shares = np.array(
        [len(x & y) / len(y) for x, y in zip(detected, true, strict=True) if y], np.float64
    )
    if not shares.size:
        return Detection(by, of, 0, None, None)
    halfwidth = None
    if shares.size > 1 and np.ptp(shares) > 0:
        per_deviation = halfwidth_per_deviation(shares.size, "open", level)
        halfwidth = 100 * per_deviation * float(shares.std(ddof=1))
    return Detection(by, of, shares.size, 100 * float(shares.mean()), halfwidth)


def _by_attribute(a: Words, b: Words, level: float) -> tuple[AttributeAgreement, ...]:
    both, first, second = (
        Counter(word for words in map(side, a, b) for word in words)
        for side in (frozenset.intersection, frozenset.difference, lambda x, y: y - x)
    )
    names = sorted({*both, *first, *second})
    cells = [(both[name], first[name], second[name]) for name in names]
    counts = np.array([(*cell, len(a) - sum(cell)) for cell in cells], np.int64).reshape(-1, 4)
    rows = [
        AttributeAgreement(name, *cell, *(None if np.isnan(x) else float(x) for x in interval))
        for name, cell, *interval in zip(names, counts.tolist(), *kappa(counts, level), strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (row.neither, row.attribute)))


def kappa(counts: Counts, level: float) -> tuple[Floats, Floats]:
    """Compute Cohen's kappa and the half-width of its interval, both (A,); NaN where there is none.

    Of counts (A, 4): images of each attribute in both tables, in one alone, in the other, in none.
    """
    images = counts.sum(axis=1)
    shares = counts / images[:, None]
    in_a, in_b = shares[:, [0, 1]].sum(axis=1), shares[:, [0, 2]].sum(axis=1)
    agreed = shares[:, [0, 3]].sum(axis=1)
    both, first_only, second_only, neither = counts.T
    # 1 - p_e in whole numbers, times the square of the number of images
    apart = (both + first_only) * (first_only + neither)
    apart += (both + second_only) * (second_only + neither)
    by_chance = apart / images**2
    cells = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 2 * (both * neither - first_only * second_only) / apart
        of_agreed = (cells[:, 0] == cells[:, 1]) - agreed[:, None]
        of_chance = (2 * in_b - 1)[:, None] * (cells[:, 0] - in_a[:, None])
        of_chance = of_chance + (2 * in_a - 1)[:, None] * (cells[:, 1] - in_b[:, None])
        influence = (of_agreed - (1 - value)[:, None] * of_chance) / by_chance[:, None]
        error = np.sqrt((shares * influence**2).sum(axis=1) / images)
    width = -ndtri((1 - level) / 2) * error
    flat = ~(error > 1e-12)
    return value, np.where(flat, np.nan, width)


MOST = 20
"""Attributes that the table for people shows."""

NOTE = (
    "detection accuracy: the share of an image's attributes in one table that the other has, too, "
    "mean over images. kappa: Cohen's, 1 for the same images, 0 for as many in common as chance "
    "gives. Images taken as independent."
)


def agreement_tables(compared: Agreement) -> list[Table]:
    """Lay out detection accuracies, and agreement on the attributes of most images."""
    detection = (
        Column("detected by", attrgetter("by")),
        Column("of the attributes of", attrgetter("of")),
        right("images", lambda row: f"{row.images:,}"),
        right("detection accuracy %", lambda row: _with_width(row.accuracy, row.halfwidth, 2)),
    )
    kinds = (
        Column("attribute", attrgetter("attribute")),
        right("both", attrgetter("both")),
        right(f"{compared.first} only", attrgetter("first_only")),
        right(f"{compared.second} only", attrgetter("second_only")),
        right("kappa", lambda row: _with_width(row.kappa, row.halfwidth, 3)),
    )
    rows = compared.attributes
    first = sum(row.both + row.first_only > 0 for row in rows)
    second = sum(row.both + row.second_only > 0 for row in rows)
    shared = sum(row.both > 0 for row in rows)
    shown = f"the {MOST} of most images" if len(rows) > MOST else "all"
    images = f"{compared.images:,} images, {100 * compared.level:.8g} % intervals"
    found = f"{first:,} and {second:,}, on an image in both {shared:,}; {shown}, in images"
    return [
        Table(f"{compared.first} and {compared.second}: {images}", detection, compared.detection),
        Table(f"Attributes: {found}", kinds, rows[:MOST]),
    ]


def agreement_csv(compared: Agreement) -> str:
    """Write one row an attribute."""
    names = ("attribute", "both", "first_only", "second_only", "neither", "kappa", "halfwidth")
    columns = tuple(Column(name, attrgetter(name)) for name in names)
    return csv_text(Table("", columns, compared.attributes))


def _with_width(value: float | None, halfwidth: float | None, digits: int) -> str | None:
    if value is None:
        return None
    width = "" if halfwidth is None else f" ± {halfwidth:.{digits}f}"
    return f"{value:.{digits}f}{width}"
