"""The pictures that a release holds, as files that a method can be given.

They are written once, into ``fslbench/pictures`` below the assets folder of the Hub's cache
(HF_HOME/assets), in a folder named after the tables that they come from, and can be removed at any
time.  It appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.errors import (
    CorruptReleaseError,
    OutputError,
    SourceError,
    UnknownNameError,
)
from benchmark_spec.tables import Table
from fslbench_data.files.kept import is_kept, is_own_folder
from fslbench_data.files.scratch import scratch_folder
from fslbench_data.release.release import Release
from fslbench_data.release.tables import open_table, readable

AT_ONCE = 64
"""Pictures that are held in memory."""

_MAGIC = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"), (b"GIF8", ".gif"))


def stored_pictures(release: Release, dataset: str) -> list[Path]:
    """Return the file of every image of a data set: path i is of image id i.

    Raises
    ------
    UnknownNameError
        If the release holds no pictures of the data set.
    SourceError
        If an image has none, since its licence does not allow it.
    CorruptReleaseError
        If the tables are not what the manifest promises.
    OutputError
        If the files cannot be written.
    """
    tables = _tables(release, dataset)
    entries = [(table, release.files.path(table)) for table in tables]
    digests = json.dumps([table.sha256 for table, _ in entries])
    folder = _pictures_folder() / hashlib.sha256(digests.encode()).hexdigest()
    if not is_own_folder(folder):
        _write(entries, folder)
    paths = sorted(path for path in folder.iterdir() if is_kept(path))
    if len(paths) != sum(table.rows for table, _ in entries):
        raise OutputError(
            f"{folder} does not hold every picture any more",
            fix="remove it: the pictures are then written again",
        )
    return paths


def some_pictures(
    release: Release, dataset: str, image_ids: Collection[int]
) -> Iterator[tuple[int, bytes]]:
    """Yield the files of some images of a data set as (image id, content), in the order of ids.

    An image whose licence does not allow it has none.  Only tables with such images are read, and
    of a release on the Hub fetched; nothing is written.  Raises what :func:`stored_pictures` does
    of tables.
    """
    first = 0
    for table in _tables(release, dataset):
        ids = range(first, first + table.rows)
        if any(image_id in ids for image_id in image_ids):
            path = release.files.path(table)
            for image_id, image in _rows(table, path, first):
                if image_id in image_ids and image.is_valid and image["bytes"].as_py():
                    yield image_id, image["bytes"].as_py()
        first += table.rows


def _tables(release: Release, dataset: str) -> list[Table]:
    """The tables of a data set's pictures; an UnknownNameError if there are none."""
    held = release.datasets_with("pictures")
    if dataset not in held:
        raise UnknownNameError(
            "pictures",
            dataset,
            held,
            where=f"release {release}",
            fix="give the images as files: --images DIR, in Python images=FOLDER",
        )
    return [t for t in release.manifest.tables if (t.kind, t.dataset) == ("pictures", dataset)]


def _pictures_folder() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_ASSETS_CACHE) / "fslbench" / "pictures"


def _write(entries: Sequence[tuple[Table, Path]], folder: Path) -> None:
    """Write all pictures into a folder beside, and give it its name when they are there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder("pictures", folder.parent) as beside:
            whole = beside / "pictures"
            whole.mkdir()
            for image_id, data in enumerate(_pictures(entries)):
                (whole / f"{image_id:08d}{_suffix(data)}").write_bytes(data)
            if not folder.is_dir() or folder.is_symlink():
                folder.unlink(missing_ok=True)
            whole.rename(folder)
    except OSError as error:
        if is_own_folder(folder):  # another process was faster
            return
        raise OutputError(
            f"pictures cannot be written into {folder.parent}: {error.strerror}",
            fix="let HF_HOME name a folder with room, or give the pictures as files: --images DIR",
        ) from None


def _pictures(entries: Sequence[tuple[Table, Path]]) -> Iterator[bytes]:
    """Yield the bytes of each picture, in the order of image ids."""
    first = 0
    for entry, path in entries:
        for image_id, image in _rows(entry, path, first):
            data = image["bytes"].as_py() if image.is_valid else None
            if not data:
                raise SourceError(
                    f"the release has no picture of image {image_id} of {entry.dataset}: its "
                    "licence does not let it be passed on",
                    where=str(path),
                    fix=f"give all pictures as files: fslbench-build source {entry.dataset} RAW "
                    "--pictures DIR, then --images DIR",
                )
            yield data
        first += entry.rows


def _rows(entry: Table, path: Path, first: int) -> Iterator[tuple[int, pa.StructScalar]]:
    """Yield the rows of a table as (image id, image), whose first has the id `first`."""
    file, shared = open_table(path, entry, _check)
    if shared:
        raise _corrupt(entry, path, "holds pictures that share their bytes")
    with readable(path, entry):
        for batch in file.iter_batches(AT_ONCE, columns=["image_id", "image"]):
            ids = batch.column("image_id")
            if ids.to_pylist() != list(range(first, first + len(ids))):
                raise _corrupt(entry, path, f"has not image {first} where it should be")
            yield from zip(range(first, first + len(ids)), batch.column("image"), strict=True)
            first += len(ids)


def _check(table: pa.Table) -> None:
    schemas.check(table, schemas.PICTURES, "pictures")


def _suffix(data: bytes) -> str:
    """Return what the name of such an image file ends with; nothing for one of no known kind."""
    return next((suffix for magic, suffix in _MAGIC if data.startswith(magic)), "")


def _corrupt(entry: Table, path: Path, what: str) -> CorruptReleaseError:
    return CorruptReleaseError(
        f"{entry.path} {what}",
        where=str(path),
        expected=f"{entry.rows} pictures, in the order of image ids",
        fix="get the release again; if it stays so, tell its maintainers",
    )
