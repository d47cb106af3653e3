"""What more tasks of the same images will show, planned from a pilot (docs/planning.md).

A pilot of B tasks has s², the variance between them, and of each kind V, about all tasks that the
images allow, and tot, the same before the noise of finitely many tasks is removed.  For B' tasks::

    T   = max(V, 0) + s²/B'
    tot = max(V, 0) + (tot - V at B')
    τ   = scale · tot for images, scale · (tot - V) for classes and superclasses

tot - V falls as 1/B, and for images as a(B), where n is binomial of B and Km/(CN_c)::

    a(B)  = (1 - C/B) Σ_c f_c (E[1/n | n >= 2] - C/(BK))
    scale = √(2/n_eff)    n_eff = (Σ_c f_c e_1)² / Σ_c (f_c² e_2/N_c) · (1 - 1/mean N)
                          e_k   = E[1/n^k; n >= 2]

Where tasks have several images of a group, B/B' and the pilot's own scale stand for both.  With B'
endless, s²/B' and tot - V are 0.  With r times the images of each class V is Σ 1/(rN_c - 1) by
Σ 1/(N_c - 1) of it, since what one image moves the mean of its tasks by has (N_c - m)/(N_c - 1);
with r times the classes or superclasses, 1/r of it, of images too.  The smallest detectable
difference is the δ with P(|mean| > h) = power, where the mean is normal around δ with variance T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import ceil, hypot, inf, sqrt
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri

from analysis_sql.intervals.arrays import Floats
from analysis_sql.leave_one_out.design import (
    LEAST_APPEARANCES,
    LEAST_TASKS,
    LEFT_OUT,
    LeftOut,
    TaskDesign,
)
from analysis_sql.leave_one_out.jackknife import factors_of, has_superclass
from analysis_sql.leave_one_out.leave_one_out import Influences, degrees_of_freedom, halfwidth
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.variance_budget import detectable
from benchmark_spec.errors import SpecError

_DEVIATIONS = 12.0
"""Standard deviations from the mean to which a binomial law is summed."""


class Part(Struct, frozen=True):
    """A pilot's variances of one kind, in fractions squared."""

    variance: float
    noise: float
    """V, not below 0, and tot - V."""
    scale: float
    """τ in parts of tot (images) or of tot - V, in the pilot's tasks."""
    units: int
    """Images or groups, classes, superclasses that the tasks were drawn from."""
    kurtosis: float | None = None
    """Excess kurtosis of what they move the mean by; None where it does not count."""
    without: float = 1.0
    """The least share of tasks that are without one of them."""


