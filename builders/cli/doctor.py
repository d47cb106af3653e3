"""``fslbench-build doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builders.cli.options import FOLDER
from fslbench_data.cli.options import release_option

if TYPE_CHECKING:
    from numpy.typing import NDArray


@click.command()
@click.option(
    "--features",
    "path",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    metavar="DIR",
    help="What `fslbench-build features` has written; or a .npy file of the canaries' features, "
    "(32, D), with --backbone.",
)
@click.option("--backbone", help="Whose features they are; the folder says so itself.")
@release_option
@click.option(
    "--against",
    type=FOLDER,
    metavar="DIR",
    help="Compare with another such folder instead of a release.",
)
@click.pass_context
def doctor(
    ctx: click.Context,
    path: Path,
    backbone: str | None,
    release: str | None,
    against: Path | None,
) -> None:
    """Compare your own features of the canaries with a release's.

    The canaries are 32 pictures in 8 classes; `fslbench-build source canaries --pictures DIR`
    writes them. Says how far the features are from those expected, how many predictions of nearest
    centroids change, and what is likely to be wrong. Ends with exit code 1 if they do not agree
    within the tolerance that the release has recorded.
    """
    from builders.features.doctor import SENTENCES, diagnose, tolerance_of

    own, provenances, backbone = _own(path, backbone)
    expected, theirs, where = _expected(backbone, release, against)
    diagnosis = diagnose(own, expected, tolerance_of(*provenances, theirs))
    click.echo(
        f"{backbone}, {path} against {where}\n"
        f"cosine of the canaries' features: lowest {diagnosis.lowest:.6f} ({diagnosis.worst}), "
        f"mean {diagnosis.mean:.6f}; at least {diagnosis.tolerance:g} is expected\n"
        f"largest difference {diagnosis.largest:.4g}, {diagnosis.relative:.3g} times the root mean "
        f"square\n"
        f"nearest-centroid predictions flipped: {diagnosis.flipped} of {diagnosis.predictions}\n"
        f"{SENTENCES[diagnosis.verdict]}"
    )
    if not diagnosis.agrees:
        ctx.exit(1)


def _own(path: Path, backbone: str | None) -> tuple[NDArray[Any], list[dict[str, Any]], str]:
    """Read the user's features of the canaries, what is recorded of them, and whose they are."""
    from builders.features.precomputed import read_precomputed
    from builders.sources.packaged.canaries import NAME

    if path.is_dir():
        own = read_precomputed(path)
        return own.features(NAME), [own.provenance(NAME)], backbone or own.backbone
    from benchmark_spec.errors import ReleaseError
    from fslbench_data.files import load_numbers

    if backbone is None:
        raise click.UsageError("a .npy file does not say whose features it holds: give --backbone")
    try:
        values = load_numbers(path)
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path} is no .npy file of numbers: {error}") from None
    return values, [], backbone


def _expected(
    backbone: str, release: str | None, against: Path | None
) -> tuple[NDArray[Any], dict[str, Any], str]:
    """Read the features to compare with, what is recorded of them, and where they are from."""
    from benchmark_spec.errors import ReleaseError
    from builders.features.precomputed import read_precomputed
    from builders.sources.packaged.canaries import NAME
    from fslbench_data.release.release import load_release

    if against is not None:
        if release is not None:
            raise click.UsageError("give --release or --against, not both")
        own = read_precomputed(against)
        return own.features(NAME), own.provenance(NAME), str(against)
    opened = load_release(release)
    if NAME not in opened.datasets:
        raise ReleaseError(
            f"release {opened} has no features of the canaries",
            expected="a release with features of a network",
            fix="name one with --release, or a folder with --against",
        )
    values = opened.features(NAME, backbone)
    table = next(t for t in opened.manifest.tables if (t.dataset, t.name) == (NAME, backbone))
    return values, dict(table.provenance), str(opened)
