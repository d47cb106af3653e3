"""``fslbench review``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.leaderboard import releases_option
from fslbench_data.cli.options import FILE, check_output, level_option, output, output_option


@click.command(short_help="Say what adding FILEs to a results repository would bring.")
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--results",
    "where",
    required=True,
    metavar="DIR|ORG/RESULTS",
    help="The results repository as it stands: a folder, or on the Hub.",
)
@releases_option
@level_option
@output_option
def review(
    paths: tuple[Path, ...],
    where: str,
    names: tuple[str, ...],
    level: float,
    path: Path | None,
) -> None:
    """Check FILEs as a results repository would, and say in Markdown where they would stand.

    A FILE below a folder `submissions` must have its right name, the SHA-256 of its content.
    Exit code 1 if any FILE is refused; the comment says why. For pull requests: nothing in what
    they add is trusted, and nothing of it works in the comment.
    """
    from benchmark_spec.naming import one_line
    from fslbench_data.leaderboard.folder_files import LooseFiles
    from fslbench_data.leaderboard.opening import open_releases, open_results
    from fslbench_data.leaderboard.review import review as run
    from fslbench_data.leaderboard.review_text import review_text
    from fslbench_data.render.console import steps

    check_output(path, *paths)
    proposed = LooseFiles(paths)
    for name, file in proposed.paths.items():
        if name.rpartition("/")[2] != file.name:
            click.echo(f"{one_line(str(file))} would be {name}", err=True)
    with steps("reviewing"):
        reviewed = run(
            proposed,
            proposed.names(),
            open_results(where),
            open_releases(names) if names else None,
            level=level,
        )
    output(review_text(reviewed), path)
    if reviewed.rejected:
        raise SystemExit(1)
