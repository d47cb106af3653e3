"""Commands on files of results: check, join and make them, and say what to cite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import fslbench_data as fb
from benchmark_spec.errors import SpecError, many
from fslbench_data.cli import options

RESULTS = (".parquet", ".csv", ".jsonl")
"""Endings of files of results."""


@options.command(short_help="Check that FILEs can be scored.")
@click.argument("files", type=options.FILE, nargs=-1, required=True, metavar="FILE...")
@options.release_option
@options.unbound_option
@options.log_options
def validate(
    files: tuple[Path, ...],
    release: str | None,
    allow_unbound: bool,
    pool: dict[str, Any],
) -> None:
    """Check that FILEs can be scored, together if they are several, and say what they answer.

    Exit code 0 if every rule is met; otherwise the first broken rule is explained, with its rows
    and how to fix them, and the exit code is 2.
    """
    from fslbench_data.render.console import screen
    from fslbench_data.scoring.selection import log_of
    from fslbench_data.validation.validate import validate as check

    opened = fb.load_release(release)
    log = log_of(options.sources_of(files, pool))
    validated = log.answers if log else check(files, opened, allow_unbound=allow_unbound)
    with screen() as console:
        for group in validated.groups:
            part = "" if group.tasks == group.info.n_tasks else f" of {group.info.n_tasks}"
            bound = f"bound to {group.info.fingerprint[:12]}" if group.bound else "unbound"
            console.print(f"{group.method} on {group.info}: {group.tasks}{part} tasks, {bound}")
    names = ", ".join(map(str, files))
    verb = "is" if len(files) == 1 else "are together"
    if log is not None:
        options.say(f"{names} {verb} a valid log of one's own tasks")
        return
    columns = validated.submission.columns
    lists = ("predictions", "second", "correct", "class_correct")
    present = [name for name in lists if name in columns]
    checked = f", {' and '.join(present)} checked" if present else ""
    if "correct" in columns and "class_correct" not in columns:
        checked += "; correct by its sums alone: with class_correct its order is checked, too"
    options.say(f"{names} {verb} a valid submission to {opened}{checked}")


@options.command(short_help="Join files of results into one.")
@click.argument("files", type=options.FILE, nargs=-1, required=True, metavar="FILE...")
@options.output_to(about="Submission to write (.parquet).", required=True)
def merge(files: tuple[Path, ...], path: Path) -> None:
    """Join FILEs of results into one, with everything that they say of themselves.

    They hold different methods, one method on different task sets, or different runs of one; a file
    of any kind may stand beside others. Files that answer a task twice, or contradict each
    other about a method, are refused. Rows are in the order of FILEs.
    """
    options.check_submission(path)
    merged = fb.merge(files)
    merged.write(path)
    methods = len(merged.table.column("method").unique())
    options.say(f"wrote {path}: {merged.table.num_rows:,} rows, methods: {methods}")


@options.command(short_help="Write a release with every table as a file.")
@click.argument("folder", type=options.FILE, metavar="DIR")
@options.release_option
def export(folder: Path, release: str | None) -> None:
    """Write a release into DIR, which must be new or empty, with every table as a file.

    The package draws some task sets from their seeds. In DIR they are files, as in a release
    that is published, so that datasets.load_dataset(DIR, CONFIGURATION) reads all of it without
    this package. The digest and all fingerprints stay: --release DIR gives the same results.
    """
    from fslbench_data.render.console import steps
    from fslbench_data.render.export import export as write

    opened = fb.load_release(release)
    with steps(f"exporting {opened}") as step:
        manifest = write(opened, folder, step)
    drawn = sum(table.drawn for table in opened.manifest.tables)
    options.say(
        f"wrote {folder}: {opened}#{manifest.digest[:12]}, {len(manifest.tables)} tables, {drawn} "
        f"of them drawn; {len(manifest.configs())} configurations for datasets.load_dataset"
    )


@options.command("import-accuracies", short_help="Make a submission of a list of accuracies.")
@click.argument("file", type=options.FILE)
@click.option(
    "--task-set",
    required=True,
    metavar="S",
    help="Task set, as DATASET/TASK_SET; or TASK_SET with --dataset.",
)
@click.option("--dataset", metavar="D", help="Data set of the task set.")
@click.option("--method", required=True, metavar="M", help="Name of the method.")
@click.option("--percent/--fraction", default=None, help="By default: percent if any is above 1.")
@options.output_to(about="Submission to write (.parquet).", required=True)
@options.release_option
def import_accuracies(
    file: Path,
    task_set: str,
    dataset: str | None,
    method: str,
    percent: bool | None,
    path: Path,
    release: str | None,
) -> None:
    """Turn a list of accuracies, one per task in order, into a submission.

    FILE is a .npy file, a CSV file or a text file of numbers. The submission does not say which
    tasks it was made on: scoring it needs --unbound.
    """
    from fslbench_data.submission.reading import read_accuracies
    from fslbench_data.tasks import Episodes
    from fslbench_data.validation.rules import check_not_taken

    options.check_submission(path)
    opened = fb.load_release(release)
    of, slash, name = task_set.rpartition("/")
    if not slash and dataset is None:
        raise SpecError(
            f"--task-set {task_set} does not say of which data set",
            expected="DATASET/TASK_SET, such as cub/published-5w5s5q, or --dataset besides",
        )
    if slash and dataset not in (None, of):
        raise SpecError(
            f"--task-set {task_set} and --dataset {dataset} name two data sets",
            expected="the data set whose tasks the accuracies were made on",
            fix=f"leave out --dataset, or give --task-set {name}",
        )
    dataset, task_set = dataset or of, name
    info = opened.task_set_info(dataset, task_set)
    check_not_taken(method, opened.methods)
    values = read_accuracies(file)
    tasks = opened.task_set(dataset, task_set) if info.name.varies else None
    queries = tasks.queries if isinstance(tasks, Episodes) else None
    submission = fb.Submission.from_accuracies(
        values, info, method, percent=percent, queries=queries, where=str(file)
    )
    submission.write(path)
    options.say(
        f"wrote {path}: {many(info.n_tasks, 'task')} of {info}, unbound (score it with --unbound)"
    )


@options.command(short_help="Print BibTeX of a release, or of what results used of it.")
@click.argument("what", nargs=-1, metavar="[FILE]...")
@options.release_option
def cite(what: tuple[str, ...], release: str | None) -> None:
    """Print BibTeX of what the results in FILEs used: data sets, features and papers.

    Without FILE it is all of a release: of --release, or of one that stands in FILE's place.
    """
    from fslbench_data.render.bibtex import bibtex
    from fslbench_data.submission.reading import is_log

    if len(what) == 1 and not (Path(what[0]).is_file() or what[0].lower().endswith(RESULTS)):
        if release is not None:
            raise click.UsageError(f"{what[0]} is no file of results")
        release, what = what[0], ()
    if what and all(map(is_log, what)):
        text = bibtex()
    else:
        opened = fb.load_release(release)
        text = bibtex(opened, fb.merge([Path(file) for file in what]) if what else None)
    click.echo(text, nl=False)
