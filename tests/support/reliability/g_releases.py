"""Hostile releases and files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from forged import forge, opened, parquet

from benchmark_spec.errors import FSLBenchError, UnreadableError
from benchmark_spec.manifest import Manifest
from fslbench_data.evaluation.journal import Journal
from fslbench_data.release.release import load_release
from fslbench_data.render.console import page
from fslbench_data.submission.accuracies import read_accuracies
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


@attempt("Ctrl-C while `fslbench score` imports numpy")
def _(world: World) -> str:
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv[0] = 'fslbench'\n"
        "from fslbench_data.entry import fslbench; fslbench()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "score", "examples/my_results.parquet"],
        cwd=world.root,
        capture_output=True,
        text=True,
    )
    return f"exit code {done.returncode}: {done.stderr.strip()}"


@attempt("Accuracies in a .npy file whose header declares 2^40 numbers")
def _(world: World) -> str:
    path = world.folder / "x.npy"
    np.save(path, np.zeros(10))
    path.write_bytes(path.read_bytes().replace(b"(10,), }" + b" " * 15, b"(1099511627776,), }    "))
    try:
        read_accuracies(path)
    except UnreadableError as error:
        return f"`UnreadableError`: {error.what.partition(':')[0]}"
    return "read"


@attempt("A journal of an evaluation with `[[], {}, 1.5]` among its lines")
def _(world: World) -> str:
    path = world.folder / "journal"
    path.write_text('{"run": 1}\n["digits/open-5w10s7q", 0, [0]]\n[[], {}, 1.5]\n')
    with closing(Journal(path, {"run": 1}, {})) as journal:
        return f"{len(journal.answers)} answer is kept, the rest is answered again"


@attempt("`COLUMNS=1000000000 fslbench info`")
def _(world: World) -> str:
    with patch.dict(os.environ, {"COLUMNS": "1000000000"}), page() as (console, _):
        return f"laid out {console.width} characters wide"


@attempt("A manifest whose version has 20,000 characters")
def _(world: World) -> str:
    raw = json.loads(world.embedded.manifest.to_json())
    raw["version"] = "1." * 10_000
    try:
        Manifest.from_json(json.dumps(raw), "release.json")
    except FSLBenchError as error:
        return f"`{type(error).__name__}` in {len(str(error)) // 100} hundred characters"
    return "read"
