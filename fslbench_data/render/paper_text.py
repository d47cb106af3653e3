"""The words of a table for a paper: its title, caption, cells and the sentence to cite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis_sql.interval_kinds import about_test_set
from analysis_sql.intervals.bounds import ABOVE
from analysis_sql.ranking.multiple_comparisons import FEW_TASKS
from benchmark_spec.errors import listing, many
from benchmark_spec.protocol import EPISODES, suite_of
from fslbench_data.render.interval_text import (
    AT_MOST,
    GROUPED,
    MARKS,
    STOPPED,
    TRANSDUCTIVE,
    TRANSDUCTIVE_NOTE,
    by_queries_text,
    capital,
    family_in,
    new_runs_text,
    one_model_text,
    plus_minus,
    runs_word,
    span,
)
from fslbench_data.scoring.own_release import OWN_TASKS
from fslbench_data.scoring.paper import PaperCell, PaperContent, PaperRow
from fslbench_data.scoring.summary import Mark

NOT_SIGNIFICANT = MARKS[Mark.NOT_SIGNIFICANT]
FIRST_TASKS, UNBOUND, CONSTANT = "§", "¶", "‖"

_OVER = "mean: over {} data sets, each counting alike; ± for these data sets."
_UNTESTED = "Means are not tested against each other: fslbench score --means has their differences."

MOST_NUMBERS = 3
"""Numbers of tasks in the notes besides the usual one, at most."""

NOTES: dict[str, str] = {
    TRANSDUCTIVE: TRANSDUCTIVE_NOTE,
    STOPPED: f"{STOPPED} run under a rule to stop when conclusive: ordinary intervals do not hold, "
    "and it is not among the pairs.",
    FIRST_TASKS: f"{FIRST_TASKS} only the first tasks are answered: no verdict, and not among the "
    "pairs.",
    CONSTANT: f"{CONSTANT} the same on every task, so that there is no half-width.",
    UNBOUND: f"{UNBOUND} unbound: these results do not say which tasks they were made on.",
}
"""What the marks mean, in the order in which captions have them."""


def cell_text(cell: PaperCell) -> str:
    """Return the mean and half-width, or what marks explain instead."""
    if cell.verdict == "=":
        return "identical"
    signed = cell.verdict is not None
    if cell.stopped or (cell.interval.constant and not cell.interval.halfwidth):
        return f"{cell.interval.mean:{'+' if signed else ''}z.2f}"
    return plus_minus(cell.interval, signed=signed)


def cell_marks(cell: PaperCell) -> str:
    """Return the marks of a cell."""
    found = cell.interval
    constant = found.constant and not (found.halfwidth or cell.stopped) and cell.verdict != "="
    marks = {
        NOT_SIGNIFICANT: cell.not_significant,
        CONSTANT: constant,
        STOPPED: cell.stopped,
        FIRST_TASKS: cell.first_tasks and not cell.stopped,
        UNBOUND: cell.unbound,
    }
    return "".join(mark for mark, there in marks.items() if there)


def label_of(content: PaperContent, row: PaperRow, names: Mapping[str, str]) -> str:
    """Return what a row's methods are called: of differences, what they have not in common."""
    marked = [
        names[name] + f" {TRANSDUCTIVE}" * (name in content.transductive) for name in row.names
    ]
    one, other = content.sides
    if one and not other:
        return marked[-1]
    return marked[0] if other else " − ".join(marked)


def title_of(content: PaperContent, names: Mapping[str, str]) -> str:
    """Return what the numbers are, at which level and of which kinds."""
    families = dict.fromkeys(family_in(column.scored, column.kind) for column in content.columns)
    level = f"{100 * content.signature.level:.8g} %"
    width = f"{level} intervals for {_about(content)} ({listing([*families])})"
    if not content.rows[0].versus:
        return f"Accuracy: mean ± half-width of {width}, in percent"
    one, other = (names.get(name, "each method") for name in content.sides)
    sides = f"{one} minus {other}" if one != other else "two methods, the first minus the second"
    return f"Differences: {sides}, mean ± half-width of paired {width}, in points"


