"""Define the options and the output that commands share."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from benchmark_spec.errors import FSLBenchWarning, OutputError, SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.render.table import Table
    from fslbench_data.scoring.own_release import OwnLog
    from fslbench_data.submission.model import Submission

Command = TypeVar("Command", bound=Callable[..., Any])

MORE: tuple[str, ...] = (
    "level", "allow_unbound", "all_references", "whole_signature", "bias", "class_sizes", "groups",
    "superclasses", "trained", "inductive", "pool", "of_classes", "of_images", "of_ways",
    "of_shots", "of_queries", "overwrite", "transductive", "description",
)  # fmt: skip
"""Options that the help lists after the others, under a heading of their own."""


class CommandWithMore(click.Command):
    """A command whose help lists the options of :data:`MORE` last, but for those named `first`."""

    def __init__(self, *args: Any, first: Collection[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._more = {*MORE} - {*first}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under two headings."""
        rows: dict[str, list[tuple[str, str]]] = {"Options": [], "More options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                rows["More options" if parameter.name in self._more else "Options"].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


command = partial(click.command, cls=CommandWithMore)
"""Decorator that makes a :class:`CommandWithMore`."""

FILE = click.Path(path_type=Path)

release_option: Callable[[Command], Command] = click.option(
    "--release",
    metavar="R",
    help="A release: a folder, or ORG/NAME@v1.0.0 on the Hub; by default the one in the package.",
)

unbound_option: Callable[[Command], Command] = click.option(
    "--unbound",
    "allow_unbound",
    is_flag=True,
    help="Accept results without fingerprints of the task sets that they were made on.",
)


bias_option: Callable[[Command], Command] = click.option(
    "--bias",
    is_flag=True,
    help="For task sets made with attributes of images: worst-class accuracy on every step, and "
    "the loss from step to step.",
)


dataset_option: Callable[[Command], Command] = click.option(
    "--dataset", "datasets", multiple=True, metavar="D", help="Only this data set; may be repeated."
)

task_set_option: Callable[[Command], Command] = click.option(
    "--task-set",
    "task_sets",
    multiple=True,
    metavar="S",
    help="Only this task set; may be repeated. ladder_titles-5w5s5q stands for all its steps.",
)


def sets_options(command: Command) -> Command:
    """Add the options that choose data sets and task sets."""
    return dataset_option(task_set_option(command))


methods_option: Callable[[Command], Command] = click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="M",
    help="Only this method, of FILE or of the release; may be repeated.",
)

level_option: Callable[[Command], Command] = click.option(
    "--level", type=float, default=0.95, show_default=True, help="Confidence level of intervals."
)

details_option: Callable[[Command], Command] = click.option(
    "--details",
    is_flag=True,
    help="A table for each task set, with every comparison.",
)

signature_option: Callable[[Command], Command] = click.option(
    "--signature",
    "whole_signature",
    is_flag=True,
    help="End with the whole signature: every task set and its fingerprint.",
)


_OF_RELEASE = ":release:"
"""The value of ``--images`` without a folder."""


def images_option(about: str) -> Callable[[Command], Command]:
    """Make the option ``--images [DIR]``: a folder, True without DIR, None without the option."""
    return click.option(
        "--images",
        metavar="[DIR]",
        type=FILE,
        is_flag=False,
        flag_value=_OF_RELEASE,
        callback=lambda _context, _option, path: str(path) == _OF_RELEASE or path,
        help=about,
    )


def output_to(
    name: str = "path", about: str = "Write to this file.", *, required: bool = False
) -> Callable[[Command], Command]:
    """Make the option of the file that a command writes, and ``--overwrite``.

    The command must first check it, by :func:`check_output` or :func:`check_free`.
    """
    overwrite = click.option(
        "--overwrite", is_flag=True, expose_value=False, help="Replace what is there."
    )
    path = click.option("-o", "--output", name, type=FILE, required=required, help=about)
    return lambda command: path(overwrite(command))


output_option: Callable[[Command], Command] = output_to()


OF_NUMBERS = {".csv": "csv", ".json": "json"}
ENDINGS = {**OF_NUMBERS, ".md": "markdown", ".tex": "latex"}
"""Formats by the endings of files; a table for people has none."""

FOR_MACHINES = tuple(OF_NUMBERS.values())
FORMATS = ("table", *ENDINGS.values())
"""Formats of reports, SQL and leaderboards."""


