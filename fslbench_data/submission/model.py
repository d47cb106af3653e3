"""A submission: per-task results of methods, and their metadata."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Meta, Struct, field, to_builtins
from msgspec.structs import asdict, replace
from numpy.typing import ArrayLike

from benchmark_spec.declared import MisfitError, parsed_json
from benchmark_spec.errors import (
    AccuracyError,
    FSLBenchError,
    FSLBenchWarning,
    OutputError,
    SchemaError,
    SpecError,
    listing,
    quoted,
)
from benchmark_spec.naming import check_method_name, check_text
from benchmark_spec.version import SPEC_VERSION, __version__
from fslbench_data.files import whole_file
from fslbench_data.submission.columns import NAMES, RESULTS, TEXTS, canonical, marks, printable
from fslbench_data.submission.frames import AsFrame, Frame
from fslbench_data.submission.reading import counts_of, read_parquet, table_of
from fslbench_data.tasks import TaskSetInfo

METADATA_KEY = b"fslbench"

GroupKey = tuple[str, str, str]
"""Method, data set and task set of a group of rows."""


class Method(Struct, frozen=True):
    """The name and metadata of a method.

    Raises a SpecError if a text is not printable or very long.
    """

    name: str
    description: str = ""
    backbone: str = ""
    link: str = ""
    transductive: bool = False
    """Whether it uses a task's queries together: balanced queries then leak, and tables mark it."""
    trained: bool | None = None
    """False if nothing is trained before the tasks, so that there are no training runs; None if
    unknown."""
    inductive: bool | None = None
    """Whether its prediction for a query never depends on the task's other queries. Intervals for
    new images then use which queries were right. None if unknown."""

    def __post_init__(self) -> None:
        for what in ("description", "backbone", "link"):
            check_text(getattr(self, what), f"the method's {what}")
        if self.transductive and self.inductive:
            raise SpecError(
                f"method {quoted(self.name)} is said to be transductive and inductive",
                expected="one of them: does an answer depend on the task's other queries?",
            )


