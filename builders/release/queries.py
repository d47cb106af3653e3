"""Choosing the number of queries of a release's protocols that leave it open."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import to_builtins

from builders.execution.steps import Made, Step
from builders.features.compress import base_of
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.query_size.sweep import COMPARED, QuerySets, sweep
from builders.release.features import FeatureBuild
from builders.release.spec import DatasetSpec, QuerySpec, WayShot

SWEPT = range(1, 16)
"""Q of the task sets that the variance of a task is fitted on, as far as two tasks are drawn."""


def backbone_of(dataset: DatasetSpec, rule: QuerySpec) -> str:
    """Name the backbone of a rule's features: its own, or those of its data set that come first."""
    names = (rule.features, *dataset.features, *dataset.backbones)
    return base_of(next(filter(None, names), ""))[0]


def choose_queries(
    dataset: DatasetSpec,
    features: FeatureBuild,
    datasets: Mapping[str, DatasetSpec],
) -> dict[WayShot, QueryEvidence]:
    """Choose Q, and why, for the protocols of a data set; its images are written before.

    The choice of a previous run is kept.
    """
    rule = dataset.queries
    if rule is None or not dataset.left_open:
        return {}
    writer, other = features.writer, rule.dataset or dataset.name
    backbone = backbone_of(datasets[other], rule)
    how = features.made_of(other, backbone)
    both = dataset.name, other
    of = {name: [writer.digest("classes", name), writer.digest("images", name)] for name in both}
    made_of = [to_builtins(rule), list(SWEPT), how, of]

    def choose(way: int, shot: int) -> Made:
        so_far, report = writer.so_far(), features.progress
        report(what := f"{dataset.name}: the number of queries of {way}w{shot}s")
        own = Draws.of(so_far, dataset.name, rule.suite, way, shot)
        compared = COMPARED if rule.rule == "comparisons" else ()
        draws = Draws.of(so_far, other, rule.suite, way, shot)
        draws.check_variances(dataset.name)
        values, _ = features.of(other, backbone)
        sets = QuerySets(draws, rule.head, values, f"{backbone}/{rule.head}", "", compared)
        grid = [query for query in SWEPT if draws.tasks(query, 0) > 1]
        swept = sweep(sets, grid, seeds=rule.seeds, progress=lambda step: report(f"{what}: {step}"))
        return Made({}, QueryEvidence.of(swept, own).as_json())

    chosen = {}
    for way, shot in dataset.left_open:
        step = Step(f"queries/{dataset.name}/{way}w{shot}s", made_of, partial(choose, way, shot))
        chosen[way, shot] = QueryEvidence.parse(writer.journal.once(step))
    return chosen