def caption_of(content: PaperContent, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the sentences below the title; the last is the release."""
    every = [cell for column in content.columns for cell in column.cells]
    cells = [cell for cell in every if cell is not None]
    marks = {*"".join(map(cell_marks, cells)), *([TRANSDUCTIVE] if content.transductive else [])}
    yield _tasks_text(content)
    yield _strong_text(content, cells)
    yield from (text for mark, text in NOTES.items() if mark in marks)
    if over := [column.over for column in content.columns if column.over]:
        yield _OVER.format(span(over))
        if not content.rows[0].versus:
            yield _UNTESTED
    runs = [score.runs for score, of in content.scores if score.runs > 1 and of.kind != "closed"]
    if runs:
        yield f"{new_runs_text(runs, runs_word(score for score, _ in content.scores))}."
    sets = content.sets
    if grouped := dict.fromkeys(c.dataset for c in sets if c.of.units.groups):
        yield f"{listing([*grouped], 4)}: {GROUPED}."
    within = [
        c for c in sets if c.of.units.superclasses and c.kind == c.of.kind_about("new classes")
    ]
    if within:
        datasets = dict.fromkeys(column.dataset for column in within)
        yield f"{listing([*datasets], 4)}: new classes are of the same superclasses."
    if bounded := [c.scored for c in sets if c.kind in c.of.units.bounded]:
        yield f"{AT_MOST} on {listing(bounded, 4)}."
    if few := [c.scored for c in sets if c.kind == "open" and c.scored.n_tasks < FEW_TASKS]:
        yield (
            f"Fewer than {FEW_TASKS} tasks on {listing(few, 4)}: fslbench score --details has an "
            "exact test."
        )
    if None in every:
        yield "–: not answered."
    if single := dict.fromkeys(score.method for score, _ in content.scores if score.of_one_model):
        yield f"{capital(one_model_text([*single], 4))}."
    yield from _queries_text(content)
    if any(  # where Student's interval covers too little
        cell.verdict is None and cell.interval.kind == "open" and ABOVE < cell.interval.mean < 100.0
        for cell in cells
    ):
        yield f"Above {ABOVE:g} %, ± covers too little: fslbench score has bounds."
    if short := {name: text for name, text in names.items() if text != name}:
        name, text = next(iter(short.items()))
        some = len(short) < len(names)
        before = f" (before {listing([*short.values()])})" if some else ""
        yield f"Left out of names: {name.removesuffix(text)}{before}."
    yield f"FSLBench {content.signature.package_version}, {_release(content)}."


def _queries_text(content: PaperContent) -> Iterator[str]:
    """Say of which methods intervals for new images use which queries were right.

    On sets of all classes at once they do of all; nothing is said if there are only such.
    """
    there = [
        (score.method, score.by_queries, suite_of(of.scored.name.suite).whole)
        for score, of in content.scores
        if of.kind == "images"
    ]
    if not any(used for _, used, _ in there):
        return
    whole = {method for method, used, all_do in there if not (used or all_do)}
    names = dict.fromkeys(name for name, *_ in there if name not in whole)
    number = len(content.methods)
    others = "; ± of others takes tasks as a whole" if len(names) < number else ""
    if names:
        yield f"{capital(by_queries_text([*names], number, 4))}{others}."


def _tasks_text(content: PaperContent) -> str:
    """Say which task sets these are, how many tasks most have, and which have another number."""
    sets = [column.scored for column in content.sets]
    names = [*dict.fromkeys(scored.task_set for scored in sets)]
    ways = {scored.protocol.way for scored in sets}
    most_of = "up to " if any(scored.name.suite == EPISODES.name for scored in sets) else ""
    way = f"{most_of}{ways.pop()} ways; " if len(ways) == 1 else ""
    tasks = [scored.n_tasks for scored in sets]
    ((most, _),) = Counter(tasks).most_common(1)
    others = []
    for column in content.sets:
        if column.scored.n_tasks != most:
            shots = column.heading.removesuffix("-shot")
            where = many(int(shots), "shot") if shots.isdecimal() else column.heading
            others.append(f"{column.scored.n_tasks} on {column.scored.dataset}, {where}")
    kind = ("draw" if _is_whole(content) else "task") + "s" * (max(tasks) > 1)
    numbers = f"T = {most} {kind}" + (f" ({'; '.join(others)})" if others else "")
    if len(others) > MOST_NUMBERS:
        numbers = f"T = {span(tasks)} {kind}"
    return f"Task set{'s' if len(names) > 1 else ''} {listing(names)}; {way}{numbers}."


def _strong_text(content: PaperContent, cells: Sequence[PaperCell]) -> str:
    if content.rows[0].versus:
        return (
            "Bold: significant (0 lies outside the interval of the difference); not corrected for "
            f"{many(len(cells), 'comparison')}."
        )
    pairs = [column.pairs for column in content.columns if column.pairs]
    if not pairs:
        return "Nothing is compared here."
    holm = "" if max(pairs) == 1 else f"; Holm, {span(pairs)} pairs a task set"
    return (
        f"Bold: the highest mean on a task set. {NOT_SIGNIFICANT}: no significant difference from "
        f"it for {_about(content)} (paired by {'draw and image' if _is_whole(content) else 'task'}"
        f"{holm}); no mark: significantly lower."
    )


def cite_text(content: PaperContent, *, tex: bool = False) -> str:
    """Return a sentence for the paper's text, and where its BibTeX is."""
    cite = r"~\cite{{{}}}".format if tex else " [{}]".format
    package, paper = f"FSLBench{cite('fslbench')}", f"Lafargue et al.{cite('lafargue2024oops')}"
    used = f"Intervals are those of {package}"
    if content.signature.release != OWN_TASKS:
        used = f"The tasks are those of {package}, {_release(content)}; methods are compared "
        used += "task by task"
    return f"To cite: {used}, after {paper}. BibTeX: fslbench cite FILE"


def _about(content: PaperContent) -> str:
    if content.about == "closed":
        return "new tasks of the very same images"
    if content.about != "new images" or not _is_whole(content):
        return content.about
    sets = [column.scored for column in content.sets]
    shots = max(scored.protocol.shot for scored in sets)
    return about_test_set(max(scored.n_tasks for scored in sets), shots)


def _is_whole(content: PaperContent) -> bool:
    """Return whether all tasks have all classes, and are draws of the support."""
    return all(suite_of(column.scored.name.suite).whole for column in content.sets)


def _release(content: PaperContent) -> str:
    if content.signature.release == OWN_TASKS:
        digests = [*dict.fromkeys(each.fingerprint[:12] for each in content.signature.sets)]
        return f"own tasks ({'digests' if len(digests) > 1 else 'digest'} {listing(digests, 4)})"
    name, _, version = content.signature.release.partition("@")
    return f"release {name} {version} (digest {content.signature.release_digest[:12]})"