class LeftOutPilot(Struct, frozen=True, eq=False):
    """The variances estimated from B tasks that reuse images; made by :meth:`of`."""

    tasks: int
    between: float
    """B, and the variance between tasks, s²."""
    sizes: NDArray[np.int64]
    """int64 (C,): units of each class that may be drawn: images, or groups of them."""
    way: int
    per_class: int
    one_each: bool
    """K, m, and whether no task has two images of a unit."""
    appearances: float
    """In how many tasks a unit is on average, of B."""
    parts: Mapping[LeftOut, Part]
    why: Mapping[LeftOut, str]
    """By kind; for those without an interval, the reason."""
    unit: Literal["images", "groups"] = "images"
    """What is left out for new images."""

    @classmethod
    def of(cls, design: TaskDesign, y: NDArray[Any]) -> LeftOutPilot:
        """Estimate the variances from values (B,) of tasks: accuracies, or paired differences."""
        values = np.asarray(y, np.float64)
        absent = {**design.why, **design.bounded}
        if "images" in absent:
            raise SpecError(
                f"nothing can be estimated about new images: {absent['images']}",
                expected="a pilot of enough tasks",
                fix="plan from more tasks",
            )
        tasks = design.membership
        influences = Influences(design, values[None])
        if np.ptp(values) <= 1e-9:
            raise SpecError(
                f"all {tasks.tasks} tasks of the pilot have the same value: nothing varies",
                expected="values that differ",
            )
        own = influences.own(0.95)
        parts: dict[LeftOut, Part] = {}
        for name, jackknife in design.jackknives.items():
            variance = float(influences.variance(name)[0])
            noise = max(float(influences.total(name)[0]) - variance, 0.0)
            units, kurtosis, without = int(tasks.units_of_class.sum()), None, 1.0
            if name == "classes" and own.classes is not None:
                units = jackknife.units
                df = float(own.classes.df[0, 0])
                kurtosis = max(2.0 * units * (1.0 / df - 1.0 / (units - 1)) - 2.0, 0.0)
                without = 1.0 - tasks.way / units
            elif name == "superclasses" and design.superclass_of_class is not None:
                units = jackknife.units
                has = has_superclass(tasks, design.superclass_of_class)
                without = 1.0 - float(has.sum(axis=0).max()) / tasks.tasks
            parts[name] = Part(max(variance, 0.0), noise, jackknife.scale, units, kurtosis, without)
        sizes, used = tasks.units_of_class, float(tasks.tasks_of_unit.mean())
        if tasks.one_each:
            used = tasks.tasks * tasks.way * tasks.per_class / float(sizes.sum())
        return cls(
            tasks.tasks,
            float(values.var(ddof=1)),
            sizes,
            tasks.way,
            tasks.per_class,
            tasks.one_each,
            used,
            parts,
            MappingProxyType({name: absent[name] for name in LEFT_OUT if name in absent}),
            design.unit,
        )

    def noise(self, name: LeftOut, tasks: float) -> float:
        """Return tot - V of a kind in so many tasks; 0 in endless ones."""
        if np.isinf(tasks):
            return 0.0
        if name == "images" and self.one_each:
            return self.parts[name].noise * self._chance(tasks) / self._chance(self.tasks)
        return self.parts[name].noise * self.tasks / tasks

    def scale(self, name: LeftOut, tasks: float, times: float = 1.0) -> float:
        """Return τ in parts of tot, or of tot - V; `times` the units for endless tasks."""
        if name != "images" or not self.one_each:
            return self.parts[name].scale / (sqrt(times) if name == "images" else 1.0)
        sizes = self.sizes * times
        factors = self.factors(times)
        if np.isinf(tasks):  # 1/n is in proportion to N_c
            first, second = sizes, sizes**2
        else:
            first, second, _ = self._appearing(tasks)
        effective = (factors * first).sum() ** 2 / (factors**2 * second / sizes).sum()
        return float(np.sqrt(2.0 / (effective * (1.0 - 1.0 / sizes.mean()))))

    def factors(self, times: float = 1.0) -> Floats:
        """Return f_c (C,) with `times` as many units in each class."""
        sizes: Floats = np.asarray(self.sizes * times, np.float64)
        return factors_of(sizes, self.way, self.per_class)

    def less(self, times: float) -> float:
        """Return what V of images is multiplied by with `times` as many units in each class."""
        if not self.one_each:
            return 1.0 / times
        return float((1.0 / (self.sizes * times - 1.0)).sum() / (1.0 / (self.sizes - 1.0)).sum())

    def _chance(self, tasks: float) -> float:
        """Return a(B) of the module's docstring."""
        classes = self.sizes.size
        first, _, often = self._appearing(tasks)
        left = first / np.maximum(often, 1e-300) - classes / (tasks * self.way)
        return float((1.0 - classes / tasks) * (self.factors() * np.maximum(left, 0.0)).sum())

    def _appearing(self, tasks: float) -> tuple[Floats, Floats, Floats]:
        """Return E[1/n; n >= 2], E[1/n²; n >= 2] and P(n >= 2) of the units of each class (C,)."""
        share = self.way * self.per_class / self.sizes.size
        moments = [_moments(int(tasks), share / size) for size in self.sizes.tolist()]
        first, second, often = np.array(moments).T
        return first, second, often


