"""``fslbench-build init``, ``release``, ``verify``, ``diff`` and ``picture``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmark_spec.errors import listing, many
from builders.cli.options import (
    ABSOLUTE,
    FOLDER,
    extraction_options,
    made_option,
    settings_from,
)
from fslbench_data.cli.options import (
    FILE,
    check_free,
    check_output,
    output,
    output_to,
    release_option,
)


@click.command()
@click.argument("folder", type=FILE, metavar="FOLDER")
@output_to(about="Write the specification there, such as my_release.toml.")
def init(folder: Path, path: Path | None) -> None:
    """Write a first specification for a folder of images, with comments.

    FOLDER has one folder per class. What only you know, such as the licence, is left empty: a build
    asks for it.
    """
    from builders.release.spec_file import first_spec

    check_output(path, {".toml": "toml"})
    output(first_spec(folder, str(path or "")), path)


@click.command()
@click.argument("spec", type=FILE, metavar="SPEC.toml")
@made_option("folder", "A new folder, or one that a build of the same left.")
@click.option(
    "--raw",
    type=ABSOLUTE,
    help="Folder of the raw folders, each named as its source unless SPEC says otherwise.",
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Leave out images and classes that are missing or damaged, and record them.",
)
@click.option(
    "--features",
    "extracted",
    type=FOLDER,
    multiple=True,
    metavar="DIR",
    help="What `fslbench-build features` has made, perhaps on another machine: not extracted "
    "again. May be repeated.",
)
@extraction_options
def release(
    spec: Path,
    folder: Path,
    raw: Path | None,
    allow_missing: bool,
    extracted: tuple[Path, ...],
    **extraction: Any,
) -> None:
    """Make a release as SPEC.toml describes it.

    SPEC.toml is a file, or the name of a specification that comes with the package: `embedded`,
    `fewstab`, `glyphs`, `meta_dataset`, or a data set of few-shot papers, such as `miniimagenet`
    (docs/releases.md).  The same command resumes an interrupted build, and gives the same release;
    a finished one is left as it is.  The last options say how features of networks are extracted,
    where SPEC.toml asks for any.
    """
    from builders.features.precomputed import read_precomputed
    from builders.release.build import build_release
    from builders.release.features import uses_captioners, uses_networks
    from builders.release.preflight import unpublishable
    from builders.release.spec_file import read_spec
    from builders.release.writer import is_finished
    from fslbench_data.render.console import steps

    specification = read_spec(spec)
    network = uses_networks(specification) or uses_captioners(specification)
    settings = settings_from(network=network, **extraction)
    was_finished = is_finished(folder)
    if names := unpublishable(specification):
        click.echo(
            f"{listing(names)}: `publish` will refuse what is computed from the images. Of images "
            'of your own whose licence allows it, say redistribution = "features" in the options; '
            "else give `backbones` in place of `features`, and no `attributes`",
            err=True,
        )
    with steps(f"making {specification.name} {specification.version}") as progress:
        manifest = build_release(
            specification,
            folder,
            raw=raw,
            allow_missing=allow_missing,
            settings=settings,
            features=[read_precomputed(path) for path in extracted],
            progress=progress,
        )
    click.echo(f"{manifest.name}@{manifest.version} {manifest.digest}")
    tasks = [table for table in manifest.tables if table.kind == "tasks"]
    click.echo(
        f"{f'{folder} is finished' if was_finished else f'wrote {folder}'}: "
        f"{many(len(manifest.datasets), 'data set')}, {many(len(tasks), 'task set')}, "
        f"{sum(table.rows for table in tasks):,} tasks",
        err=True,
    )


@click.command()
@click.argument("folder", type=FILE, metavar="DIR")
@click.option(
    "--raw",
    type=FOLDER,
    help="Folder of the raw folders, as for `release`: every image is read and hashed again.",
)
@click.option(
    "--spec",
    type=FILE,
    metavar="SPEC.toml",
    help="With --raw: what the release was made from, if its sources take options.",
)
@click.pass_context
def verify(ctx: click.Context, folder: Path, raw: Path | None, spec: Path | None) -> None:
    """Check a release by computing everything again that can be.

    Compares every file and table with the manifest, draws every task set again from its
    provenance, and looks for images used twice, images on both sides of a task, classes that are
    not distinct and ids beyond their class.  With --raw it also looks for images that are not the
    released ones.  Ends with exit code 1 if anything is wrong.  `embedded` names the release that
    comes with the package.
    """
    from builders.release.spec_file import read_spec
    from builders.release.verify import verify as check
    from fslbench_data.release.folder import embedded_folder
    from fslbench_data.release.release import EMBEDDED
    from fslbench_data.render.console import steps

    if spec is not None and raw is None:
        raise click.UsageError("--spec goes with --raw")
    specification = read_spec(spec) if spec is not None else None
    if str(folder) == EMBEDDED and not folder.exists():
        folder = embedded_folder()
    with steps(f"verifying {folder}") as progress:
        done = check(folder, progress, raw=raw, spec=specification)
    manifest = done.manifest
    for problem in done.problems:
        click.echo(f"{problem.path}: {problem.what}")
    images = f"{done.images_read:,} images read again, " if raw is not None else ""
    tasks = sum(table.kind == "tasks" for table in manifest.tables)
    click.echo(
        f"{manifest.name}@{manifest.version} {manifest.digest[:12]}: "
        f"{len(manifest.tables)} tables, {done.drawn_again} of {tasks} task sets drawn again "
        f"with equal digests, {images}{len(done.problems) or 'no'} "
        f"problem{'s' if len(done.problems) != 1 else ''}"
    )
    if done.problems:
        ctx.exit(1)


@click.command()
@click.argument("old", type=FILE, metavar="A")
@click.argument("new", type=FILE, metavar="B")
@click.pass_context
def diff(ctx: click.Context, old: Path, new: Path) -> None:
    """Show the differences between releases A and B, and the version that they require.

    A release is a folder, or ORG/NAME@v1.0.0 on the Hub; `embedded` names the one that comes with
    the package.  The exit code is 1 if the version of B is too low for the changes.
    """
    from builders.release.diff import diff as compare
    from fslbench_data.release.release import load_release

    a, b = map(load_release, (str(old), str(new)))
    difference = compare(a, b)
    for change in difference.changes:
        click.echo(f"{change.level:5}  {change.where}: {change.what}")
    if difference.needed is None:
        click.echo(f"{a} and {b} say the same")  # whatever their versions
        return
    rises = f"raises the {difference.raised} number" if difference.raised else "is not above it"
    enough = "too little" if difference.too_large else "enough"
    click.echo(
        f"{many(len(difference.changes), 'change')}: {difference.needed} at most; "
        f"{b} after {a} {rises}, which is {enough}"
    )
    if difference.too_large:
        ctx.exit(1)


@click.command()
@click.option("--dataset", required=True, metavar="D")
@click.option("--task-set", "task_set", required=True, metavar="NAME", help="Such as open-5w5s5q.")
@click.option("--task", "task_id", type=int, default=0, show_default=True, help="Number from 0.")
@click.option(
    "--images",
    type=FILE,
    metavar="DIR",
    help="The images, as for `fslbench evaluate`; by default those that the release holds.",
)
@click.option("--cell", type=click.IntRange(16, 512), default=96, show_default=True, help="Pixels.")
@release_option
@output_to(about="The picture (.png).", required=True)
def picture(
    dataset: str,
    task_set: str,
    task_id: int,
    images: Path | None,
    cell: int,
    release: str | None,
    path: Path,
) -> None:
    """Draw a task: its classes, support images and queries, with their attributes."""
    from benchmark_spec.errors import OutputError
    from builders.release.contact_sheet import contact_sheet
    from fslbench_data.files import whole_file
    from fslbench_data.release.pictures import picture_paths
    from fslbench_data.release.release import load_release

    check_free(path)
    if path.suffix.lower() != ".png":
        raise OutputError(f"{path} does not end in .png", expected="a PNG file")
    opened = load_release(release)
    info = opened.task_set_info(dataset, task_set)
    paths = picture_paths(opened, dataset, True if images is None else images)
    sheet = contact_sheet(opened, info, task_id, paths, cell)
    with whole_file(path) as temporary:
        sheet.save(temporary, format="PNG")
    click.echo(f"wrote {path}", err=True)
