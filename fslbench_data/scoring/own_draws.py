"""Test whether the tasks of a log were drawn as intervals need it: uniformly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc

from benchmark_spec.errors import TaskLogError

REFUSED, DOUBTFUL = 1e-6, 1e-3
"""Chances, were drawing uniform, of counts as uneven as these: refused, and warned of, below."""

HOW = (
    "each task drawn anew: K of the classes, all equally likely, then of each class m of its "
    "images, all equally likely"
)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Evenness:
    """A chi-square test of how often classes, or images within classes, were drawn.

    Attributes
    ----------
    what
        `classes`, `pairs of classes`, `images` or `groups`.
    statistic, df
        Pearson's, scaled for drawing without replacement within a task; no test where `df` is 0.
    worst, times, expected
        Which was drawn how much more, or less, often than expected, by position.
    rare
        Mean of 1/expected: the square of a count of small expectation μ varies by 2 + 1/μ, not 2.
    """

    what: str
    statistic: float = 0.0
    df: int = 0
    worst: int = 0
    times: int = 0
    expected: float = 0.0
    rare: float = 0.0

    @property
    def p(self) -> float:
        """How often uniform drawing gives counts that are as uneven, or more so."""
        return float(chdtrc(*self._scaled)) if self.df else 1.0

    @property
    def p_even(self) -> float:
        """How often uniform drawing gives counts that are as even, or more so."""
        return float(chdtr(*self._scaled)) if self.df else 1.0

    @property
    def _scaled(self) -> tuple[float, float]:
        """Degrees of freedom and statistic of a chi-square law with the same mean and variance."""
        share = 2.0 / (2.0 + self.rare)
        return share * self.df, share * self.statistic


def class_draws(class_ids: Ints, n_classes: int) -> Evenness:
    """Test whether each of C classes was in a task with the same chance; class_ids (B, K).

    Counts of classes have covariance B·K(C-K)/(C(C-1)) · (I - 11'/C), so that the sum of squares
    over that factor is chi-square with C-1 degrees of freedom.
    """
    times = np.bincount(class_ids.ravel(), minlength=n_classes)
    population = np.full(n_classes, n_classes)
    return _evenness("classes", times, np.full(n_classes, len(class_ids)), population,
                     class_ids.shape[1], np.zeros(n_classes, np.int64))  # fmt: skip


def pair_draws(class_ids: Ints, n_classes: int) -> Evenness:
    """Test whether classes were together in a task with the same chance; class_ids (B, K).

    Less what single classes explain, counts of pairs have variance B(π2 - 2 π3 + π4) each, where
    πj is the chance that j given classes are in a task, and C(C-3)/2 degrees of freedom.
    """
    tasks, way = class_ids.shape
    member = np.zeros((tasks, n_classes))
    np.put_along_axis(member, class_ids, 1.0, axis=1)
    counts = member.T @ member
    np.fill_diagonal(counts, 0.0)
    chances = np.cumprod([(way - j) / (n_classes - j) for j in range(4)] if n_classes > 3 else [0])
    variance = tasks * float(chances[1] - 2 * chances[2] + chances[3]) if n_classes > 3 else 0.0
    if way < 2 or variance <= 1e-9 * tasks:
        return Evenness("pairs of classes")
    rows = counts.sum(axis=1)
    rows -= rows.mean()
    expected = float(counts.sum() / (n_classes * (n_classes - 1)))
    apart = counts - expected - (rows[:, None] + rows) / (n_classes - 2)
    upper = np.triu_indices(n_classes, 1)
    worst = int(np.abs(apart[upper]).argmax())
    return Evenness(
        "pairs of classes",
        float((apart[upper] ** 2).sum() / variance),
        n_classes * (n_classes - 3) // 2,
        worst,
        int(counts[upper][worst]),
        expected,
        1.0 / expected,
    )


def unit_draws(class_ids: Ints, units: Ints, class_of_unit: Ints, what: str) -> Evenness:
    """Test the same of images, or groups (B, K, m), class by class; none twice in a task.

    `class_of_unit` (N,) is the class of all that may be drawn; `what` is what they are called.
    """
    n_classes = int(class_of_unit.max()) + 1
    tasks = np.bincount(class_ids.ravel(), minlength=n_classes)
    sizes = np.bincount(class_of_unit, minlength=n_classes)
    times = np.bincount(units.ravel(), minlength=len(class_of_unit))
    return _evenness(
        what, times, tasks[class_of_unit], sizes[class_of_unit], units.shape[2], class_of_unit
    )


def _evenness(
    what: str, times: Ints, tasks: Ints, population: Ints, drawn: int, stratum: Ints
) -> Evenness:
    """Sum over strata the chi-square of `drawn` of `population` units in each of `tasks` tasks."""
    expected = tasks * drawn / population
    varies = (population > drawn) & (tasks > 0)
    variance = np.where(
        varies, expected * (population - drawn) / np.maximum(population - 1, 1), 1.0
    )
    parts = np.where(varies, (times - expected) ** 2 / variance, 0.0)
    df = int(varies.sum()) - len(np.unique(stratum[varies]))
    worst = int(parts.argmax())
    rare = float((1.0 / expected[varies]).mean()) if df else 0.0
    found = int(times[worst]), float(expected[worst])
    return Evenness(what, float(parts.sum()), df, worst, *found, rare)


def check_even(test: Evenness, name: str, where: str, *, all_known: bool) -> list[str]:
    """Refuse draws that are too uneven, and return warnings of doubtful ones.

    `name` is what the worst is called.  Sizes of classes that are counted from the images seen
    (not `all_known`) make counts look more even than they are.
    """
    p = f"p = {test.p:.1g}" if test.p > 1e-99 else "p < 1e-99"
    said = (
        f"{test.what}{' within classes' if test.what in ('images', 'groups') else ''}: chi-square "
        f"{test.statistic:,.1f} with {test.df:,} degrees of freedom, {p}; {name} is "
        f"in {test.times:,} tasks where {test.expected:,.1f} are expected"
    )
    if test.p < REFUSED:
        raise TaskLogError(
            f"the tasks were not drawn uniformly ({said})",
            where=where,
            expected=HOW,
            fix="sample so: random.sample(classes, K), then random.sample(images of the class, m); "
            "sizes of classes must count the images that the sampler draws from, no others",
        )
    if test.p < DOUBTFUL:
        return [f"the tasks may not have been drawn uniformly ({said})"]
    if all_known and test.p_even < REFUSED:
        return [
            f"the {test.what} were drawn more evenly than at random, as if dealt: intervals take "
            f"tasks as drawn independently, {HOW}"
        ]
    return []


def unseen_images(times: Ints, class_of_image: Ints) -> float:
    """Estimate how many images no task shows, from the tasks (N,) that each other image is in.

    Chao's estimator in its bias-corrected form, f1(f1-1)/(2(f2+1)) of each class with f1 images
    seen once and f2 seen twice; about unbiased where all images of a class are equally likely.
    Source: Chao, Scandinavian Journal of Statistics 11, 1984.
    """
    once = np.bincount(class_of_image[times == 1], minlength=1).astype(np.float64)
    twice = np.bincount(class_of_image[times == 2], minlength=len(once)).astype(np.float64)
    return float((once * (once - 1) / (2 * (twice[: len(once)] + 1))).sum())
