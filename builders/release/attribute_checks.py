"""The laws of suites that are made with attributes of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.protocol import LADDER, TaskSetName, suite_of

Bools = NDArray[np.bool_]


def bias_problems(
    table: pa.Table, name: TaskSetName, attributes: pa.Table
) -> Iterator[tuple[Bools, str]]:
    """Which tasks (T,) break which law of the suite.

    Parameters
    ----------
    table
        Of the schema :func:`benchmark_spec.schemas.task_set`, with ids of images that there are.
    attributes
        Of the data set: :data:`benchmark_spec.schemas.ATTRIBUTES`.
    """
    step, protocol = suite_of(name.suite).step, name.protocol
    has = [set(each) for each in attributes.column("attributes").to_pylist()]
    column: dict[str, list[list[Any]]] = {
        key: table.column(key).to_pylist()
        for key in ("support", "query", "query_label", "attributes", "inter_class")
    }
    wrong: dict[str, list[bool]] = {}
    for support, query, labels, chosen, inter in zip(*column.values(), strict=True):
        found = _Task(
            [has[i] for i in support], [has[i] for i in query], labels, chosen, protocol.shot
        )
        for law, broken in found.broken(step, inter).items():
            wrong.setdefault(law, []).append(broken)
    for law, tasks in wrong.items():
        yield np.array(tasks), law


class _Task:
    def __init__(
        self,
        support: list[set[str]],
        query: list[set[str]],
        labels: list[int],
        chosen: list[str],
        shot: int,
    ) -> None:
        self._support = [support[shot * k : shot * (k + 1)] for k in range(len(chosen))]
        self._query = list(zip(query, labels, strict=True))
        self._chosen = chosen

    def broken(self, step: str, inter_class: list[bool]) -> dict[str, bool]:
        """Each law of a step, and whether the task breaks it."""
        chosen, every = self._chosen, set(self._chosen)
        if step not in LADDER:
            own = [image == {chosen[k]} for k, of in enumerate(self._support) for image in of]
            return {
                "a support image has another value": not all(own),
                "a query has a value that its step forbids": not all(
                    self._fits(step, image, k) for image, k in self._query
                ),
            }
        laws = {"two classes have the same attribute": len(every) < len(chosen)}
        if step != "random":
            laws["a support image lacks its attribute, or has another class's"] = not all(
                image & every == {chosen[k]} for k, of in enumerate(self._support) for image in of
            )
        if step in ("intra", "inter", "biased"):
            laws["a query has its class's attribute"] = any(
                chosen[k] in image for image, k in self._query
            )
        if step in ("inter", "biased"):
            laws["a query has no other class's attribute, though the table says so"] = not all(
                image & every or not inter_class[k] for image, k in self._query
            )
        return laws

    def _fits(self, step: str, image: set[str], k: int) -> bool:
        own, others = {self._chosen[k]}, set(self._chosen) - {self._chosen[k]}
        return {"same": image == own, "any": True, "other": image <= others}[step]
