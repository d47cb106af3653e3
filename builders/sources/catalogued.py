"""Data sets of the catalogue, a row each, read from the raw layout of their authors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import CatalogueError, SourceError, listing
from benchmark_spec.extras import require
from builders.sources.catalogued_source import CataloguedSource, Classes, Find, Split
from builders.sources.checking import check_counts
from builders.sources.image_set import ImageSet, Item, Progress, images_table, silent
from builders.sources.raw_files import (
    folders,
    image_files,
    items_in,
    read_json,
    read_lines,
    read_table,
    reading_entries,
    require_entries,
)
from fslbench_data.files.pictures import Picture

VARIANTS, BOXES = "data/variants.txt", "data/images_box.txt"
OF_VARIANTS = ("data/images_variant_trainval.txt", "data/images_variant_test.txt")


def _find_aircraft(source: CataloguedSource, folder: Path) -> Classes:
    """Find the test variants, training and test images alike, cropped to their boxes.

    The authors count pixels from 1, so that a tight box would begin a pixel earlier.
    """
    variants = sorted(line.strip() for line in read_lines(folder / VARIANTS))
    boxes = read_table(folder / BOXES, 5, _aircraft_box)
    of_variant: dict[str, list[str]] = {name: [] for name in variants}
    for list_name in OF_VARIANTS:
        for image, variant in read_table(folder / list_name, 2).items():
            if variant not in of_variant:
                raise SourceError(
                    f"{list_name}: image {image} is of {variant!r}, which {VARIANTS} does not name",
                    where=str(folder / list_name),
                )
            of_variant[variant].append(image)
    tested = {
        name: sorted(of_variant[name])
        for name in source.drawn.held_out(variants, folder / VARIANTS)
    }
    boxless = [image for images in tested.values() for image in images if image not in boxes]
    if boxless:
        raise SourceError(
            f"{BOXES} has no box of {listing(boxless)}",
            where=str(folder / BOXES),
            fix="get the file again from the data set's authors",
        )
    return {
        name: [Item(f"data/images/{image}.jpg#xywh={boxes[image]}") for image in images]
        for name, images in tested.items()
    }


def _aircraft_box(fields: list[str]) -> str:
    """Turn the line ``image xmin ymin xmax ymax`` into ``x,y,w,h``."""
    left, top, right, bottom = (int(field) for field in fields[1:])
    if not (0 <= left < right and 0 <= top < bottom):
        raise ValueError(f"has no box: {' '.join(fields[1:])}")
    return f"{left},{top},{right - left},{bottom - top}"


def _find_cub(source: CataloguedSource, folder: Path) -> Classes:
    species = list(read_table(folder / "classes.txt", 2).values())
    tested = source.drawn.held_out(species, folder / "classes.txt")
    return {name: items_in(folder, f"images/{name}") for name in tested}


def _find_dtd(source: CataloguedSource, folder: Path) -> Classes:
    """Find the test textures; a folder with these alone will do."""
    place = folder / "images"
    tested = source.held_out_or_known(folders(place), place)
    return {name: items_in(folder, f"images/{name}") for name in tested}


FUNGI = ("train.json", "val.json")


def _find_fungi(source: CataloguedSource, folder: Path) -> Classes:
    """Find the test species; the competition's test images have no public labels.

    A class is called ``NNNN.name`` after its category, since two categories may share a name.
    """
    contents = [read_json(folder / name, "images", "annotations", "categories") for name in FUNGI]
    with reading_entries(folder / FUNGI[0]):
        labels, val = (
            {c["id"]: f"{c['id']:04d}.{c['name']}" for c in content["categories"]}
            for content in contents
        )
        if labels != val:
            other = sorted(set(labels.items()) ^ set(val.items()))
            raise SourceError(
                "fungi: train.json and val.json name other categories: "
                f"{listing([label for _, label in other])}",
                where=str(folder),
                fix="take both files from the same competition",
            )
        names = [labels[category] for category in sorted(labels)]
        classes: dict[str, list[Item]] = {
            name: [] for name in source.drawn.held_out(names, folder / FUNGI[0])
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
    return classes


ALPHABETS = "images_evaluation"


def _find_omniglot(_: CataloguedSource, folder: Path) -> Classes:
    """Find the drawings of each ``alphabet-character``."""
    return {
        f"{alphabet}-{character}": items_in(folder, f"{ALPHABETS}/{alphabet}/{character}")
        for alphabet in folders(folder / ALPHABETS)
        for character in folders(folder / ALPHABETS / alphabet)
    }


SIGNS = "Final_Training/Images"


def _find_traffic_signs(source: CataloguedSource, folder: Path) -> Classes:
    """Find the images of each sign, which come in tracks: 30 frames, filmed as a car drives by."""
    return {
        name: [
            Item(path, group=(class_id, Path(path).name.partition("_")[0]))
            for path in image_files(folder, f"{SIGNS}/{class_id:05d}")
        ]
        for class_id, name in enumerate(source.counts)
    }


FLOWER_LABELS = "imagelabels.mat"


def _find_vgg_flower(source: CataloguedSource, folder: Path) -> Classes:
    """Find the test flowers: a file's number is its place in the labels' list of categories."""
    named = {int(name[:3]): name for name in source.counts}  # such as 005.english marigold
    classes: dict[str, list[Item]] = {
        named[position + 1]: [] for position in source.drawn.test_positions()
    }
    labels = _flower_labels(folder / FLOWER_LABELS, source.drawn.total)
    for number, category in enumerate(labels, start=1):
        if category in named:
            classes[named[category]].append(Item(f"jpg/image_{number:05d}.jpg"))
    return classes


def _flower_labels(path: Path, most: int) -> list[int]:
    """Read the category of each image, from 1."""
    try:
        content = require("scipy.io").loadmat(path)
    except Exception as error:  # scipy raises many kinds on a damaged file
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
        raise CatalogueError(
            f"{path.name} has categories {min(labels)} to {max(labels)}",
            where=str(path),
            expected=f"categories from 1 to {most}",
        )
    return labels


COCO_IMAGES, COCO_BOXES = "train2017", "annotations/instances_train2017.json"
SCALE = 1.2


def _find_coco(source: CataloguedSource, folder: Path, *, every: bool = False) -> Classes:
    """Find boxes of the test categories, by photograph, with crops of at least one pixel.

    That is `every` box, or one of each photograph and category: single objects before crowds, the
    largest, the first.
    """
    path = folder / source.place_of(folder, COCO_BOXES)
    content = read_json(path, "images", "annotations", "categories")
    with reading_entries(path):
        categories = {category["id"]: category["name"] for category in content["categories"]}
        licences = {entry["id"]: entry["name"] for entry in content.get("licenses", ())}
        images = {image["id"]: image for image in content["images"]}
        boxes: dict[str, list[tuple[str, tuple[bool, float], Item]]] = {
            label: [] for label in source.drawn.held_out(list(categories.values()), path)
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
                boxes[label].append((file, rank, item))
    classes = {}
    for label, of_class in boxes.items():
        of_class.sort(key=lambda box: box[0])
        best: dict[str, tuple[tuple[bool, float], Item]] = {}
        for file, rank, item in of_class:
            if file not in best or rank > best[file][0]:
                best[file] = rank, item
        classes[label] = [item for *_, item in (of_class if every else best.values())]
    return classes


def crop(box: tuple[float, float, float, float], width: int, height: int) -> str:
    """Crop a box (x, y, w, h) in a picture: ``x,y,w,h``, or '' if nothing is left of it.

    As Meta-Dataset does.  COCO puts the centre of the first pixel at (0.5, 0.5).
    """
    x, y, w, h = box
    left, top = x - w * (SCALE - 1) / 2, y - h * (SCALE - 1) / 2
    first_column, first_row = max(round(left - 0.5), 0), max(round(top - 0.5), 0)
    end_column = min(round(left + w * SCALE - 0.5) + 1, width)
    end_row = min(round(top + h * SCALE - 0.5) + 1, height)
    if end_column <= first_column or end_row <= first_row:
        return ""
    return f"{first_column},{first_row},{end_column - first_column},{end_row - first_row}"


def _coco(
    name: str, record: Mapping[str, str], find: Find = _find_coco, **more: Any
) -> CataloguedSource:
    """Make a source of crops of MS COCO 2017's training images; those of a photograph are a group.

    Its test classes are 40 of the 80 categories, in the order of the annotation file.
    """
    return CataloguedSource(
        name,
        "train2017/*.jpg, and instances_train2017.json there or in annotations/, as "
        "train2017.zip and annotations_trainval2017.zip unpack",
        (COCO_IMAGES, COCO_BOXES),
        find,
        {
            "crops": f"boxes scaled by {SCALE} about their centre, cut at the picture's edges",
            **record,
            "groups": "photographs",
        },
        Split(0, 40, 40),
        lists=(COCO_BOXES,),
        elsewhere={COCO_BOXES: "instances_train2017.json"},
        **more,
    )


Bitmaps = NDArray[np.uint8]
"""Shape (n, 784), in a file."""

SIDE = 28


class _QuickDraw(CataloguedSource):
    """Quick, Draw!: 7.7 million drawings, which stay in their files.

    Image k of a class is row k - 1 of its file, in the order of the texts of k.  Tables are made
    column by column, a class at a time.
    """

    def read(
        self,
        folder: Path,
        *,
        allow_missing: bool = False,
        progress: Progress = silent,
        expected: Mapping[str, int] | None = None,
    ) -> ImageSet:
        """Read the test classes; a folder with the files of these classes alone will do.

        The `sha256` of an image is that of its 784 bytes.
        """
        expected = self.counts if expected is None else expected
        if not any(folder.glob("*.npy")):
            require_entries(self.name, folder, "<class>.npy")
        names = sorted(path.stem for path in folder.glob("*.npy"))
        chosen = self.held_out_or_known(names, folder)
        left_out: dict[str, Any] = {}
        bitmaps, damaged = {}, {}
        for label in chosen:
            try:
                bitmaps[label] = _open_bitmaps(folder / f"{label}.npy")
            except (OSError, EOFError, ValueError) as error:
                damaged[f"{label}.npy"] = str(error)
        if damaged and not allow_missing:
            path, problem = next(iter(damaged.items()))
            raise SourceError(
                f"{self.name}: {path} is damaged: {problem}",
                where=listing([str(folder / path) for path in damaged]),
                expected=f"bytes of shape (n, {SIDE * SIDE}) or (n, {SIDE}, {SIDE})",
                fix="get the file again, or leave it out with --allow-missing, which records it",
            )
        if damaged:
            left_out["images"] = sorted(damaged)
        bitmaps = {label: of_class for label, of_class in bitmaps.items() if len(of_class)}
        sizes = {label: len(of_class) for label, of_class in bitmaps.items()}
        check_counts(self.name, sizes, expected, folder, left_out if allow_missing else None)
        if not sizes:
            raise SourceError(f"{self.name}: no images are left", where=str(folder))
        parts, first = [], 0
        for class_id, label in enumerate(sizes):
            progress(f"{self.name}: {label}, {class_id + 1} of {len(sizes)} classes")
            of_class = bitmaps.pop(label)  # so that its memory is given back
            parts.append(_drawings_table(of_class, label, class_id, first))
            first += len(of_class)
        return ImageSet(
            name=self.name,
            about=self.ABOUT,
            class_names=tuple(sizes),
            class_sizes=tuple(sizes.values()),
            images=pa.concat_tables(parts),
            provenance={
                "split": self.drawn.provenance(),
                **self.record,
                **({"left_out": left_out} if left_out else {}),
            },
            picture=lambda path: _drawing(folder, path),
        )


def text_order(n: int) -> pa.Array:
    """Order rows 0..n-1 in the order of the texts of their numbers 1..n."""
    return pc.sort_indices(pa.array(range(1, n + 1)).cast(pa.string()))


def _open_bitmaps(path: Path) -> Bitmaps:
    """Open the bitmaps of a file, left on the disk."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype != np.uint8 or array.shape[1:] not in ((SIDE * SIDE,), (SIDE, SIDE)):
        raise ValueError(f"{array.dtype} of shape {array.shape}")
    bitmaps: Bitmaps = array.reshape(len(array), SIDE * SIDE)
    return bitmaps


