"""Words of the glossary, explained on the page where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "suite": "how tasks were drawn: open (no image twice in the set), balanced, grouped, "
        "closed (images reused), pooled (reused, in thousands of tasks), published, and those made "
        "with attributes",
        "task set": "the tasks of one data set, suite and protocol: digits/open-5w10s7q. T is "
        "their number",
        "ladder": "task sets of the same tasks with one thing changed at each step, from random_… "
        "to biased_…",
        "interval kind": "open (new images), class-aware (new classes), superclass-aware (new "
        "superclasses), closed (only tasks of the very same images); by leaving one out images, "
        "classes, superclasses",
        "leave-one-out": "an interval from tasks that reuse images: how far the mean would move if "
        "one unit, class or superclass had not been there",
        "half-width": "what stands after ±; mean ± half-width is the interval",
        "level": "how often intervals of a kind hold their estimand, 0.95 unless another is asked "
        "for",
        "estimand": "what an interval is about: new images of these classes, new classes, or other "
        "tasks of the same images",
        "verdict": "+ better, - worse, 0 not told apart, = identical on every task, ? nothing can "
        "be said",
        "for new images, for new classes": "what a verdict holds for, by the interval of the "
        "difference, task by task: on other images of these classes; on other classes",
        "error bars, closed error bars": "the comparison of two separate intervals, that do or do "
        "not overlap; the same of tasks that reuse images, the field's habit",
        "not told apart from the best": "the methods not told apart from the one with the highest "
        "mean, adjusted for all pairs (Holm)",
        "wAcc, worst-class accuracy": "the accuracy of a task's worst class, mean over tasks",
    }
)
"""Meanings, as docs/glossary.md has them without its links."""

PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "answer": (
            "for new images, for new classes",
            "half-width",
            "leave-one-out",
            "not told apart from the best",
        ),
        "choices": ("task set", "suite", "level", "interval kind", "estimand"),
        "forest": ("half-width", "verdict", "leave-one-out"),
        "accuracies": ("not told apart from the best",),
        "matrix": ("verdict", "for new images, for new classes", "error bars, closed error bars"),
        "conclusive": ("for new images, for new classes", "error bars, closed error bars"),
        "ladder": ("ladder", "wAcc, worst-class accuracy"),
    }
)
"""Which words are explained in which part of the page."""
