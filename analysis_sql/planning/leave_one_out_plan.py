"""What more tasks of the same images will show, planned from a pilot (docs/planning.md).

A pilot of B tasks has s², the variance between them, and for each kind V, the variance without the
noise of finitely many tasks, and tot, the variance with it.  For B' tasks::

    T   = max(V, 0) + s²/B'
    tot = max(V, 0) + (tot - V at B')
    τ   = scale · tot for images, scale · (tot - V) for classes and superclasses

tot - V falls as 1/B, and for images as a(B), where n is binomial of B and Km/(CN_c)::

    a(B)  = (1 - C/B) Σ_c f_c (E[1/n | n >= 2] - C/(BK))
    scale = √(2/n_eff)    n_eff = (Σ_c f_c e_1)² / Σ_c (f_c² e_2/N_c) · (1 - 1/mean N)
                          e_k   = E[1/n^k; n >= 2]

Where tasks have several images of a group, a(B')/a(B) is B/B' and the scale is the pilot's.  With
endless B', s²/B' and tot - V are 0.  With r times the images of each class, V of images is
multiplied by Σ 1/(rN_c - 1) / Σ 1/(N_c - 1), since the effect of an image on the mean of its tasks
has the factor (N_c - m)/(N_c - 1); with r times the classes or superclasses, every V is divided by
r.  The smallest detectable difference is the δ with P(|mean| > h) = power, where the mean is normal
around δ with variance T.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import ceil, hypot, inf, isfinite, sqrt
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import bdtr, gammaln, ndtri

from analysis_sql.intervals.arrays import Floats
from analysis_sql.leave_one_out.design import (
    LEAST_APPEARANCES,
    LEAST_TASKS,
    LEAST_USES,
    LEFT_OUT,
    LeftOut,
    TaskDesign,
)
from analysis_sql.leave_one_out.jackknife import factors_of, freedom_of, has_superclass
from analysis_sql.leave_one_out.leave_one_out import Influences, Law
from analysis_sql.planning.planned_runs import ONE_RUN, PlannedRuns
from analysis_sql.planning.variance_budget import detectable
from benchmark_spec.errors import SpecError

_DEVIATIONS = 12.0
"""Standard deviations from the mean over which a binomial distribution is summed."""


class Part(Struct, frozen=True):
    """A pilot's variances of one kind, in fractions squared."""

    variance: float
    noise: float
    """V, at least 0, and tot - V."""
    scale: float
    """τ over tot (images) or over tot - V, for the pilot's tasks."""
    units: int
    """Number of images or groups, classes, superclasses that the tasks were drawn from."""
    kurtosis: float | None = None
    """Excess kurtosis of the units' effects on the mean; None where it does not count."""
    without: float = 1.0
    """The least share of tasks without a unit."""


