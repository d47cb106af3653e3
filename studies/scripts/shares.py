"""Shares of halvings, with their errors: what lies together, and what becomes of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut
from studies.common import LEVEL, row
from studies.scripts.halving import Floats, Halvings

Counted = Callable[[Floats, int], tuple[Floats, Floats]]
"""Of halves (n, 2, 4, M, M) and the position of an interval: cases (n,), of how many (n,)."""


def _pick(halves: Floats, kind: int, *, pairs: bool) -> tuple[Floats, Floats]:
    """Take estimates and half-widths of both halves, (n, 2, P): of all pairs, or of the methods."""
    size = halves.shape[-1]
    rows, columns = np.triu_indices(size, 1) if pairs else np.diag_indices(size)
    return halves[:, :, 0, rows, columns], halves[:, :, kind, rows, columns]


def together(halves: Floats, kind: int, *, pairs: bool) -> tuple[Floats, Floats]:
    """Count the estimates of two halves that are no further apart than √(h_A² + h_B²)."""
    mean, width = _pick(halves, kind, pairs=pairs)
    near = np.abs(mean[:, 0] - mean[:, 1]) <= np.hypot(width[:, 0], width[:, 1])
    return near.sum(axis=1), np.full(len(near), near.shape[1])


def verdicts(halves: Floats, kind: int) -> tuple[Floats, Floats]:
    """Give the verdicts -1, 0, 1 of all pairs on both halves (n, 2, P), and signs of estimates."""
    mean, width = _pick(halves, kind, pairs=True)
    return np.sign(mean) * (np.abs(mean) > width), np.sign(mean)


def conclusive(halves: Floats, kind: int) -> tuple[Floats, Floats]:
    """Count the verdicts that claim a difference, of all on both halves."""
    verdict, _ = verdicts(halves, kind)
    return np.abs(verdict).sum(axis=(1, 2)), np.full(len(verdict), verdict[0].size)


def _of_claims(
    case: Callable[[Floats, Floats, Floats], Any], halves: Floats, kind: int
) -> tuple[Floats, Floats]:
    """Count cases among claims, by a half's verdict, and verdict and sign on the other half."""
    verdict, sign = verdicts(halves, kind)
    cases = (verdict != 0) & case(verdict, verdict[:, ::-1], sign[:, ::-1])
    return cases.sum(axis=(1, 2)), np.abs(verdict).sum(axis=(1, 2))


not_repeated = partial(_of_claims, lambda own, other, _: other != own)
"""Count claims without the same verdict on the other half."""
contradicted = partial(_of_claims, lambda own, _, sign: sign != own)
"""Count claims whose difference is estimated to be 0 or of the other sign on the other half."""
reversed_ = partial(_of_claims, lambda own, other, _: own * other < 0)
"""Count claims that meet the opposite verdict on the other half."""


def share(counted: Counted, held: Halvings, kind: int) -> tuple[float, float]:
    """Compute a share of cases and its standard error, per cent; NaN if a half has no interval.

    The error is that of finitely many halvings, and the jackknife's over scripts, in squares.
    """
    if any(np.isnan(halves[..., kind, :, :]).any() for halves in (held.whole, held.without)):
        return np.nan, np.nan
    cases, total = counted(held.whole, kind)
    if not total.sum():
        return np.nan, np.nan
    value = cases.sum() / total.sum()
    of_halvings = (cases - value * total).var(ddof=1) / total.mean() ** 2 / len(total)
    of_scripts = jackknife([counted(halves, kind) for halves in held.without])
    return 100.0 * value, 100.0 * float(np.sqrt(of_halvings + of_scripts))


def jackknife(left: Sequence[tuple[Floats, Floats]]) -> float:
    """Compute the variance of a share of cases over sets of G scripts; at least 0.

    `left` has cases (n,), and of how many (n,), without each script.  What finitely many halvings
    make the G shares differ by is taken out.
    """
    shares = np.array([cases.sum() / max(total.sum(), 1) for cases, total in left])
    noise = np.array(
        [
            (cases - share * total) / max(total.mean(), 1)
            for share, (cases, total) in zip(shares, left, strict=True)
        ]
    )
    noise -= noise.mean(axis=0)
    of_halvings = noise.var(axis=1, ddof=1) / noise.shape[1]
    spread = np.sum((shares - shares.mean()) ** 2 - of_halvings)
    return float(max((len(left) - 1) / len(left) * spread, 0.0))


def relative_width(held: Halvings, kind: int, *, pairs: bool) -> float:
    """Compare √(h_A² + h_B²) with 1.96 times what estimates lie apart, both root mean squares.

    The mean over pairs, or methods.  1 is the narrowest that a normal law allows.
    """
    mean, width = _pick(held.whole, kind, pairs=pairs)
    apart = np.sqrt(np.square(mean[:, 0] - mean[:, 1]).mean(axis=0))
    reach = np.sqrt(np.square(width).sum(axis=1).mean(axis=0))
    return float((reach / apart).mean() / ndtri((1 + LEVEL) / 2))


def expected(scripts: float) -> float:
    """Compute how many halvings, per cent, lie together where effects of scripts are normal.

    Of so many scripts a half; intervals are Student's of the right variance.
    """
    limit = stdtrit(scripts - 1, (1 - LEVEL) / 2)
    return float(100.0 * (1.0 - 2.0 * stdtr(2 * scripts - 2, limit)))


def tables(results: Mapping[LeftOut, Halvings]) -> Iterator[str]:
    """Yield the lines of the tables, of the questions in `results`."""

    def shown(counted: Counted, held: Halvings, kind: int, after: str = "") -> str:
        value, error = share(counted, held, kind)
        return "–" if np.isnan(value) else f"{value:.1f} ± {error:.1f}{after}"

    for title, pairs in (("differences", True), ("accuracies", False)):
        of_images, *others = (f"interval for new {name}" for name in LEFT_OUT)
        yield row(
            f"{title}, halves of new", "scripts, characters, tasks of a half", of_images, *others
        )
        yield row(*["---"] * 5)
        for question, held in results.items():
            sizes = ", ".join(f"{size:,.0f}" for size in held.sizes)
            counted = partial(together, pairs=pairs)
            widths = [relative_width(held, kind, pairs=pairs) for kind in (1, 2, 3)]
            cells = [shown(counted, held, kind, f" ({w:.1f})") for kind, w in enumerate(widths, 1)]
            yield row(question, sizes, *cells)
        yield ""
    counts: dict[str, Counted] = {
        "conclusive": conclusive, "not repeated": not_repeated, "contradicted": contradicted,
        "reversed": reversed_,
    }  # fmt: skip
    yield row("halves of new", "verdicts for new", *counts)
    yield row(*["---"] * 6)
    for question, held in results.items():
        for kind, name in enumerate(LEFT_OUT, 1):
            yield row(question, name, *(shown(of, held, kind) for of in counts.values()))
