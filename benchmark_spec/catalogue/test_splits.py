"""The sizes of the test splits that few-shot papers draw their tasks from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmark_spec.catalogue import catalogue
from benchmark_spec.errors import UnknownNameError


@dataclass(frozen=True)
class TestSplit:
    """Classes of a test split, and images of the class with the fewest; None where not known."""

    __test__ = False  # for pytest, which collects classes by their names

    classes: int
    images: int | None


_SPLITS = {
    "miniimagenet": TestSplit(20, 600),  # Ravi and Larochelle, ICLR 2017
    "tieredimagenet": TestSplit(160, 732),  # Ren et al., ICLR 2018; ILSVRC has 732 to 1300 a class
    "cifar_fs": TestSplit(20, 600),  # Bertinetto et al., ICLR 2019
    "fc100": TestSplit(20, 600),  # Oreshkin et al., NeurIPS 2018
    "cub": TestSplit(50, 41),  # Chen et al., ICLR 2019; a class has 41 to 60 images
    "eurosat": TestSplit(10, 2000),  # the last four: Guo et al., ECCV 2020
    "isic": TestSplit(7, 115),
    "cropdisease": TestSplit(38, None),
    "chestx": TestSplit(7, None),
}


def test_splits() -> dict[str, TestSplit]:
    """Return the splits by name: those of papers, and the nine of Meta-Dataset.

    Meta-Dataset's CUB is called cub_meta_dataset.
    """
    splits = dict(_SPLITS)
    for name, about in catalogue().items():
        name = "cub_meta_dataset" if name == "cub" else name
        splits[name] = TestSplit(len(about.class_sizes), min(about.class_sizes))
    return splits


def test_split(name: str) -> TestSplit | None:
    """Return a split by name, however it is written; None for an unknown name."""
    plain = _plain(name)
    return next((split for each, split in test_splits().items() if _plain(each) == plain), None)


def unknown_split(name: str) -> UnknownNameError:
    """Return the error for a name that is not known where sizes are needed."""
    fix = "give the number of classes and the images of the smallest class"
    return UnknownNameError("data set", name, sorted(test_splits()), fix=fix)


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()
