"""Samplers: from class sizes to frozen task sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol, TaskSetName, suite_of
from builders.sampling.attribute_biased import (
    ImageAttributes,
    Ladder,
    draw_ladder,
    image_attributes,
    with_other_support,
)
from builders.sampling.balanced import draw_balanced, draw_grouped
from builders.sampling.counterfactual import draw_counterfactual, versions
from builders.sampling.fewstab_code import draw_released
from fslbench_data.tasks.draw import (
    DrawnTasks,
    Groups,
    checked_sizes,
    draw_open,
    freeze,
    split_support,
)
from fslbench_data.tasks.redraw import SAMPLER_VERSION, draw_uniform
from fslbench_data.tasks.redraw import draw_again as draw_any_again

PUBLISHED_SEED, PUBLISHED_MOST = 0, 2000
"""The seed of the suite `published`, and how many tasks it has at most."""


def draw_task_set(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int = 0,
    tasks: int | None = None,
    groups: Groups | None = None,
    attributes: pa.Table | None = None,
    **part: Any,
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a task set.

    Parameters
    ----------
    dataset, name
        The data set and the task set; both key the random streams.
    class_sizes
        Images of each class, in the frozen order of classes.
    seed
        Of every suite but `published`, which has its own.
    tasks
        How many: needed for `closed` and other suites that reuse images, a cap for `open` and
        others that do not, the number for `balanced` (as many as possible if absent) and `pooled`;
        `published` stops at 2000.
    groups
        Group of each image (:func:`groups_of`), needed for `grouped`; `pooled` draws them, too.
    attributes
        Of the images, for suites that are made with them.
    part
        Of `allway`: `paths` and `test` of :func:`fslbench_data.tasks.redraw.draw_uniform`.

    Returns
    -------
    table, provenance
        Of the schema :func:`benchmark_spec.schemas.task_set`, and what it takes to draw it again.
    """
    seed, suite, protocol = int(seed), name.suite, name.protocol
    how: dict[str, Any] = {
        "suite": suite, "sampler_version": SAMPLER_VERSION, "generator": "Philox",
    }  # fmt: skip
    keyed: dict[str, Any] = {"dataset": dataset, "seed": seed}
    if suite_of(suite).uniform:
        uniform: dict[str, Any] = {"seed": seed, "tasks": tasks, "groups": groups}
        return draw_uniform(dataset, name, class_sizes, **uniform, **part)
    if label := suite_of(suite).attributes:
        if attributes is None:
            raise SamplingError(
                f"a {suite} set needs the attributes {label!r} of the images",
                where=f"{dataset}/{name}",
                fix=f'give the data set attributes = {{ {label} = "..." }}: a recipe of '
                "docs/bias.md",
            )
        of_images: dict[str, Any] = {"attributes": attributes, "groups": groups}
        table, special = _draw_with_attributes(
            dataset, name, class_sizes, seed=seed, tasks=tasks, **of_images
        )
        return table, {**how, **special, "seed": seed}
    if suite == "published":
        if tasks is not None or seed != PUBLISHED_SEED:
            raise SamplingError(
                "the published task sets are what they are",
                expected=f"seed {PUBLISHED_SEED} and no number of tasks",
            )
        drawn = draw_published(class_sizes, protocol, dataset=dataset)
        how |= {"generator": "RandomState", "max_tasks": PUBLISHED_MOST}
    elif suite == "open":
        drawn = draw_open(class_sizes, protocol, **keyed, max_tasks=tasks)
        how["max_tasks"] = tasks
    elif suite == "balanced":
        drawn = draw_balanced(class_sizes, protocol, **keyed, tasks=tasks)
        how["tasks"] = tasks
    elif suite == "grouped":
        if groups is None:
            raise SamplingError(
                "a grouped set needs the groups of the images",
                where=f"{dataset}/{name}",
                fix="give a source with an images table; counts of a catalogue have no groups",
            )
        drawn = draw_grouped(class_sizes, protocol, **keyed, groups=groups, max_tasks=tasks)
        how["max_tasks"] = tasks
    else:
        raise SamplingError(f"no sampler draws the suite {suite!r}")
    shuffle = Stream(suite, dataset, str(protocol), seed, "queries")
    return freeze(drawn, class_sizes, shuffle), {**how, "seed": seed}


