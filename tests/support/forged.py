"""Releases whose tables are forged, with manifests that agree, and a process to open them."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace
from processes import python

from benchmark_spec.digest import content_digest, fingerprint
from benchmark_spec.manifest import MANIFEST_FILE, Manifest, Table
from fslbench_data.files import sha256_of
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import Release

_OPEN = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import load_release

def read_all(release):
    for table in release.manifest.tables:
        if table.kind in ("classes", "images"):
            getattr(release, table.kind)(table.dataset)
        elif table.kind in ("attributes", "features"):
            getattr(release, table.kind)(table.dataset, table.name)
        elif table.kind == "tasks":
            release.class_ids(release.task_set(table.dataset, table.name).info)
        else:
            release.references()

end = ["opened", ""]
try:
    read_all(load_release(sys.argv[2]))
except FSLBenchError as error:
    end = [type(error).__name__, error.what]
print(json.dumps(end))
"""


def holding(name: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    """Return what puts these values, of the type of a column, in the place of its own."""

    def edit(table: pa.Table) -> pa.Table:
        field = table.schema.field(name)
        return table.set_column(table.column_names.index(name), field, pa.array(values, field.type))

    return edit


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def forge(release: Release, folder: Path, path: str, data: bytes, **other: Any) -> Path:
    """Copy a release and put other bytes in the place of a table, as its author would.

    One that is not listed is added as results; `other` are fields of the table or of its data set
    in the manifest, such as `rows` and `n_images`.
    """
    shutil.copytree(release.files.where, folder)
    about = {key: other.pop(key) for key in ("n_classes", "n_images") if key in other}
    tables = {table.path: table for table in release.manifest.tables}
    entry = tables.get(path) or Table(path, "results", "", Path(path).stem, 0, 0, "", "", "", {})
    sha256 = hashlib.sha256(data).hexdigest()
    tables[path] = replace(entry, bytes=len(data), sha256=sha256, **other)
    old = release.manifest
    datasets = tuple(replace(d, **about) if d.name == entry.dataset else d for d in old.datasets)
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_bytes(data)
    manifest: Manifest = replace(old, datasets=datasets, tables=tuple(tables.values()))
    (folder / MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
    return folder


def change_entry(folder: Path, path: str, **changes: Any) -> None:
    """Change what the manifest of a release says of a table, and its own digest with it."""
    _, manifest = read_manifest(folder)
    tables = tuple(replace(t, **changes) if t.path == path else t for t in manifest.tables)
    (folder / MANIFEST_FILE).write_text(replace(manifest, tables=tables).to_json())


def rewrite(folder: Path, path: str, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table, and make the manifest agree with it, as a clumsy maintainer would."""
    file = folder / path
    pq.write_table(edit(pq.read_table(file)), file)
    table = pq.read_table(file)
    (entry,) = (t for t in read_manifest(folder)[1].tables if t.path == path)
    digest = content_digest(table)
    of_tasks = entry.fingerprint and fingerprint(entry.dataset, entry.name, digest)
    about = {"rows": table.num_rows, "bytes": file.stat().st_size, "sha256": sha256_of(file)}
    change_entry(folder, path, digest=digest, fingerprint=of_tasks, **about)


def opened(folder: Path) -> tuple[str, str]:
    """Open a release in a process of 3 GiB; its error's class and words, if there is one."""
    done = python(_OPEN, 3 << 30, folder, timeout=200)
    assert not done.returncode, f"{folder} ended the process: {done.stderr[-2000:]}"
    kind, what = json.loads(done.stdout)
    return kind, what
