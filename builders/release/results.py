"""Run a release's reference methods: heads on features, and networks fine-tuned per task."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from builders.baselines import run_ft, run_head
from builders.execution.steps import Made, Step
from builders.features.backbones import load_backbone
from builders.release.features import FeatureBuild
from builders.release.spec import DatasetSpec, FineTuningSpec, ReleaseSpec
from builders.sources.export import write_pictures
from fslbench_data.release.features import Features
from fslbench_data.release.release import Release
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rows import numbered

FT = "FT"
"""The head of methods that are fine-tuned."""


class _Part(NamedTuple):
    """The task sets of a data set that a method runs on, and its fine-tuning, if any."""

    dataset: DatasetSpec
    sets: list[TaskSetInfo]
    tuning: FineTuningSpec | None = None


def _methods(spec: ReleaseSpec, release: Release) -> dict[tuple[str, str], list[_Part]]:
    """List the parts of each (backbone, head) in the specification's order, fine-tuning last."""
    methods: dict[tuple[str, str], list[_Part]] = {}
    tuned: dict[tuple[str, str], list[_Part]] = {}
    for dataset in spec.datasets:
        infos = [info for info in release.task_sets if info.dataset == dataset.name]
        backbones = dict.fromkeys((*dataset.features, *dataset.backbones))
        others = [info for info in infos if info.name.suite not in dataset.methods_of]
        for method in product(backbones, dataset.heads):
            methods.setdefault(method, []).append(_Part(dataset, others))
        for suite, of_suite in dataset.methods_of.items():
            sets = [info for info in infos if info.name.suite == suite]
            for method in product(of_suite.features, of_suite.heads):
                methods.setdefault(method, []).append(_Part(dataset, sets))
        if tuning := dataset.fine_tuning:
            sets = [info for info in infos if str(info.name) in tuning.task_sets]
            for backbone in tuning.backbones:
                tuned.setdefault((backbone, FT), []).append(_Part(dataset, sets, tuning))
    return methods | tuned


def result_steps(spec: ReleaseSpec, features: FeatureBuild) -> Iterator[Step]:
    """Yield the steps that run the reference methods, each on all its data sets."""
    for (backbone, head), parts in _methods(spec, features.writer.so_far()).items():
        made_of = [_made_of(features, backbone, part) for part in parts]
        make = _fine_tune if head == FT else partial(_run, head)
        yield Step(f"results/{backbone}/{head}", made_of, partial(make, backbone, parts, features))


def _made_of(features: FeatureBuild, backbone: str, part: _Part) -> list[Any]:
    """List what results on a data set are made of, for JSON: images or features, and tasks."""
    name, most = part.dataset.name, part.tuning.max_tasks if part.tuning else None
    if part.tuning is None:
        inputs = [backbone in part.dataset.features, *features.made_of(name, backbone)]
    else:
        inputs = [features.writer.digest("images", name), features.settings.device]
    tasks = [
        [str(info.name), info.fingerprint, None if most is None or most >= info.n_tasks else most]
        for info in part.sets
    ]
    return [name, *inputs, tasks]


def _run(head: str, backbone: str, parts: list[_Part], features: FeatureBuild) -> Made:
    release, settings = features.writer.so_far(), features.settings
    provenances: dict[str, dict[str, Any]] = {}

    def features_of(dataset: str) -> Features:
        values, provenances[dataset] = features.of(dataset, backbone)
        return values

    features.progress(f"{backbone}/{head}")
    results = [
        run_head(
            release,
            head,
            backbone,
            [part.dataset.name],
            task_sets=[str(info.name) for info in part.sets],
            features=features_of,
            engine=settings.engine,
            threads=settings.threads,
        )
        for part in parts
        if part.sets
    ]
    provenance: dict[str, Any] = {"head": head, "features": backbone}
    if any(backbone not in part.dataset.features for part in parts):
        first, *others = provenances.values()  # the release does not say how these were made
        provenance["extraction"] = {
            k: v for k, v in first.items() if all(other.get(k) == v for other in others)
        }
    return features.writer.add_results(with_right_queries(merge(results), release), provenance)


def _fine_tune(backbone: str, parts: list[_Part], features: FeatureBuild) -> Made:
    release, settings = features.writer.so_far(), features.settings
    network = load_backbone(backbone, settings.weights, device=settings.device)
    provenance = {"head": FT, "network": network.describe()}
    features.progress(f"{backbone}/{FT}")
    results = []
    for part in parts:
        name, tuning = part.dataset.name, part.tuning
        assert tuning is not None  # noqa: S101
        features.progress(f"{backbone}/{FT} on {name}")
        made_of = _made_of(features, backbone, part)
        folder = features.work(f"{name}-pictures", made_of[1:2])
        write_pictures(features.images[name](), folder, features.progress)
        journal = features.work(f"{backbone}-answers", made_of)
        how: dict[str, Any] = {"max_tasks": tuning.max_tasks, "device": settings.device}
        answers = run_ft(release, network, folder, name, tuning.task_sets, **how, journal=journal)
        results.append(answers)
    return features.writer.add_results(with_right_queries(merge(results), release), provenance)


def with_right_queries(results: Submission, release: Release) -> Submission:
    """Replace predictions by which queries are right, which takes a third of the space.

    Predictions for all classes at once stay, since intervals for new classes need them.  Counts by
    class on `pooled` sets, which have many tasks, are dropped, since they follow.  Results that
    already have `correct` are returned unchanged.
    """
    if "predictions" not in results.columns or "correct" in results.columns:
        return results
    table, numbers = results.table, numbered(results, release)
    infos, checked = [key.info for key in numbers.keys], numbers.predictions
    assert checked is not None  # noqa: S101
    predictions = table.column("predictions").combine_chunks()
    lengths = predictions.value_lengths().fill_null(0).to_numpy()
    order, right = [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    for group, info in enumerate(infos):
        if checked.complete(group) and not info.name.whole:
            order.append(checked.rows_of(group))
            right.append(checked.right_in_task_order(group))
    known = np.concatenate(order)
    offsets = np.append(0, lengths[known].cumsum()).astype(np.int32)
    lists = pa.ListArray.from_arrays(offsets, np.concatenate(right).astype(np.int8))
    position, is_known = np.zeros(len(table), np.int64), np.zeros(len(table), bool)
    position[known], is_known[known] = np.arange(known.size), True
    rows, columns = np.arange(len(table)), dict(zip(table.column_names, table.columns, strict=True))
    columns["predictions"] = predictions.take(pa.array(rows, mask=is_known))
    columns["correct"] = lists.take(pa.array(position, mask=~is_known))
    pooled = np.array([info.name.suite == "pooled" for info in infos])[numbers.groups]
    by_class = columns["class_correct"].combine_chunks()
    columns["class_correct"] = by_class.take(pa.array(rows, mask=is_known & pooled))
    used = {name: column for name, column in columns.items() if column.null_count < len(table)}
    return replace(results, table=canonical(pa.table(used), results.source))