def draw_published(
    class_sizes: Sequence[int], protocol: Protocol, *, dataset: str, max_tasks: int = PUBLISHED_MOST
) -> DrawnTasks:
    """Draw the tasks behind the accuracies that Lafargue et al. released (suite `published`).

    That is Algorithm 2 of "Oops, I Sampled it Again" (TMLR 2024) as their runs drew it, of classes
    of these sizes in the split's order.
    """
    sizes = checked_sizes(class_sizes, protocol, dataset)
    generator = np.random.RandomState(PUBLISHED_SEED)
    unused = [np.arange(size, dtype=np.int32) for size in sizes]
    left = sizes.copy()
    class_ids: list[NDArray[Any]] = []
    images: list[NDArray[Any]] = []
    while len(class_ids) < max_tasks:
        eligible = np.flatnonzero(left >= protocol.per_class)
        if eligible.size < protocol.way:
            break
        chosen = generator.choice(eligible, protocol.way, replace=False)
        drawn = np.empty((protocol.way, protocol.per_class), np.int32)
        for slot, class_id in enumerate(chosen):
            # RandomState.choice without replacement is the head of a permutation
            at = generator.permutation(left[class_id])[: protocol.per_class]
            drawn[slot] = unused[class_id][at]
            unused[class_id] = np.delete(unused[class_id], at)
            left[class_id] -= protocol.per_class
        class_ids.append(chosen)
        images.append(drawn)
    return split_support(protocol, np.stack(class_ids), np.stack(images))


def _draw_with_attributes(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    *,
    seed: int,
    tasks: int | None,
    attributes: pa.Table,
    groups: Groups | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a task set that is made with attributes.

    Gives its table, and what is special in its provenance.
    """
    suite = suite_of(name.suite)
    reuse = suite.interval == "closed"
    how: dict[str, Any] = {"dataset": dataset, "label": suite.attributes, "seed": seed}
    how |= {"tasks": tasks, "reuse": reuse}
    table_of = _Attributes(content_digest(attributes), attributes)
    sizes, protocol = tuple(class_sizes), name.protocol
    if suite.family == "counterfactual":
        alone = np.full(sum(class_sizes), -1) if groups is None else groups
        objects = versions(attributes, class_sizes, alone, dataset)
        steps, which = draw_counterfactual(objects, protocol, **how)
        drawn, values = steps[suite.step], np.array(objects.values, object)[which]
        inter_class = np.full(which.shape, suite.step == "other")
    else:
        ladder, of_images = _ladder(table_of, sizes, protocol, suite.family == "fewstab", **how)
        if suite.family == "ablation":
            about = Stream("ablation", dataset, suite.attributes, str(protocol), seed, suite.step)
            drawn = with_other_support(ladder, of_images, suite.step, about)
        else:
            drawn = ladder.steps[suite.step]
        values = np.array(of_images.names, object)[ladder.attributes]
        inter_class = ladder.inter_class & (suite.step != "matched")
    queries = Stream(name.suite, dataset, str(protocol), seed, "queries")
    table = freeze(drawn, class_sizes, queries)
    schema = schemas.task_set(name)
    for column, flat in (
        ("attributes", pa.array(values.reshape(-1).tolist(), pa.string())),
        ("inter_class", pa.array(inter_class.reshape(-1))),
    ):
        kind = schema.field(column).type
        table = table.append_column(column, pa.FixedSizeListArray.from_arrays(flat, type=kind))
    number = {"tasks" if reuse else "max_tasks": tasks}
    return table, {**number, "attributes": table_of.digest}


@dataclass(frozen=True)
class _Attributes:
    """A table of attributes that is the same as another if its digest is."""

    digest: str
    table: pa.Table = field(compare=False)


@lru_cache(maxsize=2)
def _ladder(
    attributes: _Attributes,
    class_sizes: tuple[int, ...],
    protocol: Protocol,
    released: bool,
    *,
    reuse: bool,
    **how: Any,
) -> tuple[Ladder, ImageAttributes]:
    """Draw all steps of a ladder, perhaps of the `released` code; cached, as they come in turn."""
    of_images = image_attributes(attributes.table, class_sizes, how["dataset"])
    if released:
        return draw_released(of_images, protocol, **how), of_images
    return draw_ladder(of_images, protocol, reuse=reuse, **how), of_images


def draw_again(
    dataset: str,
    name: TaskSetName,
    class_sizes: Sequence[int],
    provenance: Mapping[str, Any],
    rows: int,
    groups: Groups | None = None,
    attributes: pa.Table | None = None,
    paths: Sequence[str] | None = None,
) -> pa.Table:
    """Draw a task set of `rows` tasks again from the provenance that :func:`draw_task_set` gave."""
    draw = partial(draw_task_set, attributes=attributes)
    return draw_any_again(dataset, name, class_sizes, provenance, rows, groups, draw, paths)