class LeftOutPilot(Struct, frozen=True, eq=False):
    """The variances estimated from B tasks that reuse images."""

    tasks: int
    between: float
    """B, and the variance between tasks, s²."""
    sizes: NDArray[np.int64]
    """int64 (C,): N_c, the units of each class that may be drawn: images, or groups of them."""
    way: int
    per_class: int
    one_each: bool
    """K, m, and whether no task has two images of a unit."""
    appearances: float
    """Mean number of tasks of a unit, among the B."""
    parts: Mapping[LeftOut, Part]
    """The variances of each kind that has an interval."""
    why: Mapping[LeftOut, str]
    """The reason for each kind that has none."""
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
        if np.ptp(values) <= 1e-9:
            raise SpecError(
                f"all {values.size} tasks of the pilot have the same value: nothing varies",
                expected="values that differ",
            )
        tasks, influences = design.membership, Influences(design, values[None])
        intervals = influences.own(0.95)
        parts: dict[LeftOut, Part] = {}
        for name, jackknife in design.jackknives.items():
            variance = float(influences.variance(name)[0])
            noise = max(float(influences.total(name)[0]) - variance, 0.0)
            units, kurtosis, without = jackknife.units, None, 1.0
            if name == "images":
                units = int(tasks.units_of_class.sum())
            elif name == "classes" and intervals.classes is not None:
                df = float(intervals.classes.df[0, 0])
                kurtosis = max(2.0 * units * (1.0 / df - 1.0 / (units - 1)) - 2.0, 0.0)
                without = 1.0 - tasks.way / units
            elif design.superclass_of_class is not None:
                has = has_superclass(tasks, design.superclass_of_class)
                without = 1.0 - float(has.sum(axis=0).max()) / tasks.tasks
            parts[name] = Part(max(variance, 0.0), noise, jackknife.scale, units, kurtosis, without)
        sizes, appearances = tasks.units_of_class, float(tasks.tasks_of_unit.mean())
        if tasks.one_each:
            appearances = tasks.tasks * tasks.way * tasks.per_class / float(sizes.sum())
        return cls(
            tasks=tasks.tasks,
            between=float(values.var(ddof=1)),
            sizes=sizes,
            way=tasks.way,
            per_class=tasks.per_class,
            one_each=tasks.one_each,
            appearances=appearances,
            parts=parts,
            why=MappingProxyType({name: absent[name] for name in LEFT_OUT if name in absent}),
            unit=design.unit,
        )

    def noise(self, name: LeftOut, tasks: float) -> float:
        """Return tot - V of a kind for a number of tasks; 0 for endless ones."""
        if np.isinf(tasks):
            return 0.0
        if name == "images" and self.one_each:
            return self.parts[name].noise * self._a(tasks) / self._a(self.tasks)
        return self.parts[name].noise * self.tasks / tasks

    def scale(self, tasks: float, times: float = 1.0) -> float:
        """Return τ over tot for images; `times` as many of each class for endless tasks."""
        if not self.one_each:
            return self.parts["images"].scale / sqrt(times)
        sizes, factors = self.sizes * times, self.factors(times)
        if np.isinf(tasks):  # 1/n is proportional to N_c
            e_1, e_2 = sizes, sizes**2
        else:
            e_1, e_2, _ = self._appearing(tasks)
        effective = (factors * e_1).sum() ** 2 / (factors**2 * e_2 / sizes).sum()
        return float(np.sqrt(2.0 / (effective * (1.0 - 1.0 / sizes.mean()))))

    def factors(self, times: float = 1.0) -> Floats:
        """Return f_c (C,) with `times` as many units in each class."""
        sizes: Floats = np.asarray(self.sizes * times, np.float64)
        return factors_of(sizes, self.way, self.per_class)

    def reduction(self, times: float) -> float:
        """Return the factor of V of images with `times` as many units in each class."""
        if not self.one_each:
            return 1.0 / times
        return float((1.0 / (self.sizes * times - 1.0)).sum() / (1.0 / (self.sizes - 1.0)).sum())

    def _a(self, tasks: float) -> float:
        """Return a(B) of the module's docstring."""
        classes = self.sizes.size
        e_1, _, p = self._appearing(tasks)
        differences = e_1 / np.maximum(p, 1e-300) - classes / (tasks * self.way)
        total = (self.factors() * np.maximum(differences, 0.0)).sum()
        return float((1.0 - classes / tasks) * total)

    def _appearing(self, tasks: float) -> tuple[Floats, Floats, Floats]:
        """Return E[1/n; n >= 2], E[1/n²; n >= 2] and P(n >= 2) of the units of each class (C,)."""
        share = self.way * self.per_class / self.sizes.size
        moments = [_moments(int(tasks), share / size) for size in self.sizes.tolist()]
        e_1, e_2, p = np.array(moments).T
        return e_1, e_2, p


@lru_cache(maxsize=4096)
def _moments(tasks: int, probability: float) -> tuple[float, float, float]:
    """Return E[1/n; n >= 2], E[1/n²; n >= 2] and P(n >= 2) of a binomial number n."""
    mean, deviation = tasks * probability, sqrt(tasks * probability * (1.0 - probability))
    low = max(2, int(mean - _DEVIATIONS * deviation))
    high = min(tasks, ceil(mean + _DEVIATIONS * deviation) + 20)
    n = np.arange(low, high + 1, dtype=np.float64)
    log_comb = gammaln(tasks + 1.0) - gammaln(n + 1.0) - gammaln(tasks - n + 1.0)
    p = np.exp(log_comb + n * np.log(probability) + (tasks - n) * np.log1p(-probability))
    return float((p / n).sum()), float((p / n**2).sum()), float(p.sum())


class PlannedWidth(Struct, frozen=True):
    """Expected width of one kind of interval with B tasks; percentage points."""

    tasks: int | None
    """B; None for endless ones."""
    kind: LeftOut
    halfwidth: float | None = None
    detectable: float | None = None
    """Expected half-width, and the smallest detectable difference; None where there is none."""
    monte_carlo_share: float | None = None
    """v_mc/T, the share of the interval's variance that more tasks would remove."""
    widened: bool = False
    """Whether τ > T: too few tasks to separate the variance from noise."""
    why: str = ""
    """Why there is no interval; empty where there is."""
    of_tasks: float | None = None
    """The half-width as if runs did not differ; None where there is none."""
    uncertain: bool = False
    """Whether V is below twice its standard error in the pilot, which has fewer tasks."""


def plan_left_out(
    pilot: LeftOutPilot,
    tasks: Iterable[int],
    level: float = 0.95,
    power: float | None = 0.8,
    runs: PlannedRuns = ONE_RUN,
) -> tuple[PlannedWidth, ...]:
    """Plan sets of these numbers of tasks of the pilot's protocol, drawn from the same images.

    Rows are by ascending B, endless tasks last, in the order of kinds. `power` is None for an
    accuracy.
    """
    numbers = (*sorted(set(tasks)), None)
    return tuple(row for number in numbers for row in _rows(pilot, number, level, power, runs))


