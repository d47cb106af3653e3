"""A table of a release as a data set of Hugging Face datasets, as the card's YAML declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.errors import UnknownNameError
from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import MAX_QUERIES, TaskSetName

if TYPE_CHECKING:
    from datasets import Dataset

    from fslbench_data.release.release import Release


def declared_columns(manifest: Manifest) -> dict[str, pa.Schema]:
    """Return the columns of configurations with files that differ in them.

    ``datasets`` wants one list of features for all files, and takes what a file lacks for null.
    """
    columns: dict[str, pa.Schema] = {}
    if any(dataset.n_superclasses for dataset in manifest.datasets):
        columns["classes"] = pa.schema([*schemas.CLASSES, *schemas.CLASSES_OPTIONAL])
    if any(table.kind == "results" for table in manifest.tables):
        wide = dict.fromkeys(("predictions", "second"), schemas.WIDE_PREDICTIONS)
        task_sets = {table.name for table in manifest.tables if table.kind == "tasks"}
        if any(TaskSetName.parse(name).protocol.n_query > MAX_QUERIES for name in task_sets):
            wide |= {"n_correct": schemas.WIDE_COUNTS, "n_query": schemas.WIDE_COUNTS}
        fields = (*schemas.SUBMISSION, *schemas.SUBMISSION_OPTIONAL)
        columns["results"] = pa.schema(f.with_type(wide.get(f.name, f.type)) for f in fields)
    return columns


def as_dataset(release: Release, config: str, split: str) -> Dataset:
    """Load one split of a configuration, from files that are those of the manifest.

    Raises an UnknownNameError or a CorruptReleaseError if the release has no such split, or a file
    is not the one that was released.
    """
    from datasets import Dataset, Features, NamedSplit, load_dataset
    from datasets.table import InMemoryTable

    configs = release.manifest.configs(drawn=True)
    if config not in configs:
        raise UnknownNameError("configuration", config, configs, where=f"release {release}")
    if split not in configs[config]:
        where = f"{config} of release {release}"
        raise UnknownNameError("split", split, configs[config], where=where)
    paths = configs[config][split]
    tables = [table for table in release.manifest.tables if table.path in paths]
    if tables[0].drawn:
        rows = release.task_table(release.task_set_info(tables[0].dataset, tables[0].name))
        return Dataset(InMemoryTable(rows), split=NamedSplit(split))
    columns = declared_columns(release.manifest).get(config)
    features = None if columns is None else Features.from_arrow_schema(columns)
    files = {split: [str(release.files.path(table)) for table in tables]}
    return load_dataset("parquet", data_files=files, split=split, features=features)
