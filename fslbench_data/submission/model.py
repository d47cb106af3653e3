"""A submission: per-task results of methods, and their metadata."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import ArrayLike

from benchmark_spec.errors import AccuracyError, FSLBenchWarning, OutputError, SpecError, listing
from benchmark_spec.naming import check_method_name
from benchmark_spec.version import __version__
from fslbench_data.files import whole_file
from fslbench_data.submission.bindings import (
    METADATA_KEY,
    Binding,
    GroupKey,
    Method,
    metadata_of,
    with_marks,
    written_metadata,
)
from fslbench_data.submission.columns import NAMES, RESULTS, canonical, marks, printable
from fslbench_data.submission.frames import AsFrame, Frame
from fslbench_data.submission.reading import counts_of, read_parquet, table_of
from fslbench_data.tasks import TaskSetInfo

About = Mapping[str, Method | Mapping[str, Any]]
"""Metadata of methods by name: a Method, or its fields."""


class Submission(AsFrame, Struct, frozen=True, eq=False):
    """Per-task results of one or several methods on one or several task sets.

    Attributes
    ----------
    table
        The columns of :data:`benchmark_spec.schemas.SUBMISSION` and perhaps optional ones; one
        row a method, data set, task set and task.
    methods
        Metadata by name; a method may lack it.
    bindings
        By method, data set and task set.
    source
        Where it came from, for messages.
    package_version
        Version of fslbench that wrote it.
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
        table = table_of(path, RESULTS, read_parquet)
        return cls.of_table(table, table.schema, str(path))

    @classmethod
    def of_table(cls, table: pa.Table, schema: pa.Schema, source: str) -> Submission:
        """Make a submission of a checked table and what the metadata of its file declare."""
        declared = metadata_of(schema, source)
        if declared is None and source.lower().endswith(".parquet"):
            _warn_of_lost_metadata(table, source)
        methods, bindings, version = declared or ({}, {}, "unknown")
        return cls(table.replace_schema_metadata(None), methods, bindings, source, version)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        methods: About | None = None,
        fingerprints: Mapping[str, str] | None = None,
        where: str = "the frame",
    ) -> Submission:
        """Make a submission of a frame of pandas or polars, or an Arrow table.

        Parameters
        ----------
        frame
            With the columns of docs/submissions.md; the index of a pandas frame is ignored.
        methods
            Metadata of the frame's methods, by name:
            ``{"mine": {"transductive": True, "backbone": "resnet18"}}``.
        fingerprints
            Vouch that results are on these very tasks: fingerprints by ``dataset/task_set``, such
            as ``{str(i): i.fingerprint for i in release.task_sets}``. Task sets that the frame does
            not have are ignored.
        where
            Name of the frame in messages, which count its rows from 1.

        Raises
        ------
        SubmissionError, SchemaError
            As :meth:`read`, naming rows of the frame.
        """
        table = table_of(frame, RESULTS, read_parquet, where)
        declared = metadata_of(table.schema, where)
        if declared is None and not methods:
            _warn_of_lost_metadata(table, where)
        about, bindings, version = declared or ({}, {}, __version__)
        groups = table.select(list(NAMES)).group_by(list(NAMES), use_threads=False).aggregate([])
        keys = [(row["method"], row["dataset"], row["task_set"]) for row in groups.to_pylist()]
        about |= _methods(methods or {}, {method for method, *_ in keys})
        for method, dataset, task_set in keys:
            fingerprint = (fingerprints or {}).get(f"{dataset}/{task_set}")
            if fingerprint is not None:
                bindings[method, dataset, task_set] = Binding(fingerprint)
        return cls(table.replace_schema_metadata(None), about, bindings, where, version)

    @classmethod
    def from_accuracies(
        cls,
        accuracies: ArrayLike,
        info: TaskSetInfo,
        method: str,
        *,
        percent: bool | None = None,
        queries: ArrayLike | None = None,
        bind: bool = False,
        where: str = "the accuracies",
    ) -> Submission:
        """Make a submission of one method's accuracies on one task set.

        Parameters
        ----------
        accuracies
            One per task (T,), in the order of the tasks; fractions or percentages.
        info
            The task set, such as ``release.task_set(...).info``.
        percent
            Whether they are percentages; by default, whether any is above 1.
        queries
            Number of queries of each task (T,), if tasks of the set differ in it, such as
            ``release.task_set(...).queries``.
        bind
            Vouch that they were made on these very tasks. Otherwise the submission is unbound, and
            scoring it needs ``allow_unbound``.
        where
            Name of the accuracies in messages.

        Raises
        ------
        AccuracyError
            If they are no accuracies of so many tasks and queries, or if tasks differ in their
            number of queries and `queries` is None.
        """
        values = np.asarray(accuracies, np.float64)
        if percent is None:
            percent = bool((values > 1.0).any())
        if info.name.varies and queries is None:
            raise AccuracyError(
                f"tasks of {info} differ in queries",
                where=where,
                fix="say how many each has: queries=release.task_set(...).queries",
            )
        n_query = np.asarray(info.protocol.n_query if queries is None else queries, np.int64)
        if n_query.shape not in {(), (info.n_tasks,)} or (n_query < 1).any():
            raise AccuracyError(
                f"the queries are of shape {n_query.shape}, or below 1",
                where=where,
                expected=f"({info.n_tasks},), one number for each task of {info}",
            )
        n_query = np.broadcast_to(n_query, info.n_tasks)
        counts = counts_of(values, info, n_query, 100.0 if percent else 1.0, where)
        about = Method(check_method_name(method))
        key = (method, info.dataset, str(info.name))
        columns = {
            **{name: [value] * info.n_tasks for name, value in zip(NAMES, key, strict=True)},
            "task_id": range(info.n_tasks),
            "n_correct": counts,
            "n_query": n_query,
        }
        bindings = {key: Binding(info.fingerprint)} if bind else {}
        return cls(canonical(pa.table(columns), method), {method: about}, bindings, where)

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns."""
        names: list[str] = self.table.column_names
        return names

    def on(self, infos: Collection[TaskSetInfo]) -> Submission:
        """Return the results on some task sets, possibly none."""
        wanted = {(info.dataset, str(info.name)) for info in infos}
        bindings = {key: self.bindings[key] for key in self.bindings if key[1:] in wanted}
        names = (self.table.column(name).cast(pa.string()) for name in ("dataset", "task_set"))
        sets = pa.array([f"{dataset}/{task_set}" for dataset, task_set in wanted], pa.string())
        rows = pc.is_in(pc.binary_join_element_wise(*names, "/"), sets)
        return replace(self, table=self.table.filter(rows), bindings=bindings)

    def declare(self, *, trained: bool | None = None, inductive: bool | None = None) -> Submission:
        """Return the submission with these set for the methods that do not declare them.

        Raises a SpecError if `inductive` is set for a method that is transductive, or known not to
        be inductive.
        """
        transductive = {name for name, mark in marks(self.table, "transductive") if mark}
        methods = {}
        for name in self.table.column("method").unique().to_pylist():
            method = self.methods.get(name, Method(name, transductive=name in transductive))
            if inductive and method.inductive is False:
                raise SpecError(
                    f"{name} is set inductive, and its answers to some queries changed when "
                    "`evaluate` gave it each alone",
                    where=self.source,
                    expected="a method whose answer never depends on the task's other queries",
                    fix="leave --inductive (inductive=True) out",
                )
            methods[name] = replace(
                method,
                trained=trained if method.trained is None else method.trained,
                inductive=inductive if method.inductive is None else method.inductive,
            )
        return replace(self, methods={**self.methods, **methods})

    def write(self, path: str | Path) -> None:
        """Write a Parquet file with its metadata; it appears whole or not at all.

        Raises
        ------
        OutputError
            If the name does not end in ``.parquet``, or the file cannot be written.
        """
        check_parquet_name(path)
        with whole_file(path) as temporary:
            pq.write_table(self.bound_table(), temporary, compression="zstd")

    def bound_table(self) -> pa.Table:
        """Return the table with the metadata of methods and bindings, as a file holds it."""
        metadata = written_metadata(self.methods, self.bindings, self.package_version)
        return self.table.replace_schema_metadata({METADATA_KEY: metadata})

    def to_arrow(self) -> pa.Table:
        """Return the table with its metadata, and the columns `fingerprint` and `transductive`.

        These replace the metadata in pandas and polars, which drop it: other metadata of methods,
        and the number of tasks of a prefix, are lost there.
        """
        table = with_marks(self.table, self.methods, self.bindings)
        return table.replace_schema_metadata(self.bound_table().schema.metadata)


def _methods(given: About, in_frame: Collection[str]) -> dict[str, Method]:
    """Return the given metadata of methods; raise a SpecError if it does not fit the frame."""
    if unknown := [name for name in given if name not in in_frame]:
        raise SpecError(
            f"methods says something of {listing(unknown)}",
            expected=f"methods of the frame: {listing(sorted(in_frame))}",
        )
    methods = {}
    for name, about in given.items():
        try:
            methods[name] = about if isinstance(about, Method) else Method(name, **dict(about))
        except TypeError as error:
            raise SpecError(
                f"what methods says of {name!r} is not understood: {printable(error)}",
                expected="of description, backbone, link, transductive, trained and inductive "
                "those that are known",
            ) from None
        if methods[name].name != check_method_name(name):
            raise SpecError(f"methods says of {name!r} that it is {methods[name].name!r}")
    return methods


def _warn_of_lost_metadata(table: pa.Table, where: str) -> None:
    """Warn of a table whose metadata was probably dropped by the program that edited it."""
    if "fingerprint" in table.column_names and "transductive" not in table.column_names:
        warnings.warn(
            f"{printable(where)} has fingerprints in a column and no fslbench metadata, which "
            "pandas drops: if its methods said that they are transductive, or stopped by a rule, "
            "that is lost\n  fix: give the column `transductive`, or write it with "
            "Submission.write",
            FSLBenchWarning,
            stacklevel=3,
        )


def check_parquet_name(path: str | Path) -> None:
    """Raise an OutputError unless the file's name ends in .parquet."""
    if Path(path).suffix.lower() != ".parquet":
        raise OutputError(
            f"{path} does not end in .parquet",
            expected="submissions are written as Parquet, which keeps what they are bound to",
            fix="name a .parquet file",
        )


Source = Submission | Frame | str | Path
"""Results: a submission, a file of it, or a frame with its columns."""


def open_all(sources: Source | Sequence[Source]) -> list[Submission]:
    """Read one or several submissions, files or frames of them.

    Raises a SubmissionError or a SchemaError as :meth:`Submission.read` does.
    """
    several = sources if isinstance(sources, list | tuple) else [sources]
    opened = []
    for number, source in enumerate(several, start=1):
        if isinstance(source, str | Path):
            source = Submission.read(source)
        elif not isinstance(source, Submission):
            where = f"the frame number {number}" if len(several) > 1 else "the frame"
            source = Submission.from_frame(source, where=where)
        opened.append(source)
    return opened
