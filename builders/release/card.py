"""The dataset card: what a person, the Hub and ``datasets.load_dataset`` read of a release.

It says nothing that the manifest does not, so that it can be made again from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import TaskSetName, suite_of
from benchmark_spec.tables import Dataset, Kind, Table, config_and_split
from builders.release.card_text import fenced, markdown, not_stored, paragraph, table, yaml_scalar


def dataset_card(manifest: Manifest) -> str:
    """Write the README.md of a release: metadata of the Hub as YAML, then a page for people.

    Licences differ by data set, so the Hub's licence is `other`; its size category counts the
    rows of all tables.
    """
    return "\n".join([*_metadata(manifest), *_page(manifest)]) + "\n"


def _metadata(manifest: Manifest) -> Iterator[str]:
    yield from (
        "---",
        f"pretty_name: {yaml_scalar(manifest.name)}",
        "license: other",
        "license_name: terms-of-each-data-set",
        'license_details: "Each data set has its own licence: see the table of data sets."',
        "task_categories:",
        "- image-classification",
        "size_categories:",
        f"- {size_category(sum(entry.rows for entry in manifest.tables))}",
        "tags:",
        "- few-shot",
        "- benchmark",
        "- fslbench",
        "configs:" if manifest.configs() else "configs: []",
    )
    for config, splits in manifest.configs().items():
        yield f"- config_name: {yaml_scalar(config)}"
        yield "  data_files:"
        for split, paths in splits.items():
            yield f"  - split: {yaml_scalar(split)}"
            yield "    path:"
            yield from (f"    - {yaml_scalar(path)}" for path in paths)
    yield from ("---", "")


def size_category(rows: int) -> str:
    """Return the Hub's size category of a number of rows, such as ``1K<n<10K``."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T"]
    for power, (low, high) in enumerate(zip(["", *bounds], bounds, strict=False), start=3):
        if rows < 10**power:
            return f"{low}<n<{high}" if low else f"n<{high}"
    return "n>1T"


def _page(manifest: Manifest) -> Iterator[str]:
    yield from (
        f"# {markdown(manifest.name)} {manifest.version}",
        "",
        paragraph(manifest.description),
        "",
        "## Data sets",
        "",
    )
    yield from table(
        ["name", "data set", "classes", "images", "licence of the images", "passed on"],
        (
            [
                markdown(d.name),
                _link(d),
                str(d.n_classes),
                f"{d.n_images:,}",
                markdown(d.licence),
                d.redistribution,
            ]
            for d in manifest.datasets
        ),
    )
    yield from (
        "",
        "No images are in this release. Of a data set that says `tables` it holds, and may hold, "
        "only classes, the list of images, task sets and results; one that says `features` lets "
        "features computed from its images be passed on too, on the terms of its licence.",
        "",
    )
    yield from (f"- {markdown(d.name)}: {markdown(d.note)}" for d in manifest.datasets if d.note)
    yield from _task_sets(manifest)
    yield from _loading(manifest)
    yield from _how_it_was_made(manifest)
    yield from ("", "## Citations", "", "Cite the data sets that you use.", "")
    for dataset in manifest.datasets:
        yield from fenced("bibtex", dataset.citation)


def _link(dataset: Dataset) -> str:
    if not re.match(r"https?://", dataset.homepage):
        return markdown(dataset.title)
    address = quote(dataset.homepage, safe="%/:=&?~#+!$,;'@*")
    return f"[{markdown(dataset.title)}]({address})"


def _task_sets(manifest: Manifest) -> Iterator[str]:
    tasks = [t for t in manifest.tables if t.kind == "tasks"]
    if not tasks:
        return
    names = sorted({TaskSetName.parse(t.name) for t in tasks})
    yield from ("", "## Task sets", "", "Number of tasks T of each:", "")
    counts = {(t.dataset, t.name): t.rows for t in tasks}
    yield from table(
        ["", *map(str, names)],
        (
            [markdown(dataset), *(str(counts.get((dataset, str(name)), "")) for name in names)]
            for dataset in dict.fromkeys(t.dataset for t in tasks)
        ),
    )
    yield ""
    for suite in sorted({name.suite for name in names}):
        yield f"- `{suite}`: {suite_of(suite).description}."
    yield from not_stored(sorted({t.name for t in tasks if t.drawn}))


