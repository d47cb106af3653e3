"""Read a source by its name, from a raw folder to an images table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from benchmark_spec.catalogue import CataloguedDataset, catalogue, few_shot_datasets
from benchmark_spec.errors import SourceError, UnknownNameError
from benchmark_spec.manifest import Redistribution, check_redistribution
from builders.sources import GENERAL, ROWS, SOURCES
from builders.sources.checking import Found, check_and_number, check_counts
from builders.sources.image_set import ABOUT_OPTIONS, About, ImageSet, Progress, raw_state, silent
from builders.sources.packages import Package, unpacked
from builders.sources.raw_files import require_entries


class Source(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `sources.toml`: what a data set is, and where its images lie.

    Attributes
    ----------
    module
        The module of this package whose function ``find`` finds the images in a raw folder.
    layout
        The content of the raw folder.
    needed, optional, parts
        Names of options, and the values of the option `part`.
    pins
        The packages of the data set, none where it is made; ``own`` if the module has them.
    counts
        Images of each class, in the frozen order of classes.
    title, homepage, licence, citation, note, redistribution
        As in :class:`builders.sources.image_set.About`.
    pixels, texts, attributes
        Whether grey levels of its images are features, whether texts came with them, and the
        attributes that they may have.
    entry, sizes
        Its name in the catalogue, and images of each class that replace those of the catalogue.
    entries
        Files and folders that must exist; ``A or B`` for a file that may lie in either place.
    split, tested
        Meta-Dataset's numbers of classes for training, validation and test (ICLR 2020); or, in
        words, which classes are tested.
    record
        Order, groups and the like, for the provenance.
    roots, in_parts
        Folders that may hold the folders of all classes, the most likely first; and whether each
        part may have a folder with the folders of its classes.
    """

    name: str
    module: str
    layout: str
    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    pins: tuple[Package, ...] | Literal["own"] | None = msgspec.field(name="packages", default=None)
    counts: dict[str, int] = {}
    title: str = ""
    homepage: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    redistribution: Redistribution = "tables"
    pixels: bool = False
    texts: bool = False
    attributes: tuple[str, ...] = ()
    entry: str = ""
    sizes: tuple[int, ...] = ()
    entries: tuple[str, ...] = ()
    split: tuple[int, int, int] = (0, 0, 0)
    tested: str = ""
    record: dict[str, str] = {}
    roots: tuple[str, ...] = ("",)
    in_parts: bool = False

    @property
    def in_catalogue(self) -> bool:
        """Whether a catalogue has its description and its classes."""
        return self.module in ("catalogued", "few_shot")

    @property
    def dataset(self) -> CataloguedDataset:
        """Its entry in the catalogue."""
        entries = catalogue() if self.module == "catalogued" else few_shot_datasets()
        return entries[self.entry or self.name]

    @property
    def about(self) -> About:
        """Its description on the card of a release."""
        if not self.in_catalogue:
            return About.of(self)
        return About.of(self.dataset, **({"note": self.note} if self.note else {}))

    @property
    def packages(self) -> tuple[Package, ...]:
        """The pinned packages of the data set."""
        if self.pins == "own":
            pinned: tuple[Package, ...] = self._module.packages(self.name)
            return pinned
        return self.pins or ()

    @property
    def expected(self) -> dict[str, int]:
        """Images of each class that is read, in the frozen order of classes."""
        if not self.in_catalogue:
            return self.counts
        sizes = self.sizes or self.dataset.class_sizes
        return dict(zip(self.dataset.class_names, sizes, strict=True))

    @property
    def _module(self) -> Any:
        return import_module(f"{__package__}.{self.module}")

    def find(self, folder: Path, progress: Progress = silent, **options: Any) -> Found:
        """Find the images in a raw folder."""
        part, parts = options.get("part"), self.parts
        if self.module == "few_shot":
            parts = tuple(self.dataset.parts)
        if part and part not in parts:
            raise UnknownNameError("part", part, parts, where=f"{self.name}, option part")
        found: Found = self._module.find(self, folder, progress, **options)
        return found

    def read(
        self,
        folder: Path | None = None,
        *,
        allow_missing: bool = False,
        progress: Progress = silent,
        expected: Mapping[str, int] | None = None,
        **options: Any,
    ) -> ImageSet:
        """Read a raw folder; `expected` replaces the source's images of each class."""
        found = self.find(folder or Path(), progress, **options)
        if expected is not None:
            found = replace(found, expected=expected)
        about = found.about or self.about
        return check_and_number(
            self.name, about, found, allow_missing=allow_missing, progress=progress
        )

    def check_entries(self, folder: Path) -> list[str]:
        """Return where the entries lie; SourceError if the folder lacks any."""
        found = []
        for entry in self.entries:
            places = entry.split(" or ")
            found.append(next((p for p in places if (folder / p).is_file()), places[0]))
        require_entries(self.name, folder, *found)
        return found


