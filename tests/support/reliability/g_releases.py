"""Hostile releases and files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from forged import forge, opened, parquet

from fslbench_data.release import load_release
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

TASKS = "tasks/open-5w10s7q/digits.parquet"


@attempt("A release whose manifest is a pipe that nobody writes to")
def _(world: World) -> str:
    os.mkfifo(world.folder / "release.json")
    ((kind, what),) = opened(world.folder)
    return f"`{kind}`: {what}"


@attempt("A release whose table is a link to `/dev/zero`")
def _(world: World) -> str:
    folder = world.folder / "release"
    shutil.copytree(world.embedded.files.where, folder)
    (folder / TASKS).unlink()
    (folder / TASKS).symlink_to("/dev/zero")
    ((kind, what),) = opened(folder)
    return f"`{kind}`: {what}"


@attempt("A manifest of 65 MiB")
def _(world: World) -> str:
    with (world.folder / "release.json").open("wb") as file:
        file.truncate(65 << 20)
    return str(load_release(world.folder))


@attempt("A table of classes with 4,000,000 rows in some kilobytes, all the same one")
def _(world: World) -> str:
    rows = 4_000_000
    zeros = pa.array(np.zeros(rows, np.int32))
    names = pa.DictionaryArray.from_arrays(zeros, ["a"])
    keys = ["class_id", "class_name", "n_images", "first_image_id"]
    data = parquet(pa.table([zeros, names, zeros, zeros], keys), row_group_size=rows)
    more = {"rows": rows, "n_classes": rows, "n_images": rows}
    path = "classes/cub.parquet"
    folder = forge(world.embedded, world.folder / "r", path, data, **more)
    load_release(folder).classes("cub")
    return "read"


def _tasks(world: World, name: str, values: list[object]) -> str:
    """The tasks of digits with other values of the first task in one column."""
    table = pq.read_table(Path(world.embedded.files.where) / TASKS, partitioning=None)
    index = table.schema.get_field_index(name)
    column = table.column(name).to_pylist()
    column[: len(values)] = values
    kind = table.schema.field(index).type
    kind = pa.list_(kind.value_type, kind.list_size) if pa.types.is_nested(kind) else kind
    forged = table.set_column(index, name, pa.array(column, kind))
    folder = forge(world.embedded, world.folder / "r", TASKS, parquet(forged))
    load_release(folder).task_set("digits", "open-5w10s7q")
    return "read"


@attempt("Image -1 in a query, in a release with the right digests")
def _(world: World) -> str:
    return _tasks(world, "query", [[-1] * 35])


@attempt("Tasks in another order")
def _(world: World) -> str:
    return _tasks(world, "task_id", [1, 0])


@attempt("A task without an id")
def _(world: World) -> str:
    return _tasks(world, "task_id", [None])


@attempt("Features of dimension 0")
def _(world: World) -> str:
    ids = pa.array(range(1797), pa.int32())
    table = pa.table({"image_id": ids, "feature": pa.array([[]] * 1797, pa.list_(pa.float16(), 0))})
    path = next(t.path for t in world.embedded.manifest.tables if t.kind == "features")
    data = parquet(table)
    load_release(forge(world.embedded, world.folder / "r", path, data)).features("digits", "pixels")
    return "read"
