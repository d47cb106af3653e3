"""A submission's rows in DuckDB, numbered by group, and the counts that come out of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.queries.rules import make_facts, view_by_task
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding, GroupKey
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

if TYPE_CHECKING:
    import duckdb

Array = NDArray[Any]

_ROWS = 1 << 20
"""Rows whose counts come out of it at once."""


@dataclass(frozen=True)
class Key:
    """What a group of rows answers; `run` is None where the rows have none."""

    method: str
    run: str | None
    info: TaskSetInfo

    @property
    def bound_by(self) -> GroupKey:
        """Under which a submission's bindings speak of this group, of all its runs."""
        return self.method, self.info.dataset, str(self.info.name)

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run else ""
        return f"{self.method}{run} on {self.info}"


@dataclass(eq=False)
class Database:
    """A connection to the process's database, and a compressed one beside it for very many rows."""

    connection: duckdb.DuckDBPyConnection
    box: str = ""

    def close(self) -> None:
        """Give back what its tables take."""
        if self.box:
            self.connection.execute(f"USE memory; DETACH {self.box}")
        self.connection.close()


@dataclass(frozen=True, eq=False)
class Rows:
    """A submission's rows in a database.

    Attributes
    ----------
    database
        Its table `rows` has a row for each of the submission, in order (`rowid`): the number of its
        group, task_id, n_correct, n_query and the optional columns that are there; texts as
        numbers.  `groups` says what a group answers, and what the release promises of it.
    keys
        What the groups answer, in the order of their first row, `first`.
    """

    submission: Submission
    database: Database
    keys: tuple[Key, ...]
    first: tuple[int, ...]

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """To the database."""
        return self.database.connection

    @property
    def where(self) -> str:
        """The submission's source, for messages."""
        return self.submission.source

    @property
    def columns(self) -> list[str]:
        """Names of the submission's columns."""
        return self.submission.columns

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(key.method for key in self.keys))

    @cached_property
    def infos(self) -> tuple[TaskSetInfo, ...]:
        """The task sets that are answered."""
        return tuple({key.info.text: key.info for key in self.keys}.values())

    @cached_property
    def answers(self) -> dict[tuple[str, str], list[int]]:
        """The groups of each method and task set: one, or its runs."""
        answers: dict[tuple[str, str], list[int]] = {}
        for group, key in enumerate(self.keys):
            answers.setdefault((key.method, key.info.text), []).append(group)
        return answers

    def binding(self, key: Key) -> Binding | None:
        """What the metadata says of a group."""
        return self.submission.bindings.get(key.bound_by) if self.submission.bindings else None

    @cached_property
    def expected(self) -> list[int]:
        """Number of tasks that each group claims to answer: all of its set, or a prefix."""
        declared = [(self.binding(key), key.info.n_tasks) for key in self.keys]
        return [n if b is None or b.tasks is None else b.tasks for b, n in declared]

    @cached_property
    def bound(self) -> list[bool]:
        """Whether each group says which tasks it answers, in the metadata or in the column."""
        numbers: set[int] = set()
        if "fingerprint" in self.columns:
            self.facts("group_fingerprints")
            sql = 'SELECT DISTINCT "group" FROM group_fingerprints ORDER BY "group"'
            numbers = {number for (number,) in self.connection.execute(sql).fetchall()}
        bound = enumerate(self.keys)
        return [number in numbers or self.binding(key) is not None for number, key in bound]

    def facts(self, name: str) -> None:
        """Make a table of facts, unless it is there."""
        if name not in self._made:
            self._made.add(name)
            make_facts(self.connection, name)

    @cached_property
    def _made(self) -> set[str]:
        return set()

    def counts(self) -> list[Array]:
        """Correct queries of each task of each answer, all of whose runs have as many tasks.

        Read from the view `by_task`, int16 (expected,), or int32 if there are runs: all rules are
        met.
        """
        runs = np.array([len(members) for members in self.answers.values()])
        tasks = np.array([self.expected[members[0]] for members in self.answers.values()])
        rows, ends = np.cumsum(runs * tasks), np.cumsum(tasks)
        kind = np.int16 if runs.max() == 1 else np.int32
        view_by_task(self.connection)
        sql = "SELECT correct FROM by_task WHERE method BETWEEN ? AND ?"
        counts: list[Array] = []
        while (begin := len(counts)) < len(runs):
            last = rows[begin] - runs[begin] * tasks[begin] + _ROWS
            end = max(begin + 1, int(np.searchsorted(rows, last, side="right")))
            block = self.connection.execute(sql, [begin, end - 1]).fetchnumpy()["correct"]
            first = ends[begin] - tasks[begin]
            counts += np.split(np.asarray(block, kind), ends[begin : end - 1] - first)
        return counts


@dataclass(frozen=True)
class Terms:
    """What a submission is checked against.

    Methods may not have the names that are `taken`; answers may have no fingerprint if so allowed.
    """

    release: Release
    taken: Collection[str]
    allow_unbound: bool
