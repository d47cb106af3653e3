"""What the dataset card says of columns, where ``datasets`` cannot read it from the files.

A configuration of ``datasets`` has one list of features for all its splits.  So names of classes
stand in configurations of one data set each, and a column that only some tables of classes have
is declared for all.  The Parquet files could not say the names: ids are int32 there, and
``datasets`` takes a ClassLabel of the schema's metadata for int64 alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import Table, named_config_and_split
from builders.release.card_text import yaml_scalar

ClassNames = Mapping[str, Sequence[str]]
"""Of data sets, the names of their classes in the order of ids."""


def configurations(manifest: Manifest, names: ClassNames) -> Iterator[str]:
    """Yield the lines of YAML that say which files the splits of each configuration are.

    Of data sets without `names` the configurations with names of classes are left out.
    """
    nameless = {config for config, table in _named(manifest).items() if table.dataset not in names}
    configs = {config: s for config, s in manifest.configs().items() if config not in nameless}
    yield "configs:" if configs else "configs: []"
    for config, splits in configs.items():
        yield f"- config_name: {yaml_scalar(config)}"
        yield "  data_files:"
        for split, paths in splits.items():
            yield f"  - split: {yaml_scalar(split)}"
            yield "    path:"
            yield from (f"    - {yaml_scalar(path)}" for path in paths)


def columns(manifest: Manifest, names: ClassNames) -> Iterator[str]:
    """Yield the lines of YAML that declare columns: of all classes, and of tasks with names.

    Classes without superclasses are read with nulls, where others have them.
    """
    declared: list[tuple[str, list[pa.Field], list[str]]] = []
    if any(dataset.n_superclasses for dataset in manifest.datasets):
        declared.append(("classes", [*schemas.CLASSES, *schemas.CLASSES_OPTIONAL], []))
    for config, table in _named(manifest).items():
        if table.dataset in names:
            schema = schemas.task_set(TaskSetName.parse(table.name))
            declared.append((config, list(schema), list(names[table.dataset])))
    if declared:
        yield "dataset_info:"
    for config, fields, labels in declared:
        yield f"- config_name: {yaml_scalar(config)}"
        yield "  features:"
        for field in fields:
            yield from _feature(field, labels)


def _named(manifest: Manifest) -> dict[str, Table]:
    """Map configurations with names of classes to one of their tables."""
    tables = (table for table in manifest.tables if table.kind == "tasks" and not table.drawn)
    return {named_config_and_split(table)[0]: table for table in tables}


def _feature(field: pa.Field, labels: Sequence[str]) -> Iterator[str]:
    """Yield a column's lines, in the form in which ``datasets`` writes them."""
    yield f"  - name: {field.name}"
    if not pa.types.is_fixed_size_list(field.type):
        yield f"    dtype: {field.type}"
        return
    if field.name == "class_ids":
        yield from ("    list:", "      class_label:", "        names:")
        yield from (f"          '{i}': {yaml_scalar(label)}" for i, label in enumerate(labels))
    else:
        yield f"    list: {field.type.value_type}"
    yield f"    length: {field.type.list_size}"
