"""Find a part (base, val, novel) of a data set of the few-shot literature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, listing
from benchmark_spec.extras import require
from builders.sources.checking import Found
from builders.sources.image_set import About, Item, Progress, sha256_of_bytes
from builders.sources.raw_files import (
    folders,
    image_files,
    items_in,
    read_lines,
    require_entries,
    sha256_of_files,
)
from builders.sources.source import Source
from fslbench_data.pictures import Picture

PARTS = {"base": ("base", "train"), "val": ("val",), "novel": ("novel", "test")}
"""The names of a part's folders and lists."""

Classes = dict[str, list[Item]]


def find(source: Source, folder: Path, progress: Progress, part: str = "novel") -> Found:
    """Find the images of a part: ``base``, ``val`` or ``novel``."""
    dataset = source.dataset
    progress(f"{source.name}: looking for the classes of {part}")
    parts = dataset.parts
    found = FINDERS.get(source.name, _find_images)(source, folder, part)
    classes = found.classes
    for other in parts:
        if other != part and (foreign := [name for name in classes if name in parts[other]]):
            raise SourceError(
                f"{source.name}: {len(foreign)} of the {len(classes)} classes are of the part "
                f"{other}, not of {part}: {listing(foreign)}",
                where=str(folder),
                expected=f"the {len(parts[part])} classes of {part}: {listing([*parts[part]])}",
                fix=f"check that the split is that of {source.name}, or ask for the other part: "
                f'options = {{ part = "{other}" }}',
            )
    return replace(
        found,
        classes={label: classes[label] for label in (*parts[part], *classes) if label in classes},
        expected={
            label: size if size is not None else len(classes.get(label, ())) or 1
            for label, size in parts[part].items()
        },
        about=About.of(dataset, title=f"{dataset.title}: {part} classes"),
        provenance={
            "part": part,
            "classes_from": dataset.counts_from,
            "order": "classes sorted by name, images as their files or lists have them",
            **found.provenance,
        },
        superclass_of=dataset.superclass_of,
    )


# ---- folders of classes, and lists of files ------------------------------------------------------


def _find_images(source: Source, folder: Path, part: str) -> Found:
    """Find the folders of classes, or the files of ``images/`` that a list names (``test.csv``)."""
    names = PARTS[part] if source.in_parts else ()
    for file in (f"{name}.csv" for name in names):  # lists like those of Ravi and Larochelle
        if (folder / file).is_file() and (folder / "images").is_dir():
            rows = _rows(folder / file, "filename", "label")
            pairs = ((row["label"], Item(f"images/{row['filename']}")) for row in rows)
            return _found(folder, _by_class(pairs), file)
    parts = source.dataset.parts
    labels_of_all = set(chain.from_iterable(parts.values()))
    for place in (*names, *source.roots):
        labels = folders(folder / place) if (folder / place).is_dir() else []
        if labels_of_all.isdisjoint(labels):
            continue
        if place not in names:  # the classes of all parts, and perhaps others, lie here
            of_part = [label for label in labels if label in parts[part]]
            labels = of_part or [label for label in labels if label in labels_of_all]
        prefix = f"{place}/" if place else ""
        classes = {label: items_in(folder, f"{prefix}{label}") for label in labels}
        if skipped := set(source.dataset.skipped):
            classes = {
                label: [item for item in items if Path(item.path).stem not in skipped]
                for label, items in classes.items()
            }
        return _found(folder, classes)
    raise SourceError(
        f"{folder} is not the raw folder of {source.name}: none of its classes is there",
        where=str(folder),
        expected=source.layout,
        fix=f"unpack {source.name} as it is distributed, and give the folder that holds this",
    )


def _found(folder: Path, classes: Classes, *lists: str) -> Found:
    """Return classes with the digests of the lists that name their images."""
    provenance = {"lists": sha256_of_files(folder, *lists)} if lists else {}
    return Found(classes, folder, provenance=provenance)


def _by_class(pairs: Iterable[tuple[str, Item]]) -> Classes:
    classes: Classes = {}
    for label, item in pairs:
        classes.setdefault(label, []).append(item)
    return classes


def _rows(path: Path, *columns: str) -> list[dict[str, str]]:
    """Read some columns of a CSV file, as texts."""
    as_texts = pa_csv.ConvertOptions(
        include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
    )
    try:
        rows: list[dict[str, str]] = pa_csv.read_csv(path, convert_options=as_texts).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise SourceError(
            f"{path.name} cannot be read: {error}",
            where=str(path),
            expected=f"a CSV file with the columns {', '.join(columns)}",
            fix="get the file again",
        ) from None
    return rows


# ---- CIFAR-100's own files -----------------------------------------------------------------------

CIFAR_NAMES, CIFAR_FILES = "fine_label_names.txt", ("train.bin", "test.bin")
CIFAR_FOLDER = "cifar-100-binary"
_SIDE, _LABELS = 32, 2  # of a picture; bytes before it: the numbers of superclass and class
_BYTES = _LABELS + 3 * _SIDE**2


