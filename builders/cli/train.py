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
    named_dataset,
    source_options,
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
    help="Seed in place of each file's own; may be repeated.",
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
    curve.csv. The same command resumes an interrupted training, and ends in the same weights;
    finished trainings are left as they are. Images are read once and kept in .images.

    A line for each training says the SHA-256 of its weights. Then `fslbench-build answer` answers
    task sets with it, and `trained:FOLDER` is a backbone.
    """
    from benchmark_spec.extras import require

    chosen_engine = engine_from(**engine)
    require("torch")
    from builders.training.several import plan, train_all

    planned = plan(runs, seeds, folder.resolve())
    for name, digest in train_all(
        planned, raw, engine=chosen_engine, threads=threads, device=device, report=_echo
    ):
        click.echo(f"{name} {digest}")
    click.echo(f"wrote {folder}", err=True)


def _echo(text: str) -> None:  # no closure, since it is pickled for other processes
    click.echo(text, err=True)


@click.command()
@click.argument("folder", type=FOLDER, metavar="TRAINED")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="D",
    help="By default all of SPEC, or all that the release holds pictures of.",
)
@click.option(
    "--task-set",
    "task_sets",
    multiple=True,
    metavar="S",
    help="By default all of the data sets but `allway` ones; `episodes` are not answered.",
)
@click.option("--name", metavar="NAME", help="Name of the method in the results.")
@click.option(
    "--method",
    "own",
    default="",
    metavar="MODULE:CLASS",
    help="Needed where a method of your own was trained: its module is imported, which runs it.",
)
@click.option(
    "--device", type=device_type, default="cpu", show_default=True, help="Where it computes."
)
@source_options
@release_option
@output_to(about="Results (.parquet).", required=True)
def answer(
    folder: Path,
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    name: str | None,
    own: str,
    device: str,
    raw: Path | None,
    spec: Path | None,
    allow_missing: bool,
    release: str | None,
    path: Path,
) -> None:
    """Answer the tasks of a release with a trained method, from pictures.

    Pictures are those that the release holds, or, with --raw or --spec and of data sets that need
    no raw folder, read as `features` reads them. What the training did to its pictures is done to
    these. Methods that adapt their weights to each task answer sets that reuse no image unless
    --task-set names others: those have thousands of tasks.
    """
    from benchmark_spec.extras import require
    from builders.release.spec_file import read_spec
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import steps
    from fslbench_data.validation.rules import check_not_taken

    check_submission(path)
    require("torch")
    from builders.execution.engine import check_device
    from builders.training.trained import answer as answer_tasks
    from builders.training.trained import levels_for, load_trained

    check_device(device)
    trained, opened = load_trained(folder, own), load_release(release)
    check_not_taken(name or trained.name, opened.methods)
    trained.method.to(device)
    held, with_tasks = opened.datasets_with("pictures"), {info.dataset for info in opened.task_sets}
    names = [entry.name for entry in read_spec(spec).datasets] if spec else held
    datasets = datasets or tuple(dataset for dataset in names if dataset in with_tasks)
    if not datasets:
        raise click.UsageError(
            f"{opened} holds no pictures: name the specification that it was made from with "
            "--spec, or with --dataset data sets that `fslbench-build source` reads"
        )
    levels, data = {}, trained.settings.data
    with steps("reading pictures") as progress:
        for dataset in datasets:
            images = None
            if dataset not in held or spec or raw:
                declared, raw_folder = named_dataset(dataset, spec, raw)
                images = declared.read(raw_folder, allow_missing=allow_missing, progress=progress)
            levels[dataset] = levels_for(opened, dataset, data, images)
    submission = answer_tasks(
        trained, opened, levels.__getitem__, name=name, datasets=datasets, task_sets=task_sets,
        journal=folder / "answers.journal", show_progress=True,
    )  # fmt: skip
    submission.write(path)
    (folder / "answers.journal").unlink(missing_ok=True)
    click.echo(f"wrote {path}", err=True)
