"""What a release holds, on the terminal, as a table of task sets, and for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from msgspec.structs import replace
from rich.console import Console

from fslbench_data.release.chosen_queries import chosen_queries
from fslbench_data.release.release import Release
from fslbench_data.render.console import print_table, say
from fslbench_data.render.table import Column, Table, right


def release_content(release: Release, datasets: Collection[str]) -> dict[str, object]:
    """Return a release's description of itself and what it holds of some data sets, for JSON."""
    manifest = release.manifest
    described = ("name", "version", "digest", "spec_version", "description")
    return {
        "where": release.files.where,
        "folder": None if release.hub else release.files.where,
        "hub": release.hub,
        **{name: getattr(manifest, name) for name in described},
        "datasets": _held(release, datasets),
        "configs": [
            {"name": config, "splits": list(splits)}
            for config, splits in manifest.configs().items()
        ],
        "task_sets": [
            {
                "dataset": s.dataset,
                "task_set": str(s.name),
                "T": s.n_tasks,
                "interval": s.name.interval,
                "fingerprint": s.fingerprint,
            }
            for s in release.task_sets
            if s.dataset in datasets
        ],
        "chosen_queries": chosen_queries(release, datasets),
        "methods": list(release.methods),
    }


def _held(release: Release, datasets: Collection[str]) -> list[dict[str, Any]]:
    """Return what a release holds of each data set besides tasks, for JSON."""
    answered = [
        (method, dataset)
        for name in release.methods
        for method, dataset, _ in release.reference(name, only=()).bindings
    ]
    having = release.datasets_with
    about = ("name", "title", "n_classes", "n_superclasses", "n_images", "licence")
    return [
        {
            **{key: getattr(dataset, key) for key in about},
            "images": (name := dataset.name) in having("images"),
            "features": [b for b in release.backbones if name in having("features", b)],
            "attributes": [a for a in release.attribute_sets if name in having("attributes", a)],
            "methods": [*dict.fromkeys(m for m, d in answered if d == name)],
        }
        for dataset in release.manifest.datasets
        if dataset.name in datasets
    ]


def task_sets_table(release: Release, datasets: Collection[str]) -> Table:
    """Return one row per task set."""
    about = {d.name: d for d in release.manifest.datasets}
    superclasses = right("superclasses", lambda s: about[s.dataset].n_superclasses or "")
    columns = (
        Column("data set", lambda s: s.dataset, once=lambda s: s.dataset),
        right("classes", lambda s: about[s.dataset].n_classes),
        *([superclasses] if any(about[name].n_superclasses for name in datasets) else []),
        right("images", lambda s: f"{about[s.dataset].n_images:,}"),
        Column("task set", lambda s: s.name),
        right("T", lambda s: s.n_tasks),
        Column("reuses images", lambda s: "yes" if s.name.interval == "closed" else "no"),
        Column("fingerprint", lambda s: s.fingerprint[:12]),
    )
    rows = [s for s in release.task_sets if s.dataset in datasets]
    return Table(f"Task sets of release {release}", columns, rows)


def print_release(
    release: Release, datasets: Sequence[str], screen: Console, *, sets: bool
) -> None:
    """Print a line per data set, and with `sets` its features, methods and task sets."""
    tell = partial(say, screen)
    manifest, n_task_sets = release.manifest, Counter(s.dataset for s in release.task_sets)
    held = sorted(_held(release, datasets), key=lambda row: datasets.index(row["name"]))

    def holds(row: dict[str, Any]) -> str:
        kinds = [kind for kind in ("images", "features", "attributes") if row[kind]]
        return ", ".join(kinds) or "counts only"

    columns = (
        Column("data set", itemgetter("name")),
        right("classes", itemgetter("n_classes")),
        right("images", lambda row: f"{row['n_images']:,}"),
        right("task sets", lambda row: n_task_sets[row["name"]]),
        right("reference methods", lambda row: len(row["methods"])),
        Column("holds", holds),
    )
    tell(f"release {release}#{manifest.digest[:12]}", "bold")
    commit = f", commit {release.hub.partition('@')[2]}" if release.hub else ""
    tell(f"{manifest.description}\n\nfrom {release.files.where}{commit}\n")
    print_table(Table("", columns, held), screen, whole=True, heading=8)
    if not sets:
        tell("\ntask sets and fingerprints of a data set: --dataset NAME; of all: --format json")
        return
    for row in held:
        tell(f"\n{row['name']}: {_held_text(row)}")
    tell("")
    table = task_sets_table(release, datasets)
    shown = ("data set", "task set", "T", "reuses images", "fingerprint")
    kept = tuple(column for column in table.columns if column.name in shown)
    print_table(replace(table, title="", columns=kept), screen, whole=True, heading=8)
    for number, choice in enumerate(chosen_queries(release, datasets)):
        before = "" if number else "\n"
        tell(f"{before}{choice.dataset}/{', '.join(choice.task_sets)}: {choice}")
    tell(
        "\nThe first 12 digits of a fingerprint are enough in a file of results; --format json "
        "gives them whole, and the configurations for datasets.load_dataset.",
        "dim",
    )


def _held_text(held: dict[str, Any]) -> str:
    """Write what a release holds of a data set on a line."""
    heads: dict[str, list[str]] = {}  # by features, to write clip/NCC, LR
    for method in held["methods"]:
        backbone, slash, head = method.rpartition("/")
        heads.setdefault(backbone + slash, []).append(head)
    methods = "; ".join(f"{backbone}{', '.join(names)}" for backbone, names in heads.items())
    kinds = [kind for kind in ("features", "attributes") if held[kind]]
    parts = [f"{held['n_superclasses']} superclasses"] if held["n_superclasses"] else []
    parts += [f"{kind}: {', '.join(held[kind])}" for kind in kinds]
    return "; ".join([*parts, f"reference methods: {methods or 'none'}"])