def _drawings_table(bitmaps: Bitmaps, label: str, class_id: int, first: int) -> pa.Table:
    """Make the table of one class; its ids begin with `first`."""
    n, size = len(bitmaps), SIDE * SIDE
    data = memoryview(bitmaps.tobytes())
    digests = [hashlib.sha256(data[at : at + size]).hexdigest() for at in range(0, n * size, size)]
    order = text_order(n)
    name_type = schemas.IMAGES.field("class_name").type
    return images_table(
        {
            "image_id": np.arange(first, first + n, dtype=np.int32),
            "class_id": np.full(n, class_id, np.int32),
            "class_name": pa.repeat(pa.scalar(label, name_type), n),
            "path": pc.binary_join_element_wise(f"{label}.npy", order.cast(pa.string()), "#"),
            "sha256": pa.array(digests, pa.string()).take(order),
        }
    )


def _drawing(folder: Path, path: str) -> Picture:
    """Return the drawing at a path ``<class>.npy#<row>``, white on black, RGB."""
    file, _, row = path.rpartition("#")
    bitmap = np.array(_open_bitmaps(folder / file)[int(row)]).reshape(SIDE, SIDE)
    return require("PIL.Image").fromarray(bitmap).convert("RGB")


aircraft = CataloguedSource(
    "aircraft",
    "data/ with images/*.jpg, variants.txt, images_box.txt, images_variant_trainval.txt and "
    "images_variant_test.txt, as fgvc-aircraft-2013b.tar.gz unpacks",
    ("data/images", VARIANTS, BOXES, *OF_VARIANTS),
    _find_aircraft,
    {"order": "variants sorted by name, images by path"},
    Split(70, 15, 15),
    lists=(VARIANTS, BOXES, *OF_VARIANTS),
)
cub = CataloguedSource(
    "cub",
    "classes.txt, images/NNN.Name/*.jpg, as CUB_200_2011.tgz unpacks into CUB_200_2011/",
    ("classes.txt", "images"),
    _find_cub,
    {"order": "classes as in classes.txt, images by path"},
    Split(140, 30, 30),
    lists=("classes.txt",),
)
dtd = CataloguedSource(
    "dtd",
    "images/<texture>/*.jpg, as dtd-r1.0.1.tar.gz unpacks into dtd/",
    ("images",),
    _find_dtd,
    {"order": "classes sorted by name, images by path"},
    Split(33, 7, 7),
)
fungi = CataloguedSource(
    "fungi",
    "train.json, val.json and the images where these name them (images/...), as "
    "fungi_train_val.tgz and train_val_annotations.tgz unpack",
    FUNGI,
    _find_fungi,
    {"order": "categories by id, images as in train.json, then as in val.json"},
    Split(994, 200, 200),
    lists=FUNGI,
)
# one crop of each photograph and category, as Lafargue et al. (TMLR 2024) counted; of the pair its
# largest annotation, of equal ones the first, a crowd only where there is no single object.  Which
# crop the released runs took is not known
mscoco = _coco(
    "mscoco",
    {
        "order": "categories as in the annotation file, crops by photograph",
        "pairs": "of each photograph and category the largest box, crowds last",
    },
)
# fmt: off
mscoco_boxes = _coco(
    "mscoco_boxes",
    {"order": "categories as in the annotation file, crops by photograph, then as there"},
    partial(_find_coco, every=True),
    entry="mscoco",
    note="346,980 images: one crop of every annotation, as in Meta-Dataset; the released "
    "runs of Lafargue et al. (2024) had one crop of each (image, class) pair, which is mscoco.",
    sizes=(  # dataset_specs/mscoco_dataset_spec.json of google-research/meta-dataset
        7113, 43867, 5135, 6069, 9973, 10759, 1983, 9838, 10806, 6587,
        9509, 8147, 5131, 6496, 2682, 6646, 3276, 4812, 24342, 7913,
        20650, 5479, 6165, 14358, 9458, 5851, 6399, 2918, 5821, 38491,
        5779, 8652, 4192, 2262, 2855, 225, 5610, 2637, 6613, 1481,
    ),
)
# fmt: on
omniglot = CataloguedSource(
    "omniglot",
    "images_evaluation/<alphabet>/<character>/*.png, as images_evaluation.zip unpacks",
    (ALPHABETS,),
    _find_omniglot,
    {
        "order": "alphabets sorted, characters sorted, images by path",
        "shown": "inverted: white strokes on black",
    },
    "all characters of images_evaluation",
    finish=lambda picture: require("PIL.ImageOps").invert(picture),
)
quickdraw = _QuickDraw(
    "quickdraw",
    "<class>.npy, the bitmaps of quickdraw_dataset/full/numpy_bitmap",
    (".",),
    lambda *_: {},
    {
        "order": "classes sorted by name, image k (row k - 1) as file_<k>.png sorted as text",
        "sha256": "of an image's 784 bytes",
    },
    Split(241, 52, 52),
)
traffic_signs = CataloguedSource(
    "traffic_signs",
    "Final_Training/Images/00000/ to 00042/ with *.ppm, "
    "as GTSRB_Final_Training_Images.zip unpacks into GTSRB/",
    (SIGNS,),
    _find_traffic_signs,
    {
        "order": "classes by id, images by path",
        "groups": "tracks: the number before '_' in a file's name, within its class",
    },
    "all 43 classes of the training images",
)
vgg_flower = CataloguedSource(
    "vgg_flower",
    "imagelabels.mat, jpg/image_NNNNN.jpg, as 102flowers.tgz unpacks beside the labels",
    (FLOWER_LABELS, "jpg"),
    _find_vgg_flower,
    {"order": "categories by id, images by number"},
    Split(71, 15, 16),
    lists=(FLOWER_LABELS,),
)
