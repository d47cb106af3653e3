"""Find or write the picture file of every image of a data set."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.errors import OutputError, SourceError, UnknownNameError, listing
from benchmark_spec.manifest import Table
from fslbench_data.files import is_kept, is_own_folder, scratch_folder
from fslbench_data.release.release import Release
from fslbench_data.release.tables import damaged, read_groups

_MAGIC = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"), (b"GIF8", ".gif"))


def stored_pictures(release: Release, dataset: str) -> list[Path]:
    """Return the file of every image of a data set: path i is of image id i.

    All files are written once, or none, into ``fslbench/pictures`` below the assets folder of the
    Hub's cache, in a folder named after their tables, which can be removed at any time.  Raises an
    UnknownNameError if the release holds no pictures of the data set; a SourceError if an image's
    licence does not allow one; a CorruptReleaseError if the tables are not what the manifest
    promises; an OutputError if nothing can be written.
    """
    from huggingface_hub import constants

    tables = _tables(release, dataset)
    digests = json.dumps([table.sha256 for table in tables])
    folder = Path(constants.HF_ASSETS_CACHE) / "fslbench" / "pictures"
    folder /= hashlib.sha256(digests.encode()).hexdigest()
    if not is_own_folder(folder):
        _write(_pictures(release, tables), folder)
    paths = sorted(path for path in folder.iterdir() if is_kept(path))
    if len(paths) != sum(table.rows for table in tables):
        raise OutputError(
            f"{folder} does not hold every picture any more",
            fix="remove it: the pictures are then written again",
        )
    return paths


def some_pictures(
    release: Release, dataset: str, image_ids: Collection[int]
) -> Iterator[tuple[int, bytes]]:
    """Yield the files of some images of a data set as (image id, content), in the order of ids.

    Images whose licence does not allow it are left out.  Only tables with the given images are read
    and, from the Hub, fetched; nothing is written.  Raises the errors of :func:`stored_pictures`
    about tables.
    """
    for image_id, data, _ in _rows(release, _tables(release, dataset), image_ids):
        if data and image_id in image_ids:
            yield image_id, data


def _tables(release: Release, dataset: str) -> list[Table]:
    """Return the tables of a data set's pictures; raise an UnknownNameError if there are none."""
    datasets = release.datasets_with("pictures")
    if dataset not in datasets:
        raise UnknownNameError(
            "pictures",
            dataset,
            datasets,
            where=f"release {release}",
            fix="give the images as files: --images DIR, in Python images=FOLDER",
        )
    return [t for t in release.manifest.tables if (t.kind, t.dataset) == ("pictures", dataset)]


def _write(pictures: Iterable[bytes], folder: Path) -> None:
    """Write all pictures into a scratch folder, and rename it when it is complete."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder("pictures", folder.parent) as scratch:
            complete = scratch / "pictures"
            complete.mkdir()
            for image_id, data in enumerate(pictures):
                suffix = next((end for magic, end in _MAGIC if data.startswith(magic)), "")
                (complete / f"{image_id:08d}{suffix}").write_bytes(data)
            if not folder.is_dir() or folder.is_symlink():
                folder.unlink(missing_ok=True)
            complete.rename(folder)
    except OSError as error:
        if is_own_folder(folder):  # another process was faster
            return
        raise OutputError(
            f"pictures cannot be written into {folder.parent}: {error.strerror}",
            fix="let HF_HOME name a folder with room, or give the pictures as files: --images DIR",
        ) from None


def _pictures(release: Release, tables: Sequence[Table]) -> Iterator[bytes]:
    """Yield the bytes of each picture, in the order of image ids."""
    for image_id, data, path in _rows(release, tables):
        if not data:
            dataset = tables[0].dataset
            raise SourceError(
                f"the release has no picture of image {image_id} of {dataset}: its licence does "
                "not let it be passed on",
                where=str(path),
                fix=f"give all pictures as files: fslbench-build source {dataset} RAW "
                "--pictures DIR, then --images DIR",
            )
        yield data


def _rows(
    release: Release, tables: Sequence[Table], wanted: Collection[int] | None = None
) -> Iterator[tuple[int, bytes | None, Path]]:
    """Yield the image id, content and file of every picture of the tables with `wanted` images.

    Other tables are neither read nor fetched; None wants all.
    """
    end = 0
    for table in tables:
        first, end = end, end + table.rows
        if wanted is not None and not any(first <= image_id < end for image_id in wanted):
            continue
        path = release.files.path(table)
        for group in read_groups(path, table, _check_pictures)[1]:
            ids = group.column("image_id").to_pylist()
            if ids != list(range(first, first + len(ids))):
                what = f"has not image {first} where it should be"
                expected = f"{table.rows} pictures, in the order of image ids"
                raise damaged(path, table, what, expected)
            for image_id, image in zip(ids, group.column("image"), strict=True):
                yield image_id, image["bytes"].as_py() if image.is_valid else None, path
            first += len(ids)


def _check_pictures(table: pa.Table) -> pa.Table:
    return schemas.check(table, schemas.PICTURES, "pictures")


MARK = "pictures.json"
"""The file that identifies the images of the pictures; folders made by hand may lack it."""

_PART = re.compile(r"#(xywh=\d+,\d+,\d+,\d+|\d+)$")
"""The end of a path that names a part of a file."""


def picture_name(image_id: int) -> str:
    """Return the name of an image's file, such as 00000017.png."""
    return f"{image_id:08d}.png"


