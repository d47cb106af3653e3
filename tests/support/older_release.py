"""A release as it was written before rounded features were written as what they stand for."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.manifest import MANIFEST_FILE, Table
from builders.execution.parquet import written
from fslbench_data.files.parquet import write_table
from fslbench_data.release.release import Release, load_release


def with_steps(release: Release, folder: Path) -> Release:
    """Copy a release to a new folder, with rounded features as int8 that ask for their scale."""
    shutil.copytree(release.files.where, folder)
    tables = [
        _of_steps(folder, table) if "scale" in table.provenance else table
        for table in release.manifest.tables
    ]
    manifest = replace(release.manifest, tables=tuple(tables))
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return load_release(folder)


def _of_steps(folder: Path, entry: Table) -> Table:
    table = pq.ParquetFile(folder / entry.path).read()
    lists = table.column("feature").combine_chunks()
    steps = np.rint(lists.flatten().to_numpy() / entry.provenance["scale"]).astype(np.int8)
    column = pa.FixedSizeListArray.from_arrays(pa.array(steps), lists.type.list_size)
    older = pa.table({"image_id": table.column("image_id"), "feature": column})
    write = partial(write_table, older)
    return written(
        folder, entry.path, entry.kind, entry.dataset, entry.name, older, entry.provenance, write
    )