def _loading(manifest: Manifest) -> Iterator[str]:
    stored = [t for t in manifest.tables if not t.drawn]
    if not stored:
        return
    shown = next((t for t in stored if t.kind == "tasks"), stored[0])
    config, split = config_and_split(shown)
    version = f"v{manifest.version}"
    yield from (
        "",
        "## Loading",
        "",
        "Put this repository for `ORG/NAME`. Each table is a split of a configuration:",
        "",
    )
    yield from fenced(
        "python",
        "from datasets import load_dataset\n\n"
        f'load_dataset("ORG/NAME", "{config}", split="{split}", revision="{version}")',
    )
    yield from (
        "",
        "`fslbench` compares every file with the digest in `release.json`, runs methods on the "
        "task sets, and says what their results show:",
        "",
    )
    yield from fenced(
        "python",
        f'from fslbench_data import load_release\n\nrelease = load_release("ORG/NAME@{version}")',
    )


def _how_it_was_made(manifest: Manifest) -> Iterator[str]:
    """Say samplers and seeds, backbones, taggers and reference methods, what was left out."""
    made = f"Made with {markdown(manifest.made_with)}, in" if manifest.made_with else "In"
    yield from (
        "",
        "## How it was made",
        "",
        f"{made} release format {markdown(manifest.spec_version)}. `release.json` lists every "
        "table with its digests and its whole provenance; `fslbench-build verify` draws every task "
        "set again.",
    )
    yield from _samplers(manifest)
    yield from _from_images(manifest, "features")
    yield from _from_images(manifest, "attributes")
    methods = [t for t in manifest.tables if t.kind == "results"]
    if methods:
        yield from ("", "Reference methods:", "")
        yield from (f"- {markdown(t.name)}: {_facts(t)}" for t in methods)
    left_out = [t for t in manifest.tables if t.kind == "classes" and "left_out" in t.provenance]
    if left_out:
        yield from ("", "Left out, because it was missing, damaged or there twice:", "")
        yield from (f"- {t.dataset}: {_counted(t.provenance['left_out'])}" for t in left_out)


def _samplers(manifest: Manifest) -> Iterator[str]:
    """One row for all task sets of a suite that were drawn alike."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for entry in manifest.tables:
        if entry.kind == "tasks":
            alike.setdefault(_drawn(entry), []).append(entry.dataset)
    if not alike:
        return
    yield from ("", "Task sets were drawn so:", "")
    yield from table(
        ["suite", "seed", "generator", "version of the samplers", "tasks", "data sets"],
        (
            [*map(markdown, how), markdown(", ".join(dict.fromkeys(datasets)))]
            for how, datasets in sorted(alike.items())
        ),
    )


def _drawn(entry: Table) -> tuple[str, ...]:
    how = entry.provenance
    number = how.get("tasks", how.get("max_tasks"))
    limit = "at most " if "max_tasks" in how else ""
    return (
        TaskSetName.parse(entry.name).suite,
        *(str(how.get(key, "")) for key in ("seed", "generator", "sampler_version")),
        "as many as there are" if number is None else f"{limit}{number}",
    )


def _from_images(manifest: Manifest, kind: Kind) -> Iterator[str]:
    """Say how features or attributes were made: one line for data sets treated alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for entry in manifest.tables:
        if entry.kind == kind:
            alike.setdefault((entry.name, _facts(entry)), []).append(entry.dataset)
    if alike:
        head = (
            "Attributes of the images"
            if kind == "attributes"
            else f"Computed from the images ({kind})"
        )
        yield from ("", f"{head}:", "")
    for (name, facts), datasets in alike.items():
        yield f"- {markdown(name)} of {', '.join(dict.fromkeys(datasets))}: {facts}"


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