@cache
def source_of(name: str) -> Source:
    """Return the source of that name; UnknownNameError if there is none."""
    if name not in SOURCES:
        raise UnknownNameError("source", name, SOURCES)
    return msgspec.convert({"name": name, **ROWS[name]}, Source)


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

    A general source needs the data set's `name` and, in `options`, its description and the options
    of :func:`builders.sources.image_folder.find` or :func:`builders.sources.hub_dataset.find`.
    UnknownNameError if there is no such source or option, SourceError if the raw folder is not
    whole.
    """
    check_options(source, name, options or {})
    row, arguments = _configured(source, folder, name, options or {})
    raw = raw_folder(folder, options)
    state = raw_state(raw)
    images = row.read(folder, allow_missing=allow_missing, progress=progress, **arguments)
    return replace(images, raw=raw, state=state)


def raw_folder(folder: Path | None, options: Mapping[str, Any] | None) -> Path | None:
    """Return the folder of a source's files; None for a source that reads no folder."""
    place = (options or {}).get("repo", folder)
    return Path(place) if place is not None and Path(place).is_dir() else None


def check_options(source: str, name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a source does not take, or that are incomplete."""
    row, where = source_of(source), f"{name}, source {source!r}"
    for key, value in options.items():
        if key not in (*row.needed, *row.optional):
            raise UnknownNameError("option", key, (*row.needed, *row.optional), where=where)
        if not isinstance(value, str):
            raise SourceError(f"option {key} is {value!r}", where=where, expected="a text")
    if empty := [key for key, value in options.items() if not value]:
        raise SourceError(f"options are empty: {', '.join(empty)}", where=where, expected="texts")
    if "redistribution" in options:
        check_redistribution(options["redistribution"], where)
    if missing := [key for key in row.needed if key not in options]:
        raise SourceError(
            f"options are missing: {', '.join(missing)}",
            where=where,
            expected=f"{', '.join(row.needed)}; and perhaps {', '.join(row.optional)}",
        )


def _configured(
    source: str, folder: Path | None, name: str, options: Mapping[str, Any]
) -> tuple[Source, dict[str, Any]]:
    """Return the source with its description, and the other options; refuse a missing folder."""
    row = source_of(source)
    if folder is None and "repo" not in options and row.pins != ():
        raise SourceError(
            f"{name or source} is read from a raw folder, and none is given",
            expected=row.layout,
            fix="name its folder, or for `release` the one that holds all of them, with --raw",
        )
    if source not in GENERAL:
        return row, dict(options)
    about = {key: value for key, value in options.items() if key in ABOUT_OPTIONS}
    others = {key: value for key, value in options.items() if key not in about}
    return msgspec.structs.replace(row, name=name, **about), others


def class_sizes_from_lists(
    source: str,
    folder: Path | None,
    name: str,
    options: Mapping[str, Any],
    *,
    allow_missing: bool = False,
) -> tuple[int, ...] | None:
    """Refuse a raw folder that lacks what its source reads, as far as listing it shows.

    Returns the images of each class, before any is left out; None where only reading counts them.
    """
    row, arguments = _configured(source, folder, name, options)
    if "repo" in options or folder is None:
        return None
    for package in row.packages:
        unpacked(package, folder, source)
    if row.module == "catalogued":
        row.check_entries(folder)
        return tuple(row.expected.values())
    if row.module not in ("few_shot", "image_folder"):
        return None
    found = row.find(folder, **arguments)
    sizes = {label: len(items) for label, items in found.classes.items()}
    check_counts(row.name, sizes, found.expected, folder, {} if allow_missing else None)
    return tuple(number for number in sizes.values() if number)


def terms_of(source: str, options: Mapping[str, Any]) -> tuple[Redistribution, str]:
    """Return what of a data set may be redistributed, and its licence."""
    about = source_of(source).about
    redistribution = options.get("redistribution", about.redistribution)
    return redistribution, options.get("licence", about.licence)
