"""Raw folders of the few-shot data sets, in their real layouts, with pictures of one pixel."""

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmark_spec.catalogue import CataloguedDataset, few_shot_datasets

Parts = Mapping[str, Mapping[str, int]]
FOLDERS = {"base": "train", "val": "val", "novel": "test"}
PLACES = {
    "ilsvrc_2012": "train",
    "cub_100_50_50": "images",
    "cub_130_20_50": "images",
    "cub_140_30_30": "images",
    "cifar_fs": "data",
    "eurosat": "2750",
    "cropdisease": "dataset/train",
}


def shrink(patch: pytest.MonkeyPatch, of_each: int = 2) -> dict[str, CataloguedDataset]:
    """Let every class of the catalogue have so few images that folders are quick to write."""
    small = {
        name: msgspec.structs.replace(
            dataset,
            parts={
                part: {label: size and of_each for label, size in classes.items()}
                for part, classes in dataset.parts.items()
            },
        )
        for name, dataset in few_shot_datasets().items()
    }
    patch.setattr("builders.sources.source.few_shot_datasets", lambda: small)
    return small


def all_classes(name: str, of_each: int = 2) -> dict[str, dict[str, int]]:
    parts = few_shot_datasets()[name].parts
    return {part: dict.fromkeys(classes, of_each) for part, classes in parts.items()}


def write_few_shot(name: str, folder: Path, parts: Parts) -> Path:
    """Write the raw folder of a data set with so many images of each class; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in ("isic", "chestx"):
        {"isic": _isic, "chestx": _chestx}[name](folder, parts["novel"])
    elif name == "fc100":
        write_cifar(folder, parts)
    else:
        for part, classes in parts.items():
            place = folder / PLACES.get(name, FOLDERS[part])
            for label, size in classes.items():
                _pictures(place / label, (f"{label}_{n}.JPEG" for n in range(size)))
    return folder


def write_listed(folder: Path, parts: Parts) -> Path:
    """Write the lists ``train.csv`` and so on, and ``images/``, as Ravi and Larochelle's."""
    for part, classes in parts.items():
        rows = [(f"{label}{n:08d}.jpg", label) for label, of in classes.items() for n in range(of)]
        _pictures(folder / "images", (file for file, _ in rows))
        _table(folder / f"{FOLDERS[part]}.csv", [("filename", "label"), *rows])
    return folder


def write_cifar(folder: Path, parts: Parts) -> Path:
    """Write CIFAR-100's binary files: the last image of each class is in ``test.bin``."""
    place = folder / "cifar-100-binary"
    place.mkdir(parents=True)
    sizes = {label: size for classes in parts.values() for label, size in classes.items()}
    (place / "fine_label_names.txt").write_text("".join(f"{name}\n" for name in sorted(sizes)))
    chance = np.random.default_rng(0)
    for file, of in (("train.bin", lambda n: n - 1), ("test.bin", lambda n: min(n, 1))):
        labels = [n for n, name in enumerate(sorted(sizes)) for _ in range(of(sizes[name]))]
        rows = chance.integers(0, 256, (len(labels), 3074), dtype=np.uint8)
        rows[:, 1] = labels
        rows.tofile(place / file)
    return folder


def _isic(folder: Path, sizes: Mapping[str, int]) -> None:
    rows = [(f"ISIC_{label}_{n}", label) for label, size in sizes.items() for n in range(size)]
    _pictures(folder / "ISIC2018_Task3_Training_Input", (f"{image}.jpg" for image, _ in rows))
    table = [
        ("image", *sizes),
        *((image, *(float(is_ == of) for is_ in sizes)) for image, of in rows),
    ]
    _table(folder / "ISIC2018_Task3_Training_GroundTruth.csv", table)
    lesions = [("image", "lesion_id", "x"), *((image, f"HAM_{of}", "") for image, of in rows)]
    _table(folder / "ISIC2018_Task3_Training_LesionGroupings.csv", lesions)


def _chestx(folder: Path, sizes: Mapping[str, int]) -> None:
    rows = [(f"{n:08d}_{label}.png", label, n) for label, of in sizes.items() for n in range(of)]
    half = len(rows) // 2
    _pictures(folder / "images_001/images", (file for file, *_ in rows[:half]))
    _pictures(folder / "images_002/images", (file for file, *_ in rows[half:]))
    others = [("a.png", "No Finding", 1), ("b.png", "Mass|Nodule", 1), ("c.png", "Pneumonia", 1)]
    header = ("Image Index", "Finding Labels", "Patient ID", "OriginalImage[Width", "Height]")
    table = [header, *((*row, 1024, 1024) for row in (*others, *rows))]
    _table(folder / "Data_Entry_2017.csv", table)


def _pictures(place: Path, names: Iterator[str]) -> None:
    """Write one picture of a pixel under many names."""
    from PIL import Image

    place.mkdir(parents=True, exist_ok=True)
    first = None
    for name in names:
        if first is None:
            first = place / name
            Image.new("RGB", (1, 1), (10, 20, 30)).save(first, format="PNG")
        elif not (place / name).exists():
            os.link(first, place / name)


def _table(path: Path, rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
