"""``fslbench report``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Literal

import click

from fslbench_data.cli.options import (
    FILE,
    check_free,
    dataset_option,
    images_option,
    level_option,
    log_options,
    output_to,
    release_option,
    selection_of,
    sources_of,
    task_set_option,
    unbound_option,
)


@click.command(short_help="Make a page to look at: verdicts, plots, ladders, numbers.")
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@release_option
@dataset_option
@task_set_option
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="M",
    help="The page holds pairs and tasks of these methods; by default of at most 50: those of "
    "FILEs, then the reference methods with the highest means.",
)
@click.option(
    "--sweep",
    "sweeps",
    type=FILE,
    multiple=True,
    help="What `fslbench-build query-size --format json` wrote; may be repeated.",
)
@level_option
@unbound_option
@log_options
@images_option(
    "Show hard tasks in pictures, of the images in this folder, as for `fslbench evaluate`; "
    "without one, of those that the release holds: a release in a folder does so anyway."
)
@click.option(
    "--push-space",
    "space",
    metavar="ORG/NAME",
    help="Publish the page as a static Space of the Hub.",
)
@output_to("folder", "Folder of the page, index.html.", required=True)
def report(
    files: tuple[Path, ...],
    release: str | None,
    sweeps: tuple[Path, ...],
    images: Path | Literal[True] | None,
    space: str | None,
    pool: dict[str, Any],
    folder: Path,
    **chosen: Any,
) -> None:
    """Make a page that shows what the results in FILEs allow to conclude.

    The page is one file that needs no server and asks nothing of the network: open it from disk,
    send it to a reviewer, or publish it.  Without FILE it shows the reference methods.
    """
    from benchmark_spec.errors import LicenceError
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import steps
    from fslbench_data.render.page.html import INDEX
    from fslbench_data.render.page.make import make_page

    check_free(folder / INDEX)
    if space is not None and isinstance(images, Path):
        raise LicenceError(
            "a page with pictures of a folder is not published: their licence may forbid it",
            where=f"--images {images} --push-space {space}",
            expected="pictures that a release holds, which may be passed on",
            fix="leave out --images, or publish the page yourself if you have the right to",
        )
    arguments = [*map(str, files), *(["--release", release] if release else [])]
    arguments += ["--unbound"] if chosen["unbound"] else []
    with steps("making the page") as step:
        path = make_page(
            sources_of(files, pool),
            load_release(release),
            folder,
            selection_of(**chosen),
            sweeps=sweeps,
            images=images,
            arguments=shlex.join(arguments),
            progress=step,
        )
    click.echo(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB, open it in a browser", err=True)
    if space is not None:
        from fslbench_data.render.page.space import push_space

        click.echo(push_space(path, space))
