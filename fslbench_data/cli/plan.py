"""``fslbench plan``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import fslbench_data as fb
from benchmark_spec.errors import UnknownNameError
from fslbench_data.cli import options


@options.command(short_help="Plan an experiment: interval widths and detectable differences.")
@options.dataset_option
@click.option(
    "--pilot",
    metavar="P",
    help="Results to plan from: FILE, FILE::METHOD, or a reference method of the release; by "
    "default its first with results there.",
)
@click.option(
    "--versus",
    default="",
    metavar="M",
    help="Plan the difference from this method, of FILE or of the release.",
)
@click.option("--ways", "--way", "way", type=int, help="By default 5; a log has its own.")
@click.option(
    "--shots",
    "--shot",
    "shot",
    type=int,
    help="By default 5; for a log one of its own, by default 5 or the first.",
)
@click.option(
    "--queries",
    help="Queries per class, such as 1,2,5-7; by default 1-15. Not for a log, which has its own.",
)
@click.option(
    "--suite",
    type=click.Choice(["open", "balanced", "pooled"]),
    help="How tasks will be drawn, by default open; pooled ones reuse images, and so does their "
    "pilot, as a log must.",
)
@click.option(
    "--tasks",
    default="",
    metavar="B",
    help="Numbers of tasks to plan for --suite pooled besides the usual ones, such as 1000,2000.",
)
@click.option(
    "--runs",
    type=int,
    metavar="R",
    help="Training runs of each method that has several in the pilot; by default as many.",
)
@options.level_option
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="Probability of detecting the smallest detectable difference.",
)
@click.option("--details", is_flag=True, help="Symbols, formulas, and the parts of the variance.")
@options.release_option
@options.unbound_option
@partial(options.log_options, takes_queries=False)
@options.output_options(options.OF_NUMBERS)
def plan(
    pilot: str | None,
    queries: str | None,
    tasks: str,
    release: str | None,
    pool: dict[str, Any],
    details: bool,
    to: options.Output,
    **chosen: Any,
) -> None:
    """Plan an experiment: how many tasks, how wide its intervals, what it could detect.

    From the sizes of a data set's classes and the results of a pilot, for each number of queries
    per class: how many tasks there will be, how wide each kind of interval is expected to be, and
    the smallest difference between two methods (--versus) that it would detect.

    Of pooled tasks, which reuse images, for numbers of tasks: how wide intervals will be that leave
    one image, class or superclass out, and what the images allow at most. The same of a log of
    one's own tasks, --pilot LOG::METHOD, which says ways, shots and queries itself; --ways and
    --shots choose where it has tasks of several.
    """
    from fslbench_data.render.console import steps
    from fslbench_data.render.plan_text import plan_csv, plan_json, print_plan

    numbers = None if queries is None else options.parse_queries(queries)
    opened = fb.load_release(release)
    file, method = _pilot(pilot or "", opened.methods)
    (source,) = options.sources_of([file] if file else [], pool) or (None,)
    with steps("planning") as progress:
        planned = fb.plan(
            source,
            opened,
            method=method,
            queries=numbers,
            tasks=options.parse_queries(tasks, "tasks") if tasks else (),
            progress=progress,
            **chosen,
        )
    to.write(
        csv=lambda: plan_csv(planned),
        json=lambda: plan_json(planned),
        table=lambda console: print_plan(planned, console, details=details),
    )


def _pilot(text: str, methods: tuple[str, ...]) -> tuple[Path | None, str]:
    """Return the file and the method that ``--pilot`` names; either may be absent."""
    if not text or text in methods:
        return None, text
    file, mark, method = text.partition("::")
    if not mark and not Path(file).suffix:
        raise UnknownNameError(
            "reference method", text, methods, where="--pilot", fix="or give a file of results"
        )
    return Path(file), method
