"""Find the test classes of the catalogue's data sets in the raw layout of their authors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import SourceError, listing
from benchmark_spec.extras import require
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress, images_table, sha256_of_bytes
from builders.sources.raw_files import (
    folders,
    image_files,
    items_in,
    read_json,
    read_lines,
    read_table,
    reading_entries,
    require_entries,
    sha256_of_files,
)
from builders.sources.source import Source
from fslbench_data.pictures import Picture

SEED = 22
"""Meta-Dataset draws its splits with ``RandomState(22)``; numpy has frozen its stream."""


def find(source: Source, folder: Path, progress: Progress) -> Found:
    """Find the images of the test classes."""
    lists = [place for place in source.check_entries(folder) if (folder / place).is_file()]
    for name in lists:
        progress(f"{source.name}: reading {name}")
    classes = dict(zip(("train", "valid", "test"), source.split, strict=True))
    drawn_with = f"numpy.random.RandomState({SEED})"
    split = {"drawn_with": drawn_with, "seed": SEED, "classes": classes}
    provenance = {"lists": sha256_of_files(folder, *lists)} if lists else {}
    return replace(
        FINDERS[source.name](source, folder),
        expected=source.expected,
        provenance={**provenance, "split": source.tested or split, **source.record},
        superclass_of=source.dataset.superclass_of,
    )


def drawn_positions(train: int, valid: int, test: int) -> list[int]:
    """Return positions of the test classes in the data set's list of classes, ascending.

    Training and validation classes are drawn together; the others are test classes.
    """
    classes = train + valid + test
    drawn = np.random.RandomState(SEED).choice(classes, train + valid, replace=False)
    test_positions: list[int] = np.setdiff1d(np.arange(classes), drawn).tolist()
    return test_positions


def held_out(source: Source, labels: Sequence[str], where: Path) -> list[str]:
    """Return the test classes of a data set; `where` is the list that names all classes."""
    if len(labels) != sum(source.split):
        raise SourceError(
            f"{len(labels)} classes are listed, so that the split cannot be drawn",
            where=str(where),
            expected=f"{sum(source.split)} classes",
            fix="check that the file is whole and of the right version",
        )
    return [labels[position] for position in drawn_positions(*source.split)]


def _held_out_or_known(source: Source, labels: Sequence[str], where: Path) -> list[str]:
    """Return the test classes among all classes, or of a folder that has no others."""
    if len(labels) == sum(source.split):
        return held_out(source, labels, where)
    return [label for label in labels if label in source.expected]


VARIANTS, BOXES = "data/variants.txt", "data/images_box.txt"
VARIANT_LISTS = ("data/images_variant_trainval.txt", "data/images_variant_test.txt")


def _find_aircraft(source: Source, folder: Path) -> Found:
    """Find the test variants in the training and test images, cropped to their boxes.

    The authors count pixels from 1, so that a tight box would begin a pixel earlier.
    """
    variants = sorted(line.strip() for line in read_lines(folder / VARIANTS))
    boxes = read_table(folder / BOXES, 5, _aircraft_box)
    images_of: dict[str, list[str]] = {name: [] for name in variants}
    for list_name in VARIANT_LISTS:
        for image, variant in read_table(folder / list_name, 2).items():
            if variant not in images_of:
                raise SourceError(
                    f"{list_name}: image {image} is of {variant!r}, which {VARIANTS} does not name",
                    where=str(folder / list_name),
                )
            images_of[variant].append(image)
    tested = {
        name: sorted(images_of[name]) for name in held_out(source, variants, folder / VARIANTS)
    }
    boxless = [image for images in tested.values() for image in images if image not in boxes]
    if boxless:
        raise SourceError(
            f"{BOXES} has no box of {listing(boxless)}",
            where=str(folder / BOXES),
            fix="get the file again from the data set's authors",
        )
    classes = {
        name: [Item(f"data/images/{image}.jpg#xywh={boxes[image]}") for image in images]
        for name, images in tested.items()
    }
    return Found(classes, folder)


def _aircraft_box(fields: list[str]) -> str:
    """Turn the line ``image xmin ymin xmax ymax`` into ``x,y,w,h``."""
    left, top, right, bottom = (int(field) for field in fields[1:])
    if not (0 <= left < right and 0 <= top < bottom):
        raise ValueError(f"has no box: {' '.join(fields[1:])}")
    return f"{left},{top},{right - left},{bottom - top}"


def _find_cub(source: Source, folder: Path) -> Found:
    species = list(read_table(folder / "classes.txt", 2).values())
    tested = held_out(source, species, folder / "classes.txt")
    return Found({name: items_in(folder, f"images/{name}") for name in tested}, folder)


def _find_dtd(source: Source, folder: Path) -> Found:
    """Find the test textures; the folder may have only these."""
    place = folder / "images"
    tested = _held_out_or_known(source, folders(place), place)
    return Found({name: items_in(folder, f"images/{name}") for name in tested}, folder)


FUNGI = ("train.json", "val.json")


def _find_fungi(source: Source, folder: Path) -> Found:
    """Find the test species; the competition's test images have no public labels.

    A class is called ``NNNN.name`` after its category, since two categories may share a name.
    """
    contents = [read_json(folder / name, "images", "annotations", "categories") for name in FUNGI]
    with reading_entries(folder / FUNGI[0]):
        labels, val_labels = (
            {c["id"]: f"{c['id']:04d}.{c['name']}" for c in content["categories"]}
            for content in contents
        )
        if labels != val_labels:
            differing = sorted(labels.items() ^ val_labels.items())
            raise SourceError(
                "fungi: train.json and val.json name other categories: "
                f"{listing([label for _, label in differing])}",
                where=str(folder),
                fix="take both files from the same competition",
            )
        names = [labels[category] for category in sorted(labels)]
        classes: dict[str, list[Item]] = {
            name: [] for name in held_out(source, names, folder / FUNGI[0])
        }
        category_of: dict[Any, int] = {}
        for content in contents:
            for annotation in content["annotations"]:
                image = annotation["image_id"]
                if image in category_of:
                    raise SourceError(
                        f"fungi: image {image} has two annotations", where=str(folder)
                    )
                category_of[image] = annotation["category_id"]
        for content in contents:
            for image in content["images"]:
                if image["id"] not in category_of:
                    raise SourceError(
                        f"fungi: image {image['file_name']} has no annotation", where=str(folder)
                    )
                label = labels[category_of[image["id"]]]
                if label in classes:
                    item = Item(image["file_name"], creator=image.get("rights_holder"))
                    classes[label].append(item)
    return Found(classes, folder)


ALPHABETS = "images_evaluation"


def _find_omniglot(_: Source, folder: Path) -> Found:
    """Find the drawings of each ``alphabet-character``."""
    classes = {
        f"{alphabet}-{character}": items_in(folder, f"{ALPHABETS}/{alphabet}/{character}")
        for alphabet in folders(folder / ALPHABETS)
        for character in folders(folder / ALPHABETS / alphabet)
    }
    return Found(classes, folder, finish=lambda picture: require("PIL.ImageOps").invert(picture))


SIGNS = "Final_Training/Images"


def _find_traffic_signs(source: Source, folder: Path) -> Found:
    """Find the images of each sign; a group is a track, 30 frames filmed from a passing car."""
    classes = {
        name: [
            Item(path, group=(class_id, Path(path).name.partition("_")[0]))
            for path in image_files(folder, f"{SIGNS}/{class_id:05d}")
        ]
        for class_id, name in enumerate(source.expected)
    }
    return Found(classes, folder)


FLOWER_LABELS = "imagelabels.mat"


def _find_vgg_flower(source: Source, folder: Path) -> Found:
    """Find the test flowers: the n-th label is the category of the file with number n."""
    name_of = {int(name[:3]): name for name in source.expected}  # such as 005.english marigold
    classes: dict[str, list[Item]] = {
        name_of[position + 1]: [] for position in drawn_positions(*source.split)
    }
    labels = _flower_labels(folder / FLOWER_LABELS, sum(source.split))
    for number, category in enumerate(labels, start=1):
        if category in name_of:
            classes[name_of[category]].append(Item(f"jpg/image_{number:05d}.jpg"))
    return Found(classes, folder)


def _flower_labels(path: Path, most: int) -> list[int]:
    """Read the category of each image, from 1 to `most`."""
    try:
        content = require("scipy.io").loadmat(path)
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise SourceError(
            f"{path.name} cannot be read: {error}", where=str(path), fix="get the file again"
        ) from None
    if "labels" not in content:
        raise SourceError(
            f"{path.name} has no variable 'labels'",
            where=str(path),
            expected="one category, from 1, of each image",
        )
    labels: list[int] = content["labels"].ravel().tolist()
    if not all(1 <= label <= most for label in labels):
        raise SourceError(
            f"{path.name} has categories {min(labels)} to {max(labels)}",
            where=str(path),
            expected=f"categories from 1 to {most}",
        )
    return labels


COCO_IMAGES = "train2017"
SCALE = 1.2


class _Box(NamedTuple):
    """A box of COCO in a photograph; `rank` is whether it is a single object, and its area."""

    file: str
    rank: tuple[bool, float]
    item: Item


def _find_coco(source: Source, folder: Path, *, every_box: bool = False) -> Found:
    """Find the boxes of the test categories, by photograph, with crops of at least one pixel.

    These are all boxes (`every_box`), as in Meta-Dataset; or one for each photograph and category,
    as Lafargue et al. (TMLR 2024) counted: single objects before crowds, then the largest, then the
    first.  Which crop the released runs took is not known.  Categories are in the order of COCO's
    list.
    """
    path = folder / source.check_entries(folder)[1]
    content = read_json(path, "images", "annotations", "categories")
    with reading_entries(path):
        categories = {category["id"]: category["name"] for category in content["categories"]}
        licences = {entry["id"]: entry["name"] for entry in content.get("licenses", ())}
        images = {image["id"]: image for image in content["images"]}
        boxes: dict[str, list[_Box]] = {
            label: [] for label in held_out(source, list(categories.values()), path)
        }
        for annotation in content["annotations"]:
            label = categories.get(annotation["category_id"])
            image = images.get(annotation["image_id"])
            if image is None or label is None:
                raise SourceError(
                    f"{path.name}: annotation {annotation.get('id')} is of image "
                    f"{annotation['image_id']} and category {annotation['category_id']}, "
                    f"which are not both listed",
                    where=str(path),
                    fix="get the annotations again",
                )
            if label not in boxes:
                continue
            x, y, width, height = annotation["bbox"]
            if xywh := crop((x, y, width, height), image["width"], image["height"]):
                file, licence = image["file_name"], licences.get(image.get("license"))
                item = Item(f"{COCO_IMAGES}/{file}#xywh={xywh}", group=file, licence=licence)
                rank = not annotation.get("iscrowd"), width * height
                boxes[label].append(_Box(file, rank, item))
    classes = {}
    for label, class_boxes in boxes.items():
        class_boxes.sort(key=attrgetter("file"))
        if not every_box:  # max takes the first of equal ones
            by_photo = groupby(class_boxes, key=attrgetter("file"))
            class_boxes = [max(photo, key=attrgetter("rank")) for _, photo in by_photo]
        classes[label] = [box.item for box in class_boxes]
    return Found(classes, folder)


def crop(box: tuple[float, float, float, float], width: int, height: int) -> str:
    """Crop a box (x, y, w, h) of a picture as Meta-Dataset does: ``x,y,w,h``, or '' if it is empty.

    COCO puts the centre of the first pixel at (0.5, 0.5).
    """
    x, y, w, h = box
    left, top = x - w * (SCALE - 1) / 2, y - h * (SCALE - 1) / 2
    first_column, first_row = max(round(left - 0.5), 0), max(round(top - 0.5), 0)
    end_column = min(round(left + w * SCALE - 0.5) + 1, width)
    end_row = min(round(top + h * SCALE - 0.5) + 1, height)
    if end_column <= first_column or end_row <= first_row:
        return ""
    return f"{first_column},{first_row},{end_column - first_column},{end_row - first_row}"


Bitmaps = NDArray[np.uint8]
"""Drawings (n, 784), mapped from a file."""

SIDE = 28


def _find_quickdraw(source: Source, folder: Path) -> Found:
    """Find Quick, Draw!'s 7.7 million drawings of the test classes, which stay in their files.

    Image k of a class is row k - 1 of its file, in the order of the texts of k; its `sha256` is
    that of its 784 bytes.  The folder may have only the files of these classes.  The table is made
    column by column, a class at a time.
    """
    names = sorted(path.stem for path in folder.glob("*.npy"))
    if not names:
        require_entries(source.name, folder, "<class>.npy")
    classes, damaged = dict[str, range](), dict[str, str]()
    for label in _held_out_or_known(source, names, folder):
        try:
            classes[label] = range(len(_open_bitmaps(folder / f"{label}.npy")))
        except (OSError, EOFError, ValueError) as error:
            damaged[f"{label}.npy"] = f"is damaged: {error}"

    def table(sizes: Mapping[str, int], progress: Progress) -> pa.Table:
        parts, first = [], 0
        for class_id, (label, size) in enumerate(sizes.items()):
            progress(f"{source.name}: {label}, {class_id + 1} of {len(sizes)} classes")
            bitmaps = _open_bitmaps(folder / f"{label}.npy")
            parts.append(_drawings_table(bitmaps, label, class_id, first))
            first += size
        return pa.concat_tables(parts)

    return Found(
        {label: rows for label, rows in classes.items() if rows},
        folder,
        unusable=damaged,
        table=table,
        picture=lambda path: _drawing(folder, path),
    )


def text_order(rows: int) -> pa.Array:
    """Order rows 0..n-1 by the texts of their numbers 1..n."""
    return pc.sort_indices(pa.array(range(1, rows + 1)).cast(pa.string()))


def _open_bitmaps(path: Path) -> Bitmaps:
    """Map the bitmaps of a file into memory."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype != np.uint8 or array.shape[1:] not in ((SIDE * SIDE,), (SIDE, SIDE)):
        raise ValueError(
            f"{array.dtype} of shape {array.shape}, not bytes (n, {SIDE * SIDE}) or "
            f"(n, {SIDE}, {SIDE})"
        )
    bitmaps: Bitmaps = array.reshape(len(array), SIDE * SIDE)
    return bitmaps


