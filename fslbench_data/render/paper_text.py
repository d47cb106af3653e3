"""The words of a table for a paper: its title, caption, cells and the sentence to cite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from analysis_sql.interval_kinds import about_test_set
from analysis_sql.intervals.bounds import ABOVE
from analysis_sql.ranking.multiple_comparisons import FEW_TASKS
from benchmark_spec.errors import listing, many
from benchmark_spec.protocol import EPISODES, TaskSetName, suite_of
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


def label_of(content: PaperContent, row: PaperRow) -> str:
    """Return the label of a row: of differences, what they do not all have in common."""
    first, second = (
        f"{name} {TRANSDUCTIVE}" if name in content.transductive else name
        for name in (row.method, row.versus)
    )
    if not row.versus:
        return first
    if len({row.versus for row in content.rows}) == 1:
        return first
    return second if len({row.method for row in content.rows}) == 1 else f"{first} − {second}"


def title_of(content: PaperContent) -> str:
    """Return what the numbers are, at which level and of which kinds."""
    families = listing(
        [*dict.fromkeys(family_in(column.scored, column.kind) for column in content.columns)]
    )
    level = f"{100 * content.signature.level:.8g} %"
    width = f"{level} intervals for {_about(content)} ({families})"
    first, *_ = content.rows
    if not first.versus:
        return f"Accuracy: mean ± half-width of {width}, in percent"
    methods, others = ({row.method for row in content.rows}, {row.versus for row in content.rows})
    one = first.method if len(methods) == 1 else "each method"
    other = first.versus if len(others) == 1 else "each method"
    sides = f"{one} minus {other}" if one != other else "two methods, the first minus the second"
    return f"Differences: {sides}, mean ± half-width of paired {width}, in points"


def caption_of(content: PaperContent) -> tuple[str, ...]:
    """Return the sentences below the title."""
    cells = [cell for column in content.columns for cell in column.cells if cell is not None]
    marks = {*"".join(map(cell_marks, cells)), *([TRANSDUCTIVE] if content.transductive else [])}
    used = [NOTES[mark] for mark in NOTES if mark in marks]
    signature = content.signature
    over = [column.over for column in content.columns if column.over]
    single = one_model_text(content.of_one_model, 4)
    methods = {name for row in content.rows for name in (row.method, row.versus) if name}
    queries = by_queries_text(content.by_queries, len(methods), 4)
    if queries and len(content.by_queries) < len(methods):
        queries += "; ± of others takes tasks as a whole"
    near = any(  # where Student's interval covers too little
        cell.verdict is None and cell.interval.kind == "open" and ABOVE < cell.interval.mean < 100.0
        for cell in cells
    )
    missing = any(cell is None for column in content.columns for cell in column.cells)
    return (
        _tasks_text(content),
        _strong_text(content, cells),
        *used,
        *([_OVER.format(span(over))] if over else []),
        *([_UNTESTED] if over and not content.rows[0].versus else []),
        *_of_data(content),
        *(["–: not answered."] if missing else []),
        *([f"{capital(single)}."] if single else []),
        *([f"{capital(queries)}."] if queries else []),
        *([f"Above {ABOVE:g} %, ± covers too little: fslbench score has bounds."] if near else []),
        f"FSLBench {signature.package_version}, {_release(content)}.",
    )


def _of_data(content: PaperContent) -> Iterator[str]:
    """Say what readers must know of runs, groups of images, superclasses, bounds and few tasks."""
    if content.runs:
        yield f"{new_runs_text(content.runs, 'training runs' if content.trained else 'runs')}."
    if content.grouped:
        yield f"{listing(content.grouped, 4)}: {GROUPED}."
    if content.within:
        yield f"{listing(content.within, 4)}: new classes are of the same superclasses."
    if content.bounded:
        yield f"{AT_MOST} on {listing(content.bounded, 4)}."
    if content.few:
        yield (
            f"Fewer than {FEW_TASKS} tasks on {listing(content.few, 4)}: fslbench score --details "
            "has an exact test."
        )


def _tasks_text(content: PaperContent) -> str:
    """Say which task sets these are, how many tasks most have, and which have another number."""
    columns = [column for column in content.columns if not column.over]
    sets = [column.scored for column in columns]
    names = [*dict.fromkeys(scored.task_set for scored in sets)]
    parsed = [TaskSetName.parse(name) for name in names]
    ways = {name.protocol.way for name in parsed}
    most_of = "up to " if any(name.suite == EPISODES.name for name in parsed) else ""
    way = f"{most_of}{ways.pop()} ways; " if len(ways) == 1 else ""
    tasks = [scored.n_tasks for scored in sets]
    ((most, _),) = Counter(tasks).most_common(1)
    others = []
    for column in columns:
        if column.scored.n_tasks != most:
            shots, shot, other = column.heading.partition("-shot")
            where = f"{shots} shot{'' if shots == '1' else 's'}"  # ``digits, 5 shots``
            where = where if shot and not other else column.heading
            others.append(f"{column.scored.n_tasks} on {column.scored.dataset}, {where}")
    kind = "task" if not _is_whole(content) else "draw"
    kind += "s" * (max(tasks) > 1)
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
    sets = [column.scored for column in content.columns if not column.over]
    shots = max(scored.protocol.shot for scored in sets)
    return about_test_set(max(scored.n_tasks for scored in sets), shots)


def _is_whole(content: PaperContent) -> bool:
    """Return whether all tasks have all classes, and are draws of the support."""
    columns = [column for column in content.columns if not column.over]
    return all(suite_of(column.scored.name.suite).whole for column in columns)


def _release(content: PaperContent) -> str:
    if content.signature.release == OWN_TASKS:
        digests = [*dict.fromkeys(each.fingerprint[:12] for each in content.signature.sets)]
        return f"own tasks ({'digests' if len(digests) > 1 else 'digest'} {listing(digests, 4)})"
    name, _, version = content.signature.release.partition("@")
    return f"release {name} {version} (digest {content.signature.release_digest[:12]})"
