"""Samplers: from class sizes to frozen task sets."""

from __future__ import annotations

from collections.abc import Sequence
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
from benchmark_spec.protocol import FAMILIES, Protocol, TaskSetName, suite_of
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
from fslbench_data.sampling import redraw
from fslbench_data.sampling.draw import (
    DrawnTasks,
    Wanted,
    checked_sizes,
    draw_open,
    freeze,
    split_support,
)

PUBLISHED_SEED, PUBLISHED_MOST = 0, 2000
"""The seed of the suite `published`, and how many tasks it has at most."""


def draw_task_set(
    dataset: str, name: TaskSetName, class_sizes: Sequence[int], *, seed: int = 0, **how: Any
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a task set of any suite; :func:`fslbench_data.sampling.redraw.draw_tasks`.

    Other parameters are fields of :class:`fslbench_data.sampling.draw.Wanted`, such as `tasks`.
    """
    return redraw.draw_tasks(Wanted(dataset, name, class_sizes, int(seed), **how), SAMPLERS)


def _published(wanted: Wanted) -> redraw.Drawn:
    if wanted.tasks is not None or wanted.seed != PUBLISHED_SEED:
        raise SamplingError(
            "the published task sets are what they are",
            expected=f"seed {PUBLISHED_SEED} and no number of tasks",
        )
    drawn = draw_published(wanted.class_sizes, wanted.name.protocol, dataset=wanted.dataset)
    return drawn, {"generator": "RandomState", "max_tasks": PUBLISHED_MOST}


def draw_published(
    class_sizes: Sequence[int], protocol: Protocol, *, dataset: str, max_tasks: int = PUBLISHED_MOST
) -> DrawnTasks:
    """Draw the tasks behind the accuracies that Lafargue et al. released (suite `published`).

    That is Algorithm 2 of "Oops, I Sampled it Again" (TMLR 2024) as their runs drew it; class sizes
    are in the split's order.
    """
    sizes = checked_sizes(class_sizes, protocol, dataset)
    generator = np.random.RandomState(PUBLISHED_SEED)
    unused = [np.arange(size, dtype=np.int32) for size in sizes]
    class_ids: list[NDArray[Any]] = []
    images: list[list[NDArray[Any]]] = []
    while len(class_ids) < max_tasks:
        eligible = np.flatnonzero([left.size >= protocol.per_class for left in unused])
        if eligible.size < protocol.way:
            break
        class_ids.append(generator.choice(eligible, protocol.way, replace=False))
        images.append([])
        for class_id in class_ids[-1]:
            # RandomState.choice without replacement is the head of a permutation
            positions = generator.permutation(unused[class_id].size)[: protocol.per_class]
            images[-1].append(unused[class_id][positions])
            unused[class_id] = np.delete(unused[class_id], positions)
    return split_support(protocol, np.stack(class_ids), np.array(images))


def _with_attributes(wanted: Wanted) -> redraw.Drawn:
    """Draw and freeze a task set that is made with attributes."""
    suite, protocol, sizes = suite_of(wanted.name.suite), wanted.name.protocol, wanted.class_sizes
    if wanted.attributes is None:
        label = suite.attributes
        raise SamplingError(
            f"a {suite.name} set needs the attributes {label!r} of the images",
            where=wanted.where,
            fix=f'give the data set attributes = {{ {label} = "..." }}: a recipe of docs/bias.md',
        )
    reuse = suite.interval == "closed"
    how = wanted.given() | {"label": suite.attributes, "reuse": reuse}
    attributes = _Attributes(content_digest(wanted.attributes), wanted.attributes)
    if suite.family == "counterfactual":
        groups = np.full(sum(sizes), -1) if wanted.groups is None else wanted.groups
        objects = versions(attributes.table, sizes, groups, wanted.dataset)
        steps, which = draw_counterfactual(objects, protocol, **how)
        drawn, values = steps[suite.step], np.array(objects.values, object)[which]
        inter_class = np.full(which.shape, suite.step == "other")
    else:
        released = suite.family == "fewstab"
        ladder, of_images = _ladder(attributes, tuple(sizes), protocol, released, **how)
        if suite.family == "ablation":
            key = ("ablation", wanted.dataset, suite.attributes, str(protocol), wanted.seed)
            drawn = with_other_support(ladder, of_images, suite.step, Stream(*key, suite.step))
        else:
            drawn = ladder.steps[suite.step]
        values = np.array(of_images.names, object)[ladder.attributes]
        inter_class = ladder.inter_class & (suite.step != "matched")
    table, schema = freeze(drawn, sizes, wanted.stream("queries")), schemas.task_set(wanted.name)
    for column, flat in (("attributes", values), ("inter_class", inter_class)):
        kind = schema.field(column).type
        array = pa.array(flat.reshape(-1).tolist(), kind.value_type)
        table = table.append_column(column, pa.FixedSizeListArray.from_arrays(array, type=kind))
    number = "tasks" if reuse else "max_tasks"
    return table, {number: wanted.tasks, "attributes": attributes.digest}


@dataclass(frozen=True)
class _Attributes:
    """A table of attributes, compared and hashed by its digest."""

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
    """Draw all steps of a ladder, with `released` as FewSTAB's code does.

    It is cached, since the task sets of the steps are requested one after another.
    """
    of_images = image_attributes(attributes.table, class_sizes, how["dataset"])
    if released:
        return draw_released(of_images, protocol, **how), of_images
    return draw_ladder(of_images, protocol, reuse=reuse, **how), of_images


SAMPLERS: redraw.Samplers = {
    **redraw.UNIFORM,
    "published": _published,
    "open": redraw.sampler_of(draw_open, "max_tasks"),
    "balanced": redraw.sampler_of(draw_balanced, "tasks"),
    "grouped": redraw.sampler_of(draw_grouped, "max_tasks", "groups"),
    **dict.fromkeys(FAMILIES, _with_attributes),
}

draw_again = partial(redraw.draw_again, samplers=SAMPLERS)
"""Draw a task set of any suite again."""