class Output(NamedTuple):
    """The format in which a command writes, and its file; None for standard output."""

    form: str
    path: Path | None = None

    def write(
        self,
        *,
        json: Callable[[], str | Iterable[str]],
        table: Callable[[Console], object] | None,
        csv: Callable[[], str | Iterable[str]] | None = None,
        paper: Callable[[], tuple[Sequence[Table], str, Sequence[str]]] | None = None,
    ) -> None:
        """Write a result, calling only the function of the format.

        Parameters
        ----------
        table
            Draws on a console.
        paper
            Returns the tables for Markdown and LaTeX, the signature, and notes below them all.
        """
        text = {"csv": csv, "json": json}.get(self.form)
        if text is not None:
            output(text(), self.path)
        elif self.form in ("markdown", "latex") and paper is not None:
            from fslbench_data.render.latex import latex
            from fslbench_data.render.table import markdown

            render = markdown if self.form == "markdown" else latex
            output(render(*paper()), self.path)
        elif table is not None:
            draw(table, self.path)


def output_options(
    endings: Mapping[str, str] = ENDINGS, more: str = ""
) -> Callable[[Command], Command]:
    """Make ``--format`` and ``--output``, which the command gets checked, as one argument `to`.

    `endings` are the formats by endings of files; `more` ends the help's sentence on formats.
    """
    formats = click.Choice(["table", *endings.values()])
    about = f"By default the one that the ending of --output names, else table{more}."
    format_option = click.option("--format", "output_format", type=formats, help=about)

    def add(command: Command) -> Command:
        @wraps(command)
        def with_output(output_format: str | None, path: Path | None, **given: Any) -> Any:
            to = Output(check_output(path, endings, output_format), path)
            return command(to=to, **given)

        return format_option(output_option(with_output))  # type: ignore[return-value]

    return add


def check_output(
    path: Path | None, endings: Mapping[str, str], output_format: str | None = None
) -> str:
    """Return the requested format, or that of the file's ending, or ``table``.

    Raises an OutputError if the file exists, or has a name of another kind.  A name has one of the
    endings, or .txt or none for text; with a requested format, any ending but those of
    :data:`_OTHER_KINDS`.
    """
    if path is None:
        return output_format or "table"
    check_free(path)
    ending = path.suffix.lower()
    refused = _OTHER_KINDS if output_format else (ending,)
    if ending in refused and ending not in ("", ".txt", *endings):
        raise OutputError(
            f"{path} cannot be written: there is no output of that kind",
            expected=f"a name ending in {', '.join(endings)}; or in .txt or nothing, for text",
        )
    return output_format or endings.get(ending, "table")


_OTHER_KINDS = (".parquet", ".xlsx", ".docx", ".odt", ".jsonl", ".pdf")


def check_submission(path: Path) -> None:
    """Raise an OutputError if a submission's file exists, or has a name of another kind."""
    from fslbench_data.submission.model import check_parquet_name

    check_parquet_name(path)
    check_free(path)


def check_free(path: Path | None) -> None:
    """Raise an OutputError if a file exists, without ``--overwrite``, or is an input.

    Inputs are the files that other arguments of the command name, FILE::METHOD too.
    """
    from fslbench_data.files import is_taken

    if path is None or not is_taken(path):
        return
    context = click.get_current_context()
    for name, value in context.params.items():
        for argument in value if isinstance(value, tuple) else (value,):
            if name != "path" and _is_same(path, str(argument).partition("::")[0]):
                raise OutputError(
                    f"{path} is the submission itself", fix="name another file to write"
                )
    if context.get_parameter_source("overwrite") is not ParameterSource.COMMANDLINE:
        raise OutputError(
            f"{path} exists already",
            expected="a new file: what is there is not written over unasked",
            fix="name another file, or give --overwrite to replace that one",
        )


def _is_same(path: Path, argument: str) -> bool:
    try:
        return path.samefile(argument)
    except (OSError, ValueError):  # it names no file
        return False


def say(text: str) -> None:
    """Print a message on standard error."""
    from fslbench_data.render.console import fitted

    click.echo(fitted(text), err=True)


def output(text: str | Iterable[str], path: Path | None) -> None:
    """Write text, or pieces of it, to a file that appears whole or not at all, or to stdout."""
    pieces = [text] if isinstance(text, str) else text
    if path is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    from fslbench_data.files import whole_file

    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)
        file.flush()  # before whole_file syncs it
    say(f"wrote {path}")


def draw(print_on: Callable[[Console], object], path: Path | None) -> None:
    """Print on the terminal, or on a page that becomes a text file."""
    from fslbench_data.render.console import FILE_LINES, PAGE, page, screen

    if path is None:
        with screen() as console:
            print_on(console)
    else:
        with page((shutil.get_terminal_size(PAGE).columns, FILE_LINES)) as (console, text):
            print_on(console)
        output(text(), path)


