"""Where the images of a catalogued data set come from, and which of its classes are tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.catalogue import lookup, superclasses_of
from benchmark_spec.errors import CatalogueError
from builders.sources.checking import check_and_number
from builders.sources.image_set import About, ImageSet, Item, Progress, silent
from builders.sources.raw_files import require_entries, sha256_of_files
from fslbench_data.files.pictures import Picture

Classes = Mapping[str, Sequence[Item]]
"""The images of each class, both in their frozen order."""

SEED = 22
"""Meta-Dataset draws its splits with ``RandomState(22)``; numpy has frozen its stream."""


@dataclass(frozen=True)
class Split:
    """Meta-Dataset's numbers of classes for training, validation and test (ICLR 2020).

    Training and validation classes are drawn together; test classes are what is left, in their
    order.
    """

    train: int
    valid: int
    test: int

    @property
    def total(self) -> int:
        """All classes of the data set."""
        return self.train + self.valid + self.test

    def test_positions(self) -> list[int]:
        """Return positions of the test classes in the data set's list of classes, ascending."""
        random = np.random.RandomState(SEED)
        drawn = random.choice(self.total, self.train + self.valid, replace=False)
        rest: list[int] = np.setdiff1d(np.arange(self.total), drawn).tolist()
        return rest

    def held_out(self, labels: Sequence[str], where: Path) -> list[str]:
        """Return the test classes among those of a data set, which a list at `where` names."""
        if len(labels) != self.total:
            raise CatalogueError(
                f"{len(labels)} classes are listed, so that the split cannot be drawn",
                where=str(where),
                expected=f"{self.total} classes",
                fix="check that the file is whole and of the right version",
            )
        return [labels[position] for position in self.test_positions()]

    def provenance(self) -> dict[str, Any]:
        """Describe it for the record of a release."""
        return {
            "drawn_with": f"numpy.random.RandomState({SEED})",
            "seed": SEED,
            "classes": {"train": self.train, "valid": self.valid, "test": self.test},
        }


Find = Callable[["CataloguedSource", Path], Classes]
"""Gives the images of the test classes in a raw folder."""


@dataclass(frozen=True)
class CataloguedSource:
    """A data set of the catalogue, in the raw layout in which its authors distribute it.

    Attributes
    ----------
    LAYOUT
        What its raw folder holds.
    entries, elsewhere
        Files and folders that must be there, and another place of an entry.
    record
        Order, groups and the like, for the provenance.
    split
        How the test classes were drawn; or, in words, which they are.
    lists
        Those of the entries with their SHA-256 in the provenance.
    finish
        What is done to a picture after it is read and cropped, such as an inversion.
    entry, note, sizes
        Its name in the catalogue, and a note and sizes in place of those there.
    """

    name: str
    LAYOUT: str
    entries: tuple[str, ...]
    find: Find
    record: Mapping[str, str]
    split: Split | str
    lists: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] | None = None
    finish: Callable[[Picture], Picture] | None = None
    entry: str = ""
    note: str = ""
    sizes: tuple[int, ...] = ()

    @cached_property
    def ABOUT(self) -> About:  # noqa: N802 - as modules of sources have it
        """Its description in the catalogue."""
        entry = lookup(self.entry or self.name)
        return About.of(entry, note=self.note or entry.note)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Images of each class, in their frozen order."""
        entry = lookup(self.entry or self.name)
        return dict(zip(entry.class_names, self.sizes or entry.class_sizes, strict=True))

    @property
    def drawn(self) -> Split:
        """The split, where the test classes were drawn."""
        if isinstance(self.split, str):
            raise TypeError(f"{self.name} has no split")
        return self.split

    def held_out_or_known(self, labels: Sequence[str], where: Path) -> list[str]:
        """Return the test classes among all, or those that are there of a folder without others."""
        if len(labels) == self.drawn.total:
            return self.drawn.held_out(labels, where)
        return [label for label in labels if label in self.counts]

    def place_of(self, folder: Path, name: str) -> str:
        """Return where one of the entries lies in a raw folder."""
        other = (self.elsewhere or {}).get(name, name)
        return other if not (folder / name).is_file() and (folder / other).is_file() else name

    def sizes_in(self, folder: Path, *, allow_missing: bool = False) -> tuple[int, ...]:
        """Give the images of each class, if the files and folders that must be there are.

        Images that `allow_missing` leaves out are counted: only reading finds them.
        """
        entries = (self.place_of(folder, name) for name in self.entries)
        require_entries(self.name, folder, *entries)
        return tuple(self.counts.values())

    def read(
        self,
        folder: Path,
        *,
        allow_missing: bool = False,
        progress: Progress = silent,
        expected: Mapping[str, int] | None = None,
    ) -> ImageSet:
        """Read the test classes from a raw folder; `expected` is the catalogue's unless given."""
        expected = self.counts if expected is None else expected
        self.sizes_in(folder)
        lists = [self.place_of(folder, name) for name in self.lists]
        for name in lists:
            progress(f"{self.name}: reading {name}")
        split = self.split if isinstance(self.split, str) else self.split.provenance()
        images = check_and_number(
            self.name,
            self.ABOUT,
            folder,
            self.find(self, folder),
            expected=expected,
            allow_missing=allow_missing,
            provenance={
                **({"lists": sha256_of_files(folder, *lists)} if lists else {}),
                "split": split,
                **self.record,
            },
            finish=self.finish,
            progress=progress,
        )
        return replace(images, superclasses=superclasses_of(self.name, images.class_names))
