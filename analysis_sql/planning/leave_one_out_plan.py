"""What more tasks of the same images will show: leave-one-out intervals, planned from a pilot.

Of a pilot's B tasks there are s², the variance between tasks, and of each kind V and tot - V
(:mod:`analysis_sql.planning.left_out_pilot`, which says how the latter falls with B).  V is what
all the tasks that the images allow would have, so with B' tasks::

    T   = max(V, 0) + s²/B'
    tot = max(V, 0) + (tot - V at B')
    τ   = scale · tot for images, scale · (tot - V) for classes and superclasses

and the half-width is that of :mod:`analysis_sql.leave_one_out.halfwidths`, each kind at least as
wide as the one before it.  The excess kurtosis of the U_(-c) is taken as the pilot has it.

With B' endless, s²/B' and tot - V are 0: the narrowest that the images allow.  With r times the
images of each class V is Σ f_c(rN_c)/Σ f_c(N_c) of it, as if classes had equal parts in it; with r
times the classes or superclasses, 1/r of it, of images too.

The smallest detectable difference is the δ with P(|mean| > h) = power, where the mean is normal
around δ with variance T and h is the planned half-width.  Everything takes the pilot's estimates
for the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import check_power
from analysis_sql.intervals.training_runs import for_new_runs
from analysis_sql.leave_one_out.design import LEAST_APPEARANCES, LEAST_TASKS, LeftOut
from analysis_sql.leave_one_out.halfwidths import degrees_of_freedom, halfwidth
from analysis_sql.planning.left_out_pilot import LeftOutPilot
from analysis_sql.planning.simulated_sets import detectable
from benchmark_spec.errors import SpecError


@dataclass(frozen=True)
class PlannedWidth:
    """What B tasks promise of one kind of interval; percentage points.

    Attributes
    ----------
    tasks
        B; None for endless ones.
    halfwidth, detectable
        Expected half-width, and the smallest detectable difference; None where there is none.
    monte_carlo_share
        v_mc/T, what more tasks would take away of the variance.
    widened
        Whether τ > T: too few tasks to tell the variance from noise.
    of_tasks
        The half-width as if runs did not differ; None where there is none.
    why
        Why there is no interval; empty where there is.
    """

    tasks: int | None
    kind: LeftOut
    halfwidth: float | None
    detectable: float | None
    monte_carlo_share: float | None
    widened: bool
    why: str = ""
    of_tasks: float | None = None


@dataclass(frozen=True)
class UnitsForHalf:
    """How many units there are, and how many would halve the narrowest half-width.

    `needed` is of as many images or groups in the same classes, or of classes (superclasses) like
    these; None where the variance is lost in the pilot's noise.
    """

    kind: LeftOut
    units: int
    needed: int | None


@dataclass(frozen=True)
class LeftOutPlan:
    """Rows by ascending B, endless tasks last, in the order of kinds; and what half takes."""

    rows: tuple[PlannedWidth, ...]
    half: tuple[UnitsForHalf, ...]


@dataclass(frozen=True)
class _Law:
    variance: float
    tau: float
    df: float | None

    def halfwidth(self, level: float) -> float:
        df = None if self.df is None else np.array(self.df)
        return float(halfwidth(np.array(self.variance), np.array(self.tau), df, level))


def plan_left_out(
    pilot: LeftOutPilot,
    tasks: Iterable[int],
    level: float = 0.95,
    power: float | None = 0.8,
    terms: tuple[float, float] = (0.0, 0.0),
) -> LeftOutPlan:
    """Plan sets of as many tasks of the pilot's protocol, drawn from the same images.

    Raises a SpecError if a number of tasks is below 2, or a setting is none.

    Parameters
    ----------
    power
        Of the smallest detectable difference; None for an accuracy, which has none.
    terms
        What training anew adds, percentage points to powers, as of
        :func:`analysis_sql.intervals.training_runs.for_new_runs`.  What halves a half-width is told
        without it.
    """
    check_level(level)
    if power is not None:
        check_power(power, level)
    numbers = sorted(set(tasks))
    if any(number < 2 for number in numbers):
        raise SpecError(f"{numbers[0]} tasks cannot be planned", expected="at least 2")
    rows = [row for number in (*numbers, None) for row in _rows(pilot, number, level, power, terms)]
    half = [_half(pilot, name, level) for name in pilot.parts]
    return LeftOutPlan(tuple(rows), tuple(half))


def _rows(
    pilot: LeftOutPilot,
    tasks: int | None,
    level: float,
    power: float | None,
    terms: tuple[float, float],
) -> list[PlannedWidth]:
    number = inf if tasks is None else float(tasks)
    rows, width, widened, variance, why = [], 0.0, 0.0, 0.0, ""
    for name, law in _laws(pilot, number).items():
        why = why or _obstacle(pilot, name, number)
        own = 100.0 * law.halfwidth(level)
        width, variance = max(width, own), max(variance, law.variance)
        widened = max(widened, float(for_new_runs(own, terms, level)))
        if why or width == 0.0:
            reason = why or "the pilot's tasks do not tell this variance from noise"
            rows.append(PlannedWidth(tasks, name, None, None, None, False, reason))
            continue
        least = None
        if power is not None:
            least = detectable(np.array([width]), 100.0 * sqrt(variance), power) * widened / width
        whole = law.variance + terms[0] / 100.0**2
        share = pilot.between / number / whole if whole > 0 else 0.0
        lost = law.tau > law.variance
        rows.append(PlannedWidth(tasks, name, widened, least, share, lost, of_tasks=width))
    return rows


def _laws(
    pilot: LeftOutPilot, tasks: float, images: float = 1.0, classes: float = 1.0
) -> dict[LeftOut, _Law]:
    """Return T, τ and df by kind, with so many times the units of each class, and the classes."""
    laws: dict[LeftOut, _Law] = {}
    for name, part in pilot.parts.items():
        variance = part.variance / classes
        tau_of = noise = pilot.noise(name, tasks)
        scale, df = pilot.scale(name, tasks), None
        if name == "images":
            variance *= pilot.less(images)
            scale = pilot.scale(name, tasks, images) / sqrt(classes)
            tau_of = variance + noise
        else:
            units = part.units * classes
            kurtosis = None if part.kurtosis is None else np.array(part.kurtosis)
            df = float(degrees_of_freedom(units, kurtosis, ()))
        laws[name] = _Law(variance + pilot.between / tasks, scale * tau_of, df)
    return laws


def _obstacle(pilot: LeftOutPilot, name: LeftOut, tasks: float) -> str:
    """Return why so many tasks have no interval of a kind; empty where they have one."""
    appearances = tasks * pilot.use()
    if appearances < LEAST_APPEARANCES:
        return (
            f"{pilot.unit} are in {appearances:.2g} of {tasks:.0f} tasks on average: "
            f"{LEAST_APPEARANCES:g} are needed"
        )
    without = tasks * pilot.parts[name].without
    if without < LEAST_TASKS:
        return (
            f"{without:.0f} of {tasks:.0f} tasks are without one of the {name}: "
            f"{LEAST_TASKS} are needed"
        )
    return ""


def _half(pilot: LeftOutPilot, name: LeftOut, level: float) -> UnitsForHalf:
    """Count the units that halve what endless tasks have."""
    units = pilot.parts[name].units

    def width(number: int) -> float:
        times = {"images" if name == "images" else "classes": number / units}
        laws = _laws(pilot, inf, **times)
        widths = 0.0
        for kind, law in laws.items():
            widths = max(widths, law.halfwidth(level))
            if kind == name:
                break
        return widths

    whole = width(units)
    if whole == 0.0:
        return UnitsForHalf(name, units, None)
    return UnitsForHalf(name, units, _least(lambda number: width(number) <= whole / 2.0, units))


def _least(enough: Callable[[int], bool], low: int) -> int:
    """Return the smallest number above `low`, which is not enough, that is."""
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