class Stopping(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule that stopped a run on a task set early.

    It stops when the confidence sequence of the difference from `versus` is conclusive at `level`
    (:mod:`analysis_sql.intervals.stopping`).
    """

    versus: str
    level: Annotated[
        float, Meta(ge=0.01, le=0.999999, description="a number from 0.01 to 0.999999")
    ]


class Binding(Struct, frozen=True):
    """The tasks that a group of rows answers, by the task set's fingerprint.

    Attributes
    ----------
    tasks
        Number m of tasks where only tasks 0..m-1 were run; None for the whole set.
    stopping
        The rule that chose m during the run; None without such a rule.
    of_release
        Whether the release's maker chose m, before any comparison.  It is never written to a file:
        a release sets it for its own results.
    """

    fingerprint: str
    tasks: Annotated[int, Meta(ge=1, lt=1 << 31)] | None = None
    stopping: Annotated[Stopping | None, Meta(description="a method and a level")] = None
    of_release: bool = False


Declared = tuple[dict[str, Method], dict[GroupKey, Binding], str]
"""Methods, bindings, and the version of the package that wrote them."""


def metadata_of(schema: pa.Schema, where: str) -> Declared | None:
    """Return what the metadata of a table declares; None if there is none of this package."""
    raw = (schema.metadata or {}).get(METADATA_KEY)
    return None if raw is None else read_metadata(raw, where)


def read_metadata(raw: bytes, where: str) -> Declared:
    """Read methods, bindings and package version from a file's metadata.

    Raises a SchemaError if it is anything but what :meth:`Submission.write` writes.
    """
    try:
        return _read(raw)
    except MisfitError as error:
        what = str(error)
    except ValueError:
        what = "it is not JSON"
    except FSLBenchError as error:
        what = error.what
    raise SchemaError(
        f"the file's fslbench metadata is wrong: {what}",
        where=where,
        expected='JSON {"methods": {NAME: {"task_sets": {"DATASET/TASK_SET": '
        '{"fingerprint": HEX}}}}}',
        fix="write the file with Submission.write, or use a `fingerprint` column instead",
    )


def written_metadata(
    methods: Mapping[str, Method], bindings: Mapping[GroupKey, Binding], package_version: str
) -> bytes:
    """Write what :func:`read_metadata` reads."""
    entries: dict[str, dict[str, Any]] = {}
    for name, method in methods.items():
        entries[name] = {**_written(asdict(method), "name"), "task_sets": {}}
    for (method_name, dataset, task_set), binding in bindings.items():
        entry = entries.setdefault(method_name, {"task_sets": {}})
        fields = _written(to_builtins(binding), "of_release")
        entry["task_sets"][f"{dataset}/{task_set}"] = fields
    content = {
        "spec_version": SPEC_VERSION,
        "package_version": package_version,
        "methods": entries,
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _written(fields: dict[str, Any], never: str) -> dict[str, Any]:
    """Return the known fields, without the one that is never written."""
    return {key: value for key, value in fields.items() if key != never and value is not None}


def with_marks(
    table: pa.Table, methods: Mapping[str, Method], bindings: Mapping[GroupKey, Binding]
) -> pa.Table:
    """Return the table with the columns `fingerprint` and `transductive`, made from the metadata.

    `inductive` is added if a method is inductive. Existing columns stay.
    """
    key_columns = [table.column(name).to_pylist() for name in NAMES]
    for mark in ("transductive", "inductive"):
        marked = {name for name, method in methods.items() if getattr(method, mark)}
        if mark not in table.column_names and (marked or mark == "transductive"):
            marks = pa.array([name in marked for name in key_columns[0]], pa.bool_())
            table = table.append_column(mark, marks)
    if "fingerprint" not in table.column_names:
        fingerprints = {key: binding.fingerprint for key, binding in bindings.items()}
        values = [fingerprints.get(key) for key in zip(*key_columns, strict=True)]
        table = table.append_column("fingerprint", pa.array(values, TEXTS))
    return table


class _Version(Struct):
    spec_version: str = SPEC_VERSION


class _Bound(Binding, frozen=True):
    of_release: Any = False  # no file holds it


class _Entry(Method, frozen=True):
    name: Any = ""  # the key is the name
    task_sets: dict[str, _Bound] = {}

    def __post_init__(self) -> None:
        """Skip the checks: :class:`Method` makes them, with the name."""


class _Metadata(Struct):
    methods: dict[str, _Entry]
    package_version: str = "unknown"


def _read(raw: bytes) -> Declared:
    version = parsed_json(raw, _Version).spec_version
    major = SPEC_VERSION.split(".")[0]
    if version.split(".")[0] != major:
        raise FSLBenchError(f"it follows specification {quoted(version, 20)}, not {major}.x")
    content: _Metadata = parsed_json(raw, _Metadata)
    methods: dict[str, Method] = {}
    bindings: dict[GroupKey, Binding] = {}
    for name, entry in content.methods.items():
        fields = {field: getattr(entry, field) for field in Method.__struct_fields__}
        methods[name] = Method(**fields | {"name": check_method_name(name)})
        for key, bound in entry.task_sets.items():
            dataset, slash, task_set = key.partition("/")
            if not slash:
                raise FSLBenchError(f"{quoted(key)} of method {name!r} is no DATASET/TASK_SET")
            check_text(key, f"a task set of method {name!r}")
            if bound.stopping is not None:
                check_method_name(bound.stopping.versus)
                if bound.stopping.versus == name:
                    raise FSLBenchError(f"method {name!r} stops when it differs from itself")
            bindings[name, dataset, task_set] = Binding(
                bound.fingerprint, bound.tasks, bound.stopping
            )
    return methods, bindings, check_text(content.package_version, "`package_version`")


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

        Warns if `inductive` can change nothing. Raises a SpecError if it is set for a method that
        is transductive, or known not to be inductive.
        """
        if inductive and not {"correct", "predictions"} & {*self.table.column_names}:
            warnings.warn(
                f"{self.source}: inductive changes nothing without the column correct or "
                "predictions: ± for new images takes tasks as a whole",
                FSLBenchWarning,
                stacklevel=2,
            )
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
