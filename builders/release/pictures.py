"""The pictures of a release: image files as they are, or WebP thumbnails of a stated size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import pyarrow as pa

from benchmark_spec import manifest, schemas
from benchmark_spec.extras import require
from builders.sources.image_set import ImageSet, Progress, silent
from fslbench_data.pictures import opened

FILES = "files"
"""The value in a specification for image files as they are."""

PASSED_ON = ("public domain", "CC0", "CC0 1.0", "MIT", "Apache-2.0", "CC BY 4.0")
"""Licences of single images that let them be passed on in a collection, with the credit that the
images table gives.  CC BY-SA is not one: an adapted collection would have to be under it, too."""

QUALITY = 90
_SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp"}


def passed_on(licence: str) -> bool:
    """Return whether a licence is in :data:`PASSED_ON`, also as SPDX writes it: CC-BY-4.0."""
    return _plain(licence) in map(_plain, PASSED_ON)


def _plain(licence: str) -> str:
    return licence.casefold().replace("-", " ").removesuffix(" license").removesuffix(" licence")


def picture_provenance(images: ImageSet, longest: int | None) -> dict[str, Any]:
    """Return how pictures are made, and how many images have none, by licence."""
    made: dict[str, Any] = {"form": FILES}
    if longest is not None:
        version = require("PIL", "builders").__version__
        made = {"form": "WebP", "longest": longest, "quality": QUALITY, "pillow": version}
    withheld = Counter(licence for licence in _licences(images) if not passed_on(licence))
    return {**made, "without": dict(sorted(withheld.items()))}


def picture_tables(
    images: ImageSet, longest: int | None = None, progress: Progress = silent
) -> Iterator[pa.Table]:
    """Yield the shards of a data set's pictures: :data:`benchmark_spec.schemas.PICTURES`.

    `longest` is the longest side of thumbnails; images whose licence forbids it have no bytes.
    """
    number, licences = len(images.images), _licences(images)
    labels = images.images.column("class_id").to_pylist()
    for first in range(0, number, manifest.SHARD_PICTURES):
        ids = range(first, min(first + manifest.SHARD_PICTURES, number))
        rows = []
        for image_id in ids:
            if image_id % 256 == 0:
                progress(f"{images.name}: {image_id:,} of {number:,} pictures")
            allowed = passed_on(licences[image_id])
            rows.append(_row(images, image_id, longest) if allowed else None)
        yield pa.table(
            {
                "image_id": pa.array(ids, pa.int32()),
                "image": pa.array(rows, schemas.PICTURE),
                "label": pa.array([labels[i] for i in ids], pa.int64()),
            }
        )


def _licences(images: ImageSet) -> list[str]:
    """Return the licence of each image: its own, or else that of the data set."""
    return [own or images.about.licence for own in images.images.column("licence").to_pylist()]


def _row(images: ImageSet, image_id: int, longest: int | None) -> Mapping[str, Any]:
    """Return an image's bytes, and a file name that tells only its id and format."""
    if longest is None and (data := images.encoded(image_id)) is not None:
        with opened(data, f"{images.name}: image {image_id}") as file:
            suffix = _SUFFIXES.get(file.format, "")
        return {"bytes": data, "path": f"{image_id:08d}{suffix}"}
    picture = images.open(image_id)
    stream = BytesIO()
    if longest is None:
        picture.save(stream, format="PNG")
        return {"bytes": stream.getvalue(), "path": f"{image_id:08d}.png"}
    picture.thumbnail((longest, longest), require("PIL.Image", "builders").Resampling.LANCZOS)
    picture.save(stream, format="WEBP", quality=QUALITY, method=4)
    return {"bytes": stream.getvalue(), "path": f"{image_id:08d}.webp"}
