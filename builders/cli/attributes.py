"""``fslbench-build attributes``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from builders.cli.options import (
    check_table_file,
    engine_from,
    extraction_options,
    named_source,
    settings_from,
    source_options,
)
from fslbench_data.cli.options import output_to


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
        made = make_attributes(images, recipe, kind, work, settings, progress)
        if path is not None:
            write_table(made.table, path)
    click.echo(f"{name}: {attribute_statistics(made.table, images.class_sizes)}")
    for key in ("texts", "words"):
        if key in made.provenance:
            about = made.provenance[key]
            click.echo(f"{key} by {about.get('captioner') or about['tagger']}", err=True)
    if path is not None:
        click.echo(f"wrote {path}", err=True)
