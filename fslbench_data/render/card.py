"""The dataset card of a release, from its manifest and reference results."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, listing
from benchmark_spec.manifest import (
    Dataset,
    Manifest,
    Table,
    config_and_split,
    named_config_and_split,
)
from benchmark_spec.protocol import TaskSetName, suite_of
from fslbench_data.release.chosen_queries import choice_of
from fslbench_data.release.release import Release
from fslbench_data.release.tables import declared_columns
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.paper import table as paper_table
from fslbench_data.render.templating import markdown, template
from fslbench_data.scoring.paper import PaperColumn
from fslbench_data.scoring.task_set_report import ORDER
from fslbench_data.tasks import TaskSetInfo

NOWHERE = "ORG/NAME"
"""The placeholder for the repository of a release that is not published yet."""

LICENCES = {
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "CC0": "cc0-1.0",
    "CC0 1.0": "cc0-1.0",
    "CC BY 4.0": "cc-by-4.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
}
"""The Hub's names of licences that all data sets of a release may share."""

MOST_OPEN = 30
"""Task sets above which their table is folded away."""

SHOT = 5
"""Shots of the task sets with displayed results, or the nearest of a data set."""


def dataset_card(
    manifest: Manifest, release: Release | None = None, repository: str = NOWHERE
) -> str:
    """Write the README.md of a release: metadata for the Hub as YAML, then a page for people.

    Given the release, the page has the accuracy of each reference method on a task set of each data
    set.  `repository` is where the release is published.
    """
    licences = {dataset.licence for dataset in manifest.datasets}
    kinds: defaultdict[str, list[Table]] = defaultdict(list)
    for table in manifest.tables:
        kinds[table.kind].append(table)
    pictured = dict.fromkeys(table.dataset for table in kinds["pictures"])
    return template("render/templates/card.md.j2").render(
        manifest=manifest,
        results=None if release is None else _reference_results(release),
        repository=repository,
        nowhere=NOWHERE,
        licence=LICENCES.get(*licences) if len(licences) == 1 else None,
        size=size_category(sum(table.rows for table in manifest.tables)),
        configs=manifest.configs(),
        declared={
            config: list(map(_feature, columns))
            for config, columns in declared_columns(manifest).items()
        },
        kinds={kind: kinds[kind] for kind in ("tasks", "results")},
        most_open=MOST_OPEN,
        task_sets=_task_sets(kinds["tasks"]),
        loading=_loading(manifest),
        link=_link,
        pictured=listing(list(map(markdown, pictured))) if pictured else "",
        computed=_computed(kinds),
        left_out=[
            (table.dataset, _counts(table.provenance["left_out"]))
            for table in kinds["classes"]
            if "left_out" in table.provenance
        ],
    )


def repository_of(card: str) -> str:
    """Return the repository that a card names for its release, or :data:`NOWHERE`."""
    match = re.search(r'^load_dataset\("([A-Za-z0-9._/-]+)"', card, re.MULTILINE)
    return match[1] if match else NOWHERE