def refuse_other_options(used: Collection[str], what: str) -> None:
    """Raise a UsageError about an option that would do nothing for some kind of file."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name not in {*used, "files", "output_format", "path", "overwrite"}:
            raise click.UsageError(f"{option.opts[-1]} does nothing for {what}")


def parse_queries(text: str, what: str = "queries") -> list[int]:
    """Read numbers and ranges, such as ``1-15`` or ``1,2,5-7``, in ascending order."""
    queries: set[int] = set()
    for part in text.replace(" ", "").split(","):
        match = re.fullmatch(r"([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise SpecError(
                f"{text!r} is not a choice of numbers of {what}",
                expected="numbers from 1 to 99999 and ranges of them, such as 1-15 or 1,2,5-7",
            )
        queries.update(range(first, last + 1))
    return sorted(queries)


def log_options(command: Command, *, takes_queries: bool = True) -> Command:
    """Add the options of a log of one's own tasks, as one argument `pool`.

    ``--inductive`` and ``--pool`` are left out unless the command `takes_queries`: uses which
    queries were right.
    """
    names = ("class_sizes", "groups", "superclasses", "trained", "inductive", "pool")

    @wraps(command)
    def with_pool(**given: Any) -> Any:
        pool = {name: given.pop(name, None) for name in names}
        return command(pool=pool, **given)

    for name, about in reversed(_LOG_HELP.items()):
        with_pool = click.option(f"--{name}", type=FILE, metavar="FILE", help=about)(with_pool)
    if takes_queries:
        with_pool = click.option(
            "--pool",
            type=click.IntRange(1),
            metavar="N",
            help="For results with all classes at once: number of training images of a class, from "
            "which each draw takes its support. Draws then overlap and count for more. By default "
            "there are many.",
        )(with_pool)
        with_pool = click.option(
            "--inductive",
            is_flag=True,
            default=None,
            help="Methods answer each query by itself: intervals for new images then use the "
            "columns correct or predictions, and are usually narrower.",
        )(with_pool)
    return no_training_option("The files' methods train")(with_pool)  # type: ignore[return-value]


_LOG_HELP = {
    "class-sizes": "For a log of your own tasks: how many images of each class may be drawn. A CSV "
    "file with the columns class and n_images, and dataset if there are several; a JSON object; or "
    "a data set whose test split is known, such as miniImageNet, CUB or digits. By default the "
    "images seen.",
    "groups": "For a log: groups of images that are not independent, such as shots of one scene. A "
    "file with the columns image and group.",
    "superclasses": "For a log: superclasses, for intervals for new ones. A file with the columns "
    "class and superclass.",
}


def design_options(command: Command) -> Command:
    """Add the options that describe the tasks of bare accuracies, as one argument `design`."""

    @wraps(command)
    def with_design(**given: Any) -> Any:
        design: dict[str, Any] = {name: given.pop(f"of_{name}") for name in _DESIGN_HELP}
        return command(design=design, **given)

    for name, about in reversed(_DESIGN_HELP.items()):
        option = click.option(f"--{name}", f"of_{name}", type=int, help=f"For accuracies: {about}.")
        with_design = option(with_design)
    return with_design  # type: ignore[return-value]


_DESIGN_HELP = {
    "classes": "classes that tasks are drawn from",
    "images": "images of the class that has the fewest",
    "ways": "classes of a task",
    "shots": "support images of a class",
    "queries": "query images of a class",
}


def sources_of(
    files: Sequence[Path], pool: Mapping[str, Any]
) -> tuple[Path, ...] | tuple[Submission, ...] | tuple[OwnLog]:
    """Return files of results, or the log of one's own tasks that they are.

    ``--no-training`` and ``--inductive`` hold for all methods of the files.
    """
    from fslbench_data.scoring.selection import log_of
    from fslbench_data.submission.columns import separator_remedy
    from fslbench_data.submission.model import Submission
    from fslbench_data.submission.reading import columns_of, is_by_image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FSLBenchWarning)  # the report shows them
        if own := log_of(files, **pool):
            return (own,)
    about_methods = {"trained": pool.get("trained"), "inductive": pool.get("inductive")}
    for name, value in pool.items():
        if value is not None and (name not in about_methods or not files):
            option = "no-training" if name == "trained" else name.replace("_", "-")
            if name == "pool":
                raise click.UsageError("--pool is of a log of all classes at once")
            if not files:
                raise click.UsageError(f"--{option} is of methods in files, and none is given")
            lacking = f", a column that {files[0]} has not" if len(files) == 1 else ""
            if remedy := separator_remedy(columns_of(files[0])):
                lacking += f": {remedy}"
            raise click.UsageError(
                f"--{option} is of a log of one's own tasks, with class_ids{lacking}"
            )
    if all(value is None for value in about_methods.values()):
        return tuple(files)
    if by_image := [file for file in files if is_by_image(file)]:
        raise click.UsageError(
            f"--inductive and --no-training are not of rows of images, as {by_image[0]} has"
        )
    return tuple(Submission.read(file).declare(**about_methods) for file in files)


def no_training_option(who: str) -> Callable[[Command], Command]:
    """Make ``--no-training``, passed on as `trained`: False, or None without it.

    `who` begins the help's sentence.
    """
    return click.option(
        "--no-training",
        "trained",
        flag_value=False,
        type=bool,
        default=None,
        help=f"{who} nothing before the tasks: training runs cannot differ.",
    )
