"""Data sets known by their classes and counts: the nine test splits of Meta-Dataset.

Class names are in the split's order, counts are of images; facts from the specification files
of Meta-Dataset (Triantafillou et al., ICLR 2020), and for MS COCO from its annotations.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from benchmark_spec.catalogue.superclasses import superclasses_of
from benchmark_spec.errors import UnknownNameError
from benchmark_spec.tables import Redistribution


@dataclass(frozen=True)
class CataloguedDataset:
    """A data set's classes and image counts, with its source, licence and citation (BibTeX).

    `redistribution` is what the licence lets others pass on: see
    :data:`benchmark_spec.tables.Redistribution`.
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
