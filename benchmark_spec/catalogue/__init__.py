"""The classes and image counts of known data sets: Meta-Dataset's, and those of papers.

Class names are in their frozen order.  Facts are from published lists: for Meta-Dataset from its
specification files (Triantafillou et al., ICLR 2020), for MS COCO from its annotations;
`counts_from` names the source of each.
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
        What may be redistributed: :data:`benchmark_spec.manifest.Redistribution`.
    parts
        Images of each class, in their frozen order, by part: ``base``, ``val`` and ``novel``, or
        ``novel`` alone; None where unknown.
    superclasses
        The classes of each superclass, if there are any.
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
    """Images of each class of a test split, by the class's name; None where unknown."""

    __test__ = False  # for pytest, which collects classes by their names

    sizes: Mapping[str, int | None]

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def known(self) -> dict[str, int]:
        """Images of each class; empty where a class's number is unknown."""
        known = {name: size for name, size in self.sizes.items() if size is not None}
        return known if len(known) == len(self.sizes) else {}

    @property
    def images(self) -> int | None:
        """Images of the smallest class, None where unknown."""
        return min(self.known.values(), default=None)

    def sizes_of(self, labels: Collection[str]) -> dict[str, int]:
        """Return the images of each class, by name; `labels` are the names of some classes.

        Where all classes have equally many images, these may be other names than the catalogue's.
        """
        known = self.known
        same_names = known.keys() >= set(labels) or len(labels) > len(known)
        if same_names or len(set(known.values())) > 1:
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
    """Return a split by any spelling of its name; None for an unknown name."""
    plain_name = plain(name)
    return next((split for n, split in test_splits().items() if plain(n) == plain_name), None)


def unknown_split(name: str, fix: str, more: Collection[str]) -> UnknownNameError:
    """Return the error for an unknown data set, whose sizes are needed; `more` names are valid."""
    valid = {plain(known): known for known in (*more, *map(_printed, test_splits()))}
    return UnknownNameError("data set", name, sorted(valid.values(), key=str.lower), fix=fix)


def _printed(name: str) -> str:
    """Return a split's name as papers write it, such as miniImageNet."""
    if name == "cub":
        return "CUB"
    datasets = (*few_shot_datasets().values(), *catalogue().values())
    titles = (dataset.title for dataset in datasets)
    words = (re.split("[ ,]", title)[0] for title in titles)
    return next((word for word in words if plain(word) == plain(name)), name)


def plain(name: str) -> str:
    """Return the normal form of a data set's name, the same for all spellings."""
    return re.sub(r"[-_ /]", "", name).lower()
