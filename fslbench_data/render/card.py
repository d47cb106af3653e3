"""The dataset card of a release, which the manifest and the names of classes decide."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from benchmark_spec import schemas
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
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.markdown import markdown, template
from fslbench_data.render.paper import table as paper_table
from fslbench_data.scoring.paper import PaperColumn
from fslbench_data.scoring.summary import ORDER
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.tasks.redraw import EVIDENCE

NOWHERE = "ORG/NAME"
"""What stands for the repository of a release that is not published yet."""

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
"""Shots of the task sets whose results are shown; of a data set without any those nearest."""

ClassNames = Mapping[str, Sequence[str]]
"""Of data sets, the names of their classes in the order of ids."""

Grid = tuple[list[str], list[list[str]]]
"""The head and the rows of a table, as Markdown."""


@dataclass(frozen=True)
class CardFacts:
    """What a card says besides the manifest.

    `class_names` has of data sets the names of their classes in the order of ids, `results` the
    accuracy of each reference method on a task set of each data set, and `repository` is where the
    release is published.
    """

    class_names: ClassNames = field(default_factory=dict)
    results: Grid | None = None
    repository: str = NOWHERE

    @classmethod
    def of(cls, release: Release, repository: str = NOWHERE) -> CardFacts:
        """Read them from a release."""
        names = {name: release.classes(name)["class_name"].to_pylist() for name in release.datasets}
        return cls(names, _results_of(release), repository)


def dataset_card(manifest: Manifest, facts: CardFacts) -> str:
    """Write the README.md of a release: metadata of the Hub as YAML, then a page for people."""
    licences = {dataset.licence for dataset in manifest.datasets}
    kinds: defaultdict[str, list[Table]] = defaultdict(list)
    for table in manifest.tables:
        kinds[table.kind].append(table)
    named = _named(manifest)
    nameless = {config for config, t in named.items() if t.dataset not in facts.class_names}
    pictured = dict.fromkeys(table.dataset for table in kinds["pictures"])
    return template("render/templates/card.md.j2").render(
        manifest=manifest,
        facts=facts,
        nowhere=NOWHERE,
        licence=LICENCES.get(*licences) if len(licences) == 1 else None,
        size=size_category(sum(table.rows for table in manifest.tables)),
        configs={c: s for c, s in manifest.configs().items() if c not in nameless},
        columns=list(_columns(manifest, named, facts.class_names)),
        kinds={kind: kinds[kind] for kind in ("tasks", "results")},
        most_open=MOST_OPEN,
        task_sets=_task_sets(kinds["tasks"]),
        loading=_loading(manifest, facts),
        datasets=_data_sets(manifest.datasets),
        pictured=listing(list(map(markdown, pictured))) if pictured else "",
        samplers=_samplers(kinds["tasks"]),
        made=[(head, lines) for head, lines in _how_it_was_made(kinds) if lines],
    )


def repository_of(card: str) -> str:
    """Return where a card says that its release is published, or that it does not say."""
    match = re.search(r'^load_dataset\("([A-Za-z0-9._/-]+)"', card, re.MULTILINE)
    return match[1] if match else NOWHERE


def size_category(rows: int) -> str:
    """Return the Hub's size category of a number of rows, such as ``1K<n<10K``."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T"]
    for power, (low, high) in enumerate(zip(["", *bounds], bounds, strict=False), start=3):
        if rows < 10**power:
            return f"{low}<n<{high}" if low else f"n<{high}"
    return "n>1T"


# ---- what datasets reads -------------------------------------------------------------------------
# A configuration of ``datasets`` has one list of features for all its splits.  So names of classes
# stand in configurations of one data set each, and a column that only some tables of classes have
# is declared for all.  The Parquet files could not say the names: ids are int32 there, and
# ``datasets`` takes a ClassLabel of the schema's metadata for int64 alone.


def _named(manifest: Manifest) -> dict[str, Table]:
    """Map configurations with names of classes to one of their tables."""
    tables = (table for table in manifest.tables if table.kind == "tasks" and not table.drawn)
    return {named_config_and_split(table)[0]: table for table in tables}


def _columns(
    manifest: Manifest, named: Mapping[str, Table], names: ClassNames
) -> Iterator[tuple[str, list[dict[str, Any]], Sequence[str]]]:
    """Yield the columns of all classes, and of tasks with names of classes, by configuration."""
    if any(dataset.n_superclasses for dataset in manifest.datasets):
        yield "classes", _fields([*schemas.CLASSES, *schemas.CLASSES_OPTIONAL]), []
    for config, table in named.items():
        if table.dataset in names:
            schema = schemas.task_set(TaskSetName.parse(table.name))
            yield config, _fields(schema), names[table.dataset]


def _fields(schema: Iterable[pa.Field]) -> list[dict[str, Any]]:
    return [
        {"name": f.name, "type": f.type.value_type, "length": f.type.list_size}
        if pa.types.is_fixed_size_list(f.type)
        else {"name": f.name, "type": f.type, "length": 0}
        for f in schema
    ]


def _loading(manifest: Manifest, facts: CardFacts) -> dict[str, Any] | None:
    """Choose a table whose loading is shown: one of tasks, if there is any."""
    stored = [t for t in manifest.tables if not t.drawn]
    if not stored:
        return None
    shown = next((t for t in stored if t.kind == "tasks"), stored[0])
    has_names = shown.kind == "tasks" and shown.dataset in facts.class_names
    config, split = config_and_split(shown)
    named = named_config_and_split(shown) if has_names else None
    return {"config": config, "split": split, "named": named}