def mark_of(images: pa.Table) -> str:
    """Return the :data:`MARK` of an images table: its length, and a digest of paths and files."""
    columns = (images.column(name).to_pylist() for name in ("path", "sha256"))
    digest = hashlib.sha256(json.dumps(list(zip(*columns, strict=True))).encode("utf-8"))
    return json.dumps({"images": len(images), "sha256": digest.hexdigest()}) + "\n"


def is_numbered(folder: Path) -> bool:
    """Return whether a folder holds numbered pictures, possibly not all."""
    return (folder / MARK).is_file() or (folder / picture_name(0)).is_file()


def has_other_mark(folder: Path, images: pa.Table) -> bool:
    """Return whether the mark of a folder is of other images."""
    mark = folder / MARK
    return mark.is_file() and mark.read_bytes() != mark_of(images).encode("utf-8")


def picture_paths(release: Release, dataset: str, folder: Path | Literal[True]) -> list[Path]:
    """Find the picture of every image of a data set: path i is of image id i.

    `folder` holds numbered pictures, or files in the source's own layout; True takes those that the
    release holds.  Raises a SourceError if an image has no picture file of its own, a file is
    missing, or the numbered pictures are of other images; an UnknownNameError if the release holds
    none.
    """
    if folder is True:
        return stored_pictures(release, dataset)
    if not folder.is_dir():
        raise SourceError(
            f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}",
            expected=f"a folder with the images of {dataset}, for --images",
            fix="name the folder that they lie in",
        )
    images = release.images(dataset)
    export = f"write its pictures: fslbench-build source {dataset} RAW --pictures DIR"
    if is_numbered(folder):
        if has_other_mark(folder, images):
            raise SourceError(
                f"the pictures are not those of {dataset} in release {release}",
                where=str(folder / MARK),
                fix=f"{export}; a folder holds those of one data set (--dataset)",
            )
        names = [picture_name(i) for i in range(len(images))]
        expected = f"{names[0]} to {names[-1]}"
        export = f"go on with them: fslbench-build source {dataset} RAW --pictures {folder}"
    else:
        names = images.column("path").to_pylist()
        without = [
            image_id
            for image_id, name in enumerate(names)
            if name is None or _PART.search(name) or name.endswith(".svg")
        ]
        if without:
            raise SourceError(
                f"{len(without)} images of {dataset} are not files of pictures: image_id "
                f"{listing(without)}",
                expected="images that are whole files, or a folder of numbered pictures",
                fix=f"{export}; or run the method on features",
            )
        expected = "the source's own layout in the folder given as --images, or numbered pictures"
    paths = [folder / name for name in names]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise SourceError(
            f"{len(missing)} of {len(paths)} images of {dataset} are missing",
            where=listing(missing, 3),
            expected=expected,
            fix=export,
        )
    return paths
