"""Print the page's tables from ``heads.json`` and ``trained.json``: ``python -m studies.truth``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from studies.common import Array, printed
from studies.truth import heads, trained
from studies.truth.measures import MEASURES, mean_of, ordered

POPULATIONS = ("fixed", "equal", "mixed", "opposed")


@cache
def heads_data() -> dict[str, Any]:
    """Read what was found of heads of known reliance."""
    read: dict[str, Any] = json.loads(heads.RESULTS.read_text())
    return read


@cache
def models() -> list[dict[str, Any]]:
    """Read what was found of trained methods."""
    read: list[dict[str, Any]] = json.loads(trained.RESULTS.read_text())
    return read


def correlation_of(data: str, population: str, measure: str) -> tuple[float, float]:
    """Compute the mean over seeds of Spearman's correlation with λ, and its half-width."""
    found = heads_data()[data]["spearman"][population][measure]
    return mean_of(np.array(found, float))


def heads_rows() -> Iterator[Sequence[str]]:
    """A row a measure: its correlations on the four data by population, and the lowest."""
    for measure, words in MEASURES.items():
        of = {p: [correlation_of(d, p, measure) for d in heads_data()] for p in POPULATIONS}
        lowest = min(cell for cells in of.values() for cell in cells)
        cells = [" · ".join(f"{mean:.2f}" for mean, _ in of[p]) for p in POPULATIONS]
        yield words, *cells, f"{lowest[0]:.2f} ± {lowest[1]:.2f}"


def level_rows() -> Iterator[Sequence[str]]:
    """A row a data set: accuracy on random tasks, and on same and other, at λ = 0, 1/2 and 1."""
    for name, found in heads_data().items():
        some = [found["accuracy"]["fixed"][i] for i in (0, 4, 8)]
        equal = [of["random"] for of in found["accuracy"]["equal"]]
        random = [f"{of['random']:.1f}" for of in some]
        changed = [f"{of['same'] - of['other']:+.1f}" for of in some]
        yield name, *random, f"{min(equal):.1f} to {max(equal):.1f}", *changed


def trained_values(measure: str) -> Array:
    """Give a measure of the trained methods (methods, doses, seeds)."""
    methods, doses, seeds = [*trained.METHODS], [*trained.DOSES], [*trained.SEEDS]
    values = np.full((len(methods), len(doses), len(seeds)), np.nan)
    for model in models():
        place = methods.index(model["method"]), doses.index(model["dose"]), model["seed"]
        values[place] = (
            model["followed"]
            if measure == "followed"
            else model["accuracy"]["random"]
            if measure == "accuracy"
            else model["measures"][measure]
        )
    return values


def trained_rows() -> Iterator[Sequence[str]]:
    """A row a measure: by how much it rises with the dose, and its correlation with it."""
    named = {"accuracy": "accuracy on random", "followed": "share that follows the background"}
    for measure, words in (named | MEASURES).items():
        values = trained_values(measure)
        risen = [mean_of(of[-1] - of[0]) for of in values]
        dose = np.tile(trained.DOSES, len(values))
        found = mean_of(np.array([ordered(of.ravel(), dose) for of in np.moveaxis(values, 2, 0)]))
        yield words, *(f"{m:+.1f} ± {w:.1f}" for m, w in risen), f"{found[0]:.2f} ± {found[1]:.2f}"


def main() -> None:
    """Print the tables."""
    printed("measure | fixed: | equal: | mixed: | opposed: | lowest:", heads_rows())
    at = "λ = 0: | 1/2: | 1:"
    printed(f"random tasks, per cent | {at} | equal: | lost, same to other, {at}", level_rows())
    printed(f"ρ = 0.9 minus 0 | {': | '.join(trained.METHODS)}: | and ρ:", trained_rows())


if __name__ == "__main__":
    main()
