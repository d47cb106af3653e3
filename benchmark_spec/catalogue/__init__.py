"""Data sets known by their classes and counts: the test splits of Meta-Dataset, and papers' data.

Class names are in their frozen order, counts are of images.  Facts from the lists that authors and
others publish: of Meta-Dataset from its specification files (Triantafillou et al., ICLR 2020), of
MS COCO from its annotations; `counts_from` is where each was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmark_spec.errors import UnknownNameError
from benchmark_spec.manifest import Redistribution


class CataloguedDataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data set's classes by part, with its source, licence and citation (BibTeX).

    Attributes
    ----------
    redistribution
        What the licence lets others pass on: :data:`benchmark_spec.manifest.Redistribution`.
    parts
        Images of each class, in their frozen order, by part: ``base``, ``val`` and ``novel``, or
        ``novel`` alone. None where the number of images is not known.
    superclasses
        The classes of each superclass, where there are any.
    skipped
        Names of files, without their ending, that are left out.
    """

    title: str
    homepage: str
    licence: str
    redistribution: Redistribution
    citation: str
    note: str
    counts_from: str
    parts: Mapping[str, Mapping[str, int | None]]
    superclasses: Mapping[str, tuple[str, ...]] = {}
    skipped: tuple[str, ...] = ()

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the test classes."""
        return tuple(self.parts["novel"])

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """Images of each test class, 0 where not known."""
        return tuple(size or 0 for size in self.parts["novel"].values())

    @property
    def n_images(self) -> int:
        """Images of all test classes together."""
        return sum(self.class_sizes)

    @property
    def superclass_of(self) -> dict[str, str]:
        """The superclass of each class."""
        return {name: above for above, names in self.superclasses.items() for name in names}

    @property
    def of_classes(self) -> tuple[str, ...] | None:
        """The superclass of each test class, where there are any."""
        above = self.superclass_of
        return tuple(above[name] for name in self.class_names) if above else None


def _read(name: str) -> Any:
    return msgspec.json.decode(Path(__file__).with_name(f"{name}.json").read_bytes())


@cache
def few_shot_datasets() -> dict[str, CataloguedDataset]:
    """Read the data sets of the few-shot literature by name, in alphabetical order."""
    return msgspec.convert(_read("few_shot"), dict[str, CataloguedDataset])


@cache
def catalogue() -> dict[str, CataloguedDataset]:
    """Read the test splits of Meta-Dataset by name, in alphabetical order.

    The superclass of a character of omniglot is the alphabet, of a fungus the genus, of a traffic
    sign the family (Stallkamp et al., Man vs. computer, Neural Networks 32, 2012).
    """
    families = _read("traffic_sign_families").items()
    superclass: Mapping[str, Callable[[str], str]] = {
        "fungi": lambda name: name.partition(".")[2].partition(" ")[0],  # 0008.Agaricus campestris
        "omniglot": lambda name: name.rpartition("-")[0],  # Tengwar-character01
        "traffic_signs": {name: above for above, names in families for name in names}.__getitem__,
    }
    datasets = {}
    for name, entry in sorted(_read("meta_dataset").items()):
        sizes, above = dict(entry.pop("classes")), dict[str, list[str]]()
        for label in sizes if name in superclass else ():
            above.setdefault(superclass[name](label), []).append(label)
        entry |= {"parts": {"novel": sizes}, "superclasses": above}
        datasets[name] = msgspec.convert(entry, CataloguedDataset)
    return datasets


def lookup(name: str) -> CataloguedDataset:
    """Look up a catalogued data set; raises UnknownNameError with the valid names."""
    if name not in catalogue():
        raise UnknownNameError("catalogued data set", name, catalogue())
    return catalogue()[name]


INTERVALS = """@article{lafargue2024oops,
  title = {Oops, {I} Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning},
  author = {Lafargue, Raphael and Smith, Luke A. and Vermet, Franck and L{\\"o}we, Matthias and Reid, Ian and Gripon, Vincent and Valmadre, Jack},
  journal = {Transactions on Machine Learning Research},
  year = {2024},
  note = {arXiv:2409.02850}
}"""  # noqa: E501

SPURIOUS_BIAS = """@inproceedings{zheng2024benchmarking,
  title = {Benchmarking Spurious Bias in Few-Shot Image Classifiers},
  author = {Zheng, Guangtao and Ye, Wenqian and Zhang, Aidong},
  booktitle = {European Conference on Computer Vision},
  year = {2024}
}"""

META_DATASET = """@inproceedings{triantafillou2020meta,
  title = {Meta-Dataset: A Dataset of Datasets for Learning to Learn from Few Examples},
  author = {Triantafillou, Eleni and Zhu, Tyler and Dumoulin, Vincent and Lamblin, Pascal and Evci, Utku and Xu, Kelvin and Goroshin, Ross and Gelada, Carles and Swersky, Kevin and Manzagol, Pierre-Antoine and Larochelle, Hugo},
  booktitle = {International Conference on Learning Representations},
  year = {2020}
}"""  # noqa: E501

PAPERS = (INTERVALS, SPURIOUS_BIAS, META_DATASET)


CUB = "cub_100_50_50"
"""What papers call CUB: the split of Chen et al., ICLR 2019."""


class TestSplit(Struct, frozen=True):
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
        """Return the images of each class, under the names given to some of them.

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
    written = plain(name)
    return next((split for each, split in test_splits().items() if plain(each) == written), None)


def unknown_split(name: str, fix: str, more: Collection[str]) -> UnknownNameError:
    """Return the error for a name that is not known where sizes are needed; `more` are known."""
    names = {plain(each): each for each in (*more, *map(_printed, test_splits()))}
    return UnknownNameError("data set", name, sorted(names.values(), key=str.lower), fix=fix)


def _printed(name: str) -> str:
    """Write a split's name as its title and papers do: miniImageNet."""
    if name == "cub":
        return "CUB"
    titles = (each.title for each in (*few_shot_datasets().values(), *catalogue().values()))
    words = (re.split("[ ,]", title)[0] for title in titles)
    return next((word for word in words if plain(word) == plain(name)), name)


def plain(name: str) -> str:
    """Return a data set's name in a normal form, the same for all spellings."""
    return re.sub(r"[-_ /]", "", name).lower()
