"""Print the page's tables from the files of JSON beside it: ``python -m studies.truth``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from studies.common import Array, printed
from studies.truth import heads, trained
from studies.truth.measures import MEASURES, mean_of, ordered

POPULATIONS = ("fixed", "equal", "mixed", "opposed")
ORDERS = 0.9
Models = Sequence[dict[str, Any]]


@cache
def read(path: Path) -> Any:
    """Read what was found."""
    return json.loads(path.read_text())


def correlation_of(data: str, population: str, measure: str) -> tuple[float, float]:
    """Compute the mean over seeds of Spearman's correlation with λ, and its half-width."""
    found = read(heads.RESULTS)[data]["spearman"][population][measure]
    return mean_of(np.array(found))


def heads_rows() -> Iterator[Sequence[str]]:
    """A row a measure: its correlations on all data by population, and the lowest."""
    for measure, words in MEASURES.items():
        data = read(heads.RESULTS)
        of = {p: [correlation_of(d, p, measure) for d in data] for p in POPULATIONS}
        every = [cell for cells in of.values() for cell in cells]
        yield (
            words,
            *(" · ".join(f"{mean:.2f}" for mean, _ in of[p]) for p in POPULATIONS),
            "{:.2f} ± {:.2f}".format(*min(every)),
            str(sum(mean - width > ORDERS for mean, width in every)),
            str(sum(mean + width < 0 for mean, width in every)),
        )


def level_rows() -> Iterator[Sequence[str]]:
    """A row a data set: accuracy on random tasks, and lost from same to other, by λ."""
    for name, found in read(heads.RESULTS).items():
        some = [found["accuracy"]["fixed"][i] for i in (0, 4, 8)]
        equal = [of["random"] for of in found["accuracy"]["equal"]]
        random = [f"{of['random']:.1f}" for of in some]
        changed = [f"{of['same'] - of['other']:.1f}" for of in some]
        yield name, *random, f"{min(equal):.1f} to {max(equal):.1f}", *changed


def values_of(models: Models, measure: str) -> Array:
    """Give a measure of trained methods (methods, doses, seeds)."""
    methods, doses, seeds = (sorted({m[k] for m in models}) for k in ("method", "dose", "seed"))
    values = np.full((len(methods), len(doses), len(seeds)), np.nan)
    for model in models:
        place = (methods.index(model["method"]), doses.index(model["dose"]))
        of = model["measures"] | {
            "followed": model["followed"],
            "accuracy": model["accuracy"]["random"],
        }
        values[(*place, seeds.index(model["seed"]))] = of[measure]
    return values


def trained_rows(models: Models) -> Iterator[Sequence[str]]:
    """A row a measure: by how much it rises with the dose, and its correlation with it."""
    named = {"accuracy": "accuracy on random", "followed": "share that follows the attribute"}
    for measure, words in (named | MEASURES).items():
        values = values_of(models, measure)
        risen = [mean_of(of[-1] - of[0]) for of in values]
        dose = np.tile(trained.DOSES, len(values))
        found = mean_of(np.array([ordered(of.ravel(), dose) for of in np.moveaxis(values, 2, 0)]))
        yield words, *(f"{m:+.1f} ± {w:.1f}" for m, w in risen), f"{found[0]:.2f} ± {found[1]:.2f}"


def main() -> None:
    """Print the tables."""
    names = ": | ".join(POPULATIONS)
    printed(f"measure | {names}: | lowest: | orders, of 20: | reverses:", heads_rows())
    at = "λ = 0: | 1/2: | 1:"
    printed(f"right on random, per cent | {at} | equal: | lost, same to other, {at}", level_rows())
    for path in (trained.RESULTS,):
        methods = ": | ".join(sorted({model["method"] for model in read(path)}))
        printed(f"{path.stem}: ρ = 0.9 minus 0 | {methods}: | and ρ:", trained_rows(read(path)))


if __name__ == "__main__":
    main()