# ---- what a person reads -------------------------------------------------------------------------


def _data_sets(datasets: Sequence[Dataset]) -> dict[str, Any]:
    """Lay out one row a data set; superclasses have a column where there are any."""
    some = any(dataset.n_superclasses for dataset in datasets)
    head = ["name", "data set", "classes", *(["superclasses"] if some else []), "images"]
    rows = [
        [
            markdown(d.name),
            _link(d),
            str(d.n_classes),
            *([str(d.n_superclasses or "")] if some else []),
            f"{d.n_images:,}",
            markdown(d.licence),
            d.redistribution,
        ]
        for d in datasets
    ]
    return {"head": [*head, "licence of the images", "passed on"], "rows": rows}


def _link(dataset: Dataset) -> str:
    if not re.match(r"https?://", dataset.homepage):
        return markdown(dataset.title)
    address = quote(dataset.homepage, safe="%/:=&?~#+!$,;'@*")
    return f"[{markdown(dataset.title)}]({address})"


def _task_sets(tasks: Sequence[Table]) -> dict[str, Any]:
    """Lay out one row a task set; chosen numbers of queries have a column where there are any."""
    some = any(EVIDENCE in table.provenance for table in tasks)
    suites = sorted({TaskSetName.parse(table.name).suite for table in tasks})
    return {
        "head": ["data set", "task set", "tasks", *(["queries chosen"] if some else [])],
        "rows": [
            [markdown(t.dataset), f"`{t.name}`", f"{t.rows:,}", *([_chosen(t)] if some else [])]
            for t in tasks
        ],
        "suites": [(suite, suite_of(suite).description) for suite in suites],
        "drawn": sorted({table.name for table in tasks if table.drawn}),
    }


def _chosen(entry: Table) -> str:
    """Say on what the number of queries was chosen, if it was."""
    choice = choice_of(entry.dataset, entry.name, entry.provenance, entry.path)
    if choice is None:
        return ""
    high = "undetermined" if choice.high is None else choice.high
    images = "" if choice.images == "these" else f", of {choice.of_dataset}"
    return markdown(f"{choice.query} of {choice.low} to {high} (95 %), by {choice.method}{images}")


def _results_of(release: Release) -> Grid | None:
    """Lay out the accuracy of each reference method on a task set of each data set.

    It is the one whose tasks say most of new images: pooled, else closed, else open, else another.
    """
    answered = {
        (dataset, task_set)
        for submission in release.references()
        for _, dataset, task_set in submission.bindings
    }
    shown: dict[str, TaskSetInfo] = {}
    for info in release.task_sets:
        if (info.dataset, str(info.name)) in answered:
            shown[info.dataset] = min(shown.get(info.dataset, info), info, key=_rank)
    if not shown:
        return None
    names = {str(info.name) for info in shown.values()}
    try:
        content = paper_table(None, release, all_references=True, task_sets=sorted(names)).content
    except FSLBenchError:  # no method has results that carry an interval
        return None
    columns = [c for c in content.columns if c.scored.task_set == str(shown[c.scored.dataset].name)]
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


# ---- how it was made -----------------------------------------------------------------------------


def _samplers(tasks: Sequence[Table]) -> list[list[str]]:
    """Lay out one row for all task sets of a suite that were drawn alike."""
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for entry in tasks:
        how = entry.provenance
        number = how.get("tasks", how.get("max_tasks"))
        limit = "at most " if "max_tasks" in how else ""
        drawn = (
            TaskSetName.parse(entry.name).suite,
            *(str(how.get(key, "")) for key in ("seed", "generator", "sampler_version")),
            "as many as there are" if number is None else f"{limit}{number}",
        )
        alike[drawn].append(entry.dataset)
    return [
        [*map(markdown, how), markdown(", ".join(dict.fromkeys(datasets)))]
        for how, datasets in sorted(alike.items())
    ]


def _how_it_was_made(kinds: Mapping[str, Sequence[Table]]) -> Iterator[tuple[str, list[str]]]:
    """Give headings with a line for each backbone, tagger, method, and data set that is in part."""
    for kind, head in (
        ("features", "Computed from the images (features)"),
        ("attributes", "Attributes of the images"),
    ):
        alike: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for entry in kinds[kind]:
            alike[entry.name, _facts(entry)].append(entry.dataset)
        yield (
            head,
            [
                f"{markdown(name)} of {', '.join(dict.fromkeys(datasets))}: {facts}"
                for (name, facts), datasets in alike.items()
            ],
        )
    yield "Reference methods", [f"{markdown(t.name)}: {_facts(t)}" for t in kinds["results"]]
    left_out = [t for t in kinds["classes"] if "left_out" in t.provenance]
    yield (
        "Left out, because it was missing, damaged or there twice",
        [f"{t.dataset}: {_counted(t.provenance['left_out'])}" for t in left_out],
    )


def _facts(entry: Table) -> str:
    """Say in one line what a provenance has beside the table's name; lists are only counted."""
    parts = [
        f"{key.replace('_', ' ')} {_value(value)}"
        for key, value in sorted(entry.provenance.items())
        if value not in (None, entry.name)
    ]
    return markdown("; ".join(parts)) or "no provenance"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_value(v)}" for k, v in sorted(value.items()))
    return f"of {len(value)}" if isinstance(value, list | tuple) else str(value)


def _counted(left_out: Any) -> str:
    if not isinstance(left_out, Mapping):
        return markdown(str(left_out))
    return markdown(", ".join(f"{len(what)} {kind}" for kind, what in sorted(left_out.items())))
