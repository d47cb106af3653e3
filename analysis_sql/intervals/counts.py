"""Counts of correct queries per task: many methods, or paired differences of them, at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.moments import Moments, subtract
from analysis_sql.intervals.training_runs import Terms, own_task_terms, run_means, run_terms


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of correct queries of M methods on the T tasks of a set.

    Attributes
    ----------
    correct : int16, int32 or int64 (M, T)
        Integers x, where x / `queries_per_task` is the share of a task's queries that is right;
        0 where a method did not answer.  Floats, accuracies of 0 to 1, where no counts are known.
    tasks : int64 (M,)
        Method i answered tasks 0..tasks[i]-1.
    queries_per_task : int64 (M,)
        K·Q of each method, times its runs; one number stands for all methods.
    run_variance, run_square : float64 (M,)
        What training anew adds: :func:`analysis_sql.intervals.training_runs.run_terms`.
    pair_terms : two of float64 (M, M), or None
        The same of differences, where it is not the sum of both methods'.
    """

    correct: NDArray[Any]
    tasks: NDArray[np.int64]
    queries_per_task: Any
    run_variance: Any = 0.0
    run_square: Any = 0.0
    pair_terms: Terms | None = None

    def __post_init__(self) -> None:
        queries = np.asarray(self.queries_per_task, np.int64)
        object.__setattr__(self, "queries_per_task", np.broadcast_to(queries, len(self)))
        for name in ("run_variance", "run_square"):
            values = np.asarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, np.broadcast_to(values, len(self)))

    @classmethod
    def of(
        cls,
        counts: Sequence[NDArray[Any]],
        queries_per_task: Sequence[int],
        spreads: Sequence[float | None] = (),
        runs: Sequence[int] = (),
    ) -> Counts:
        """Join the counts of at least one method, (tasks,) each, over the first tasks of a set.

        `spreads` and `runs` are those of :func:`analysis_sql.intervals.training_runs.run_terms`.
        """
        terms = run_terms(spreads, runs) if any(spreads) else ()
        tasks = np.array([len(own) for own in counts], np.int64)
        if (tasks == tasks.max()).all():
            return cls(np.stack(counts), tasks, queries_per_task, *terms)
        correct = np.zeros((len(counts), int(tasks.max())), np.result_type(*counts))
        for row, own in zip(correct, counts, strict=True):
            row[: len(own)] = own
        return cls(correct, tasks, queries_per_task, *terms)

    @classmethod
    def of_own_tasks(cls, y: NDArray[np.float64], run: NDArray[np.int64]) -> Counts:
        """Join accuracies (M, B) of methods each of whose runs, 0..R-1, answered tasks of its own.

        What runs differ by is a term, and so taken from the values of their tasks.
        """
        terms = own_task_terms(y, run)
        variance, square = (np.diagonal(own) for own in terms)
        centred = y - run_means(y, run)[:, run] + y.mean(axis=1)[:, None]
        return cls(centred, np.full(len(y), run.size), 1, variance, square, terms)

    def __len__(self) -> int:
        return len(self.correct)

    def some(self, rows: NDArray[Any] | list[int]) -> Counts:
        """Return the counts of some methods, by their positions or a mask."""
        return Counts(
            self.correct[rows],
            self.tasks[rows],
            self.queries_per_task[rows],
            self.run_variance[rows],
            self.run_square[rows],
            self.pair_terms and tuple(own[rows][:, rows] for own in self.pair_terms),
        )

    def first(self, tasks: int) -> Counts:
        """Return the counts of the first tasks of a set, which all of the methods answered."""
        return replace(self, correct=self.correct[:, :tasks], tasks=np.full(len(self), tasks))

    def differences(self, methods: Any, versus: Any, tasks: int) -> Counts:
        """Subtract counts of second methods from those of first ones, over the first tasks of both.

        `methods` and `versus` (P,) are positions; one of them may be a single one.  Each difference
        is in the least common multiple of its two `queries_per_task`.
        """
        wide = np.result_type(self.correct, np.int64)
        x, y = (self.correct[rows, :tasks].astype(wide) for rows in (methods, versus))
        queries = self.queries_per_task
        differences, common = subtract(x, queries[methods], y, queries[versus])
        if self.pair_terms is None:
            terms = [own[methods] + own[versus] for own in (self.run_variance, self.run_square)]
        else:
            terms = [own[methods, versus] for own in self.pair_terms]
        return Counts(differences, np.full(len(differences), tasks, np.int64), common, *terms)

    def moments(self) -> Moments:
        """Return the moments of every method over its own tasks, arrays (M,)."""
        x = self.correct
        wide = np.result_type(x, np.int64)
        total = x.sum(axis=1, dtype=wide)
        squares = np.einsum("mt,mt->m", x, x, dtype=wide)
        terms = self.run_variance, self.run_square
        return Moments(self.tasks, total, squares, self.queries_per_task, *terms)
