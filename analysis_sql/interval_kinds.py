"""Every kind of interval: what it is about, what it is called, and how it is computed.

A task set's *primary* kind is ``open`` or ``closed`` and needs moments alone
(:mod:`analysis_sql.intervals.intervals`).  Additional kinds need a *design* of the set's tasks:
which tasks share a class or a superclass where images do not recur, and which images are in which
task where they do.  Each is a module of its own and a row of :data:`ADDITIONAL_KINDS`, from which
every table, file, p-value and ranking takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from analysis_sql.class_aware.kinds import NEW_CLASSES, NEW_SUPERCLASSES
from analysis_sql.comparison.pairs import Kind, PrimaryKind
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts
from analysis_sql.leave_one_out.design import LeftOut
from analysis_sql.leave_one_out.leave_one_out import LeftOutKind
from benchmark_spec.protocol import IntervalKind

Designs = Mapping[IntervalKind, Any]
"""The designs of a task set, by the additional kind that needs them."""


class AdditionalKind(Struct, frozen=True):
    """An additional kind of interval: its texts, and how it is computed."""

    about: str
    """What a verdict is about, in a few words: the heading of its column in a task set's table,
    where no other kind has the same."""
    heading: str
    """The same in tables of several task sets: neither `about` nor what another kind has."""
    estimand: str
    """What it is about, in full: the words of `about` are in it."""
    family: str
    """What it is one of, in the words of titles."""
    key: str
    """Its name in JSON, and at the end of the names that it has there for every kind."""
    legend: str
    """A sentence on its column."""
    how: Kind


def _leaves_out(name: LeftOut, about: str, legend: str) -> AdditionalKind:
    return AdditionalKind(
        about=about,
        heading=f"{about} (tasks that reuse images)",
        estimand=f"{about}, classes weighted equally, by tasks that reuse images",
        family="leave-one-out",
        key=f"left_out_{name}",
        legend=legend,
        how=LeftOutKind(name),
    )


ADDITIONAL_KINDS: Mapping[IntervalKind, AdditionalKind] = {
    "class-aware": AdditionalKind(
        about="new classes",
        heading="new classes (disjoint tasks)",
        estimand="new classes",
        family="class-aware",
        key="new_classes",
        legend="the same with the class-aware interval, which counts the classes as a sample "
        "too; its half-width stands in brackets.",
        how=NEW_CLASSES,
    ),
    "superclass-aware": AdditionalKind(
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
"""Additional kinds, in the order in which outputs show them: the first that a task set has whose
tasks reuse images leads its tables, and each costs a column of ``--details``."""

ESTIMANDS: Mapping[IntervalKind, str] = {
    "closed": "new tasks of these images",
    "open": "new images of these classes, each class weighted as often as the set uses it",
    **{kind: row.estimand for kind, row in ADDITIONAL_KINDS.items()},
}
"""What each kind is about: what another experiment would draw anew."""

ABOUT: Mapping[IntervalKind, str] = {
    "closed": "new tasks of these images",
    "open": "new images",
    **{kind: row.about for kind, row in ADDITIONAL_KINDS.items()},
}
"""The same in a few words."""


WHOLE_TEST_SET = "new test images and new draws of the support"
"""What the kind of images is about where tasks have all classes, in several draws."""


def about_test_set(draws: int, shots: int) -> str:
    """Return what that kind is about where tasks, of so many shots, have all classes."""
    one = "new test images with this one support" if shots else "new test images"
    return WHOLE_TEST_SET if draws > 1 else one


def family_of(kind: IntervalKind) -> str:
    """Return the name of a kind in titles."""
    return ADDITIONAL_KINDS[kind].family if kind in ADDITIONAL_KINDS else kind


def kinds_of(primary: IntervalKind, designs: Designs) -> tuple[IntervalKind, ...]:
    """Return the kinds of interval that a task set has, the primary one first."""
    return (primary, *(kind for kind in ADDITIONAL_KINDS if kind in designs))


def pair_p(
    counts: Counts, first: Ints, second: Ints, kind: IntervalKind, design: Any = None
) -> Floats:
    """Return two-sided p-values (P,) of pairs of methods, over the tasks that both answered.

    `design` is that of the kind, None for a primary one.
    """
    if not first.size:
        return np.empty(0)
    how = PrimaryKind(kind) if design is None else ADDITIONAL_KINDS[kind].how
    return how.p_values(design, counts, first, second)
