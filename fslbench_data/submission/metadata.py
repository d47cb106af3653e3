"""What a Parquet submission says of itself: the JSON under the key ``fslbench``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import pyarrow as pa
from msgspec import Meta, Struct, to_builtins
from msgspec.structs import asdict

from benchmark_spec.declared import MisfitError, parsed_json
from benchmark_spec.errors import FSLBenchError, SchemaError, shown
from benchmark_spec.naming import check_method_name, check_text
from benchmark_spec.version import SPEC_VERSION
from fslbench_data.submission import columns
from fslbench_data.submission.bindings import Binding, GroupKey, Method, Stopping


def read_metadata(raw: bytes, where: str) -> tuple[dict[str, Method], dict[GroupKey, Binding], str]:
    """Methods, bindings and package version from a file's metadata.

    Raises a SchemaError if it is not what :meth:`Submission.write` leaves; whatever else it is.
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
        about = to_builtins(method)
        del about["name"]
        if about["trained"] is None:
            del about["trained"]
        entries[name] = {**about, "task_sets": {}}
    for (method_name, dataset, task_set), binding in bindings.items():
        entry = entries.setdefault(method_name, {"task_sets": {}})
        bound: dict[str, Any] = {"fingerprint": binding.fingerprint}
        if binding.tasks is not None:
            bound["tasks"] = binding.tasks
        if binding.stopping is not None:
            bound["stopping"] = to_builtins(binding.stopping)
        entry["task_sets"][f"{dataset}/{task_set}"] = bound
    content = {
        "spec_version": SPEC_VERSION,
        "package_version": package_version,
        "methods": entries,
    }
    return json.dumps(content, ensure_ascii=False).encode()


def with_marks(
    table: pa.Table, methods: Mapping[str, Method], bindings: Mapping[GroupKey, Binding]
) -> pa.Table:
    """Return the table with columns in the place of metadata: `fingerprint` and `transductive`.

    Columns that are there stay.
    """
    names = [table.column(name).to_pylist() for name in ("method", "dataset", "task_set")]
    if "transductive" not in table.column_names:
        marked = {name for name, about in methods.items() if about.transductive}
        marks = pa.array([name in marked for name in names[0]], pa.bool_())
        table = table.append_column("transductive", marks)
    if "fingerprint" not in table.column_names:
        of_group = {key: binding.fingerprint for key, binding in bindings.items()}
        texts = [of_group.get(key) for key in zip(*names, strict=True)]
        table = table.append_column("fingerprint", pa.array(texts, columns.NAMES))
    return table


class _Head(Struct):
    spec_version: str = SPEC_VERSION


class _Binding(Struct):
    fingerprint: str
    tasks: Annotated[int, Meta(ge=1, lt=1 << 31)] | None = None
    stopping: Annotated[Stopping | None, Meta(description="a method and a level")] = None


class _Method(Struct):
    description: str = ""
    backbone: str = ""
    link: str = ""
    transductive: bool = False
    trained: bool | None = None
    task_sets: dict[str, _Binding] = {}


class _Metadata(Struct):
    methods: dict[str, _Method]
    package_version: str = "unknown"


def _read(raw: bytes) -> tuple[dict[str, Method], dict[GroupKey, Binding], str]:
    version, major = parsed_json(raw, _Head).spec_version, SPEC_VERSION.split(".")[0]
    if version.split(".")[0] != major:
        raise FSLBenchError(f"it follows specification {shown(version, 20)}, not {major}.x")
    content: _Metadata = parsed_json(raw, _Metadata)
    methods: dict[str, Method] = {}
    bindings: dict[GroupKey, Binding] = {}
    for name, entry in content.methods.items():
        about = asdict(entry)
        sets = about.pop("task_sets")
        methods[check_method_name(name)] = Method(name, **about)
        for key, bound in sets.items():
            dataset, slash, task_set = key.partition("/")
            if not slash:
                raise FSLBenchError(f"{shown(key)} of method {name!r} is no DATASET/TASK_SET")
            check_text(key, f"a task set of method {name!r}")
            if bound.stopping is not None:
                check_method_name(bound.stopping.versus)
            bindings[name, dataset, task_set] = Binding(**asdict(bound))
    return methods, bindings, check_text(content.package_version, "`package_version`")
