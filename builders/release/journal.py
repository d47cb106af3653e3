"""What of a release is already written, so that a build that was stopped can go on.

The journal lies in the release's folder until the manifest is written.  It lists the tables that
are whole, with their digests and those of what each was made of, the numbers of queries that were
chosen, and the state of the raw folders that were read.  A folder is continued by builds of the
same release, whose specification may have changed: a table is kept where what it is made of did
not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from benchmark_spec.declared import parsed_json
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import OutputError
from benchmark_spec.tables import Dataset, Table
from builders.execution.folder_lock import lock_folder, make_folder
from fslbench_data.files import clear_temporary, sha256_of, temporary_of, write_whole

JOURNAL_FILE = ".building.json"
LOCK_FILE = ".building.lock"


def digest_of(made_of: Sequence[Any]) -> str:
    """SHA-256 (hex) of what something is made of, as JSON."""
    return hashlib.sha256(json.dumps(list(made_of), sort_keys=True).encode()).hexdigest()


class _Kept(Struct):
    """What the file of a journal says."""

    build: dict[str, Any]
    raw: dict[str, str]
    datasets: list[Dataset]
    tables: list[Table]
    made_of: dict[str, str]
    chosen: dict[str, tuple[str, Any]]


class BuildJournal:
    """The journal of one build in `folder`, begun or continued.

    Parameters
    ----------
    folder
        A folder that does not exist, is empty, or holds an unfinished build of the same `build`.
    build
        What the build is of; compared as JSON.

    Attributes
    ----------
    datasets, tables
        What an earlier run has finished, by name and by path.
    made_of
        The digest of what each table was made of, by path.
    chosen
        What was chosen for task sets, by a name of its own, beside the digest of what it follows
        from.
    raw
        The state of each data set's raw folder (:func:`builders.sources.image_set.raw_state`) when
        its images were read.

    Raises
    ------
    OutputError
        If the folder holds anything else.
    """

    def __init__(self, folder: Path, build: Mapping[str, Any]) -> None:
        self._folder, self._path, self._build = folder, folder / JOURNAL_FILE, dict(build)
        self.datasets: dict[str, Dataset] = {}
        self.tables: dict[str, Table] = {}
        self.made_of: dict[str, str] = {}
        self.chosen: dict[str, tuple[str, Any]] = {}
        self.raw: dict[str, str] = {}
        make_folder(folder)
        if not self._path.exists() and any(
            path.name != LOCK_FILE and temporary_of(path.name) is None for path in folder.iterdir()
        ):
            raise OutputError(
                f"{folder} is not an empty folder",
                expected="a new or empty one, or an unfinished build of the same release: "
                "a release is never edited in place",
                fix="name another folder, or remove this one yourself",
            )
        self._lock = lock_folder(folder, LOCK_FILE, "build")
        if self._path.exists():
            self._continue()
        clear_temporary(folder, deep=True)
        self.add((), ())

    def whole(self, path: str) -> Table | None:
        """Return the entry of a table that an earlier run wrote, if its file is still the same.

        One that is drawn has none.
        """
        table = self.tables.get(path)
        file = self._folder / path
        if table is not None and table.drawn:
            return table
        if table is None or not file.is_file() or sha256_of(file) != table.sha256:
            return None
        whole = content_digest(pq.ParquetFile(file).read()) == table.digest
        return table if whole else None

    def same(self, path: str, table: pa.Table, provenance: Mapping[str, Any]) -> Table | None:
        """As :meth:`whole`, if that run wrote there what is to be written now."""
        written = self.whole(path)
        if written is None or written.provenance != json.loads(json.dumps(dict(provenance))):
            return None
        return written if written.digest == content_digest(table) else None

    def add(self, datasets: Iterable[Dataset], tables: Sequence[Table], made_of: str = "") -> None:
        """Keep what is finished by now, beside what earlier runs finished.

        `made_of` is the digest of what these tables were made of.
        """
        self.datasets |= {dataset.name: dataset for dataset in datasets}
        self.tables |= {table.path: table for table in tables}
        self.made_of |= {table.path: made_of for table in tables}
        content = {
            "build": self._build,
            "raw": self.raw,
            "datasets": [dataset.as_json() for dataset in self.datasets.values()],
            "tables": [table.as_json() for table in self.tables.values()],
            "made_of": self.made_of,
            "chosen": self.chosen,
        }
        write_whole(self._path, json.dumps(content, indent=1) + "\n")

    def remove(self) -> None:
        """End the build: the release is whole."""
        self._path.unlink(missing_ok=True)
        (self._folder / LOCK_FILE).unlink(missing_ok=True)
        self._lock.close()

    def _continue(self) -> None:
        try:
            kept = parsed_json(self._path.read_bytes(), _Kept)
        except (OSError, ValueError) as error:
            raise OutputError(
                f"the journal of the unfinished build in {self._folder} cannot be read: {error}",
                where=str(self._path),
                fix="remove the folder and build again",
            ) from None
        self.datasets = {dataset.name: dataset for dataset in kept.datasets}
        self.tables = {table.path: table for table in kept.tables}
        self.raw, self.made_of, self.chosen = kept.raw, kept.made_of, kept.chosen
        if kept.build != json.loads(json.dumps(self._build)):
            keys = sorted({*kept.build, *self._build})
            other = [key for key in keys if kept.build.get(key) != self._build.get(key)]
            raise OutputError(
                f"{self._folder} holds an unfinished build of another release: "
                f"they differ in {', '.join(other)}",
                where=str(self._path),
                expected="the same name and package version as when it was begun",
                fix="name another folder, or remove this one yourself",
            )