def _rows(
    pilot: LeftOutPilot, tasks: int | None, level: float, power: float | None, runs: PlannedRuns
) -> Iterator[PlannedWidth]:
    number = inf if tasks is None else float(tasks)
    pilot_laws = _laws(pilot, pilot.tasks) if number > pilot.tasks else {}
    width, largest, why = 0.0, 0.0, ""
    for name, law in _laws(pilot, number).items():
        why = why or _obstacle(pilot, name, number)
        variance = float(law.variance)
        width, largest = max(width, 100.0 * float(law.halfwidth(level))), max(largest, variance)
        if why or width == 0.0:
            reason = why or "the pilot's tasks do not tell this variance from noise"
            yield PlannedWidth(tasks, name, why=reason)
            continue
        widened, smallest = runs.widen(width, level), None
        if power is not None:
            ratio = 1.0 - ndtri(power) / ndtri((1.0 - level) / 2.0)  # for a normal difference
            of_tasks = detectable(np.array([width]), 100.0 * sqrt(largest), power)
            smallest = hypot(of_tasks, ratio * sqrt(widened**2 - width**2))
        total = largest + runs.variance / 100.0**2
        pilot_law = pilot_laws.get(name)
        yield PlannedWidth(
            tasks,
            name,
            halfwidth=widened,
            detectable=smallest,
            monte_carlo_share=pilot.between / number / total if total > 0 else 0.0,
            widened=bool(law.tau > law.variance),
            of_tasks=width,
            uncertain=bool(pilot_law and pilot.parts[name].variance < 2.0 * pilot_law.tau),
        )


def _laws(
    pilot: LeftOutPilot, tasks: float, images: float = 1.0, classes: float = 1.0
) -> dict[LeftOut, Law]:
    """Return T, τ and df by kind, with multiples of the units of each class and of the classes."""
    laws: dict[LeftOut, Law] = {}
    for name, part in pilot.parts.items():
        variance, noise, df = part.variance / classes, pilot.noise(name, tasks), inf
        if name == "images":
            variance *= pilot.reduction(images)
            tau = pilot.scale(tasks, images) / sqrt(classes) * (variance + noise)
            df = tasks - 1.0 if tasks < LEAST_TASKS else inf
        else:
            units = part.units * classes
            df = units - 1.0 if part.kurtosis is None else freedom_of(units, part.kurtosis)
            tau = part.scale * noise
        laws[name] = Law(np.array(variance + pilot.between / tasks), np.array(tau), df)
    return laws


def _obstacle(pilot: LeftOutPilot, name: LeftOut, tasks: float) -> str:
    """Return why a number of tasks has no interval of a kind, or an empty text."""
    appearances = tasks * (pilot.appearances / pilot.tasks)  # of a unit, on average
    if appearances < LEAST_APPEARANCES:
        return (
            f"{pilot.unit} are in {appearances:.2g} of {tasks:.0f} tasks on average: "
            f"{LEAST_APPEARANCES:g} are needed"
        )
    classes = pilot.sizes.size
    if isfinite(tasks) and classes * bdtr(LEAST_USES - 1, int(tasks), pilot.way / classes) > 0.5:
        return f"some of {classes} classes is in fewer than {LEAST_USES} of {tasks:.0f} tasks"
    without = tasks * pilot.parts[name].without
    if name != "images" and without < LEAST_TASKS:
        return (
            f"{without:.0f} of {tasks:.0f} tasks are without one of the {name}: "
            f"{LEAST_TASKS} are needed"
        )
    return ""


class UnitsForHalf(Struct, frozen=True):
    """The number of units, and the number that would halve the half-width of endless tasks.

    `needed` are images or groups in the same classes, or classes (superclasses) like these; None
    where the variance is lost in the pilot's noise.
    """

    kind: LeftOut
    units: int
    needed: int | None


def to_halve(pilot: LeftOutPilot, kind: LeftOut, level: float = 0.95) -> UnitsForHalf:
    """Count the units that halve the half-width of endless tasks, as if runs did not differ."""
    units, kinds = pilot.parts[kind].units, [*pilot.parts]
    kinds = kinds[: kinds.index(kind) + 1]

    def width(number: int) -> float:
        times = {"images" if kind == "images" else "classes": number / units}
        laws = _laws(pilot, inf, **times)
        return max(float(laws[name].halfwidth(level)) for name in kinds)

    half = width(units) / 2.0
    if half == 0.0:
        return UnitsForHalf(kind, units, None)
    numbers = range(units << 20)  # about four times as many units are needed
    needed = bisect_left(numbers, True, units, key=lambda number: width(number) <= half)
    return UnitsForHalf(kind, units, needed)
