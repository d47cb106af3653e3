"""The command ``fslbench``; it starts fast, since its commands do the heavy imports."""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EPIPE
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any

import click

from benchmark_spec.errors import FSLBenchError, FSLBenchWarning
from benchmark_spec.version import __version__
from fslbench_data.cli.options import say
from fslbench_data.entry import STOPPED, quit_at_once


class ErrorGroup(click.Group):
    """A group of commands that prints the package's own errors without a traceback, exit 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # some terminals have no ±
        with _ctrl_c() as pressed:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("always", FSLBenchWarning)
                    warnings.showwarning = _show_warning
                    return super().invoke(ctx)
            except click.UsageError as error:
                from fslbench_data.render.console import fitted

                raise click.UsageError(fitted(error.format_message()), error.ctx) from error
            except (Exception, KeyboardInterrupt) as error:
                # during an import, Ctrl-C may surface as an error of that import
                if pressed or isinstance(error, KeyboardInterrupt):
                    click.echo("Stopped.", err=True)
                    ctx.exit(STOPPED)
                if not isinstance(error, FSLBenchError | OSError):
                    raise
                if getattr(error, "errno", None) == EPIPE:
                    raise  # the reader has gone: click ends quietly
                if not isinstance(error, FSLBenchError):
                    error = FSLBenchError(str(error))  # shortens long paths
                say(f"Error: {error}")
                ctx.exit(2)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands under the headings of `SECTIONS`, and the rest."""
        rest = {name: self.commands[name] for name in self.list_commands(ctx)}
        sections = {title: [rest.pop(n) for n in names if n in rest] for title, names in SECTIONS}
        sections["More commands" if any(sections.values()) else "Commands"] = [*rest.values()]
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, commands in sections.items():
            if rows := [(c.name or "", c.get_short_help_str(width)) for c in commands]:
                with formatter.section(title):
                    formatter.write_dl(rows)


SECTIONS = (
    (
        "Commands",
        ("score", "interval", "reported", "evaluate", "table", "plot", "report", "plan", "info"),
    ),
    ("For maintainers", ("leaderboard", "review")),
)
"""Commands by heading of the help; the others follow."""


@contextmanager
def _ctrl_c() -> Iterator[list[int]]:
    """Make Ctrl-C raise a KeyboardInterrupt and be noted, unless someone else handles it."""
    pressed: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if (
        before not in (quit_at_once, signal.default_int_handler)
        or current_thread() is not main_thread()
    ):
        yield pressed
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    *where: Any,
    _default: Any = warnings.showwarning,
    **how: Any,
) -> None:
    """Print the package's own warnings in the form of its errors."""
    if issubclass(category, FSLBenchWarning):
        say(f"Warning: {message}")
    else:
        _default(message, category, *where, **how)


@click.group(
    cls=ErrorGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nStart with: fslbench score my_results.parquet\n"
    'Completion: eval "$(_FSLBENCH_COMPLETE=bash_source fslbench)"; or zsh_source',
)
@click.version_option(__version__, package_name="fslbench", prog_name="fslbench")
def main() -> None:
    """Compare few-shot methods, with confidence intervals for new images and new classes.

    Results are counts of correct queries on frozen tasks, or a log of your own tasks.  Methods are
    compared pairwise, task by task.  Results go to standard output, messages to standard error.
    The exit code is 2 where something is wrong with the input.
    """


for module in ("evaluate", "figures", "files", "info", "leaderboard", "plan", "score", "sql"):
    for each in vars(import_module(f"fslbench_data.cli.{module}")).values():
        if isinstance(each, click.Command):
            main.add_command(each)
