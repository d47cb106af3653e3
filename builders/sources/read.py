"""Read a data set by the name of its source, or its class sizes by listing its raw folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError, UnknownNameError
from benchmark_spec.manifest import Redistribution, check_redistribution
from builders.sources import GENERAL, SOURCES, source_module
from builders.sources.image_set import ABOUT_OPTIONS, About, ImageSet, Progress, raw_state, silent
from builders.sources.packages import unpacked


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

    `name` and `options` are of the general sources: the data set's name, its description, and
    the parameters of :func:`builders.sources.image_folder.read` and
    :func:`builders.sources.hub_dataset.read`.  UnknownNameError if there is no such source or
    option, SourceError or CatalogueError if the raw folder is not what it should be.
    """
    if source not in SOURCES:
        raise UnknownNameError("source", source, SOURCES)
    arguments: dict[str, Any] = check_options(source, name, options or {})
    check_given(source, folder, name, arguments)
    if source in GENERAL:
        about = {key: arguments.pop(key) for key in ABOUT_OPTIONS if key in arguments}
        arguments |= {"name": name, "about": About(**about)}
    raw = raw_folder(folder, options)
    state = raw_state(raw)
    images: ImageSet = source_module(source).read(
        arguments.pop("repo", folder), **arguments, allow_missing=allow_missing, progress=progress
    )
    return replace(images, raw=raw, state=state)


def raw_folder(folder: Path | None, options: Mapping[str, Any] | None) -> Path | None:
    """Return where a source's files lie; None where nothing on this machine is read from."""
    place = (options or {}).get("repo", folder)
    return Path(place) if place is not None and Path(place).is_dir() else None


def check_options(source: str, name: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a source, if it takes them and its `OPTIONS` are complete."""
    needed, optional = getattr(source_module(source), "OPTIONS", ((), ()))
    where = f"{name}, source {source!r}"
    for key, value in options.items():
        if key not in (*needed, *optional):
            raise UnknownNameError("option", key, (*needed, *optional), where=where)
        if not isinstance(value, str):
            raise SourceError(f"option {key} is {value!r}", where=where, expected="a text")
    if empty := [key for key, value in options.items() if not value]:
        raise SourceError(f"options are empty: {', '.join(empty)}", where=where, expected="texts")
    if "redistribution" in options:
        check_redistribution(options["redistribution"], where)
    if missing := [key for key in needed if key not in options]:
        raise SourceError(
            f"options are missing: {', '.join(missing)}",
            where=where,
            expected=f"{', '.join(needed)}; and perhaps {', '.join(optional)}",
        )
    return dict(options)


def class_sizes_from_lists(
    source: str,
    folder: Path | None,
    name: str,
    options: Mapping[str, Any],
    *,
    allow_missing: bool = False,
) -> tuple[int, ...] | None:
    """Refuse a raw folder that lacks what its source reads, as far as a listing can find.

    Gives the images of each class, before any is left out; None where only reading counts them.
    """
    module = source_module(source)
    check_given(source, folder, name, options)
    if "repo" in options or folder is None:
        return None
    for package in getattr(module, "PACKAGES", ()):
        unpacked(package, folder, source)
    sizes: tuple[int, ...] | None = None
    if hasattr(module, "sizes_in"):
        sizes = module.sizes_in(folder, allow_missing=allow_missing, **options)
    return sizes


def check_given(source: str, folder: Path | None, name: str, options: Mapping[str, Any]) -> None:
    """Refuse a source that is read from a raw folder where none is named."""
    module = source_module(source)
    if folder is None and "repo" not in options and getattr(module, "PACKAGES", True):
        raise SourceError(
            f"{name or source} is read from a raw folder, and none is given",
            expected=module.LAYOUT,
            fix="name its folder, or for `release` the one that holds all of them, with --raw",
        )


def terms_of(source: str, options: Mapping[str, Any]) -> tuple[Redistribution, str]:
    """Return what of a data set may be redistributed, and its licence."""
    if source in GENERAL:
        return options.get("redistribution", "tables"), options.get("licence", "")
    about = source_module(source).ABOUT
    return about.redistribution, about.licence
