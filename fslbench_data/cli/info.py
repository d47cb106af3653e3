"""``fslbench info``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from benchmark_spec.errors import ReleaseNotFoundError, UnknownNameError
from fslbench_data.cli.options import command, dataset_option, release_option

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.release.release import Release
    from fslbench_data.render.table import Table


@command(short_help="List the data sets and task sets of a release.")
@click.argument("named", required=False, metavar="[R]")
@release_option
@dataset_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "markdown", "latex"]),
    default="table",
    show_default=True,
)
def info(
    named: str | None, release: str | None, datasets: tuple[str, ...], output_format: str
) -> None:
    """List what a release holds: a line a data set, and with --dataset its task sets.

    R is a folder, or ORG/NAME@v1.0.0 on the Hugging Face Hub; by default the release inside the
    package.  It is the argument, or that of --release, as in other commands.
    """
    from fslbench_data.cli.report_output import write
    from fslbench_data.release.release import load_release
    from fslbench_data.render.table import json_text

    if named and release:
        raise click.UsageError(f"two releases, {named} and {release}: name one")
    release = release or named
    try:
        opened = load_release(release)
    except ReleaseNotFoundError as error:
        if release not in load_release().datasets:
            raise
        raise error.with_advice(fix=f"fslbench info --dataset {release}") from None
    for name in datasets:
        if name not in opened.datasets:
            raise UnknownNameError("data set", name, opened.datasets, where=f"release {opened}")
    chosen = [name for name in opened.datasets if not datasets or name in datasets]
    write(
        output_format,
        None,
        json=lambda: json_text(_content(opened, chosen)),
        table=lambda console: _print(opened, chosen, console, sets=bool(datasets)),
        paper=lambda: ([_table(opened, chosen)], "", ()),
    )


def _content(release: Release, datasets: Collection[str]) -> dict[str, object]:
    from fslbench_data.release.chosen_queries import chosen_queries

    manifest, held = release.manifest, _held(release, datasets)
    about = ("name", "title", "n_classes", "n_superclasses", "n_images", "licence")
    return {
        "where": release.files.where,
        "folder": None if release.hub else release.files.where,
        "hub": release.hub,
        "name": manifest.name,
        "version": manifest.version,
        "digest": manifest.digest,
        "spec_version": manifest.spec_version,
        "description": manifest.description,
        "datasets": [
            {**{name: getattr(d, name) for name in about}, **held[d.name]}
            for d in manifest.datasets
            if d.name in datasets
        ],
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


def _held(release: Release, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what a release has of each data set besides tasks."""
    answered = [
        (method, dataset)
        for name in release.methods
        for method, dataset, _ in release.reference(name, only=()).bindings
    ]
    there = release.datasets_with
    return {
        dataset: {
            "images": dataset in there("images"),
            "features": [b for b in release.backbones if dataset in there("features", b)],
            "attributes": [a for a in release.attribute_sets if dataset in there("attributes", a)],
            "methods": [*dict.fromkeys(m for m, d in answered if d == dataset)],
        }
        for dataset in datasets
    }


def _datasets(release: Release, datasets: Sequence[str]) -> Table:
    """Return one row per data set: how much there is of it."""
    from fslbench_data.render.table import Column, Table, right

    held, about = _held(release, datasets), {d.name: d for d in release.manifest.datasets}
    sets = Counter(s.dataset for s in release.task_sets)

    def holds(name: str) -> str:
        there = [kind for kind in ("images", "features", "attributes") if held[name][kind]]
        return ", ".join(there) or "counts only"

    columns = (
        Column("data set", str),
        right("classes", lambda name: about[name].n_classes),
        right("images", lambda name: f"{about[name].n_images:,}"),
        right("task sets", lambda name: sets[name]),
        right("reference methods", lambda name: len(held[name]["methods"])),
        Column("holds", holds),
    )
    return Table("", columns, datasets)


def _held_text(name: str, held: dict[str, Any], superclasses: int) -> str:
    """Write what there is of a data set on a line."""
    parts = [f"{superclasses} superclasses"] if superclasses else []
    parts += [
        f"{kind}: {', '.join(held[kind])}" for kind in ("features", "attributes") if held[kind]
    ]
    heads: dict[str, list[str]] = {}  # those on the same features together: clip/NCC, LR
    for method in held["methods"]:
        backbone, slash, head = method.rpartition("/")
        heads.setdefault(backbone + slash, []).append(head)
    methods = (
        "; ".join(f"{backbone}{', '.join(names)}" for backbone, names in heads.items()) or "none"
    )
    return f"{name}: {'; '.join([*parts, f'reference methods: {methods}'])}"


def _table(release: Release, datasets: Collection[str]) -> Table:
    """Return one row per task set."""
    from fslbench_data.render.table import Column, Table, right

    about = {d.name: d for d in release.manifest.datasets}
    column = right("superclasses", lambda s: about[s.dataset].n_superclasses or "")
    some = any(about[name].n_superclasses for name in datasets)
    return Table(
        title=f"Task sets of release {release}",
        columns=(
            Column("data set", lambda s: s.dataset),
            right("classes", lambda s: about[s.dataset].n_classes),
            *([column] if some else []),
            right("images", lambda s: f"{about[s.dataset].n_images:,}"),
            Column("task set", lambda s: s.name),
            right("T", lambda s: s.n_tasks),
            Column("reuses images", lambda s: "yes" if s.name.interval == "closed" else "no"),
            Column("fingerprint", lambda s: s.fingerprint[:12]),
        ),
        rows=[s for s in release.task_sets if s.dataset in datasets],
    )


def _print(release: Release, datasets: Sequence[str], screen: Console, *, sets: bool) -> None:
    """Print a line a data set, and with `sets` what there is to know of its task sets."""
    from msgspec.structs import replace
    from rich.text import Text

    from fslbench_data.release.chosen_queries import chosen_queries
    from fslbench_data.render.console import print_table

    def say(text: str, style: str = "") -> None:
        screen.print(Text(text, style=style))

    manifest = release.manifest
    say(f"release {release}#{manifest.digest[:12]}", "bold")
    commit = f", commit {release.hub.partition('@')[2]}" if release.hub else ""
    say(f"{manifest.description}\n\nfrom {release.files.where}{commit}\n")
    print_table(_datasets(release, datasets), screen, whole=True, heading=8)
    if not sets:
        say("\ntask sets and fingerprints of a data set: --dataset NAME; of all: --format json")
        return
    superclasses = {d.name: d.n_superclasses for d in manifest.datasets}
    for name, held in _held(release, datasets).items():
        say(f"\n{_held_text(name, held, superclasses[name])}")
    say("")
    table = _table(release, datasets)
    named = {column.name: column for column in table.columns}
    first = replace(named["data set"], once=named["data set"].cell)
    others = [named[name] for name in ("task set", "T", "reuses images", "fingerprint")]
    print_table(replace(table, title="", columns=(first, *others)), screen, whole=True, heading=8)
    if choices := chosen_queries(release, datasets):
        say("")
        for choice in choices:
            say(f"{choice.dataset}/{', '.join(choice.task_sets)}: {choice}")
    say(
        "\nThe first 12 digits of a fingerprint are enough in a file of results; --format json "
        "gives them whole, and the configurations for datasets.load_dataset.",
        "dim",
    )
