"""What the readers of catalogued data sets have in common: each names only what is its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from benchmark_spec.catalogue.superclasses import superclasses_of
from builders.sources.checking import check_and_number
from builders.sources.counts import counts_of_catalogue
from builders.sources.image_set import About, ImageSet, Item, Progress, silent
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import require_entries, sha256_of_files
from fslbench_data.files.pictures import Picture

Classes = Mapping[str, Sequence[Item]]
"""The images of each class, both in their frozen order."""


@dataclass(frozen=True)
class CataloguedSource:
    """A data set of the catalogue, in the raw layout in which its authors distribute it.

    Attributes
    ----------
    layout
        What its raw folder holds.
    entries
        Files and folders that must be there.
    find
        Gives the images of the test classes, from the raw folder and images of each class.
    record
        What the provenance says of order, groups and the like.
    split
        How the test classes were drawn, or which they are.
    lists
        Those of the entries whose SHA-256 the provenance holds.
    finish
        What is done to a picture after it is read and cropped, such as an inversion.
    """

    name: str
    layout: str
    entries: tuple[str, ...]
    find: Callable[[Path, Mapping[str, int]], Classes]
    record: Mapping[str, str]
    split: Split | str
    lists: tuple[str, ...] = ()
    finish: Callable[[Picture], Picture] | None = None

    @cached_property
    def about(self) -> About:
        """What the catalogue says of it."""
        return About.of_catalogue(self.name)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Images of each class, in their frozen order."""
        return counts_of_catalogue(self.name)

    def files_in(self, folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Give the entries and lists of a raw folder, where they may lie in several places."""
        return self.entries, self.lists

    def read(
        self,
        folder: Path,
        *,
        allow_missing: bool = False,
        progress: Progress = silent,
        expected: Mapping[str, int] | None = None,
    ) -> ImageSet:
        """Read the test classes from a raw folder.

        Parameters and errors are those of :func:`builders.sources.checking.check_and_number`;
        `expected` is the catalogue's unless given.
        """
        expected = self.counts if expected is None else expected
        entries, lists = self.files_in(folder)
        require_entries(self.name, folder, *entries)
        for name in lists:
            progress(f"{self.name}: reading {name}")
        split = self.split if isinstance(self.split, str) else self.split.provenance()
        images = check_and_number(
            self.name,
            self.about,
            folder,
            self.find(folder, expected),
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
