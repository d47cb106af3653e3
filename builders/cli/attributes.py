"""``fslbench-build attributes`` and ``agreement``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from builders.cli.options import (
    check_table_file,
    engine_from,
    extraction_options,
    named_source,
    settings_from,
    source_options,
)
from fslbench_data.cli.options import (
    check_output,
    level_option,
    output_option,
    output_to,
    release_option,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console


@click.command()
@click.argument("name", metavar="SOURCE")
@click.option(
    "--recipe",
    "text",
    required=True,
    metavar="R",
    help="Such as given+textblob, blip+spacy, given or pixels.",
)
@source_options
@output_to(about="Write the table there (.parquet). Captions that are not finished lie beside it.")
@extraction_options
def attributes(
    name: str,
    text: str,
    raw: Path | None,
    path: Path | None,
    spec: Path | None,
    allow_missing: bool,
    **extraction: Any,
) -> None:
    """Find the attributes of a data set's images, and say how many there are.

    SOURCE is a data set such as `emoji` or `openclipart`. The options from --weights on are those
    of captioners. Interrupted while captions are written, the same command with -o goes on where it
    was.
    """
    from benchmark_spec.errors import SpecError
    from builders.attributes import Recipe, attribute_statistics, check_recipe, make_attributes
    from builders.features import WORK, Settings
    from builders.sources.read import read_source
    from fslbench_data.files.parquet import write_table
    from fslbench_data.render.console import steps

    check_table_file(path)
    if extraction["dtype"] != "fp32":
        raise SpecError("captions are computed in fp32", fix="leave --dtype out")
    recipe = Recipe.parse(text)
    kind, own, extra = named_source(name, spec, raw)
    engine_from(**extraction)
    weights = extraction["weights"]
    check_recipe(recipe, kind, weights, options=extra.get("options", ()))
    settings = settings_from(**extraction) if recipe.captioner else Settings(weights=weights)
    with steps(f"attributes of {name}") as progress, TemporaryDirectory() as passing:
        images = read_source(kind, own, allow_missing=allow_missing, progress=progress, **extra)
        work = Path(passing) if path is None else path.parent / f"{WORK}.{path.stem}"
        made = make_attributes(images, recipe, kind, own, work, settings, progress)
        if path is not None:
            write_table(made.table, path)
    click.echo(f"{name}: {attribute_statistics(made.table, images.class_sizes)}")
    for key in ("texts", "words"):
        if key in made.provenance:
            about = made.provenance[key]
            click.echo(f"{key} by {about.get('captioner') or about['tagger']}", err=True)
    if path is not None:
        click.echo(f"wrote {path}", err=True)


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--dataset", default="", metavar="D", help="Of names in a release.")
@release_option
@level_option
@click.option("--format", "output_format", type=click.Choice(["table", "markdown", "csv", "json"]))
@output_option
def agreement(
    first: str,
    second: str,
    dataset: str,
    release: str | None,
    level: float,
    output_format: str | None,
    path: Path | None,
) -> None:
    """Compare two sets of attributes of the same images.

    A and B are tables as `attributes -o` writes them (.parquet), or names in a release, such as
    titles.  Says which share of A's attributes B finds, and the other way round, and of each
    attribute on how many images they agree, with Cohen's kappa.
    """
    from builders.attributes.agreement import NOTE, agreement_csv, agreement_tables
    from builders.attributes.agreement import agreement as compare
    from fslbench_data.cli.report_output import write
    from fslbench_data.render.table import json_text

    check_output(path)
    a, b = (_table(name, dataset, release) for name in (first, second))
    # without folders and ending, unless both are then the same
    short = [Path(n).stem if n.endswith(".parquet") else n for n in (first, second)]
    names = (first, second) if short[0] == short[1] else (short[0], short[1])
    compared = compare(a, b, names, level)

    def table(console: Console) -> None:
        from fslbench_data.render.console import print_table

        for number, part in enumerate(agreement_tables(compared)):
            if number:
                console.print()
            print_table(part, console)
        console.print(f"\n{NOTE}", highlight=False, markup=False)

    write(
        output_format,
        path,
        csv=lambda: agreement_csv(compared),
        json=lambda: json_text(asdict(compared)),
        table=table,
        paper=lambda: (agreement_tables(compared), "", (NOTE,)),
    )


def _table(name: str, dataset: str, release: str | None) -> pa.Table:
    """Read a file, or a release's table of that name."""
    from benchmark_spec.errors import SchemaError
    from benchmark_spec.schemas import ATTRIBUTES
    from fslbench_data.release.release import load_release

    if not name.endswith(".parquet"):
        if not dataset:
            raise click.UsageError(f"{name} is a name in a release: give --dataset, too")
        return load_release(release).attributes(dataset, name)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(name, columns=ATTRIBUTES.names, partitioning=None).cast(ATTRIBUTES)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise SchemaError(
            f"{name} cannot be read as a table of attributes: {error}",
            expected=f"columns {', '.join(ATTRIBUTES.names)}, as `attributes -o` writes",
        ) from None
