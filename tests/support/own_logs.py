"""Logs of random tasks that reuse images: seeded, drawn uniformly, with an effect of each image."""

from typing import Any

import numpy as np

import fslbench_data as fb

Columns = dict[str, list[Any]]


def log(
    *,
    methods: dict[str, float] | None = None,
    classes: int = 15,
    images: int = 60,
    way: int = 5,
    per_class: int = 10,
    tasks: int = 600,
    seed: int = 0,
) -> Columns:
    """A log with counts; `methods` says by how much each is better than 70 %.

    Image ids are 1000 times the class and a number within it.
    """
    rng = np.random.default_rng(seed)
    ease = 0.1 * rng.standard_normal(classes)
    of_image = 0.2 * rng.standard_normal((classes, images))
    columns: Columns = {name: [] for name in ROW}
    drawn = []
    for _ in range(tasks):
        chosen = rng.permutation(classes)[:way]
        drawn.append((chosen, np.stack([rng.permutation(images)[:per_class] for _ in chosen])))
    for method, better in (methods or {"weak": 0.0, "strong": 0.1, "strong too": 0.1}).items():
        for task, (chosen, numbers) in enumerate(drawn):
            skill = ease[chosen].mean() + of_image[chosen[:, None], numbers].mean()
            share = 0.7 + better + skill + 0.03 * rng.standard_normal()
            right = int(np.clip(np.rint(25 * share), 0, 25))
            ids = (1000 * chosen[:, None] + numbers).tolist()
            row = method, task, chosen.tolist(), ids, right, 25
            for name, value in zip(ROW, row, strict=True):
                columns[name].append(value)
    return columns


ROW = ("method", "task", "class_ids", "image_ids", "n_correct", "n_query")


def rows(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def with_roles(columns: Columns, shots: int = 5) -> Columns:
    """The same with support and query apart, in place of both together."""
    rest = {name: values for name, values in columns.items() if name != "image_ids"}
    support = [[own[:shots] for own in ids] for ids in columns["image_ids"]]
    query = [[own[shots:] for own in ids] for ids in columns["image_ids"]]
    return {**rest, "support_ids": support, "query_ids": query}


def estimates(report: fb.Report) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Rows of means, by method and "", and of differences, by method and versus; of every kind.

    `value` is the mean or the difference. The usual interval is left out.
    """
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for rows in (report.scores, report.comparisons):
        for row in rows.to_arrow().to_pylist():
            if row["interval"] != "closed":
                kinds = found.setdefault((row["method"], row.get("versus", "")), {})
                kinds[row["interval"]] = row | {"value": row.get("difference", row["mean"])}
    return found
