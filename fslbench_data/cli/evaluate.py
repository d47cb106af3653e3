"""``fslbench evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import fslbench_data as fb
from fslbench_data.cli import options


@options.command(short_help="Run a method over frozen tasks, resumably.")
@click.argument("method", metavar="MODULE:CALLABLE")
@options.release_option
@click.option("--features", metavar="B", help="Run on the release's features of this backbone.")
@options.images_option(
    "Run on the images in this folder; without one, on those that the release holds."
)
@click.option("--device", metavar="D", help="Give features as PyTorch tensors on it, e.g. cuda.")
@click.option("--name", metavar="M", help="Name of the method; by default the callable's.")
@options.sets_options
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the method's generator."
)
@click.option("--batch", type=int, metavar="B", help="Call the method with B tasks at once.")
@click.option("--max-tasks", type=int, metavar="N", help="Only the first N tasks of each set.")
@click.option(
    "--transductive", is_flag=True, default=None, help="The method uses the queries together."
)
@options.no_training_option("The method trains")
@click.option("--run", metavar="R", help="Which training run this is, if there are several.")
@click.option(
    "--stop-when-conclusive",
    "versus",
    metavar="M",
    help="Stop each set as soon as the difference from M is significant; M is a reference method, "
    "FILE or FILE::METHOD.",
)
@click.option("--description", default="", help="What readers should know of the method.")
@options.output_to(about="Submission (.parquet).", required=True)
def evaluate(
    method: str, release: str | None, name: str | None, versus: str | None, path: Path, **how: Any
) -> None:
    """Run a method over frozen tasks and write its submission.

    MODULE is a module or a .py file, CALLABLE a function method(support, query, rng) that
    returns predictions, or a class of such objects.  Until the output is written every answered
    task is kept beside it, in a file ending in .partial: a stopped run resumes with the same
    command.
    """
    from fslbench_data.evaluation.adapters import load_callable
    from fslbench_data.evaluation.calling import callable_name
    from fslbench_data.scoring.compare import find_method
    from fslbench_data.validation.rules import check_not_taken

    options.check_submission(path)
    target = path.absolute()  # a method may change the folder
    loaded, opened = load_callable(method), fb.load_release(release)
    name = name or callable_name(loaded)
    check_not_taken(name, opened.methods)
    journal = path.with_name(path.name + ".partial")
    submission = fb.evaluate(
        loaded,
        opened,
        name=name,
        stop_when_conclusive=None if versus is None else find_method(versus, opened),
        journal=journal,
        show_progress=True,
        on_stop=lambda answered: options.say(
            f"stopped: {answered} answered tasks are in {journal}; the same command resumes"
        ),
        **how,
    )
    submission.write(target)
    target.with_name(journal.name).unlink(missing_ok=True)
    where = f" --release {release}" if release else ""
    options.say(f"wrote {path}: score it with fslbench score {path}{where}")
