"""What a tagger's errors do to a ranking of methods: ``python -m studies.taggers``.

FewSTAB (Zheng et al., ECCV 2024) ranks methods on tasks of two captioners, and has no truth to hold
either against.  Here the truth is known, and taggers err at stated rates (``erring.py``).  Printed
of the release and the answers beside this file:

1. what the taggers find, and what their tasks are by the true attributes;
2. how alike two taggers that err alike rank the methods, and either and the truth;
3. the same of heads alone, less the mean of their features; and of wAcc on a tagger's biased tasks
   and on random tasks of the same classes;
4. how many pairs of methods are told apart on a tagger's tasks and on those of the truth.

Intervals are closed, about other tasks of these images with these words; of what taggers find they
are about other images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.bias import contrast, interval_of, rank_correlation, worst_class
from analysis_sql.intervals.arrays import AnyInts, Floats
from benchmark_spec.protocol import suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.bias import Ladder, ladder_of
from fslbench_data.scoring.selection import Selected, select
from fslbench_data.tasks import TaskSet
from studies.common import correlation, printed, signed
from studies.taggers import ANSWERS, DATASET, RELEASE
from studies.taggers.detection import Detection, detections

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
    answers: Ladder

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
        """Return which image has which word (N, W), and the word of each task's classes (T, K)."""
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
            ladder_of(steps, selected),
        )


LEVEL = 0.95
TRUTH = "truth"
PAIRS = {
    "0": ("a0", "b0"),
    "10": ("a10", "b10"),
    "20": ("a20", "b20"),
    "30": ("a30", "b30"),
    "40": ("a40", "b40"),
    "30: one misses, one invents": ("misses", "invents"),
}
"""Pairs of taggers, by how many of a hundred words are wrong."""

By = Mapping[str, Tagger]


def share(values: Floats) -> str:
    """Write the mean of shares of tasks (T,), in percent, with its half-width."""
    return signed(interval_of(100 * values, "closed", LEVEL), "")


def detected(found: Detection) -> str:
    """Write a detection accuracy, with its half-width where there is one."""
    width = "" if found.halfwidth is None else f" ± {found.halfwidth:.1f}"
    return f"{found.accuracy:.1f}{width}"


def detection(one: Tagger, other: Tagger) -> tuple[Detection, Detection]:
    """Compute how much of one's words the other finds, and the other way round."""
    return detections(one.table, other.table, (one.name, other.name), LEVEL)


def tagger_rows(by: By) -> Iterator[Sequence[str]]:
    """Yield a row per tagger: what it finds, its tasks by the truth, and what methods lose."""
    truth = by[TRUTH]
    for errors, pair in PAIRS.items():
        for name in pair:
            tagger = by[name]
            yield (
                errors,
                name,
                *(detected(found) for found in detection(truth, tagger)),
                share(tagger.support_fits(truth.table)),
                share(tagger.queries_fit(tagger.table)),
                share(tagger.queries_fit(truth.table)),
                share(tagger.worst.mean(axis=0)),
                share(tagger.lost.mean(axis=0)),
            )


def alike(one: Floats, other: Floats) -> str:
    """Write how alike two metrics of other tasks, each (M, T), rank the methods."""
    return correlation(rank_correlation(one, other, LEVEL, same_tasks=False))


def rank_rows(by: By) -> Iterator[Sequence[str]]:
    """Yield a row a pair: how alike they rank methods by wAcc, by its loss, and each and truth."""
    truth = by[TRUTH]
    for errors, names in PAIRS.items():
        one, other = (by[name] for name in names)
        yield (
            errors,
            *(detected(found) for found in detection(one, other)),
            *(alike(a.worst, b.worst) for a, b in ((one, truth), (other, truth), (one, other))),
            *(alike(a.lost, b.lost) for a, b in ((one, truth), (other, truth), (one, other))),
        )


def heads(tagger: Tagger) -> Floats:
    """Compute how far wAcc (M, T) lies from its mean over the methods of the same features."""
    features = np.array([method.partition("/")[0] for method in tagger.methods])
    means = [tagger.worst[features == name].mean(axis=0) for name in features]
    apart: Floats = tagger.worst - np.array(means)
    return apart


def reason_rows(by: By) -> Iterator[Sequence[str]]:
    """Yield a row per pair: agreement on heads of the same features, on biased and random tasks."""
    truth = heads(by[TRUTH])
    for errors, names in PAIRS.items():
        one, other = (heads(by[name]) for name in names)
        yield (
            errors,
            *(alike(a, b) for a, b in ((one, truth), (other, truth), (one, other))),
            *(
                correlation(rank_correlation(by[name].before, by[name].worst, LEVEL))
                for name in names
            ),
        )


def signs(tagger: Tagger) -> list[int]:
    """Say of each pair of methods which has the higher wAcc: 1, -1, or 0 if not told apart."""
    told = []
    for pair in combinations(tagger.methods, 2):
        counts = [(w, tagger.counts(m)) for w, m in zip((1, -1), pair, strict=True)]
        answers = tagger.answers
        of = contrast(counts, answers.queries, answers.kind, LEVEL).worst
        told.append(0 if abs(of.mean) <= (of.halfwidth or 0) else 1 if of.mean > 0 else -1)
    return told


def order_rows(by: By) -> Iterator[Sequence[str]]:
    """Yield a row per tagger: pairs of methods told apart on its tasks, and on the truth's."""
    true = signs(by[TRUTH])
    for errors, taggers_of in {"none": (TRUTH,), **PAIRS}.items():
        for name in taggers_of:
            own = signs(by[name])
            both = [a * b for a, b in zip(own, true, strict=True)]
            told = (sum(map(abs, own)), both.count(1), both.count(-1))
            yield errors, name, *map(str, told)


def main() -> None:
    """Print the tables."""
    selected = select(ANSWERS, load_release(RELEASE), only_ladders=True)
    by = {tagger.name: tagger for tagger in taggers(selected, DATASET)}
    found = "truth found: | of its words true: | support has it: | inter-class by it: | by truth:"
    printed(f"errors, % | tagger | {found} | wAcc: | lost:", tagger_rows(by))
    three = "A, truth: | B, truth: | A, B:"
    printed(f"errors, % | B finds of A: | A finds of B: | {three} | lost: {three}", rank_rows(by))
    printed(f"errors, % | heads: {three} | random, biased: A: | B:", reason_rows(by))
    printed("errors, % | tagger | told apart: | as by truth: | reversed:", order_rows(by))


if __name__ == "__main__":
    main()
