"""The sizes of the test splits that few-shot papers draw their tasks from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from benchmark_spec.catalogue import catalogue, few_shot_datasets
from benchmark_spec.errors import UnknownNameError

CUB = "cub_100_50_50"
"""What papers call CUB: the split of Chen et al., ICLR 2019."""


@dataclass(frozen=True)
class TestSplit:
    """Images of each class of a test split, by the class's name; None where not known."""

    __test__ = False  # for pytest, which collects classes by their names

    sizes: Mapping[str, int | None]

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def known(self) -> dict[str, int]:
        """Images of each class; empty where those of any are not known."""
        known = {name: size for name, size in self.sizes.items() if size is not None}
        return known if len(known) == len(self.sizes) else {}

    @property
    def images(self) -> int | None:
        """Images of the class with the fewest."""
        return min(self.known.values(), default=None)

    def sizes_of(self, labels: Collection[str]) -> dict[str, int]:
        """Give the images of each class, under the names that somebody has given to some of them.

        Where all classes have equally many images, these may be any names.
        """
        known = self.known
        named = known.keys() >= set(labels) or len(labels) > len(known)
        if named or len(set(known.values())) > 1:
            return known
        others = [name for name in known if name not in labels][: len(known) - len(labels)]
        return dict.fromkeys((*labels, *others), next(iter(known.values())))


def test_splits() -> dict[str, TestSplit]:
    """Return the splits by name: those of papers, and the nine of Meta-Dataset.

    Meta-Dataset's CUB is called cub_meta_dataset.
    """
    splits = {name: TestSplit(d.parts["novel"]) for name, d in few_shot_datasets().items()}
    splits["cub"] = splits[CUB]
    for name, about in catalogue().items():
        name = "cub_meta_dataset" if name == "cub" else name
        splits[name] = TestSplit(about.parts["novel"])
    return splits


def test_split(name: str) -> TestSplit | None:
    """Return a split by name, however it is written; None for an unknown name."""
    plain = _plain(name)
    return next((split for each, split in test_splits().items() if _plain(each) == plain), None)


def unknown_split(
    name: str, fix: str = "give the number of classes and the images of the smallest class"
) -> UnknownNameError:
    """Return the error for a name that is not known where sizes are needed."""
    return UnknownNameError("data set", name, sorted(test_splits()), fix=fix)


def _plain(name: str) -> str:
    return re.sub(r"[-_ /]", "", name).lower()