@lru_cache(maxsize=4096)
def _moments(tasks: int, chance: float) -> tuple[float, float, float]:
    """Return E[1/n; n >= 2], E[1/n²; n >= 2] and P(n >= 2) of a binomial number n."""
    middle, deviation = tasks * chance, sqrt(tasks * chance * (1.0 - chance))
    low = max(2, int(middle - _DEVIATIONS * deviation))
    high = min(tasks, ceil(middle + _DEVIATIONS * deviation) + 20)
    n = np.arange(low, high + 1, dtype=np.float64)
    ways = gammaln(tasks + 1.0) - gammaln(n + 1.0) - gammaln(tasks - n + 1.0)
    p = np.exp(ways + n * np.log(chance) + (tasks - n) * np.log1p(-chance))
    return float((p / n).sum()), float((p / n**2).sum()), float(p.sum())


class PlannedWidth(Struct, frozen=True):
    """Expected width of one kind of interval with B tasks; percentage points."""

    tasks: int | None
    """B; None for endless ones."""
    kind: LeftOut
    halfwidth: float | None
    detectable: float | None
    """Expected half-width, and the smallest detectable difference; None where there is none."""
    monte_carlo_share: float | None
    """v_mc/T, the share of the variance that more tasks would remove."""
    widened: bool
    """Whether τ > T: too few tasks to separate the variance from noise."""
    why: str = ""
    """Why there is no interval; empty where there is."""
    of_tasks: float | None = None
    """The half-width as if runs did not differ; None where there is none."""
    uncertain: bool = False
    """Whether V is less than twice its standard error in the pilot, which has fewer tasks."""


class UnitsForHalf(Struct, frozen=True):
    """How many units there are, and how many would halve the narrowest half-width.

    `needed` is of as many images or groups in the same classes, or of classes (superclasses) like
    these; None where the variance is lost in the pilot's noise.
    """

    kind: LeftOut
    units: int
    needed: int | None


class LeftOutPlan(Struct, frozen=True):
    """Rows by ascending B, endless tasks last, in the order of kinds; and what half takes."""

    rows: tuple[PlannedWidth, ...]
    half: tuple[UnitsForHalf, ...]


class _Law(Struct, frozen=True):
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
    runs: PlannedRuns | None = None,
) -> LeftOutPlan:
    """Plan sets of as many tasks of the pilot's protocol, drawn from the same images.

    `power` is None for an accuracy; `runs` are the training runs, which `half` leaves out.
    """
    numbers = (*sorted(set(tasks)), None)
    rows = [row for number in numbers for row in _rows(pilot, number, level, power, runs)]
    half = [_half(pilot, name, level) for name in pilot.parts]
    return LeftOutPlan(tuple(rows), tuple(half))


def _rows(
    pilot: LeftOutPilot,
    tasks: int | None,
    level: float,
    power: float | None,
    runs: PlannedRuns | None,
) -> list[PlannedWidth]:
    number = inf if tasks is None else float(tasks)
    pilots = _laws(pilot, pilot.tasks) if number > pilot.tasks else {}
    rows, width, variance, why = [], 0.0, 0.0, ""
    of_runs = 0.0 if runs is None else runs.variance / 100.0**2
    for name, law in _laws(pilot, number).items():
        why = why or _obstacle(pilot, name, number)
        own = 100.0 * law.halfwidth(level)
        uncertain = name in pilots and pilot.parts[name].variance < 2.0 * pilots[name].tau
        width, variance = max(width, own), max(variance, law.variance)
        widened = width if runs is None else runs.widen(width, level)
        if why or width == 0.0:
            reason = why or "the pilot's tasks do not tell this variance from noise"
            rows.append(PlannedWidth(tasks, name, None, None, None, False, reason))
            continue
        least = None
        if power is not None:
            times = 1.0 - ndtri(power) / ndtri((1.0 - level) / 2.0)  # of a normal difference
            of_tasks = float(detectable(np.array([width]), 100.0 * sqrt(variance), power))
            least = hypot(of_tasks, times * sqrt(widened**2 - width**2))
        whole = law.variance + of_runs
        share = pilot.between / number / whole if whole > 0 else 0.0
        lost = law.tau > law.variance
        rows.append(
            PlannedWidth(
                tasks, name, widened, least, share, lost, of_tasks=width, uncertain=uncertain
            )
        )
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
    appearances = tasks * (pilot.appearances / pilot.tasks)  # of a unit, on average
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
