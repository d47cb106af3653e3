"""A submission: per-task results of methods, and what they say about themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from benchmark_spec.errors import DoubledTaskError, OutputError
from benchmark_spec.naming import check_text
from benchmark_spec.version import SPEC_VERSION, __version__
from fslbench_data.files import whole_file
from fslbench_data.tasks import TaskSetInfo

METADATA_KEY = b"fslbench"

GroupKey = tuple[str, str, str]
"""Method, data set and task set: what one group of rows answers."""


@dataclass(frozen=True)
class Method:
    """A method's name and what its authors say of it, a line each.

    Raises
    ------
    SpecError
        If a text is not printable or very long.
    """

    name: str
    description: str = ""
    backbone: str = ""
    link: str = ""
    transductive: bool = False
    """Whether it uses a task's queries together: balanced queries then leak, and tables mark it."""

    def __post_init__(self) -> None:
        for what in ("description", "backbone", "link"):
            check_text(getattr(self, what), f"the method's {what}")


@dataclass(frozen=True)
class Stopping:
    """The rule by which a method stopped answering a set: a confidence sequence was conclusive.

    Attributes
    ----------
    versus
        The method that it was compared with, task by task.
    level
        Of the sequence; its assumption is ``bounded`` (:mod:`analysis_sql.intervals.stopping`).
    """

    versus: str
    level: float


@dataclass(frozen=True)
class Binding:
    """Which tasks a group of rows answers.

    Attributes
    ----------
    fingerprint
        Of the task set.
    tasks
        Number m of tasks where only tasks 0..m-1 are answered; None for the whole set.
    stopping
        The rule that chose m while it ran; None where there was no such rule.
    of_release
        Whether m is the choice of the release's maker, made before anyone compares with it.  No
        file says so: it is a release that says it of its own results.
    """

    fingerprint: str
    tasks: int | None = None
    stopping: Stopping | None = None
    of_release: bool = field(default=False, compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class Submission:
    """Per-task results of one or several methods on one or several task sets.

    Attributes
    ----------
    table
        The columns of :data:`benchmark_spec.schemas.SUBMISSION`, and those optional ones that
        are there; one row a method, data set, task set and task.
    methods
        By name; a method without an entry says nothing of itself.
    bindings
        By method, data set and task set.
    source
        Where it came from, for messages.
    package_version
        Of the fslbench that wrote it.
    """

    table: pa.Table
    methods: Mapping[str, Method] = field(default_factory=dict)
    bindings: Mapping[GroupKey, Binding] = field(default_factory=dict)
    source: str = "the submission"
    package_version: str = __version__

    def __repr__(self) -> str:
        return f"<Submission of {self.table.num_rows} rows from {self.source}>"

    @classmethod
    def read(cls, path: str | Path) -> Submission:
        """Read a Parquet, CSV or JSON Lines file; see docs/submissions.md for its form.

        Raises
        ------
        SubmissionError, SchemaError
            A kind of them for each thing that can be wrong, naming rows and remedy.
        """
        from fslbench_data.submission.reading import read_submission

        return read_submission(path)

    @staticmethod
    def from_accuracies(
        accuracies: ArrayLike,
        info: TaskSetInfo,
        method: str,
        *,
        percent: bool | None = None,
        bind: bool = False,
    ) -> Submission:
        """Make a submission of one accuracy a task (T,), in order.

        See :func:`fslbench_data.submission.accuracies.from_accuracies`.
        """
        from fslbench_data.submission.accuracies import from_accuracies

        return from_accuracies(accuracies, info, method, percent=percent, bind=bind)

    def write(self, path: str | Path) -> None:
        """Write a Parquet file with its metadata; it appears whole or not at all.

        Raises
        ------
        OutputError
            If the name does not end in ``.parquet``, or the file cannot be written.
        """
        if Path(path).suffix.lower() != ".parquet":
            raise OutputError(
                f"{path} does not end in .parquet",
                expected="submissions are written as Parquet, which keeps what they are bound to",
                fix="name a .parquet file",
            )
        with whole_file(path) as temporary:
            pq.write_table(self.bound_table(), temporary, compression="zstd")

    def bound_table(self) -> pa.Table:
        """The table as a file holds it: with the metadata that says what it is bound to."""
        return self.table.replace_schema_metadata({METADATA_KEY: self._metadata()})

    def _metadata(self) -> bytes:
        entries: dict[str, dict[str, Any]] = {}
        for name, method in self.methods.items():
            about = asdict(method)
            del about["name"]
            entries[name] = {**about, "task_sets": {}}
        for (method_name, dataset, task_set), binding in self.bindings.items():
            entry = entries.setdefault(method_name, {"task_sets": {}})
            bound: dict[str, Any] = {"fingerprint": binding.fingerprint}
            if binding.tasks is not None:
                bound["tasks"] = binding.tasks
            if binding.stopping is not None:
                bound["stopping"] = asdict(binding.stopping)
            entry["task_sets"][f"{dataset}/{task_set}"] = bound
        content = {
            "spec_version": SPEC_VERSION,
            "package_version": self.package_version,
            "methods": entries,
        }
        return json.dumps(content, ensure_ascii=False).encode()


def merge(submissions: Sequence[Submission], source: str = "the submission") -> Submission:
    """Several submissions as one; a column that one of them has not is null in its rows.

    Raises
    ------
    DoubledTaskError
        If two of them answer the same task set with the same method.
    """
    bindings: dict[GroupKey, Binding] = {}
    methods: dict[str, Method] = {}
    for submission in submissions:
        twice = bindings.keys() & submission.bindings.keys()
        if twice:
            method, dataset, task_set = min(twice)
            raise DoubledTaskError(
                f"{method} answers {dataset}/{task_set} in two submissions",
                where=submission.source,
                fix="leave one of them out",
            )
        bindings |= submission.bindings
        methods |= submission.methods
    tables = [submission.table for submission in submissions]
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    return Submission(table, methods, bindings, source)
