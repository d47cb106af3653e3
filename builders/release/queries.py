"""Choosing the number of queries of a release's protocols that leave it open."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import to_builtins

from analysis_sql.planning.query_size import MIN_TASKS
from benchmark_spec.errors import SamplingError
from benchmark_spec.manifest import Kind
from builders.execution.steps import Made, Step
from builders.features.compress import base_of
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.query_size.sweep import COMPARED, QuerySets, sweep
from builders.release.features import FeatureBuild, ImagesOf
from builders.release.spec import DatasetSpec, QuerySpec, WayShot
from fslbench_data.release.release import load_release

SWEPT = range(1, 16)
"""Q of the task sets that the variance of a task is fitted on, as far as two tasks are drawn."""

OF_IMAGES: tuple[Kind, Kind] = ("classes", "images")
"""Tables that decide which task sets images give."""

Chosen = Mapping[WayShot, QueryEvidence]
"""By ways and shots, which Q was chosen, and why."""


def backbone_of(dataset: DatasetSpec, rule: QuerySpec) -> str:
    """Name the backbone of a rule's features: its own, or those of its data set that come first."""
    names = (rule.features, *dataset.features, *dataset.backbones)
    return base_of(next(filter(None, names), ""))[0]


def choose_queries(
    dataset: DatasetSpec,
    features: FeatureBuild,
    images: Mapping[str, ImagesOf],
    datasets: Mapping[str, DatasetSpec],
) -> Chosen:
    """Choose Q for the protocols of a data set; its classes and images are written before.

    The choice of a previous run is kept.
    """
    rule = dataset.queries
    if rule is None or not dataset.left_open:
        return {}
    writer, other = features.writer, rule.dataset or dataset.name
    if rule.release:
        how = [load_release(rule.release).manifest.digest]
    else:
        how = features.made_of(other, backbone_of(datasets[other], rule))
    of = {name: [writer.digest(k, name) for k in OF_IMAGES] for name in (dataset.name, other)}
    made_of = [to_builtins(rule), list(SWEPT), how, of]

    def choose(way: int, shot: int) -> Made:
        so_far, report = writer.so_far(), features.progress
        report(what := f"{dataset.name}: the number of queries of {way}w{shot}s")
        own = Draws.of(so_far, dataset.name, rule.suite, way, shot)
        compared = COMPARED if rule.rule == "comparisons" else ()
        if rule.release:
            how: dict[str, Any] = {"way": way, "shot": shot, "suite": rule.suite}
            how |= {"compared": compared}
            sets = QuerySets.of(load_release(rule.release), other, rule.features, rule.head, **how)
        else:
            backbone = backbone_of(datasets[other], rule)
            values, _ = features.of(other, backbone, images[other])
            draws = Draws.of(so_far, other, rule.suite, way, shot)
            sets = QuerySets(draws, rule.head, values, f"{backbone}/{rule.head}", "", compared)
        if not estimates_variances(sets.draws):
            raise no_number(dataset.name, sets.draws)
        grid = [query for query in SWEPT if sets.draws.tasks(query, 0) > 1]
        swept = sweep(sets, grid, seeds=rule.seeds, progress=lambda step: report(f"{what}: {step}"))
        return Made({}, QueryEvidence.of(swept, own, rule.release and sets.origin).as_json())

    chosen = {}
    for way, shot in dataset.left_open:
        step = Step(f"queries/{dataset.name}/{way}w{shot}s", made_of, partial(choose, way, shot))
        chosen[way, shot] = QueryEvidence.parse(writer.journal.once(step))
    return chosen


def estimates_variances(draws: Draws) -> bool:
    """Return whether images give tasks enough of two queries to estimate variances from."""
    return draws.tasks(2, 0) >= MIN_TASKS


def no_number(dataset: str, draws: Draws) -> SamplingError:
    """Return the error for too few images to choose a data set's number of queries on."""
    protocol = f"{draws.way}w{draws.shot}s"
    return SamplingError(
        f"no number of queries can be chosen for {protocol}",
        where=dataset,
        expected=f"images of {draws.dataset} for {MIN_TASKS} tasks of two queries a class",
        fix="ask for fewer ways or shots, or write the number: "
        f"{protocol}1q in place of {protocol}",
    )
