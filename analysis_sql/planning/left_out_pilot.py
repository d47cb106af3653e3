"""What the tasks of a pilot that reuses images say of variances, and what chance leaves of them.

A pilot's jackknife of each kind (:mod:`analysis_sql.leave_one_out`) has V, the variance over new
images, classes or superclasses; and tot, the same before the noise of finitely many tasks is
removed.  V is about all the tasks that the images allow, so its expectation is that of any number
of tasks; tot - V falls with B.  A class without effect has U_(-c) that vary around each other by
s²K/(BC(1-K/C)), and so has a superclass with its own share: as 1/B.  An image of n_i tasks without
effect has a mean residual of variance σ_u²(1/n_i - 1/J_c), since the J_c residuals of its class sum
to 0; the regression on C classes leaves σ_u² the part 1 - C/B of the variance of a task beyond its
classes; and over random tasks n_i is binomial of B and Km/(CN_c), of which two or more count::

    a(B) = (1 - C/B) Σ_c f_c (E[1/n | n >= 2] - C/(BK))

so that tot - V at B' is a(B')/a(B) of the pilot's.  Where images are in many tasks, that is B/B'.
The standard error of V is τ = scale · tot for images and scale · (tot - V) for the others; the
scale of these is fixed by their number, and that of images is::

    √(2/n_eff)      n_eff = (Σ_c f_c e_1)² / Σ_c (f_c² e_2/N_c) · (1 - 1/mean N)
                    e_k   = E[1/n^k; n >= 2]

Where tasks have several images of a group, B/B' and the pilot's own scale stand for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from analysis_sql.intervals.arrays import Floats
from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut, TaskDesign
from analysis_sql.leave_one_out.images import factors_of
from analysis_sql.leave_one_out.leave_one_out import Influences
from analysis_sql.leave_one_out.membership import has_superclass
from benchmark_spec.errors import SpecError

_DEVIATIONS = 12.0
"""How far from its mean a binomial number is looked at."""


@dataclass(frozen=True)
class Part:
    """What a pilot says of one kind, in fractions squared.

    Attributes
    ----------
    variance, noise
        V, not below 0, and tot - V.
    scale
        τ in parts of tot (images) or of tot - V, in the pilot's tasks.
    units
        Images or groups, classes, superclasses that the tasks were drawn from.
    kurtosis
        Excess kurtosis of what they move the mean by; None where it does not count.
    without
        The least share of tasks that are without one of them.
    """

    variance: float
    noise: float
    scale: float
    units: int
    kurtosis: float | None = None
    without: float = 1.0


@dataclass(frozen=True, eq=False)
class LeftOutPilot:
    """What B tasks that reuse images say of variances; made by :meth:`of`.

    Attributes
    ----------
    tasks, between
        B, and the variance between tasks, s².
    sizes : int64 (C,)
        Units of each class that may be drawn: images, or groups of them.
    way, per_class, one_each
        K, m, and whether no task has two images of a unit.
    appearances
        In how many tasks a unit is on average, of B.
    parts, why
        By kind; for those without an interval, the reason.
    unit
        What is left out for new images.
    """

    tasks: int
    between: float
    sizes: NDArray[np.int64]
    way: int
    per_class: int
    one_each: bool
    appearances: float
    parts: Mapping[LeftOut, Part]
    why: Mapping[LeftOut, str]
    unit: Literal["images", "groups"] = "images"

    @classmethod
    def of(cls, design: TaskDesign, y: NDArray[Any]) -> LeftOutPilot:
        """Estimate the variances from values (B,) of tasks: accuracies, or paired differences.

        Raises a SpecError if the tasks have no interval for new images, or all values are equal.
        """
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

    def use(self) -> float:
        """Return the share of tasks that a unit is in, on average."""
        return self.appearances / self.tasks

    def noise(self, name: LeftOut, tasks: float) -> float:
        """Return tot - V of a kind in so many tasks; 0 in endless ones."""
        if np.isinf(tasks):
            return 0.0
        if name == "images" and self.one_each:
            return self.parts[name].noise * self._chance(tasks) / self._chance(self.tasks)
        return self.parts[name].noise * self.tasks / tasks

    def scale(self, name: LeftOut, tasks: float, times: float = 1.0) -> float:
        """Return τ in parts of tot, or of tot - V, in so many tasks.

        `times` as many units in each class: for endless tasks alone.
        """
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
        return float(self.factors(times).sum() / self.factors().sum())

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