def _find_cifar(source: Source, folder: Path, part: str) -> Found:
    """Find the rows of each class in CIFAR-100's binary files, with the SHA-256 of their pixels."""
    prefix = f"{CIFAR_FOLDER}/" if (folder / CIFAR_FOLDER).is_dir() else ""
    names, *files = (f"{prefix}{name}" for name in (CIFAR_NAMES, *CIFAR_FILES))
    require_entries(source.name, folder, names, *files)
    number_of = {name: number for number, name in enumerate(read_lines(folder / names))}
    wanted = [name for name in source.dataset.parts[part] if name in number_of]
    classes: Classes = {name: [] for name in wanted}
    for file in files:
        rows = _open_cifar(folder / file)
        for name in wanted:
            for row in np.flatnonzero(rows[:, 1] == number_of[name]).tolist():
                digest = sha256_of_bytes(rows[row, _LABELS:].tobytes())
                classes[name].append(Item(f"{file}#{row}", sha256=digest))
    found = _found(folder, classes, names)
    return replace(found, picture=lambda path: _cifar_picture(folder, path))


def _open_cifar(path: Path) -> NDArray[np.uint8]:
    """Map a file of rows into memory: superclass, class, 1024 bytes each of R, G and B."""
    size = path.stat().st_size
    if not size or size % _BYTES:
        raise SourceError(
            f"{path.name} has {size:,} bytes, which are no whole pictures",
            where=str(path),
            expected=f"a multiple of {_BYTES} bytes, as in {CIFAR_FOLDER}",
            fix="get cifar-100-binary.tar.gz again",
        )
    return np.memmap(path, np.uint8, "r").reshape(-1, _BYTES)


def _cifar_picture(folder: Path, path: str) -> Picture:
    file, _, row = path.rpartition("#")
    planes = np.array(_open_cifar(folder / file)[int(row), _LABELS:]).reshape(3, _SIDE, _SIDE)
    return require("PIL.Image").fromarray(np.ascontiguousarray(planes.transpose(1, 2, 0)))


def _find_cifar_fs(source: Source, folder: Path, part: str) -> Found:
    """Find the classes of CIFAR-FS in folders or in CIFAR-100's own files."""
    binary = any((folder / below / CIFAR_FILES[0]).is_file() for below in ("", CIFAR_FOLDER))
    return (_find_cifar if binary else _find_images)(source, folder, part)


# ---- tables of labels ----------------------------------------------------------------------------

ISIC = "ISIC2018_Task3_Training"
ISIC_LESIONS = (f"{ISIC}_LesionGroupings.csv", f"{ISIC}_GroundTruth/{ISIC}_LesionGroupings.csv")


def _find_isic(source: Source, folder: Path, part: str) -> Found:
    """Find the images of each diagnosis; images of one lesion are a group, if a list has them."""
    _, table = source.check_entries(folder)
    lesions = next((name for name in ISIC_LESIONS if (folder / name).is_file()), None)
    rows = _rows(folder / lesions, "image", "lesion_id") if lesions else ()
    lesion_of = {row["image"]: row["lesion_id"] for row in rows}
    names = [*source.dataset.parts[part]]

    def pairs() -> Iterator[tuple[str, Item]]:
        for row in _rows(folder / table, "image", *names):
            image = row["image"]
            labels = [name for name in names if row[name].strip("0. ")]
            if len(labels) != 1:
                raise SourceError(
                    f"{Path(table).name}: {image} has {len(labels)} labels",
                    where=str(folder / table),
                    expected="1.0 in the column of one diagnosis",
                    fix="get the file again",
                )
            yield labels[0], Item(f"{ISIC}_Input/{image}.jpg", group=lesion_of.get(image))

    return _found(folder, _by_class(pairs()), table, *([lesions] if lesions else []))


def _find_chestx(source: Source, folder: Path, part: str) -> Found:
    """Find the images with a single finding that is in the part; a group is a patient."""
    (table,) = source.check_entries(folder)
    places = sorted(path.relative_to(folder) for path in folder.glob("images_*/images"))
    path_of = {
        Path(path).name: path for place in places for path in image_files(folder, place.as_posix())
    }
    classes: Classes = {}
    for row in _rows(folder / table, "Image Index", "Finding Labels", "Patient ID"):
        name, finding = row["Image Index"], row["Finding Labels"]
        if finding in source.dataset.parts[part] and name:
            path = path_of.get(name, f"images/{name}")
            classes.setdefault(finding, []).append(Item(path, row["Patient ID"]))
    return _found(folder, classes, table)


FINDERS: Mapping[str, Callable[[Source, Path, str], Found]] = {
    "chestx": _find_chestx,
    "cifar_fs": _find_cifar_fs,
    "fc100": _find_cifar,
    "isic": _find_isic,
}
"""The functions that find a part's images in a raw folder without a folder for each class."""
