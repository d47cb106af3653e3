"""Taking in many files: what several say is one entry, and who came first has the first claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fslbench_data.leaderboard.admission import Admitted, Refused, admit
from fslbench_data.leaderboard.repository import ResultsFiles
from fslbench_data.release.release import Release
from fslbench_data.sandbox.untrusted import Limits

MOST_VALUES = 250_000_000
"""Counts that are held in memory, two bytes each, of all submissions together."""


def admit_all(
    sources: Sequence[tuple[ResultsFiles, str]],
    releases: Sequence[Release],
    limits: Limits,
    tell: Callable[[str], None],
    came: Mapping[str, int],
) -> tuple[list[Admitted], list[Refused]]:
    """Check files by repository and name, the first to come first.

    Files that say the same under the same names of methods are one entry.  Those that came later
    than the first of them are refused.  Where nothing tells which came first, all of them stand
    in the entry: what a file is called, anybody can choose.

    Parameters
    ----------
    sources
        Each name once; files of a repository that stands later here came later.
    came
        When a name came, as the repositories' history says (:meth:`ResultsFiles.came`); a name
        that is not in it came last.

    Returns
    -------
    What is scored, in that order, and what is not.
    """
    last = max(came.values(), default=-1) + 1
    stage = {files.where: number for number, (files, _) in reversed(list(enumerate(sources)))}

    def turn(source: tuple[ResultsFiles, str]) -> tuple[int, int]:
        return came.get(source[1], last), stage[source[0].where]

    admitted: dict[tuple[int, str], Admitted] = {}
    turns: dict[str, tuple[int, int]] = {}
    refused: list[Refused] = []
    held = 0
    for number, source in enumerate(sorted(sources, key=turn)):
        files, name = source
        if number % 50 == 0:
            tell(f"submission {number + 1} of {len(sources)}")
        one = admit(files, name, releases, limits)
        if isinstance(one, Refused):
            refused.append(one)
            continue
        turns[name] = turn(source)
        key = (one.release, one.content)
        first = admitted.get(key)
        if first is not None and turns[first.name] == turns[name]:
            admitted[key] = replace(first, also=(*first.also, one.digest))
        elif first is not None:
            refused.append(_repeats(one, first))
        elif held + one.values > MOST_VALUES:
            refused.append(_too_much(one))
        else:
            held += one.values
            admitted[key] = replace(one, came=turns[name][0])
    return list(admitted.values()), refused


def _repeats(one: Admitted, first: Admitted) -> Refused:
    return Refused(
        one.name,
        "it says what another submission says, which came first",
        where=first.name,
        expected="each result once",
        fix="leave it out",
    )


def _too_much(one: Admitted) -> Refused:
    return Refused(
        one.name,
        f"with it the submissions hold more than {MOST_VALUES:,} counts",
        expected="what fits into memory",
        fix="keep results of several releases or data sets in several repositories",
    )
