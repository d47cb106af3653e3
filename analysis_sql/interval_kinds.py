"""Every kind of interval: what it is about, what it is called, and how it is computed.

A task set *carries* one kind, ``open`` or ``closed``, made of moments alone
(:mod:`analysis_sql.intervals.intervals`).  Other kinds stand beside it, each by a *design* of the
set's tasks: who shares a class or a superclass where images do not recur, and who is in which task
where they do.  Each is a module of its own and a row here, from which every table, file, p-value
and ranking takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from analysis_sql.class_aware.kinds import NEW_CLASSES, NEW_SUPERCLASSES
from analysis_sql.comparison.pairs import Pairs, pair_differences
from analysis_sql.comparison.verdicts import paired_p
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts
from analysis_sql.leave_one_out.design import LeftOut
from analysis_sql.leave_one_out.leave_one_out import LeftOutKind
from benchmark_spec.protocol import IntervalKind

Designs = Mapping[IntervalKind, Any]
"""The design that each kind beside the carried one needs of a task set, where there is one."""


class Kind(Protocol):
    """Computes half-widths and p-values of a kind, by a set's design.

    Order and names of methods change nothing.  A difference is significant at a level exactly where
    p is below 1 - level, and p is 1 - level where the interval ends at 0 (nearly, where training
    runs count, which p interpolates); both count training runs.
    """

    def method_halfwidths(self, design: Any, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of methods' means, each over the tasks that it answered."""
        ...

    def pairs(self, design: Any, counts: Counts, level: float) -> Pairs:
        """Make what compares the methods of a task set."""
        ...

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two lists of positions."""
        ...

    def method_p_values(self, design: Any, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of methods' means, which may be differences, being 0."""
        ...


@dataclass(frozen=True)
class Beside:
    """How a kind is computed that stands beside the one which a task set carries."""

    about: str
    """What a verdict holds for, in a few words: the heading of its column in a task set's table."""
    heading: str
    """The same where different task sets stand together: no other kind has it."""
    estimand: str
    """What it is about, in full."""
    family: str
    """What it is one of, in the words of titles."""
    key: str
    """Its name in JSON, and at the end of the names that it has there for every kind."""
    legend: str
    """A sentence on its column."""
    how: Kind


def _leaves_out(name: LeftOut, about: str, legend: str) -> Beside:
    return Beside(
        about=about,
        heading=f"{about} (tasks that reuse images)",
        estimand=f"{about}, classes weighted equally, by tasks that reuse images",
        family="leave-one-out",
        key=f"left_out_{name}",
        legend=legend,
        how=LeftOutKind(name),
    )


BESIDE: Mapping[IntervalKind, Beside] = {
    "class-aware": Beside(
        about="new classes",
        heading="new classes (disjoint tasks)",
        estimand="new classes",
        family="class-aware",
        key="new_classes",
        legend="the same with the class-aware interval, which counts the classes as a sample "
        "too; its half-width stands in brackets.",
        how=NEW_CLASSES,
    ),
    "superclass-aware": Beside(
        about="new superclasses",
        heading="new superclasses (disjoint tasks)",
        estimand="new superclasses",
        family="superclass-aware",
        key="new_superclasses",
        legend="as new classes, with the superclasses counted as a sample too.",
        how=NEW_SUPERCLASSES,
    ),
    "images": _leaves_out(
        "images",
        "new images",
        "where tasks reuse images, 0 lies outside the interval that leaves out one image after "
        "another.",
    ),
    "classes": _leaves_out(
        "classes",
        "new classes",
        "the same with one class after another, half-width in brackets.",
    ),
    "superclasses": _leaves_out(
        "superclasses",
        "new superclasses",
        "the same with one superclass after another, half-width in brackets.",
    ),
}
"""Kinds that stand beside the carried one, in the order in which outputs show them."""

ESTIMANDS: Mapping[IntervalKind, str] = {
    "closed": "new tasks of these images",
    "open": "new images of these classes, each class weighted as often as the set uses it",
    **{kind: row.estimand for kind, row in BESIDE.items()},
}
"""What each kind is about: what another experiment would draw anew."""

ABOUT: Mapping[IntervalKind, str] = {
    "closed": "new tasks of these images",
    "open": "new images",
    **{kind: row.about for kind, row in BESIDE.items()},
}
"""The same in a few words."""


WHOLE_TEST_SET = "new test images and new draws of the support"
"""What the kind of images is about where tasks have all classes, in several draws."""


def about_test_set(draws: int, shots: int) -> str:
    """Return what that kind is about where tasks, of so many shots, have all classes."""
    one = "new test images with this one support" if shots else "new test images"
    return WHOLE_TEST_SET if draws > 1 else one


def family_of(kind: IntervalKind) -> str:
    """Return what a kind is called in titles."""
    return BESIDE[kind].family if kind in BESIDE else kind


def kinds_of(carried: IntervalKind, designs: Designs) -> tuple[IntervalKind, ...]:
    """Return the kinds of interval that a task set has: the one that it carries, and others."""
    return (carried, *(kind for kind in BESIDE if kind in designs))


def pair_p(
    counts: Counts, first: Ints, second: Ints, kind: IntervalKind, design: Any = None
) -> Floats:
    """Return two-sided p-values (P,) of pairs of methods, over the tasks that both answered.

    `design` is that of the kind, where it stands beside the one that the task set carries.
    """
    if not first.size:
        return np.empty(0)
    if design is not None:
        return np.asarray(BESIDE[kind].how.p_values(design, counts, first, second))
    return np.asarray(paired_p(pair_differences(counts, first, second), kind))
