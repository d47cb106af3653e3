"""A tagger, its tasks by the true attributes, and how methods answered them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.bias.worst_class import worst_class
from analysis_sql.intervals.arrays import AnyInts, Floats
from benchmark_spec.suites import suite_of
from fslbench_data.release.release import Release
from fslbench_data.scoring.bias import LadderAnswers, ladder_answers
from fslbench_data.scoring.selection import Selected
from fslbench_data.tasks import TaskSet

RANDOM, BIASED = "random", "biased"


@dataclass(frozen=True, eq=False)
class Tagger:
    """What a tagger finds, the biased tasks drawn with it, and the answers.

    Attributes
    ----------
    table
        What it finds of each image.
    tasks, words
        The biased ones, and the attribute of each of their classes (T, K).
    answers
        Of the methods, on random tasks and on biased ones of the same classes.
    """

    name: str
    table: pa.Table
    tasks: TaskSet
    words: NDArray[np.object_]
    answers: LadderAnswers

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names, in alphabetical order."""
        return tuple(sorted(self.answers.by_method))

    @cached_property
    def worst(self) -> Floats:
        """Compute wAcc of each method and biased task (M, T), as shares."""
        return self._worst(BIASED)

    @cached_property
    def before(self) -> Floats:
        """Compute wAcc on random tasks of the same classes (M, T), as shares."""
        return self._worst(RANDOM)

    @cached_property
    def lost(self) -> Floats:
        """Compute the wAcc lost from random to biased tasks (M, T), as shares."""
        return self.before - self.worst

    def _worst(self, step: str) -> Floats:
        by_method, query = self.answers.by_method, self.answers.queries
        return np.array([worst_class(by_method[name][step], query) for name in self.methods])

    def counts(self, method: str) -> AnyInts:
        """Give the correct queries of each class of each biased task (T, K)."""
        return self.answers.by_method[method][BIASED]

    def support_fits(self, by: pa.Table) -> Floats:
        """Compute the share of each task's support images that have their class's attribute (T,).

        Images have the attributes that the table `by` gives them.
        """
        has, own = self._has(by)
        fits: Floats = has[self.tasks.support, own[:, :, None]].mean(axis=(1, 2))
        return fits

    def queries_fit(self, by: pa.Table) -> Floats:
        """Compute the share of each task's queries that are inter-class (T,).

        Such a query lacks its own class's attribute and has one of the other classes'; images have
        the attributes that the table `by` gives them.
        """
        has, own = self._has(by)
        chosen = np.zeros((len(own), has.shape[1]), bool)
        np.put_along_axis(chosen, own, values=True, axis=1)
        of_query = np.take_along_axis(own, self.tasks.query_label.astype(np.int64), axis=1)
        lacks = ~has[self.tasks.query, of_query]
        others = (has[self.tasks.query] & chosen[:, None, :]).any(axis=2)
        fit: Floats = (lacks & others).mean(axis=1)
        return fit

    def _has(self, by: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which image has which word (N, W), and the word of each task's classes (T, K)."""
        lists = [frozenset(words) for words in by.column("attributes").to_pylist()]
        names = sorted({*map(str, self.words.flat)}.union(*lists))
        has = np.array([[name in words for name in names] for words in lists])
        return has, np.searchsorted(np.array(names), self.words.astype(str))


def taggers(selected: Selected, dataset: str) -> Iterator[Tagger]:
    """Give each tagger with whose words tasks of a data set were drawn, in the release's order."""
    release: Release = selected.release
    for name in release.attribute_sets:
        infos = [i for i in selected.infos if suite_of(i.name.suite).attributes == name]
        by_step = {suite_of(info.name.suite).step: info for info in infos}
        steps = [by_step[RANDOM], by_step[BIASED]]
        rows = release.task_table(steps[-1]).column("attributes").to_pylist()
        yield Tagger(
            name,
            release.attributes(dataset, name),
            release.task_set(dataset, str(steps[-1].name)),
            np.array(rows, object),
            ladder_answers(steps, selected),
        )
