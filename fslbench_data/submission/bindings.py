"""Metadata of a submission: its methods, and the tasks of their results, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import pyarrow as pa
from msgspec import Meta, Struct, to_builtins
from msgspec.structs import asdict

from benchmark_spec.declared import MisfitError, parsed_json
from benchmark_spec.errors import FSLBenchError, SchemaError, SpecError, quoted
from benchmark_spec.naming import check_method_name, check_text
from benchmark_spec.version import SPEC_VERSION
from fslbench_data.submission import columns

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
    key_columns = [table.column(name).to_pylist() for name in columns.NAMES]
    for mark in ("transductive", "inductive"):
        marked = {name for name, method in methods.items() if getattr(method, mark)}
        if mark not in table.column_names and (marked or mark == "transductive"):
            marks = pa.array([name in marked for name in key_columns[0]], pa.bool_())
            table = table.append_column(mark, marks)
    if "fingerprint" not in table.column_names:
        fingerprints = {key: binding.fingerprint for key, binding in bindings.items()}
        values = [fingerprints.get(key) for key in zip(*key_columns, strict=True)]
        table = table.append_column("fingerprint", pa.array(values, columns.TEXTS))
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
