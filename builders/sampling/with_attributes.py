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
from benchmark_spec.protocol import Protocol, TaskSetName, suite_of
from builders.sampling.attribute_biased import (
    ImageAttributes,
    Ladder,
    draw_ladder,
    image_attributes,
    with_other_support,
)
from builders.sampling.counterfactual import draw_counterfactual, versions
from builders.sampling.fewstab_code import draw_released
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
    """Draw all steps of a ladder, perhaps of the `released` code, which are asked for in turn."""
    of_images = image_attributes(attributes.table, class_sizes, how["dataset"])
    if released:
        return draw_released(of_images, protocol, **how), of_images
    return draw_ladder(of_images, protocol, reuse=reuse, **how), of_images
