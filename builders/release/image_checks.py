"""The images of a release: their table, and their raw folders read again and hashed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import FSLBenchError, SourceError, listing
from benchmark_spec.feature_sets import SHARD_PICTURES, number_of_picture_shards
from benchmark_spec.tables import Table, shard_of
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.sources import GENERAL, SOURCES
from builders.sources.image_set import differing_images
from builders.sources.pictures import check_bytes, file_of
from builders.sources.read import read_source
from fslbench_data.files import sha256_of
from fslbench_data.release.release import Release
from fslbench_data.release.values import OUT_OF_THE_FOLDER


def image_problems(images: pa.Table) -> Iterator[str]:
    """Say what cannot be right in the paths, digests and groups of an images table."""
    paths = images.column("path").drop_null()
    if len(pc.unique(paths)) != len(paths):
        yield "two images have the same path"
    if pc.any(pc.match_substring_regex(paths, OUT_OF_THE_FOLDER)).as_py():
        yield "a path leads out of the raw folder"
    digests = images.column("sha256").drop_null()
    if not pc.all(pc.match_substring_regex(digests, "^[0-9a-f]{64}$")).as_py() and len(digests):
        yield "a sha256 is not 64 hexadecimal digits"
    groups = images.column("group").drop_null().to_numpy()
    _, first = np.unique(groups, return_index=True)
    if not np.array_equal(groups[np.sort(first)], np.arange(first.size)):
        yield "groups are not numbered from 0 in the order of their first image"


def picture_problems(entry: Table, table: pa.Table, sizes: NDArray[np.int64]) -> Iterator[str]:
    """Say what is wrong with one shard of a data set's pictures.

    Parameters
    ----------
    sizes : int (C,)
        Images of each class.
    """
    schemas.check(table, schemas.PICTURES, entry.path)
    shard, shards = shard_of(entry.path)
    first = shard * SHARD_PICTURES
    last = min(first + SHARD_PICTURES, int(sizes.sum()))
    if not np.array_equal(table.column("image_id").to_numpy(), np.arange(first, last)):
        yield f"has not one row for each image from {first} to {last - 1}, in order"
        return
    labels = np.searchsorted(sizes.cumsum(), np.arange(first, last), "right")
    if not np.array_equal(table.column("label").to_numpy(), labels):
        yield "has labels that are not the class ids"
    if shards != number_of_picture_shards(int(sizes.sum())):
        yield f"is one of {shards} shards"
    without = table.column("image").null_count
    stated = sum(entry.provenance.get("without", {}).values())
    if without > stated:
        yield f"lacks {without} pictures; its provenance says {stated} in all"
    broken = [i for i, row in _encoded(table) if not _is_picture(row)]
    if broken:
        yield f"holds no pictures of images {listing(broken)}"


def _encoded(table: pa.Table) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of each picture that is there, by image id."""
    for batch in table.to_batches(max_chunksize=64):
        for image_id, image in zip(*(c.to_pylist() for c in batch.columns[:2]), strict=True):
            if image is not None:
                yield image_id, image["bytes"] or b""


def _is_picture(data: bytes) -> bool:
    return not check_bytes(data)[1]


def raw_problems(
    release: Release,
    entry: Table,
    raw: Path,
    spec: ReleaseSpec | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """Say what in the raw folders is not the image that an images table lists, nor its superclass.

    Images are read as the data set's source reads them, which also knows what their hashes are of.
    Of a data set that is no source they are files below a folder of its name.

    Parameters
    ----------
    raw
        Holds the raw folder of each data set.
    spec
        The specification of the release, for data sets whose source takes options.
    """
    recorded = release.images(entry.dataset)
    try:
        known = release.superclasses(entry.dataset)
        images, superclasses = _images_now(entry, recorded, known, raw, spec, progress)
    except FSLBenchError as error:
        yield f"cannot be compared with {raw}: {error}"
        return
    paths = differing_images(recorded, images)
    if paths:
        count = f"{len(paths)} image{'s' if len(paths) != 1 else ''}"
        yield f"{count} in {raw} not the released one{'s' if len(paths) != 1 else ''}: " + listing(
            paths
        )
    elif superclasses != known:
        yield f"the superclasses of the classes in {raw} are not the released ones"


def _images_now(
    entry: Table,
    recorded: pa.Table,
    known: tuple[str, ...] | None,
    raw: Path,
    spec: ReleaseSpec | None,
    progress: Callable[[str], None],
) -> tuple[pa.Table, tuple[str, ...] | None]:
    """Read the path and SHA-256 of the images as they are now, and the superclasses of classes.

    Those that are `known` are returned for a folder that is no source and says nothing of them.
    """
    name = entry.dataset
    listed = {dataset.name: dataset for dataset in spec.datasets} if spec else {}
    if name in listed or (name in SOURCES and name not in GENERAL):
        dataset = listed.get(name) or DatasetSpec(name, source=name, folder=name)
        images = read_source(
            dataset.source,
            raw / dataset.folder,
            name=name,
            options=dataset.options,
            allow_missing="left_out" in entry.provenance,
            progress=progress,
        )
        return images.images, images.superclasses
    if not (raw / name).is_dir():
        raise SourceError(
            f"there is no folder {name}, and no source of that name",
            where=str(raw),
            fix="name the specification that the release was made from with --spec",
        )
    paths = recorded.column("path").to_pylist()
    digests: dict[str, str | None] = {}
    for number, file in enumerate(map(file_of, paths)):
        if number % 100 == 0:
            progress(f"{name}: {number} of {len(paths)} files read")
        if file not in digests:
            path = raw / name / file
            digests[file] = sha256_of(path) if path.is_file() else None
    table = pa.table({"path": paths, "sha256": [digests[file_of(path)] for path in paths]})
    return table, known
