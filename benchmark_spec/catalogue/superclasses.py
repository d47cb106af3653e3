"""Superclasses of the catalogued data sets, from their published class names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from benchmark_spec.errors import CatalogueError, listing


def superclasses_of(dataset: str, class_names: Sequence[str]) -> tuple[str, ...] | None:
    """Name the superclass of each class of a catalogued data set, or None if it has none.

    Of omniglot the alphabet, of fungi the genus, and of traffic_signs the family of signs: speed
    limit, other prohibitory, derestriction, mandatory, danger and unique, the six subsets of
    Stallkamp et al. (Man vs. computer, Neural Networks 32, 2012), in
    ``traffic_sign_families.json``.

    Raises
    ------
    CatalogueError
        If a traffic sign is none of the 43.
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
    text = (files(__package__) / "traffic_sign_families.json").read_text(encoding="utf-8")
    return {name: family for family, names in json.loads(text).items() for name in names}
