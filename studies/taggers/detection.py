"""The share of the attributes that one table gives an image which another gives it, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis_sql.intervals.intervals import halfwidth_per_deviation
from benchmark_spec.errors import SpecError


@dataclass(frozen=True)
class Detection:
    """Detection accuracy of one table relative to another, in percent.

    It is the mean over the `images` with any attribute in `of` of the share of these that `by` has;
    images are taken as independent, and the interval is Student's.
    """

    by: str
    of: str
    images: int
    accuracy: float | None
    halfwidth: float | None


def detections(
    first: pa.Table, second: pa.Table, names: tuple[str, str], level: float = 0.95
) -> tuple[Detection, Detection]:
    """Hold the second of two tables of attributes against the first, and the other way round.

    SpecError if they are not of the same images, or of none.
    """
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
    return _detection(names[1], names[0], b, a, level), _detection(names[0], names[1], a, b, level)


def _detection(
    by: str, of: str, detected: list[frozenset[str]], true: list[frozenset[str]], level: float
) -> Detection:
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