def _drawings_table(bitmaps: Bitmaps, label: str, class_id: int, first: int) -> pa.Table:
    """Make the table of one class; its ids begin with `first`."""
    rows = len(bitmaps)
    digests = [sha256_of_bytes(drawing.tobytes()) for drawing in np.array(bitmaps)]
    order = text_order(rows)
    name_type = schemas.IMAGES.field("class_name").type
    return images_table(
        {
            "image_id": np.arange(first, first + rows, dtype=np.int32),
            "class_id": np.full(rows, class_id, np.int32),
            "class_name": pa.repeat(pa.scalar(label, name_type), rows),
            "path": pc.binary_join_element_wise(f"{label}.npy", order.cast(pa.string()), "#"),
            "sha256": pa.array(digests, pa.string()).take(order),
        }
    )


def _drawing(folder: Path, path: str) -> Picture:
    """Return the drawing at a path ``<class>.npy#<row>``, white on black, RGB."""
    file, _, row = path.rpartition("#")
    bitmap = np.array(_open_bitmaps(folder / file)[int(row)]).reshape(SIDE, SIDE)
    return require("PIL.Image").fromarray(bitmap).convert("RGB")


FINDERS: Mapping[str, Callable[[Source, Path], Found]] = {
    "aircraft": _find_aircraft,
    "cub": _find_cub,
    "dtd": _find_dtd,
    "fungi": _find_fungi,
    "mscoco": _find_coco,
    "mscoco_boxes": partial(_find_coco, every_box=True),
    "omniglot": _find_omniglot,
    "quickdraw": _find_quickdraw,
    "traffic_signs": _find_traffic_signs,
    "vgg_flower": _find_vgg_flower,
}
"""The functions that find the images of the test classes in a raw folder, by source."""
