"""Data sets of the few-shot literature: the classes of each part, and the images of each class.

Facts from the lists that their authors and others publish; `counts_from` says where each was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec

from benchmark_spec.manifest import Redistribution


class FewShotDataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data set's classes by part, with its source, licence and citation (BibTeX).

    Attributes
    ----------
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
    def superclass_of(self) -> dict[str, str]:
        """The superclass of each class."""
        return {name: above for above, names in self.superclasses.items() for name in names}


@cache
def few_shot_datasets() -> dict[str, FewShotDataset]:
    """Read all of them by name, in alphabetical order."""
    text = (files(__package__) / "few_shot.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, FewShotDataset])
