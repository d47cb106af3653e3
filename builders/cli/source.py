"""``fslbench-build source``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name", metavar="SOURCE")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@click.option("--allow-missing", is_flag=True, help="Leave out what is missing or damaged.")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    help="Write the images table there (.parquet).",
)
def source(name: str, folder: Path | None, allow_missing: bool, path: Path | None) -> None:
    """Read a data set's raw folder, check it, and say what is in it.

    SOURCE is a catalogued data set such as `cub`, or one that `fslbench-build fetch` gets, such as
    `openclipart`.
    """
    import pyarrow.parquet as pq

    from benchmark_spec.errors import OutputError
    from builders.sources import GENERAL, SOURCES, read_source
    from fslbench_data.files import whole_file
    from fslbench_data.render.screen import steps

    if path is not None and path.suffix != ".parquet":
        raise OutputError(f"{path} does not end in .parquet", fix="name a .parquet file")
    if name not in SOURCES or name in GENERAL:
        from benchmark_spec.errors import UnknownNameError

        raise UnknownNameError("source", name, [s for s in SOURCES if s not in GENERAL])
    with steps(f"reading {name}") as progress:
        images = read_source(name, folder, allow_missing=allow_missing, progress=progress)
    sizes = images.class_sizes
    groups = len(set(images.images.column("group").to_pylist()) - {None})
    click.echo(
        f"{name}: {len(sizes)} classes of {min(sizes)} to {max(sizes)} images, "
        f"{sum(sizes):,} images" + (f" in {groups:,} groups" if groups else "")
    )
    for key, value in images.provenance.get("left_out", {}).items():
        click.echo(f"left out, {key}: {len(value)}: {'; '.join(map(str, value[:8]))}", err=True)
    if path is not None:
        with whole_file(path) as temporary:
            pq.write_table(images.images, temporary, compression="zstd")
        click.echo(f"wrote {path}", err=True)
