"""Read from a release's manifest how numbers of queries were chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from benchmark_spec.declared import declared
from benchmark_spec.errors import CorruptReleaseError, many
from fslbench_data.release.release import Release
from fslbench_data.sampling.redraw import EVIDENCE

_AtLeast1 = Annotated[int, Meta(ge=1)]


class ChosenQueries(Struct, frozen=True):
    """A number of queries that was chosen for task sets of a data set.

    Attributes
    ----------
    rule
        Whether Q makes the intervals of ``comparisons`` of methods narrow, or of one method's
        ``accuracy``.
    query, low, high, level
        Q, and the confidence interval of Q* and its level; None is undetermined.
    method, seeds
        Features and head of the results that Q is chosen by, and their task sets for each Q.
    images, of_dataset
        ``these`` if those results are on images that the task sets are drawn from, else ``others``;
        the data set of those images.
    """

    dataset: str
    task_sets: tuple[str, ...]
    query: _AtLeast1
    low: _AtLeast1 | None
    high: _AtLeast1 | None
    level: Annotated[float, Meta(gt=0, lt=1)]
    method: str
    seeds: _AtLeast1
    images: Literal["these", "others"]
    of_dataset: str
    rule: Literal["comparisons", "accuracy"]

    def __str__(self) -> str:
        return f"recommended queries per class: {self.chosen}"

    @property
    def chosen(self) -> str:
        """The number, its interval, and what it was chosen on."""
        bounds = "undetermined"
        if self.low is not None:
            bounds = f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"
        images = "on the images of these sets"
        if self.images == "others":
            images = f"on other images, {self.of_dataset}"
        method = self.method
        if self.rule == "comparisons":
            method = f"comparisons of heads on {method.rpartition('/')[0]}"
        seeds = many(self.seeds, "seed")
        interval = f"{100 * self.level:.8g} % CI: {bounds}"
        return f"{self.query} ({interval}); {method}, {seeds}, {images}"


def choice_of(
    dataset: str, task_set: str, provenance: Mapping[str, Any], where: str
) -> ChosenQueries | None:
    """Read how the number of queries of a task set was chosen; None if it was not.

    Raises a CorruptReleaseError, which names the release by `where`, if this part of the provenance
    is malformed.
    """
    evidence = provenance.get(EVIDENCE)
    if evidence is None:
        return None
    try:
        raw = dict(evidence)
        raw |= {"of_dataset": raw.get("dataset")}
        return declared(raw | {"dataset": dataset, "task_sets": (task_set,)}, ChosenQueries)
    except (TypeError, ValueError) as error:
        raise CorruptReleaseError(
            f"what the number of queries of {dataset}/{task_set} was chosen on cannot be read: "
            f"{error}",
            where=where,
        ) from None


def chosen_queries(release: Release, datasets: Collection[str]) -> list[ChosenQueries]:
    """List the choices, each once with its task sets, in the release's order.

    Raises a CorruptReleaseError if one of them is malformed in the manifest.
    """
    choices: dict[tuple[int, int, ChosenQueries], list[str]] = {}
    for info in release.task_sets:
        if info.dataset not in datasets:
            continue
        name, provenance = str(info.name), release.provenance(info)
        choice = choice_of(info.dataset, name, provenance, release.files.where)
        if choice is not None:
            key = (info.protocol.way, info.protocol.shot, replace(choice, task_sets=()))
            choices.setdefault(key, []).append(name)
    return [replace(choice, task_sets=tuple(names)) for (*_, choice), names in choices.items()]
