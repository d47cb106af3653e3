"""``fslbench info``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import click

from benchmark_spec.errors import UnknownNameError
from fslbench_data.cli.options import dataset_option

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.release.release import Release
    from fslbench_data.render.table import Table


@click.command(short_help="Say what a release holds.")
@click.argument("release", required=False, metavar="[R]")
@dataset_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "markdown", "latex"]),
    default="table",
    show_default=True,
)
def info(release: str | None, datasets: tuple[str, ...], output_format: str) -> None:
    """Say what a release holds: data sets, task sets with T and fingerprint, methods.

    R is a folder, or ORG/NAME@v1.0.0 on the Hugging Face Hub; by default the release inside the
    package.
    """
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import screen
    from fslbench_data.render.latex import latex
    from fslbench_data.render.table import json_text, markdown

    opened = load_release(release)
    for name in datasets:
        if name not in opened.datasets:
            raise UnknownNameError("data set", name, opened.datasets, where=f"release {opened}")
    chosen = [name for name in opened.datasets if not datasets or name in datasets]
    if output_format == "json":
        click.echo(json_text(_content(opened, chosen)), nl=False)
    elif output_format == "table":
        with screen() as console:
            _print(opened, chosen, console)
    else:
        write = markdown if output_format == "markdown" else latex
        click.echo(write([_table(opened, chosen)], ""), nl=False)


def _content(release: Release, datasets: Collection[str]) -> dict[str, object]:
    from dataclasses import asdict

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
        "chosen_queries": [asdict(choice) for choice in chosen_queries(release, datasets)],
        "methods": list(release.methods),
    }


def _held(release: Release, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Say what a release has of each data set besides tasks."""
    answered = [
        (method, dataset)
        for submission in release.references(counts_only=True)
        for method, dataset, _ in submission.bindings
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


def _held_text(held: dict[str, Any]) -> str:
    """Write it on a line, methods with the same backbone together: ``clip/NCC, LR``."""
    if not held["images"]:
        return "classes and counts only"
    features = f"features: {', '.join(held['features'])}" if held["features"] else "no features"
    if held["attributes"]:
        features += f"; attributes: {', '.join(held['attributes'])}"
    heads: dict[str, list[str]] = {}
    for method in held["methods"]:
        backbone, slash, head = method.rpartition("/")
        heads.setdefault(backbone + slash, []).append(head)
    methods = "; ".join(f"{backbone}{', '.join(names)}" for backbone, names in heads.items())
    return f"images; {features}; {f'results: {methods}' if methods else 'no results'}"


def _table(release: Release, datasets: Collection[str], *, superclasses: bool = True) -> Table:
    """Return one row a task set, with the number of superclasses where there are any."""
    from fslbench_data.render.table import Column, Table, right

    about = {d.name: d for d in release.manifest.datasets}
    column = right("superclasses", lambda s: about[s.dataset].n_superclasses or "")
    some = superclasses and any(about[name].n_superclasses for name in datasets)
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


def _print(release: Release, datasets: Collection[str], screen: Console) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    from fslbench_data.release.chosen_queries import chosen_queries

    manifest = release.manifest
    screen.print(Text(f"release {release}#{manifest.digest[:12]}", style="bold"))
    screen.print(Text(manifest.description))
    commit = f", commit {release.hub.partition('@')[2]}" if release.hub else ""
    screen.print(Text(f"from {release.files.where}{commit}", overflow="fold"))
    by_content: dict[str, list[str]] = {}
    for dataset, held in _held(release, datasets).items():
        by_content.setdefault(_held_text(held), []).append(dataset)
    for content, names in by_content.items():
        screen.print(Text(f"{', '.join(names)}: {content}"))
    kinds = [
        f"{d.n_superclasses} of {d.name}"
        for d in manifest.datasets
        if d.n_superclasses and d.name in datasets
    ]
    if kinds:
        screen.print(Text(f"superclasses: {', '.join(kinds)}"))
    screen.print()
    sets = _table(release, datasets, superclasses=False)
    table = RichTable(box=None, pad_edge=False, header_style="dim")
    for column in sets.columns:
        table.add_column(column.name, justify=column.align, no_wrap=column.name != "data set")
    previous = ""
    for row in map(sets.texts, sets.rows):
        again = row[0] == previous
        table.add_row(*(Text("" if again and i < 3 else cell) for i, cell in enumerate(row)))
        previous = row[0]
    screen.print(table)
    for number, choice in enumerate(chosen_queries(release, datasets)):
        if number == 0:
            screen.print()
        screen.print(Text(f"{choice.dataset}/{', '.join(choice.task_sets)}: {choice}"))
    screen.print(
        Text(
            "\nThe first 12 digits of a fingerprint are enough for a submission; --format json "
            "gives them whole, and the configurations for datasets.load_dataset.",
            style="dim",
        )
    )
