"""``fslbench-build train`` and ``answer``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from builders.cli.options import (
    ABSOLUTE,
    FOLDER,
    device_type,
    engine_from,
    engine_options,
    made_option,
)
from fslbench_data.cli.options import FILE, check_submission, output_to, release_option


@click.command()
@click.argument("runs", type=FILE, metavar="RUN.toml...", nargs=-1, required=True)
@click.option("--raw", type=ABSOLUTE, help="Folder of the raw folders, each named as its source.")
@click.option(
    "--seed",
    "seeds",
    type=click.IntRange(min=0, max=2**64 - 1),
    multiple=True,
    help="Instead of each file's own; may be repeated.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processors for each training, recorded: others give other weights.",
)
@click.option(
    "--device",
    type=device_type,
    default="cpu",
    show_default=True,
    help="Where the methods compute.",
)
@engine_options
@made_option("folder", "A new folder, or one that the same command began to fill.")
def train(
    runs: tuple[Path, ...],
    raw: Path | None,
    seeds: tuple[int, ...],
    threads: int,
    device: str,
    folder: Path,
    **engine: Any,
) -> None:
    """Train few-shot methods as each RUN.toml describes one.

    Each training has a folder FILE-SEED in the output, which gets weights.pt, trained.json and
    curve.csv. Interrupted, the same command goes on where it was, and ends in the same weights;
    finished trainings are left as they are. Images are read once and kept in .images.

    A line for each training says the SHA-256 of its weights. Then `fslbench-build answer` answers
    task sets with it, and `trained:FOLDER` is a backbone.
    """
    from benchmark_spec.extras import require

    who = engine_from(**engine)
    require("torch")
    from builders.training.several import plan, train_all

    planned = plan(runs, seeds, folder.resolve())
    how: dict[str, Any] = {"threads": threads, "device": device}
    for name, digest in train_all(planned, raw, engine=who, **how, told=_tell):
        click.echo(f"{name} {digest}")
    click.echo(f"wrote {folder}", err=True)


def _tell(text: str) -> None:  # a trained process pickles it
    click.echo(text, err=True)


@click.command()
@click.argument("folder", type=FOLDER, metavar="TRAINED")
@click.option(
    "--dataset", "datasets", multiple=True, metavar="D", help="By default all with pixels."
)
@click.option(
    "--task-set", "task_sets", multiple=True, metavar="S", help="By default all of the data sets."
)
@click.option("--name", metavar="NAME", help="Of the method in the results.")
@click.option(
    "--method",
    "own",
    default="",
    metavar="MODULE:CLASS",
    help="Needed where a method of your own was trained: its module is imported, which runs it.",
)
@release_option
@output_to(about="Results (.parquet).", required=True)
def answer(
    folder: Path,
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    name: str | None,
    own: str,
    release: str | None,
    path: Path,
) -> None:
    """Answer the tasks of a release with a trained method, from grey pixels.

    Methods that adapt their weights to each task answer sets that reuse no image unless --task-set
    names others: those have thousands of tasks.
    """
    from benchmark_spec.extras import require
    from fslbench_data.release.release import load_release

    check_submission(path)
    require("torch")
    from builders.training.trained import answer as answer_tasks
    from builders.training.trained import load_trained

    submission = answer_tasks(
        load_trained(folder, own), load_release(release), name=name, datasets=datasets,
        task_sets=task_sets, journal=folder / "answers.journal", show_progress=True,
    )  # fmt: skip
    submission.write(path)
    (folder / "answers.journal").unlink(missing_ok=True)
    click.echo(f"wrote {path}", err=True)
