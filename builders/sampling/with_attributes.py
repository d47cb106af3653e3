"""Task sets of suites that are made with attributes of images: drawn, and frozen with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

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
from builders.sampling.counterfactual import draw_counterfactual, versions
from builders.sampling.fewstab_code import ReleasedTasks, draw_released
from fslbench_data.tasks.draw import Groups, freeze


def draw_with_attributes(
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
    if suite.family in ("ladder", "ablation"):
        ladder, of_images = _ladder(table_of, sizes, protocol, **how)
        inter_class = ladder.inter_class
        if suite.family == "ladder":
            drawn = ladder.steps[suite.step]
        else:
            about = Stream("ablation", dataset, suite.attributes, str(protocol), seed, suite.step)
            drawn = with_other_support(ladder, of_images, suite.step, about)
        values = np.array(of_images.names, object)[ladder.attributes]
    elif suite.family == "fewstab":
        released, names = _released(table_of, sizes, protocol, **how)
        drawn = released.biased if suite.step == "released" else released.matched
        values = np.array(names, object)[released.attributes]
        inter_class = released.inter_class & (suite.step == "released")
    else:
        alone = np.full(sum(class_sizes), -1) if groups is None else groups
        objects = versions(attributes, class_sizes, alone, dataset)
        steps, which = draw_counterfactual(objects, name.protocol, **how)
        drawn, values = steps[suite.step], np.array(objects.values, object)[which]
        inter_class = np.full(which.shape, suite.step == "other")
    queries = Stream(name.suite, dataset, str(name.protocol), seed, "queries")
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


@lru_cache(maxsize=1)
def _ladder(
    attributes: _Attributes, class_sizes: tuple[int, ...], protocol: Protocol, **how: Any
) -> tuple[Ladder, ImageAttributes]:
    """Draw all steps of a ladder, which are asked for in turn; gives also the attributes."""
    of_images = image_attributes(attributes.table, class_sizes, how["dataset"])
    return draw_ladder(of_images, protocol, **how), of_images


@lru_cache(maxsize=1)
def _released(
    attributes: _Attributes,
    class_sizes: tuple[int, ...],
    protocol: Protocol,
    *,
    reuse: bool,
    **how: Any,
) -> tuple[ReleasedTasks, tuple[str, ...]]:
    """Draw the released code's tasks and those beside them, which are asked for in turn."""
    of_images = image_attributes(attributes.table, class_sizes, how["dataset"])
    return draw_released(of_images, protocol, **how), of_images.names


def attributes_needed(dataset: str, name: TaskSetName) -> SamplingError:
    """Return the error of a suite whose attributes are not there."""
    label = suite_of(name.suite).attributes
    return SamplingError(
        f"a {name.suite} set needs the attributes {label!r} of the images",
        where=f"{dataset}/{name}",
        fix=f'give the data set attributes = {{ {label} = "..." }}: a recipe of docs/bias.md',
    )
