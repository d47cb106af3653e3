"""``fslbench-build train`` and ``fslbench-build answer``."""

from __future__ import annotations

from pathlib import Path

import click

from builders.cli.options import ABSOLUTE, FOLDER, made_option
from fslbench_data.cli.options import FILE, output_to, release_option


@click.command()
@click.argument("run", type=FILE, metavar="RUN.toml")
@click.option("--raw", type=ABSOLUTE, help="Folder of the raw folders, each named as its source.")
@made_option("folder", "A new folder, or one that a stopped training left.")
def train(run: Path, raw: Path | None, folder: Path) -> None:
    """Train a few-shot method as RUN.toml describes it.

    Interrupted, the same command goes on where it was, and ends in the same weights; a finished
    training is left as it is. The folder gets weights.pt, trained.json and curve.csv. Then
    `fslbench-build answer` answers task sets with it, and `trained:FOLDER` is a backbone.
    """
    from benchmark_spec.extras import require
    from builders.training.settings import read_settings

    settings = read_settings(run)
    require("torch")
    from builders.training.run import train as train_method
    from builders.training.source import read_images

    images, validation = read_images(settings.data, raw, lambda text: click.echo(text, err=True))
    digest = train_method(
        settings, images, validation, folder, lambda text: click.echo(text, err=True)
    )
    click.echo(f"{settings.method} {digest}")
    click.echo(f"wrote {folder}", err=True)


@click.command()
@click.argument("folder", type=FOLDER, metavar="TRAINED")
@click.option(
    "--dataset", "datasets", multiple=True, metavar="D", help="By default all with pixels."
)
@click.option(
    "--task-set", "task_sets", multiple=True, metavar="S", help="By default all of the data sets."
)
@click.option("--name", metavar="NAME", help="Of the method in the results.")
@release_option
@output_to(about="Results (.parquet).", required=True)
def answer(
    folder: Path,
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    name: str | None,
    release: str | None,
    path: Path,
) -> None:
    """Answer the tasks of a release with a trained method, from grey pixels.

    Methods that adapt their weights to each task answer sets that reuse no image unless --task-set
    names others: those have thousands of tasks.
    """
    from benchmark_spec.extras import require
    from fslbench_data.cli.options import check_output
    from fslbench_data.release.release import load_release

    check_output(path)
    require("torch")
    from builders.training.answers import answer as answer_tasks
    from builders.training.trained import load_trained

    submission = answer_tasks(
        load_trained(folder), load_release(release), name=name, datasets=datasets,
        task_sets=task_sets, journal=folder / "answers.journal", show_progress=True,
    )  # fmt: skip
    submission.write(path)
    (folder / "answers.journal").unlink(missing_ok=True)
    click.echo(f"wrote {path}", err=True)
