"""The command ``fslbench``: one file a command; heavy imports only inside them."""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EPIPE
from threading import current_thread, main_thread
from typing import Any, TextIO

import click

from benchmark_spec.errors import FSLBenchError, FSLBenchWarning
from benchmark_spec.version import __version__
from fslbench_data.entry import STOPPED, quit_at_once


class ErrorGroup(click.Group):
    """A group of commands that prints the package's own errors without a traceback, exit 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # where a terminal has no ±
        with _ctrl_c() as pressed:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("always", FSLBenchWarning)
                    warnings.showwarning = _show_warning
                    return super().invoke(ctx)
            except (Exception, KeyboardInterrupt) as error:
                # in the middle of an import Ctrl-C may come out as that import's own failure
                if pressed or isinstance(error, KeyboardInterrupt):
                    click.echo("Stopped.", err=True)
                    ctx.exit(STOPPED)
                if not isinstance(error, FSLBenchError | OSError):
                    raise
                if getattr(error, "errno", None) == EPIPE:
                    raise  # the reader has gone: click ends quietly
                if not isinstance(error, FSLBenchError):
                    error = FSLBenchError(str(error))  # which cuts a long path short
                click.echo(f"Error: {error}", err=True)
                ctx.exit(2)


@contextmanager
def _ctrl_c() -> Iterator[list[int]]:
    """Make Ctrl-C an exception, and note that it was pressed, where that ends the process now."""
    pressed: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    ours = before in (quit_at_once, signal.default_int_handler)
    if not ours or current_thread() is not main_thread():
        yield pressed
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


_show_other = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print the package's own warnings as its errors are printed."""
    if issubclass(category, FSLBenchWarning):
        click.echo(f"Warning: {message}", err=True)
    else:
        _show_other(message, category, filename, lineno, file, line)


@click.group(
    cls=ErrorGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: fslbench score my_results.parquet",
)
@click.version_option(__version__, package_name="fslbench", prog_name="fslbench")
def main() -> None:
    """Say what few-shot results do and do not show.

    Results are counts of correct queries on frozen tasks; methods are compared pairwise, task
    by task.  Messages go to standard error, results to standard output.  A problem with the
    input is explained and ends with exit code 2.
    """


def _add_commands() -> None:
    from fslbench_data.cli.cite import cite
    from fslbench_data.cli.compare import compare
    from fslbench_data.cli.completion import completion
    from fslbench_data.cli.evaluate import evaluate
    from fslbench_data.cli.import_accuracies import import_accuracies
    from fslbench_data.cli.info import info
    from fslbench_data.cli.interval import interval
    from fslbench_data.cli.leaderboard import leaderboard
    from fslbench_data.cli.merge import merge
    from fslbench_data.cli.plan import plan
    from fslbench_data.cli.plot import plot
    from fslbench_data.cli.report import report
    from fslbench_data.cli.review import review
    from fslbench_data.cli.score import score
    from fslbench_data.cli.sql import sql
    from fslbench_data.cli.submit import submit
    from fslbench_data.cli.table import table
    from fslbench_data.cli.validate import validate

    for command in (
        score,
        compare,
        validate,
        merge,
        interval,
        evaluate,
        plan,
        table,
        report,
        plot,
        submit,
        leaderboard,
        review,
        import_accuracies,
        info,
        sql,
        cite,
        completion,
    ):
        main.add_command(command)


_add_commands()
