"""The choice of Q for a release's protocols that leave it open."""

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
"""The Q at which the variance of a task is estimated, if two tasks can be drawn."""


def backbone_of(dataset: DatasetSpec, rule: QuerySpec) -> str:
    """Name the backbone of a rule's features: the rule's own, or the first of the data set."""
    names = (rule.features, *dataset.features, *dataset.backbones)
    return base_of(next(filter(None, names), ""))[0]


def choose_queries(
    dataset: DatasetSpec,
    features: FeatureBuild,
    datasets: Mapping[str, DatasetSpec],
) -> dict[WayShot, QueryEvidence]:
    """Choose Q, with its evidence, for the open protocols of a data set.

    Its images have been written before.  The choice of a previous run is kept.
    """
    rule = dataset.queries
    if rule is None or not dataset.left_open:
        return {}
    writer, other = features.writer, rule.dataset or dataset.name
    backbone = backbone_of(datasets[other], rule)
    digests = {
        name: [writer.digest("classes", name), writer.digest("images", name)]
        for name in (dataset.name, other)
    }
    made_of = [to_builtins(rule), list(SWEPT), features.made_of(other, backbone), digests]

    def choose(way: int, shot: int) -> Made:
        so_far, progress = writer.so_far(), features.progress
        what = f"{dataset.name}: the number of queries of {way}w{shot}s"
        progress(what)
        draws = Draws.of(so_far, dataset.name, rule.suite, way, shot)
        compared = COMPARED if rule.rule == "comparisons" else ()
        swept_draws = Draws.of(so_far, other, rule.suite, way, shot)
        swept_draws.check_variances(dataset.name)
        values, _ = features.of(other, backbone)
        sets = QuerySets(swept_draws, rule.head, values, f"{backbone}/{rule.head}", "", compared)
        grid = [query for query in SWEPT if swept_draws.tasks(query, 0) > 1]
        swept = sweep(
            sets, grid, seeds=rule.seeds, progress=lambda step: progress(f"{what}: {step}")
        )
        return Made({}, QueryEvidence.of(swept, draws).as_json())

    chosen = {}
    for way, shot in dataset.left_open:
        step = Step(f"queries/{dataset.name}/{way}w{shot}s", made_of, partial(choose, way, shot))
        chosen[way, shot] = QueryEvidence.parse(writer.journal.once(step))
    return chosen
