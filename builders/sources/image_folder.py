"""Any folder of images that has one folder a class."""

from __future__ import annotations

from pathlib import Path

from benchmark_spec.errors import SourceError
from builders.sources.image_set import About, ImageSet, Item, Progress, image_set, silent
from builders.sources.raw_files import IMAGE_SUFFIXES, folders, image_files

LAYOUT = "<class>/**/*.jpg (or another image format): one folder a class"


def read(
    folder: Path,
    *,
    name: str,
    about: About,
    allow_missing: bool = False,
    progress: Progress = silent,
) -> ImageSet:
    """Read a folder: classes sorted by name, the images of each sorted by path, at any depth.

    Parameters
    ----------
    name, about
        What the release is to call the data set, and to say of it.
    allow_missing
        Leave out damaged images and classes without images, and record them.

    Raises
    ------
    SourceError
        If there are no folders of classes, or a class without images, or a damaged image.
    """
    classes = folders(folder) if folder.is_dir() else []
    if not classes:
        raise SourceError(
            f"{folder} has no folders of classes"
            if folder.is_dir()
            else f"there is no folder {folder}",
            where=str(folder),
            expected=f"one folder a class, with images ({', '.join(sorted(IMAGE_SUFFIXES))})",
        )
    return image_set(
        name,
        about,
        folder,
        {
            label: [Item(path) for path in image_files(folder, label, deep=True)]
            for label in classes
        },
        allow_missing=allow_missing,
        provenance={"order": "classes sorted by name, images by path"},
        progress=progress,
    )
