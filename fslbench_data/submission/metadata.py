"""What a Parquet submission says of itself: the JSON under the key ``fslbench``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from benchmark_spec.declared import Expected, Wrong, field_of, is_table, is_text, is_whole
from benchmark_spec.errors import FSLBenchError, SchemaError, shown
from benchmark_spec.naming import check_method_name, check_text
from benchmark_spec.version import SPEC_VERSION
from fslbench_data.submission import columns
from fslbench_data.submission.bindings import Binding, GroupKey, Method, Stopping

_MOST_TASKS = 1 << 31


def read_metadata(raw: bytes, where: str) -> tuple[dict[str, Method], dict[GroupKey, Binding], str]:
    """Methods, bindings and package version from a file's metadata.

    Raises a SchemaError if it is not what :meth:`Submission.write` leaves; whatever else it is.
    """
    try:
        return _read(raw)
    except FSLBenchError as error:
        raise SchemaError(
            f"the file's fslbench metadata is wrong: {error.what}",
            where=where,
            expected='JSON {"methods": {NAME: {"task_sets": {"DATASET/TASK_SET": '
            '{"fingerprint": HEX}}}}}',
            fix="write the file with Submission.write, or use a `fingerprint` column instead",
        ) from None


def written_metadata(
    methods: Mapping[str, Method], bindings: Mapping[GroupKey, Binding], package_version: str
) -> bytes:
    """Write what :func:`read_metadata` reads."""
    entries: dict[str, dict[str, Any]] = {}
    for name, method in methods.items():
        about = asdict(method)
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
            bound["stopping"] = asdict(binding.stopping)
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


def _read(raw: bytes) -> tuple[dict[str, Method], dict[GroupKey, Binding], str]:
    try:
        content = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise FSLBenchError("it is not JSON") from None
    content = content if isinstance(content, dict) else {"spec_version": ""}
    version = content.get("spec_version", SPEC_VERSION)
    major = SPEC_VERSION.split(".")[0]
    if not is_text(version) or version.split(".")[0] != major:
        raise FSLBenchError(f"it follows specification {shown(version, 20)}, not {major}.x")
    entries = content.get("methods")
    if not is_table(entries):
        raise FSLBenchError("it has no object `methods`")
    methods: dict[str, Method] = {}
    bindings: dict[GroupKey, Binding] = {}
    for name, entry in entries.items():
        check_method_name(name)
        methods[name], sets = _method(name, entry)
        for key, bound in sets.items():
            dataset, slash, task_set = key.partition("/")
            if not slash:
                raise FSLBenchError(f"{shown(key)} of method {name!r} is no DATASET/TASK_SET")
            check_text(key, f"a task set of method {name!r}")
            bindings[name, dataset, task_set] = _binding(key, name, bound)
    package_version = content.get("package_version", "unknown")
    if not is_text(package_version):
        raise FSLBenchError("`package_version` is not a text")
    return methods, bindings, check_text(package_version, "`package_version`")


def _method(name: str, entry: Any) -> tuple[Method, Mapping[str, Any]]:
    sets = entry.get("task_sets", {}) if is_table(entry) else None
    if not is_table(sets):
        raise FSLBenchError(f"method {name!r} has no object `task_sets`")
    about = {key: entry.get(key, "") for key in ("description", "backbone", "link")}
    if not all(map(is_text, about.values())):
        raise FSLBenchError(f"method {name!r}: description, backbone and link are texts")
    transductive = field_of(entry, "transductive", _YES_NO, _wrong(f"method {name!r}"), False)
    trained = field_of(entry, "trained", _YES_NO_OR_NOT, _wrong(f"method {name!r}"))
    return Method(name, **about, transductive=transductive, trained=trained), sets


def _binding(key: str, method: str, bound: Any) -> Binding:
    fingerprint = bound.get("fingerprint") if is_table(bound) else None
    if not is_text(fingerprint):
        raise FSLBenchError(f"{shown(key)} of method {method!r} has no `fingerprint`")
    tasks = field_of(bound, "tasks", _TASKS, _wrong(shown(key)))
    stopping = field_of(bound, "stopping", _STOPPING, _wrong(shown(key)))
    if stopping is None:
        return Binding(fingerprint, tasks)
    check_method_name(stopping["versus"])
    return Binding(fingerprint, tasks, Stopping(**stopping))


def _wrong(whose: str) -> Wrong:
    return lambda name, value, expected: FSLBenchError(
        f"`{name}` of {whose} is {shown(value, 60)}, not {expected.words}"
    )


def _no_number(text: str) -> None:
    raise ValueError(text)


def _is_stopping(value: Any) -> bool:
    return (
        is_table(value)
        and set(value) == {"versus", "level"}
        and is_text(value["versus"])
        and isinstance(value["level"], float)
        and 0.01 <= value["level"] <= 0.999999
    )


_YES_NO = Expected("true or false", lambda value: isinstance(value, bool))
_YES_NO_OR_NOT = Expected("true or false", lambda value: value in (True, False, None))
_TASKS = Expected(
    "a positive number", lambda value: value is None or is_whole(value, 1, _MOST_TASKS - 1)
)
_STOPPING = Expected("a method and a level", lambda value: value is None or _is_stopping(value))
