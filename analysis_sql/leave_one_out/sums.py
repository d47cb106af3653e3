"""Sums over units and tasks, of methods and of all their differences, by matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Bools, Floats, Ints
from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.jackknife import Jackknife

_CANCELS = 1e-2
"""Where the squares of a difference sum to less than this share of the methods' own, its fourth
powers, which would lose twice as many digits, are summed directly."""

_NUMBERS_AT_ONCE = 1 << 22


def centred(values: Floats) -> Floats:
    """Take from the values of each method (M, B) their mean."""
    return np.asarray(values - values.mean(axis=1, keepdims=True))


class Forms:
    """Σ_b d_b x_b² of methods' values, and of differences of two."""

    def __init__(self, values: Floats, weights: Floats) -> None:
        self._values, self.weights = values, weights
        self.diagonal = np.einsum("mr,mr,r->m", values, values, weights, optimize=True)

    def block(self, rows: Ints, columns: Ints, same: Bools) -> Floats:
        """Return G_jj + G_kk - 2 G_jk (R, S), or G_jj where the two are the same."""
        product = (self._values[rows] * self.weights) @ self._values[columns].T
        apart = self.diagonal[rows, None] + self.diagonal[columns] - 2.0 * product
        return np.asarray(np.where(same, self.diagonal[rows, None], apart))


class Sums:
    """V, tot and the sums of powers of a jackknife's coordinates, of methods and differences."""

    def __init__(self, design: TaskDesign, name: LeftOut, values: Floats) -> None:
        jackknife: Jackknife = design.jackknives[name]
        self._x = design.residuals(values) if name == "images" else centred(values)
        self._a = jackknife.coordinates(self._x)
        self._tails = jackknife.tails
        self._forms = Forms(self._a, jackknife.weights), Forms(self._x, jackknife.noise)
        self._total = Forms(self._a, jackknife.totals)

    @property
    def own(self) -> tuple[Floats, Floats, Floats, Floats]:
        """V, tot, Σa² and Σa⁴ of each method (M,)."""
        variance = self._forms[0].diagonal + self._forms[1].diagonal
        squares = self._a**2 if self._tails else np.zeros((len(self._a), 1))
        return variance, self._total.diagonal, squares.sum(axis=1), (squares**2).sum(axis=1)

    def block(
        self, rows: Ints, columns: Ints, same: Bools
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the same of pairs (R, S)."""
        variance = sum(form.block(rows, columns, same) for form in self._forms)
        total = self._total.block(rows, columns, same)
        if not self._tails:
            return np.asarray(variance), total, np.zeros(same.shape), np.zeros(same.shape)
        a, b = self._a[rows], self._a[columns]
        (s2, s4), (r2, r4) = (((v**2).sum(axis=1), (v**4).sum(axis=1)) for v in (a, b))
        squares = s2[:, None] + r2 - 2.0 * a @ b.T
        cubes = 4.0 * (a**3 @ b.T + a @ (b**3).T)
        fourths = s4[:, None] + r4 - cubes + 6.0 * (a**2 @ (b**2).T)
        squares, fourths = (
            np.where(same, one[:, None], two) for one, two in ((s2, squares), (s4, fourths))
        )
        close = np.argwhere(~same & (squares <= _CANCELS * (s2[:, None] + r2)))
        for pairs in _some_at_a_time(close, a.shape[1]):
            where = (pairs[:, 0], pairs[:, 1])
            apart = (a[where[0]] - b[where[1]]) ** 2
            squares[where], fourths[where] = apart.sum(axis=1), (apart**2).sum(axis=1)
        return np.asarray(variance), total, squares, fourths


def _some_at_a_time(pairs: NDArray[np.int64], numbers: int) -> list[NDArray[np.int64]]:
    """Split pairs (P, 2), each of which takes so many numbers, into parts that fit in memory."""
    step = max(1, _NUMBERS_AT_ONCE // numbers)
    return [pairs[start : start + step] for start in range(0, len(pairs), step)]
