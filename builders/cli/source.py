"""``fslbench-build source``."""

from __future__ import annotations

from pathlib import Path

import click

from builders.cli.options import check_table_file, named_source, spec_option
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
    from builders.sources.read import read_source
    from fslbench_data.files import whole_file
    from fslbench_data.render.console import steps

    check_table_file(path)
    kind, extra = named_source(name, spec)
    if pictures is not None:
        check_folder(pictures, folder)
    with steps(f"reading {name}") as progress:
        images = read_source(kind, folder, allow_missing=allow_missing, progress=progress, **extra)
    sizes = images.class_sizes
    superclasses = set(images.superclasses or ())
    groups = len(set(images.images.column("group").to_pylist()) - {None})
    click.echo(
        f"{name}: {len(sizes)} classes of {min(sizes)} to {max(sizes)} images, "
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
