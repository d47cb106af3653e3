"""A table of a release as a data set of Hugging Face datasets, which reads the card's YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, UnknownNameError
from benchmark_spec.manifest import (
    CARD_FILE,
    Manifest,
    Table,
    config_and_split,
    named_config_and_split,
)
from benchmark_spec.protocol import TaskSetName
from fslbench_data.hub import plain, transferred

if TYPE_CHECKING:
    import datasets


def as_dataset(
    manifest: Manifest,
    where: str,
    revision: str | None,
    config: str,
    split: str,
    redraw: Callable[[Table], pa.Table],
) -> datasets.Dataset:
    """Load one split of a configuration with ``datasets.load_dataset``, and compare its digest.

    It comes from a folder (then `revision` is None), or from a repository of the Hub at a commit;
    a task set that is not stored from `redraw`, which draws and compares its table.
    Raises an UnknownNameError or a CorruptReleaseError if the release has no such split, or the
    rows are not those that were released.
    """
    splits: dict[str, dict[str, list[Table]]] = {}
    for table in manifest.tables:
        name, part = config_and_split(table)
        splits.setdefault(name, {}).setdefault(part, []).append(table)
        if table.kind == "tasks" and not table.drawn:
            name, part = named_config_and_split(table)
            splits.setdefault(name, {}).setdefault(part, []).append(table)
    release = f"release {manifest.name}@{manifest.version}"
    if config not in splits:
        raise UnknownNameError("configuration", config, splits, where=release)
    if split not in splits[config]:
        raise UnknownNameError("split", split, splits[config], where=f"{config} of {release}")

    tables, first = splits[config][split], 0
    if tables[0].drawn:
        from datasets import Dataset, NamedSplit
        from datasets.table import InMemoryTable

        return Dataset(InMemoryTable(redraw(tables[0])), split=NamedSplit(split))

    from datasets import load_dataset

    try:
        dataset = transferred(
            f"loading {config}, split {split}",
            where,
            lambda: load_dataset(where, config, split=split, revision=revision),
        )
    except ValueError as error:
        raise CorruptReleaseError(
            f"the dataset card does not say where {config}, split {split}, is",
            where=f"{where}: {plain(error)}",
            expected=f"{CARD_FILE} with the configurations of {release}",
            fix="get the release again, or read the table with Release's own methods",
        ) from None
    for table in tables:  # the reference methods' results share a split
        rows = dataset.data.table.slice(first, table.rows)
        first += table.rows
        if any(content_digest(read) == table.digest for read in _as_released(rows, table)):
            continue
        raise CorruptReleaseError(
            f"the rows of {config}, split {split}, are not those of {table.path}",
            where=where,
            expected=f"content digest {table.digest}",
            fix="load it again with download_mode='force_redownload' of datasets.load_dataset, "
            "which keeps what it read in a cache of its own",
        )
    return dataset


def _as_released(rows: pa.Table, table: Table) -> Iterator[pa.Table]:
    """Give rows as they may have been released.

    ``datasets`` widens ids of classes with names, and gives all files of a configuration the types
    and columns that the card declares: what a file lacks is null.  What was never released has
    another digest, however it is read.
    """
    optional = (*schemas.CLASSES_OPTIONAL.names, *schemas.SUBMISSION_OPTIONAL.names)
    there = [name for name in optional if name in rows.column_names]
    rows = rows.drop_columns(
        [name for name in there if rows.column(name).null_count == rows.num_rows]
    )
    if table.kind == "tasks":
        with suppress(pa.ArrowInvalid, ValueError):
            yield rows.cast(schemas.task_set(TaskSetName.parse(table.name)))
        return
    yield rows
    narrow = {"predictions", "second"} & {*rows.column_names}
    if table.kind == "results" and narrow:
        schema = rows.schema
        for name in narrow:
            place = schema.get_field_index(name)
            schema = schema.set(place, schemas.SUBMISSION_OPTIONAL.field(name))
        with suppress(pa.ArrowInvalid):
            yield rows.cast(schema)
