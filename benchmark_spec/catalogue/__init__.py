"""Data sets known by their classes and counts: the nine test splits of Meta-Dataset.

Class names are in the split's order, counts are of images; facts from the specification files
of Meta-Dataset (Triantafillou et al., ICLR 2020), and for MS COCO from its annotations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from benchmark_spec.errors import CatalogueError, UnknownNameError, listing
from benchmark_spec.manifest import Redistribution


@dataclass(frozen=True)
class CataloguedDataset:
    """A data set's classes and image counts, with its source, licence and citation (BibTeX).

    `redistribution` is what the licence lets others pass on: see
    :data:`benchmark_spec.manifest.Redistribution`.
    """

    name: str
    title: str
    homepage: str
    licence: str
    redistribution: Redistribution
    citation: str
    note: str
    counts_from: str
    class_names: tuple[str, ...]
    class_sizes: tuple[int, ...]

    @property
    def n_images(self) -> int:
        """Images of all classes together."""
        return sum(self.class_sizes)

    @property
    def superclasses(self) -> tuple[str, ...] | None:
        """The superclass of each class, where there are any."""
        return superclasses_of(self.name, self.class_names)


@cache
def catalogue() -> dict[str, CataloguedDataset]:
    """Read all catalogued data sets by name, in alphabetical order."""
    text = (files(__name__) / "meta_dataset.json").read_text(encoding="utf-8")
    datasets = {}
    for name, entry in sorted(json.loads(text).items()):
        classes = entry.pop("classes")
        datasets[name] = CataloguedDataset(
            name=name,
            class_names=tuple(label for label, _ in classes),
            class_sizes=tuple(size for _, size in classes),
            **entry,
        )
    return datasets


def lookup(name: str) -> CataloguedDataset:
    """Look up a catalogued data set; raises UnknownNameError with the valid names."""
    try:
        return catalogue()[name]
    except KeyError:
        raise UnknownNameError("catalogued data set", name, catalogue()) from None


def superclasses_of(dataset: str, class_names: Sequence[str]) -> tuple[str, ...] | None:
    """Name the superclass of each class of a catalogued data set, or None if it has none.

    Of omniglot the alphabet, of fungi the genus, of traffic_signs the family (Stallkamp et al., Man
    vs. computer, Neural Networks 32, 2012).
    """
    rule = _RULES.get(dataset)
    return None if rule is None else tuple(map(rule, class_names))


def _alphabet(name: str) -> str:
    """Give Tengwar, of ``Tengwar-character01``."""
    return name.rpartition("-")[0]


def _genus(name: str) -> str:
    """Give Agaricus, of ``0008.Agaricus campestris``."""
    return name.partition(".")[2].partition(" ")[0]


def _family(name: str) -> str:
    """Give danger, of ``Bumpy road``."""
    families = _families()
    if name not in families:
        raise CatalogueError(
            f"traffic_signs: {name!r} is in no family of signs",
            expected=f"one of {listing(list(families))}",
        )
    return families[name]


_RULES: Mapping[str, Callable[[str], str]] = {
    "fungi": _genus,
    "omniglot": _alphabet,
    "traffic_signs": _family,
}


@cache
def _families() -> dict[str, str]:
    text = (files(__name__) / "traffic_sign_families.json").read_text(encoding="utf-8")
    return {name: family for family, names in json.loads(text).items() for name in names}


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