def size_category(rows: int) -> str:
    """Return the Hub's size category of a number of rows, such as ``1K<n<10K``."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T"]
    for power, (low, high) in enumerate(zip(["", *bounds], bounds, strict=False), start=3):
        if rows < 10**power:
            return f"{low}<n<{high}" if low else f"n<{high}"
    return "n>1T"


def _feature(field: pa.Field) -> dict[str, str]:
    """Declare a column as the YAML of a card does."""
    if pa.types.is_list(field.type):
        return {"name": field.name, "list": str(field.type.value_type)}
    return {"name": field.name, "dtype": str(field.type)}


def _loading(manifest: Manifest) -> tuple[str, str] | None:
    """Choose the configuration and split of the loading example: tasks, if any are stored."""
    stored = [table for table in manifest.tables if not table.drawn]
    tasks = [named_config_and_split(table) for table in stored if table.kind == "tasks"]
    return next(iter([*tasks, *map(config_and_split, stored)]), None)


def _link(dataset: Dataset) -> str:
    if not re.match(r"https?://", dataset.homepage):
        return markdown(dataset.title)
    address = quote(dataset.homepage, safe="%/:=&?~#+!$,;'@*")
    return f"[{markdown(dataset.title)}]({address})"


def _task_sets(tasks: Sequence[Table]) -> dict[str, Any]:
    """Lay out a row for each data set and suite, and for each task set with chosen queries."""
    protocols: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for table in tasks:
        name = TaskSetName.parse(table.name)
        protocols[table.dataset, name.suite].append(f"`{name.protocol}` {table.rows:,}")
    described: defaultdict[str, list[str]] = defaultdict(list)  # suites by description
    for suite in sorted({suite for _, suite in protocols}):
        text = re.sub(r"; attributes [^;]+", "", suite_of(suite).description)
        described[text].append(f"`{suite}`")
    return {
        "rows": [
            [markdown(dataset), f"`{suite}`", ", ".join(sets)]
            for (dataset, suite), sets in protocols.items()
        ],
        "chosen": [
            [markdown(table.dataset), f"`{table.name}`", markdown(choice.chosen)]
            for table in tasks
            if (choice := choice_of(table.dataset, table.name, table.provenance, table.path))
        ],
        "suites": [(", ".join(names), text) for text, names in described.items()],
        "drawn": sorted({table.name for table in tasks if table.drawn}),
    }


def _reference_results(release: Release) -> tuple[list[str], list[list[str]]] | None:
    """Lay out the accuracy of each reference method on a task set of each data set.

    It is the set that is most informative on new images: pooled, else closed, else open, else
    another.
    """
    answered = {
        (dataset, task_set)
        for submission in release.references()
        for _, dataset, task_set in submission.bindings
    }
    infos: dict[str, TaskSetInfo] = {}
    for info in release.task_sets:
        if (info.dataset, str(info.name)) in answered:
            infos[info.dataset] = min(infos.get(info.dataset, info), info, key=_rank)
    if not infos:
        return None
    names = {str(info.name) for info in infos.values()}
    try:
        content = paper_table(None, release, all_references=True, task_sets=sorted(names)).content
    except FSLBenchError:  # no method has results with an interval
        return None
    columns = [c for c in content.columns if c.scored.task_set == str(infos[c.scored.dataset].name)]
    rows = [
        [markdown(row.method), *(_cell(column, i) for column in columns)]
        for i, row in enumerate(content.rows)
        if any(column.cells[i] is not None for column in columns)
    ]
    head = [f"{markdown(c.scored.dataset)} `{c.scored.task_set}`" for c in columns]
    return ["accuracy, %", *head], rows


def _rank(info: TaskSetInfo) -> tuple[int, int]:
    suite = info.name.suite
    others = len(ORDER) + (not suite_of(suite).uniform)
    return abs(info.protocol.shot - SHOT), ORDER.index(suite) if suite in ORDER else others


def _cell(column: PaperColumn, row: int) -> str:
    cell = column.cells[row]
    if cell is None:
        return ""
    text = plus_minus(cell.interval)
    return f"**{text}**" if cell.strong else text


def _computed(kinds: Mapping[str, Sequence[Table]]) -> list[tuple[str, str, str]]:
    """List features and attributes: their kind, name and data sets."""
    by_name: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for kind in ("features", "attributes"):
        for entry in kinds[kind]:
            by_name[kind, entry.name].append(entry.dataset)
    return [
        (kind, markdown(name), markdown(", ".join(dict.fromkeys(datasets))))
        for (kind, name), datasets in by_name.items()
    ]


def _counts(left_out: Any) -> str:
    if not isinstance(left_out, Mapping):
        return markdown(str(left_out))
    return markdown(", ".join(f"{len(left)} {kind}" for kind, left in sorted(left_out.items())))
