"""Quick, Draw!: the 52 of its 345 classes that Meta-Dataset tests on, 7.7 million drawings.

Image k of a class (from 1) is row k - 1 of its file, and stands where ``file_<k>.png`` stands
among the class's file names sorted as text: 1, 10, 100, ..., 2, 20, ...  The tables are made
column by column, a class at a time, in about half a minute; the drawings stay in their files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import SourceError, listing
from benchmark_spec.extras import require
from builders.sources.counts import check_counts, counts_of_catalogue
from builders.sources.image_set import About, ImageSet, Progress, images_table, silent
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import require_entries
from fslbench_data.files.pictures import Picture

NAME = "quickdraw"
ABOUT = About.of_catalogue(NAME)
LAYOUT = "<class>.npy, the bitmaps of quickdraw_dataset/full/numpy_bitmap"
SPLIT = Split(241, 52, 52)
COUNTS = counts_of_catalogue(NAME)
SIDE = 28

Bitmaps = NDArray[np.uint8]
"""Shape (n, 784), in a file."""


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the test classes; a folder with the files of these classes alone will do.

    The `sha256` of an image is that of its 784 bytes.

    Parameters and errors are those of
    :meth:`builders.sources.catalogued_source.CataloguedSource.read`.
    """
    if not any(folder.glob("*.npy")):
        require_entries(NAME, folder, "<class>.npy")
    names = sorted(path.stem for path in folder.glob("*.npy"))
    chosen = SPLIT.held_out_or_known(names, expected, folder)
    left_out: dict[str, Any] = {}
    bitmaps = _open_all(folder, chosen, left_out if allow_missing else None)
    sizes = {label: len(of_class) for label, of_class in bitmaps.items()}
    check_counts(NAME, sizes, expected, folder, left_out if allow_missing else None)
    if not sizes:
        raise SourceError(f"{NAME}: no images are left", where=str(folder))
    parts, first = [], 0
    for class_id, label in enumerate(sizes):
        progress(f"{NAME}: {label}, {class_id + 1} of {len(sizes)} classes")
        of_class = bitmaps.pop(label)  # so that its memory is given back
        parts.append(_table(of_class, label, class_id, first))
        first += len(of_class)
    return ImageSet(
        name=NAME,
        about=ABOUT,
        class_names=tuple(sizes),
        class_sizes=tuple(sizes.values()),
        images=pa.concat_tables(parts),
        provenance={
            "split": SPLIT.provenance(),
            "order": "classes sorted by name, image k (row k - 1) as file_<k>.png sorted as text",
            "sha256": "of an image's 784 bytes",
            **({"left_out": left_out} if left_out else {}),
        },
        picture=lambda path: _picture(folder, path),
    )


def text_order(n: int) -> NDArray[np.int64]:
    """Order rows 0..n-1 in the order of the texts of their numbers 1..n."""
    numbers = np.arange(1, n + 1)
    digits = np.char.str_len(numbers.astype(str))
    padded = numbers * 10 ** (digits.max(initial=1) - digits)
    return np.lexsort((digits, padded))


def _open_all(
    folder: Path, labels: list[str], left_out: dict[str, Any] | None
) -> dict[str, Bitmaps]:
    """Open each class that has any bitmaps; damaged files are refused, or go to `left_out`."""
    bitmaps, damaged = {}, {}
    for label in labels:
        try:
            bitmaps[label] = _open(folder / f"{label}.npy")
        except (OSError, EOFError, ValueError) as error:
            damaged[f"{label}.npy"] = str(error)
    if damaged and left_out is None:
        path, problem = next(iter(damaged.items()))
        raise SourceError(
            f"{NAME}: {path} is damaged: {problem}",
            where=listing([str(folder / path) for path in damaged]),
            expected=f"bytes of shape (n, {SIDE * SIDE}) or (n, {SIDE}, {SIDE})",
            fix="get the file again, or leave it out with --allow-missing, which records it",
        )
    if damaged and left_out is not None:
        left_out["images"] = sorted(damaged)
    return {label: of_class for label, of_class in bitmaps.items() if len(of_class)}


def _open(path: Path) -> Bitmaps:
    """Open the bitmaps of a file, left on the disk."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype != np.uint8 or array.shape[1:] not in ((SIDE * SIDE,), (SIDE, SIDE)):
        raise ValueError(f"{array.dtype} of shape {array.shape}")
    bitmaps: Bitmaps = array.reshape(len(array), SIDE * SIDE)
    return bitmaps


def _table(bitmaps: Bitmaps, label: str, class_id: int, first: int) -> pa.Table:
    """Make the table of one class, whose ids begin with `first`."""
    n, size = len(bitmaps), SIDE * SIDE
    data = memoryview(bitmaps.tobytes())
    digests = pa.array(
        [hashlib.sha256(data[at : at + size]).hexdigest() for at in range(0, n * size, size)],
        pa.string(),
    )
    order = text_order(n)
    of_table = schemas.IMAGES.field
    rows = pa.array(order).cast(pa.string())
    return images_table(
        {
            "image_id": np.arange(first, first + n, dtype=np.int32),
            "class_id": np.full(n, class_id, np.int32),
            "class_name": pa.repeat(pa.scalar(label, of_table("class_name").type), n),
            "path": pc.binary_join_element_wise(f"{label}.npy", rows, "#"),
            "sha256": digests.take(pa.array(order)),
        }
    )


def _picture(folder: Path, path: str) -> Picture:
    """Return the drawing at a path ``<class>.npy#<row>``, white on black, RGB."""
    file, _, row = path.rpartition("#")
    bitmap = np.array(_open(folder / file)[int(row)]).reshape(SIDE, SIDE)
    return require("PIL.Image").fromarray(bitmap).convert("RGB")
