"""Every kind of interval: what it is about, what it is called, and how it is computed.

A task set's *primary* kind is ``open`` or ``closed`` and needs moments alone
(:mod:`analysis_sql.intervals.intervals`).  Additional kinds need a *design* of the set's tasks:
which tasks share a class or a superclass, or, where images recur, which images are in which task.
Each is a module and a row of :data:`ADDITIONAL_KINDS`, from which all tables, files, p-values and
rankings take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from analysis_sql.class_aware.kinds import NEW_CLASSES, NEW_SUPERCLASSES
from analysis_sql.comparisons import Kind, PrimaryKind
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import Counts
from analysis_sql.leave_one_out.design import LeftOut
from analysis_sql.leave_one_out.leave_one_out import LeftOutKind
from benchmark_spec.protocol import IntervalKind

Designs = Mapping[IntervalKind, Any]
"""The designs of a task set, by the additional kind that needs them."""


class AdditionalKind(Struct, frozen=True):
    """An additional kind of interval: its texts, and its computation."""

    about: str
    """The estimand in a few words: the unique heading of its column in a task set's table."""
    heading: str
    """The heading in tables of several task sets, unique among all kinds and not `about`."""
    estimand: str
    """The estimand in full, with the words of `about`."""
    family: str
    """The name of its family of kinds in titles."""
    key: str
    """Its name in JSON, and the ending of names there that all kinds have."""
    legend: str
    """A sentence that explains its column."""
    how: Kind
    """Its computation."""


def _leave_one_out(name: LeftOut, about: str, legend: str) -> AdditionalKind:
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
    "images": _leave_one_out(
        "images",
        "new images",
        "where tasks reuse images, 0 lies outside the interval that leaves out one image after "
        "another.",
    ),
    "classes": _leave_one_out(
        "classes",
        "new classes",
        "the same with one class after another, half-width in brackets.",
    ),
    "superclasses": _leave_one_out(
        "superclasses",
        "new superclasses",
        "the same with one superclass after another, half-width in brackets.",
    ),
}
"""Additional kinds, in the order of outputs.  Where tasks reuse images, the first kind that a task
set has leads its tables; each kind is a column of ``--details``."""

ESTIMANDS: Mapping[IntervalKind, str] = {
    "closed": "new tasks of these images",
    "open": "new images of these classes, each class weighted as often as the set uses it",
    **{kind: row.estimand for kind, row in ADDITIONAL_KINDS.items()},
}
"""The estimand of each kind: what another experiment would draw anew."""

ABOUT: Mapping[IntervalKind, str] = {
    "closed": "new tasks of these images",
    "open": "new images",
    **{kind: row.about for kind, row in ADDITIONAL_KINDS.items()},
}
"""The estimand of each kind in a few words."""


def about_test_set(draws: int, shots: int) -> str:
    """Return the estimand of the kind of images where tasks have all classes."""
    if draws > 1:
        return "new test images and new draws of the support"
    return "new test images with this one support" if shots else "new test images"


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

    `design` is the one of the kind, None for a primary kind.
    """
    if not first.size:
        return np.empty(0)
    computation = PrimaryKind(kind) if design is None else ADDITIONAL_KINDS[kind].how
    return computation.p_values(design, counts, first, second)
