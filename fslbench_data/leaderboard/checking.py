"""Check many files: equal results are one entry, and who came first has the first claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fslbench_data.leaderboard.acceptance import Accepted, Rejected, check_submission
from fslbench_data.leaderboard.repository import ResultsFiles
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import Limits

MOST_VALUES = 250_000_000
"""Counts that are held in memory, two bytes each, of all submissions together."""


def check_all(
    sources: Sequence[tuple[ResultsFiles, str]],
    releases: Sequence[Release],
    limits: Limits,
    tell: Callable[[str], None],
    came: Mapping[str, int],
) -> tuple[list[Accepted], list[Rejected]]:
    """Check files by repository and name, the first to come first.

    Files with the same results under the same names of methods are one entry; those that came
    later than the first of them are rejected.  Where nothing tells which came first, the entry
    holds all of them, since anybody can choose what a file is called.

    Parameters
    ----------
    sources
        Each name once; files of a repository that stands later here came later.
    came
        When a name came, as the repositories' history says (:meth:`ResultsFiles.came`); a name
        that is not in it came last.
    """
    last = max(came.values(), default=-1) + 1
    stage = {files.where: number for number, (files, _) in reversed(list(enumerate(sources)))}

    def turn(source: tuple[ResultsFiles, str]) -> tuple[int, int]:
        return came.get(source[1], last), stage[source[0].where]

    accepted: dict[tuple[int, str], Accepted] = {}
    turns: dict[str, tuple[int, int]] = {}
    rejected: list[Rejected] = []
    held = 0
    for number, source in enumerate(sorted(sources, key=turn)):
        files, name = source
        if number % 50 == 0:
            tell(f"submission {number + 1} of {len(sources)}")
        one = check_submission(files, name, releases, limits)
        if isinstance(one, Rejected):
            rejected.append(one)
            continue
        turns[name] = turn(source)
        key = (one.release, one.content)
        first = accepted.get(key)
        if first is not None and turns[first.name] == turns[name]:
            accepted[key] = replace(first, also=(*first.also, one.digest))
        elif first is not None:
            what = "it says what another submission says, which came first"
            rejected.append(Rejected(name, what, first.name, "each result once", "leave it out"))
        elif held + one.values > MOST_VALUES:
            what = f"with it the submissions hold more than {MOST_VALUES:,} counts"
            fix = "keep results of several releases or data sets in several repositories"
            rejected.append(Rejected(name, what, "", "what fits into memory", fix))
        else:
            held += one.values
            accepted[key] = replace(one, came=turns[name][0])
    return list(accepted.values()), rejected
