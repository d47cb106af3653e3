"""``fslbench-build query-size``."""

from __future__ import annotations

from typing import Any

import click

from fslbench_data.cli.options import (
    OF_NUMBERS,
    Output,
    level_option,
    output_options,
    parse_queries,
    release_option,
)


@click.command("query-size")
@click.option("--dataset", required=True, metavar="D")
@click.option("--features", required=True, metavar="B", help="Backbone of the release.")
@click.option(
    "--head", default="NCC", show_default=True, help="NCC, MatchingNet, LR or LinearProbe."
)
@click.option("--ways", "--way", "way", type=int, default=5, show_default=True)
@click.option("--shots", "--shot", "shot", type=int, required=True)
@click.option(
    "--queries", default="1-15", show_default=True, help="Queries per class: 1-15, or 1,2,5-7."
)
@click.option("--seeds", type=int, default=20, show_default=True, help="Task sets of each Q.")
@click.option("--suite", default="open", show_default=True, help="How tasks are drawn.")
@level_option
@release_option
@output_options(OF_NUMBERS)
def query_size(
    dataset: str,
    features: str,
    head: str,
    queries: str,
    release: str | None,
    to: Output,
    **settings: Any,
) -> None:
    """Find the number of queries with the narrowest open intervals.

    Draws task sets of every number of queries Q, runs four heads on their features, fits how the
    variance of a task's accuracy, and of the difference of two heads, falls with Q, and says which
    Q* is best for comparisons and which for the accuracy of --head, how sure that is, and what
    other numbers cost.
    """
    from builders.query_size.sweep import COMPARED, QuerySets, sweep
    from builders.query_size.text import print_sweep, sweep_csv, sweep_json
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import steps

    drawn = {name: settings.pop(name) for name in ("way", "shot", "suite")}
    sets = QuerySets.of(load_release(release), dataset, features, head, **drawn, compared=COMPARED)
    grid = parse_queries(queries)
    with steps("sweeping the number of queries") as progress:
        swept = sweep(sets, grid, **settings, progress=progress)
    to.write(
        csv=lambda: sweep_csv(swept),
        json=lambda: sweep_json(swept),
        table=lambda console: print_sweep(swept, console),
    )
