"""Leaderboards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from git_checkout import Checkout
from results_repository import Repository

from analysis_sql.ranking.told_apart import claim
from fslbench_data.leaderboard.acceptance import Result
from fslbench_data.leaderboard.leaderboard import Leaderboard, leaderboard
from fslbench_data.leaderboard.standing import Entry, ranked
from fslbench_data.scoring.scores import scored_set
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

_DATASET, _SET = "digits", "open-5w10s7q"


def _submission(world: World, name: str, seed: int) -> Submission:
    info = world.embedded.task_set_info(_DATASET, _SET)
    rng = np.random.default_rng(seed)
    recorder = Recorder(name)
    recorder.add_counts(info, rng.binomial(info.protocol.n_query, 0.99, info.n_tasks).tolist())
    return recorder.submission()


def _copy_and_honest(world: World) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    """Two files that say the same; the copy's metadata were tried until its name was smaller."""
    mine, made = _submission(world, "mine", 1), Repository(world.folder / "made")
    names = sorted(
        made.add(replace(mine, methods={"mine": replace(mine.methods["mine"], description=text)}))
        for text in ("", "tried", "and tried")
    )
    copy, honest = names[0], names[-1]
    return (copy, (made.folder / copy).read_bytes()), (honest, (made.folder / honest).read_bytes())


def _board(world: World, repository: Repository) -> Leaderboard:
    return leaderboard(repository.files, [world.embedded], datasets=_DATASET, task_sets=_SET)


def _said(found: Leaderboard, **files: str) -> str:
    """Whose the entry of `mine` is, and what is refused."""
    names = {name[12:76]: what for what, name in files.items()}
    (row,) = (row for row in found.boards[0].sets[0].rows() if row.method == "mine")
    whose = " and ".join(names[digest] for digest in (row.submission, *row.also))
    refused = "; ".join(f"{names[each.name[12:76]]}: {each.what}" for each in found.rejected)
    return f"one entry, from: {whose}; refused: {refused or 'none'}"


@attempt("a copy of a submission's results, its SHA-256 made smaller than the honest file's")
def _(world: World) -> str:
    repository = Repository(world.folder / "results")
    files = _copy_and_honest(world)
    for _name, content in files:
        repository.add_bytes(content)
    (copy, _), (honest, _) = files
    return _said(_board(world, repository), copy=copy, honest=honest)


@attempt("the same in a checkout of git, the copy committed later under a date of 2001")
def _(world: World) -> str:
    repository = Repository(world.folder / "results")
    checkout = Checkout(repository.folder)
    (copy, theirs), (honest, ours) = _copy_and_honest(world)
    repository.add_bytes(ours)
    checkout.commit("honest")
    repository.add_bytes(theirs)
    checkout.commit("copy", "2001-01-01T00:00:00Z")
    return _said(_board(world, repository), copy=copy, honest=honest)


@attempt("the leader's results in another order of tasks, under a name that sorts first")
def _(world: World) -> str:
    repository = Repository(world.folder / "results")
    checkout = Checkout(repository.folder)
    mine = _submission(world, "mine", 1)
    repository.add(mine)
    checkout.commit("honest")
    info = world.embedded.task_set_info(_DATASET, _SET)
    recorder = Recorder("aaa")
    recorder.add_counts(info, mine.table.column("n_correct").to_pylist()[::-1])
    repository.add(recorder.submission())
    checkout.commit("shuffled")
    (table,) = _board(world, repository).boards[0].sets
    ranks = {row.method: row.rank for row in table.rows()}
    return f"both have rank {ranks['mine']} and {ranks['aaa']}; {table.leader}, the first, leads"


@attempt("forty equally good methods, one of them marked no: what is claimed of it")
def _(world: World) -> str:
    info = world.embedded.task_set_info(_DATASET, _SET)
    rng = np.random.default_rng(1)
    many = [
        Entry(f"m{i}", "x", Result(f"m{i}", info, counts, 1, None, None, False))
        for i, counts in enumerate(rng.binomial(info.protocol.n_query, 0.6, (40, info.n_tasks)))
    ]
    table = ranked(scored_set(info), "open", many, 0.95, {})
    marked = sum(row.first.could_be_best is False for row in table.rows())
    return f"{marked} marked no; {claim(0.95)}"
