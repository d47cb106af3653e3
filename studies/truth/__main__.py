"""Print the page's tables from the files of JSON beside it: ``python -m studies.truth``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from studies.common import Array, printed
from studies.truth import colour, heads, trained
from studies.truth.measures import MEASURES, mean_of, ordered

POPULATIONS = ("fixed", "equal", "mixed", "opposed")
ORDERS = 0.9
TRAINED = trained.RESULTS, colour.RESULTS
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
    """Yield a row per measure: its correlations on all data by population, and the lowest."""
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
    """Yield a row per data set: accuracy on random tasks, and lost from same to other, by λ."""
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


def trained_rows() -> Iterator[Sequence[str]]:
    """Yield a row a measure: its rise with the dose, in how many methods, and their correlation."""
    named = {"accuracy": "accuracy on random", "followed": "share that follows the attribute"}
    for measure, words in (named | MEASURES).items():
        cells = []
        for path in TRAINED:
            values = values_of(read(path), measure)
            risen = values[:, -1] - values[:, 0]
            above = sum(mean > width for mean, width in map(mean_of, risen))
            dose = np.tile(trained.DOSES, len(values))
            orders = [ordered(of.ravel(), dose) for of in np.moveaxis(values, 2, 0)]
            rise, found = mean_of(risen.mean(axis=0)), mean_of(np.array(orders))
            cells += ["{:+.1f} ± {:.1f}".format(*rise), str(above)]
            cells.append("{:.2f} ± {:.2f}".format(*found))
        yield words, *cells


def main() -> None:
    """Print the tables."""
    names = ": | ".join(POPULATIONS)
    printed(f"measure | {names}: | lowest: | orders, of 20: | reverses:", heads_rows())
    at = "λ = 0: | 1/2: | 1:"
    printed(f"right on random, per cent | {at} | equal: | lost, same to other, {at}", level_rows())
    names = "glyphs, rise: | in, of 4: | and ρ: | emoji, rise: | in, of 4: | and ρ:"
    printed(f"ρ = 0.9 minus 0 | {names}", trained_rows())


if __name__ == "__main__":
    main()
