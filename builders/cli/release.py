"""``fslbench-build release``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builders.cli.options import (
    ABSOLUTE,
    FOLDER,
    extraction_options,
    made_option,
    settings_from,
)
from fslbench_data.cli.options import FILE

if TYPE_CHECKING:
    from builders.features import Settings
    from builders.release.spec import ReleaseSpec
    from fslbench_data.release.release import Release


@click.command()
@click.argument("spec", type=FILE, metavar="SPEC.toml")
@made_option("folder", "A new folder, or one that a build of the same left.", required=False)
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
@click.option(
    "--earlier",
    metavar="R",
    help="A release, such as the one before, or `embedded`: its features and reference results are "
    "taken over where images, tasks, network, settings, packages and processor are the same.",
)
@click.option(
    "--dry-run",
    "only_told",
    is_flag=True,
    help="Make nothing; say what would be made, and what is missing: exit code 1 if anything is.",
)
@extraction_options
def release(
    spec: Path,
    folder: Path | None,
    raw: Path | None,
    allow_missing: bool,
    extracted: tuple[Path, ...],
    earlier: str | None,
    only_told: bool,
    **extraction: Any,
) -> None:
    """Make a release as SPEC.toml describes it.

    SPEC.toml is a file, or the name of a specification that comes with the package: `embedded`,
    `fewstab`, `glyphs` or `meta_dataset`.  Interrupted, it goes on where it was when called again,
    and gives the same release; a finished one is left as it is.  The last options say how features
    of networks are extracted, where SPEC.toml asks for any.
    """
    from builders.features.precomputed import read_precomputed
    from builders.release.build import build_release
    from builders.release.features import uses_networks
    from builders.release.spec_file import find_spec, read_spec
    from builders.release.writer import is_finished
    from fslbench_data.render.console import steps

    specification = read_spec(find_spec(spec))
    elsewhere = extraction["engine_name"] != "local" or extraction["address"] is not None
    settings = None
    if uses_networks(specification) or elsewhere:
        settings = settings_from(**extraction)
    if only_told:
        _tell(specification, raw, allow_missing, settings, extracted)
        return
    if folder is None:
        raise click.UsageError("give -o, a new folder, or --dry-run")
    before = is_finished(folder)
    with steps(f"making {specification.name} {specification.version}") as progress:
        manifest = build_release(
            specification,
            folder,
            raw=raw,
            allow_missing=allow_missing,
            settings=settings,
            features=[read_precomputed(path) for path in extracted],
            earlier=_opened(earlier) if earlier is not None else None,
            progress=progress,
        )
    click.echo(f"{manifest.name}@{manifest.version} {manifest.digest}")
    tasks = [table for table in manifest.tables if table.kind == "tasks"]
    click.echo(
        f"{f'{folder} is finished' if before else f'wrote {folder}'}: "
        f"{len(manifest.datasets)} data sets, {len(tasks)} task sets, "
        f"{sum(table.rows for table in tasks):,} tasks",
        err=True,
    )


def _tell(
    specification: ReleaseSpec,
    raw: Path | None,
    allow_missing: bool,
    settings: Settings | None,
    extracted: tuple[Path, ...],
) -> None:
    """Print a dry run."""
    from builders.features.precomputed import read_precomputed
    from builders.release.preflight import dry_run
    from fslbench_data.render.console import steps

    with steps("reading what a build would read") as progress:
        planned = dry_run(
            specification,
            raw,
            allow_missing=allow_missing,
            settings=settings,
            extracted=[read_precomputed(path) for path in extracted],
            progress=progress,
        )
    for line in planned.lines():
        click.echo(line)
    if planned.missing:
        click.get_current_context().exit(1)


def _opened(earlier: str) -> Release:
    from fslbench_data.release.release import load_release

    return load_release(None if earlier == "embedded" else earlier)
