"""The summary of a report on the terminal, in a notebook, and for Markdown and LaTeX."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from analysis_sql.comparisons import Verdict
from analysis_sql.interval_kinds import ABOUT, ADDITIONAL_KINDS, family_of
from analysis_sql.intervals.intervals import ABOVE
from analysis_sql.multiple_comparisons import FEW_TASKS
from benchmark_spec.errors import MissingPackageError, listing, many
from benchmark_spec.protocol import EPISODES, suite_of
from fslbench_data.render.console import SCREEN_LINES, few, fit, page, say, shortened, text_lines
from fslbench_data.render.interval_text import (
    AT_MOST,
    GROUPED,
    MARKS,
    PER_QUERY,
    QUERIES_HINT,
    STOPPED,
    TRANSDUCTIVE,
    UNBOUND_NOTE,
    VERDICT_STYLES,
    VERDICT_WORDS,
    about_in,
    by_queries_text,
    labels,
    one_model_text,
    percent,
    plus_minus,
    runs_hint,
    several_runs_text,
    span,
    stopped_text,
    width_text,
)
from fslbench_data.render.log_text import log_paper, print_log
from fslbench_data.render.table import Column, Table, right
from fslbench_data.render.templating import html, template
from fslbench_data.scoring.own_release import DrawFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.summary import (
    MOST_ACCURATE,
    Mark,
    Question,
    Standings,
    Summary,
    Tally,
    summarize,
)
from fslbench_data.scoring.task_set_report import TaskSetReport

WIDTH = 100
"""Characters of a line, at most."""
HEADING = 8
"""Characters of a line of a column's heading at least."""
NOTES = 4
"""Notes on the terminal; Markdown and LaTeX have all."""
FEWEST_ROWS = 5
"""Rows of the table on the terminal, at least."""
METHODS = 3
"""Methods that have a line above the table."""
MOST_ROWS = 30
"""Rows of the table in a notebook."""
NAME = 40
"""Characters of a method's name in a sentence or a row, at most."""
LONG = 12
"""Characters of features above which names are written without them, if all begin with them."""
OTHERS = "^"
"""The mark of a comparison that is displayed but not counted."""


def report_text(report: Report) -> str:
    """Write a report as the terminal shows it."""
    with page((WIDTH, SCREEN_LINES)) as (console, text):
        if report.log is not None:
            print_log(report, report.log, console)
        else:
            print_summary(summarize(report), console)
    return text()


def print_summary(summary: Summary, console: Console, *, whole_signature: bool = False) -> None:
    """Print a summary: a line for each question, one table, and a few notes.

    A whole signature may take more lines than all the rest together have.
    """
    width = min(console.width, WIDTH)
    name = _names(summary)
    above = [
        line for text in _sentences(summary, name) for line in text_lines(text, console, width)
    ]
    heading = text_lines(_heading(summary), console, width)
    notes, more = _notes(summary, name), _further_options(summary)
    tables = [_rows_table(summary, name)] if summary.rows else _grid_tables(summary, name, width)
    room = SCREEN_LINES - len(above) - len(heading) - 3  # blank line, signature, "… and more"
    needed = fit(tables[0], width, HEADING, FEWEST_ROWS).height if tables else 0
    for n_notes in range(NOTES, -1, -1):  # fewer where they would leave the table no room
        texts = [*few(notes, n_notes), *([more] if more else [])]
        below = [line for text in texts for line in text_lines(text, console, width)]
        if len(below) <= room - needed:
            break
    for line in (*above, Text()):
        console.print(line)
    for line in heading:
        console.print(line, style="dim")
    _print_tables(tables, console, width, room - len(below))
    signature = str(summary.signature) if whole_signature else summary.signature.short
    for line in (*below, Text(signature)):
        console.print(line, style="dim", soft_wrap=True)


def summary_paper(summary: Summary) -> tuple[list[Table], str, list[str]]:
    """Return the content of Markdown and LaTeX: the table, the signature, and the sentences."""
    name = _names(summary)
    table = _rows_table(summary, name) if summary.rows else _grid_tables(summary, name, None)[0]
    heading = _heading(summary)
    notes = (f"{note.removesuffix('.')}." for note in _notes(summary, name))
    table = replace(table, title=heading[:1].upper() + heading[1:], notes=tuple(notes))
    return [table], str(summary.signature), _sentences(summary, name)


def report_html(report: Report) -> str:
    """Write a report for a notebook: sentences, tables, and the comparisons as an image.

    The image is a data URL, since notebooks remove SVG elements as unsafe; without the extra
    ``report`` a note replaces it.
    """
    from fslbench_data.render.figures.rows import summary_forest

    summary = summarize(report)
    sentences: list[str] = []
    notes: list[str] = []
    if report.log is None or isinstance(report.log, DrawFacts):
        tables, _, sentences = summary_paper(summary)
    else:
        tables, _, notes = log_paper(report, report.log)
    figure = summary_forest(summary)
    drawn, missing = "", None
    if figure is not None:
        from fslbench_data.render.figures.plot import Drawing

        try:
            drawn = b64encode(Drawing(figure).svg.encode()).decode()
        except MissingPackageError as error:
            missing = error
    return template("render/templates/answer.html.j2").render(
        sentences=sentences,
        notes=notes,
        table=html([*map(_first_rows, tables)], ""),
        figure=figure,
        drawn=drawn,
        error=missing,
        signature=summary.signature.short,
    )


def _first_rows(table: Table) -> Table:
    """Cut a table for a notebook, with a note of how many rows are left out."""
    rows = table.rows if isinstance(table.rows, Sequence) else [*table.rows]
    more = len(rows) - MOST_ROWS
    cut = (f"and {many(more, 'more row')}: report.scores.to_pandas()",) if more > 0 else ()
    return replace(table, rows=rows[:MOST_ROWS], notes=(*table.notes, *cut))


# ---- names, and texts of several lines ----------------------------------------------------------

Name = Callable[[str], str]


def _names(summary: Summary) -> Name:
    """Return a function that shortens names; :func:`_of_marks` notes the features left out."""
    features = _features(summary)
    return lambda name: shortened(name.removeprefix(f"{features}/") if features else name, NAME)


def _features(summary: Summary) -> str:
    """Return the features that names are written without; empty if two names would be alike."""
    features = summary.rows[0].score.backbone if summary.rows else ""
    names = {score.method for score in summary.scores}
    short = {name.removeprefix(f"{features}/") for name in names}
    n_sharing = sum(name.startswith(f"{features}/") for name in names)
    ambiguous = len(short) < len(names) or "" in short
    return "" if len(features) <= LONG or ambiguous or n_sharing < 2 else features


# ---- a line for each question -------------------------------------------------------------------


def _sentences(summary: Summary, name: Name) -> list[str]:
    """Say what the comparisons result in, for new images and for new classes."""
    if summary.rows:
        (method,) = {row.score.method for row in summary.rows}
        if not summary.tallies:
            return [f"{name(method)}: there is nothing to compare it with."]
        others = dict.fromkeys(c.versus for row in summary.rows for c in row.compared)
        names = {other: other.rpartition("/")[2] for other in others}
        if len({*names.values()}) < len(names):
            names = {other: name(other) for other in others}
        rivals = name(*others) if len(others) == 1 else many(len(others), "method")
        text = f"{name(method)} against {rivals}"
        if (family := max(tally.family for tally in summary.tallies)) > 1:
            text += f", corrected for {family} comparisons (Holm)"
        return [f"{text}:", *(_tally_text(tally, names) for tally in summary.tallies)]
    lines = [_standing_text(method, summary.columns, name) for method in summary.methods[:METHODS]]
    if (more := len(summary.methods) - METHODS) > 0:
        lines.append(f"… and {many(more, 'more method')}")
    return lines


def _tally_text(tally: Tally, names: Mapping[str, str]) -> str:
    """Count the verdicts for a question, and name the methods that are significantly different."""
    if tally.unknown == tally.compared:
        return f"{tally.question}: nothing can be concluded"

    def counted(others: Sequence[str]) -> str:
        if not others or len(names) == 1:
            return f"{len(others)}"
        numbers = [f"{names[other]} {number}" for other, number in Counter(others).most_common()]
        return f"{len(others)} ({listing(numbers, METHODS)})"

    text = f"{tally.question}: better in {counted(tally.better)}, worse in {counted(tally.worse)}, "
    text += f"not significant (ns) in {tally.ns}"
    return text + (f", n/a in {tally.unknown}" if tally.unknown else "")


def _standing_text(method: str, columns: Sequence[Standings], name: Name) -> str:
    """Count the task sets on which a method is the best, as good, or significantly worse."""
    judged = [
        (column, standing)
        for column in columns
        if (standing := column.by_method.get(method)) and standing.mark is not Mark.UNJUDGED
    ]
    if not judged:
        return f"{name(method)}: nothing is concluded."
    number = Counter(standing.mark for _, standing in judged)
    text = f"{name(method)}: highest mean on {number[Mark.HIGHEST]} of "
    text += many(len(judged), "task set")
    if number[Mark.HIGHEST]:
        alone = sum(s.mark is Mark.HIGHEST and _beats_all(column) for column, s in judged)
        text += f" (significantly above all others on {alone})"
    if ties := number[Mark.NOT_SIGNIFICANT]:
        text += f", no significant difference from the highest on {ties}"
    if behind := [s.behind for _, s in judged if s.mark in (Mark.NEW_IMAGES, Mark.SIGNIFICANT)]:
        text += f", significantly below it on {len(behind)}, by up to {max(behind):.2f} points"
    return f"{text}."


def _beats_all(column: Standings) -> bool:
    marks = [s.mark for s in column.by_method.values() if s.mark is not Mark.UNJUDGED]
    return len(marks) > 1 and marks.count(Mark.HIGHEST) == 1 and Mark.NOT_SIGNIFICANT not in marks


# ---- the table ----------------------------------------------------------------------------------


def _heading(summary: Summary) -> str:
    """Say what the numbers of the table are."""
    sets = summary.primary
    if not sets:
        return ""
    level = percent(summary.signature.level)
    known, unknown = _by_queries(summary)
    per_query = bool(known) and not unknown

    def family(primary: TaskSetReport) -> str:
        kind = primary.displayed_kinds[0]
        if primary.scored.name.whole:
            return about_in(primary.scored, kind)
        return PER_QUERY if per_query and kind == "images" else family_of(kind)

    kinds = dict.fromkeys(map(family, sets))
    only = _only_dataset(summary) if summary.rows else None
    text = f"accuracy{f' on {only}' if only else ''} ± {level} CI for "
    if all(primary.displayed_kinds[0] == "closed" for primary in sets):
        text += "other tasks of the same images"
    else:
        text += f"new images ({', '.join(kinds)})"
    ways = {_ways(primary) for primary in sets}
    text += f", {ways.pop()}-way" if len(ways) == 1 else ""
    n_tasks = [primary.scored.n_tasks for primary in sets]
    number = span(n_tasks)
    answered = [s.accuracy.tasks for s in summary.scores if s.method in summary.methods]
    if answered and max(answered) < min(n_tasks):
        number = f"{span(answered)} of {number}"
    suites = {suite_of(primary.scored.name.suite) for primary in sets}
    draws = "draws" if number != "1" else "draw"
    units = {
        draws if suite.whole else suite.name if suite is EPISODES else f"{suite.name} tasks"
        for suite in suites
    }
    each = " a set" if len(sets) > 1 and only is None else ""
    return f"{text}, {number} {units.pop()}{each}" if len(units) == 1 else text


def _only_dataset(summary: Summary) -> str | None:
    """Return the data set if all task sets are of one."""
    datasets = {primary.scored.dataset for primary in summary.primary}
    return datasets.pop() if len(datasets) == 1 else None


def _ways(primary: TaskSetReport) -> str:
    return f"{'up to ' if primary.scored.name.varies else ''}{primary.scored.protocol.way}"


def _set_columns(sets: Sequence[TaskSetReport]) -> list[Column]:
    """Return the columns that name a task set, only those that distinguish the sets."""
    protocols = {primary.scored.protocol for primary in sets}
    columns = [Column("data set", lambda primary: primary.scored.dataset)]
    knows_shots = any(p.scored.name.varies or p.scored.protocol.shot for p in sets)
    if len({protocol.way for protocol in protocols}) > 1 or not knows_shots:
        columns.append(right("ways", _ways))
    shots = right("shots", lambda p: "varied" if p.scored.name.varies else p.scored.protocol.shot)
    columns += [shots] if knows_shots else []
    if len({(protocol.way, protocol.shot) for protocol in protocols}) < len(protocols):
        columns.append(right("queries", lambda primary: primary.scored.protocol.query))
    return columns


VERDICT_COLUMNS = ("new images", "same images only", "new classes")
"""Columns with the verdict of a comparison, by what it is about."""


def _rows_table(summary: Summary, name: Name) -> Table:
    """Return the table of a single method: a row for each displayed comparison."""
    label, sets = labels(summary.scores), _set_columns(summary.primary)
    alone = {tally.question: tally.alone for tally in summary.tallies}
    lines: list[dict[str, Any]] = []
    for row in summary.rows:
        primary, intervals = row.primary, row.score.intervals
        class_kind = primary.kind_about("new classes")
        # what papers print: the closed interval where tasks reuse images
        closed = None if primary.displayed_kinds[0] == "closed" else intervals.get("closed")
        usual = closed and closed.halfwidth
        answered, n_tasks = row.score.accuracy.tasks, primary.scored.n_tasks
        number = f"{answered}" if answered == n_tasks else f"{answered} of {n_tasks}"
        of_set: dict[str, Any] = {
            "set": primary,
            **{column.name: column.cell(primary) for column in sets},
            "accuracy": plus_minus(intervals[primary.displayed_kinds[0]]),
            "usual ±": None if usual is None else width_text(usual),
            "tasks": f"{number} {primary.scored.name.suite}",
            **dict.fromkeys(("versus", "difference", *VERDICT_COLUMNS)),
        }
        for c in row.displayed:
            difference = plus_minus(c.difference, signed=True)
            verdicts: dict[Question, Verdict] = {
                "same images only" if c.interval_kind == "closed" else "new images": c.verdict
            }
            if class_kind is not None and class_kind in c.intervals:
                verdicts["new classes"] = c.intervals[class_kind].verdict
            of_pair = {
                "versus": name(label[c.versus]) + ("" if c in row.compared else f" {OTHERS}"),
                "difference": "identical" if c.verdict is Verdict.IDENTICAL else difference,
            }
            for question, verdict in verdicts.items():
                word = VERDICT_WORDS[verdict]
                lost = (primary.scored, c.versus) in alone.get(question, frozenset())
                of_pair[question] = f"({word})" if lost else word
            lines.append(of_set | of_pair)
        lines += [] if row.displayed else [of_set]

    def of_set_column(key: str, optional: int = 0) -> Column:
        return Column(key, itemgetter(key), "right", once=itemgetter("set"), optional=optional)

    dataset, *sizes = (column.name for column in sets)
    columns = []
    if _only_dataset(summary) is None:  # else the heading names it
        columns.append(Column(dataset, itemgetter(dataset), once=itemgetter(dataset)))
    columns += [*map(of_set_column, sizes), of_set_column("accuracy", 1)]
    shown = {key for line in lines for key, value in line.items() if value is not None}
    if "usual ±" in shown:
        columns.append(of_set_column("usual ±", 2))
    if len({row.primary.scored.name.suite for row in summary.rows}) > 1:
        columns.append(of_set_column("tasks", 3))  # else the heading has them
    if "versus" in shown:
        columns.append(Column("versus", itemgetter("versus")))
        columns.append(right("difference", itemgetter("difference")))
        if any(row.primary.kind_about("new classes") for row in summary.rows):
            shown.add("new classes")
        columns += [
            Column(key, itemgetter(key), style=lambda text: VERDICT_STYLES.get(text, ""))
            for key in VERDICT_COLUMNS
            if key in shown
        ]
    return Table("", tuple(columns), lines)


def _grid_tables(summary: Summary, name: Name, width: int | None) -> list[Table]:
    """Return a table with a row per method and a column per task set.

    If not all columns have room, there are several tables, one below the other.
    """
    label = {method: name(text) for method, text in labels(summary.scores).items()}
    others = {*summary.references}.intersection(s.method for s in summary.scores if s.is_reference)
    methods = [*summary.methods, *summary.references]
    if width is not None and len(methods) > MOST_ROWS:  # the submission's best methods
        n_methods = max(MOST_ROWS - len(summary.references), 2 * MOST_ROWS // 3)
        methods = [*summary.methods[:n_methods], *summary.references][:MOST_ROWS]
    first = Column("method", lambda name: label[name] + (" (ref.)" if name in others else ""))
    set_columns = _set_columns(summary.primary)
    units = {"ways": "-way", "shots": "-shot", "queries": "-query"}

    def column(standings: Standings) -> Column:
        dataset, *sizes = (str(column.cell(standings.primary)) for column in set_columns)
        parts = zip(sizes, set_columns[1:], strict=True)
        heading = " ".join(f"{size}{units[column.name]}" for size, column in parts)
        return replace(right(heading, partial(_cell, standings)), group=dataset)

    def table(columns: Iterable[Column]) -> Table:
        return Table("", (first, *columns), methods)

    columns = [*map(column, summary.columns)]
    if width is None:
        return [table(columns)]
    tables: list[Table] = []
    block: list[Column] = []
    for each in columns:
        if block and fit(table([*block, each]), width, HEADING).left_out:
            tables.append(table(block))
            block = []
            if len(tables) * len(methods) > SCREEN_LINES:
                break
        block.append(each)
    return [*tables, table(block)] if block else tables


def _cell(standings: Standings, method: str) -> str | None:
    standing = standings.by_method.get(method)
    if standing is None:
        return None
    interval = standing.score.intervals[standings.primary.displayed_kinds[0]]
    return f"{plus_minus(interval)}{MARKS[standing.mark]}"


def _print_tables(tables: Sequence[Table], console: Console, width: int, lines: int) -> None:
    """Print as much of some tables as fits in `lines`, at least FEWEST_ROWS, and count the rest."""
    more_rows = more_columns = 0
    for i, table in enumerate(tables):
        size = len([*table.rows])
        n_rows = max(FEWEST_ROWS, min(size, lines - 2))
        fitted = fit(table, width, HEADING, n_rows)
        while n_rows > FEWEST_ROWS and fitted.height > lines:
            n_rows = max(FEWEST_ROWS, n_rows - (fitted.height - lines))
            fitted = fit(table, width, HEADING, n_rows)
        if i and (fitted.height > lines or n_rows < size):
            more_columns = sum(len(each.columns) - 1 for each in tables[i:])
            break
        console.print(fitted.laid_out, width=width)
        more_rows = max(more_rows, size - n_rows)
        lines -= fitted.height
        if fitted.left_out:
            say(console, fitted.left_out, "yellow")
    parts = [many(more_rows, "more row")] if more_rows else []
    parts += [many(more_columns, "more task set")] if more_columns else []
    if parts:
        say(console, f"… and {' and '.join(parts)}: --details, --format csv", "yellow")


# ---- notes --------------------------------------------------------------------------------------


def _notes(summary: Summary, name: Name) -> list[str]:
    """Return what one must know to read the table, the most important first."""
    notes = [*_of_scores(summary, name), *_of_marks(summary), *_of_sets(summary)]
    if summary.other_references and any(score.is_reference for score in summary.scores):
        without = all(not s.backbone for s in summary.scores if not s.is_reference)
        notes.insert(3 if without else len(notes), _references(summary))
    if summary.unshown:
        unshown = listing([name(method) for method in summary.unshown], 2)
        notes.append(f"answered other task sets only: {unshown}")
    return notes


def _of_scores(summary: Summary, name: Name) -> Iterator[str]:
    if summary.signature.unbound:
        yield UNBOUND_NOTE
    if same := [str(p.scored) for p in summary.primary if p.displayed_kinds[0] == "closed"]:
        where = listing(same, 2)
        yield f"{where}: nothing is said of new images, only of other tasks of the same images"
    if hint := runs_hint(score.method for score in summary.scores if not score.is_reference):
        yield hint
    if prefix := dict.fromkeys(score.method for score in summary.scores if score.prefix):
        methods = listing([name(method) for method in prefix], 3)
        yield f"{methods}: {PREFIX}; its intervals are shown, and nothing is concluded (n/a)"
    if stopped := [score for score in summary.scores if score.stopped is not None]:
        yield from stopped_text(stopped[:2])
        yield f"{STOPPED} run with a rule to stop: its ordinary intervals do not hold"
    single = dict.fromkeys(score.method for score in summary.scores if score.of_one_model)
    if text := one_model_text([name(method) for method in single]):
        yield f"{text} (more: column run; trains nothing: --no-training)"
    if any(score.transductive for score in summary.scores):
        yield f"{TRANSDUCTIVE} transductive: uses a task's queries together, gains from balance"
    if several := [score for score in summary.scores if score.runs > 1]:
        counted = dict.fromkeys(f"{name(score.method)} {score.runs}" for score in several)
        yield several_runs_text(several, [*counted], 3)
    known, unknown = _by_queries(summary)
    if unknown and (text := by_queries_text([name(method) for method in known], len(known) + 1)):
        yield text
    by_task = dict.fromkeys(
        score.method  # an interval per query would be possible
        for score in unknown
        if score.by_queries is False and not (score.is_reference or score.transductive)
    )
    if by_task:
        names = listing([name(method) for method in by_task], 3)
        yield f"{names}: {QUERIES_HINT}, from predictions or correct, with --inductive"


def _by_queries(summary: Summary) -> tuple[list[str], list[Score]]:
    """Return methods with leave-one-out intervals per query, and scores with those by tasks."""
    sets = {str(p.scored) for p in summary.primary if p.displayed_kinds[0] == "images"}
    scores = [s for s in summary.scores if f"{s.dataset}/{s.task_set}" in sets]
    known = dict.fromkeys(score.method for score in scores if score.by_queries)
    return [*known], [score for score in scores if not score.by_queries]


def _of_marks(summary: Summary) -> Iterator[str]:
    if any(c not in row.compared for row in summary.rows for c in row.displayed):
        yield f"{OTHERS} the most accurate reference of all, not among the comparisons counted"
    shown = {(row.primary.scored, c.versus) for row in summary.rows for c in row.displayed}
    if any(tally.alone & shown for tally in summary.tallies):
        family = max(tally.family for tally in summary.tallies)
        yield f"in brackets: not significant when corrected for {family} comparisons (Holm)"
    if features := _features(summary):
        yield f"names without a slash: on the features {features}"
    without_column: dict[str, list[Verdict]] = {}
    for comparison in (each for row in summary.rows for each in row.compared):
        for kind, pair in comparison.intervals.items():
            about = ADDITIONAL_KINDS[kind].about if kind in ADDITIONAL_KINDS else "new images"
            if about not in ("new images", "new classes"):
                without_column.setdefault(about, []).append(pair.verdict)
    for about, verdicts in without_column.items():
        found = sum(verdict in (Verdict.BETTER, Verdict.WORSE) for verdict in verdicts)
        yield f"{about}: significant in {found} of {many(len(verdicts), 'comparison')} (--details)"
    families = sorted({column.family for column in summary.columns})
    if not families or not families[-1]:
        return
    pairs = " to ".join(f"{family:,}" for family in dict.fromkeys((families[0], families[-1])))
    adjustment = "Holm" if all(column.holm for column in summary.columns) else "Bonferroni"
    marks = {s.mark for column in summary.columns for s in column.by_method.values()}
    about_new = any(primary.displayed_kinds[0] != "closed" for primary in summary.primary)
    images = "new images" if about_new else "the same images"
    text = f"* highest mean; ~ no significant difference from it for {images}"
    if Mark.NEW_IMAGES in marks and about_new:
        text += "; ° significant for new images alone"
    classes = " and classes" if any(p.kind_about("new classes") for p in summary.primary) else ""
    text += f"; no mark: significantly lower for {images}{classes}"
    text += "; ? not judged" if Mark.UNJUDGED in marks else ""
    yield f"{text} ({adjustment}, {pairs} pairs a set)" if families[-1] > 1 else text


def _of_sets(summary: Summary) -> Iterator[str]:
    sets = summary.primary
    small = [p for p in sets if p.has_exact_test]
    if small and (summary.columns or summary.tallies):
        where = f" on {len(small)} of {len(sets)} sets" if len(sets) > 1 else ""
        yield f"fewer than {FEW_TASKS} tasks{where}: an exact test for each verdict in --details"
    if near := {score.method for score in summary.scores if score.near_perfect is not None}:
        methods = many(len(near), "method")
        yield f"above {ABOVE:g} %, where ± covers too little ({methods}): bounds in --details"
    if grouped := _datasets(p for p in sets if p.units.groups):
        yield f"{grouped}: {GROUPED}"
    for kind in dict.fromkeys(kind for primary in sets for kind in primary.displayed_kinds):
        if bounded := [str(p.scored) for p in sets if kind in p.units.bounded]:
            yield f"{AT_MOST} for {ABOUT[kind]} on {listing(bounded, 4)}"
    if not any(primary.kind_about("new classes") for primary in sets):
        missing = (item for primary in sets for item in primary.units.missing.items())
        why = dict.fromkeys(reason for kind, reason in missing if ABOUT[kind] == "new classes")
        yield from [f"no interval for new classes ({listing([*why], 2)})"] if why else ()
    if within := _datasets(p for p in sets if p.units.superclasses and p.kind_about("new classes")):
        yield f"{within}: new classes are other classes of the same superclasses"


def _datasets(sets: Iterable[TaskSetReport]) -> str:
    return listing([*dict.fromkeys(primary.scored.dataset for primary in sets)], 4)


def _further_options(summary: Summary) -> str:
    """Say what else is in the report, and which options show it."""
    details, parts = [], []
    if any(c not in row.displayed for row in summary.rows for c in row.compared):
        number = sum(len(row.compared) for row in summary.rows)
        details.append(f"all {number} comparisons (above: the closest)")
    if summary.other_sets:
        details.append(many(summary.other_sets, "more task set"))
    if details:
        parts.append(f"{' and '.join(details)} (--details)")
    if summary.other_references:
        parts.append(
            f"{many(summary.other_references, 'more reference method')} (--all-references)"
        )
    protocols = [primary.scored.ways_and_shots for primary in summary.primary]
    if len(protocols) > len({*protocols}):
        parts.append("means over data sets (--means)")
    if summary.left_out:
        parts.append(f"{summary.left_out} made with attributes of images (--bias)")
    return f"more: {', '.join(parts)}" if parts else ""


def _references(summary: Summary) -> str:
    """Say which reference methods are compared with, and why."""
    features = {score.backbone for score in summary.scores if not score.is_reference}
    compared = {c.versus for row in summary.rows for c in row.compared} or {*summary.references}
    references = [s for s in summary.scores if s.is_reference and s.method in compared]
    on_same = {score.backbone in features for score in references}
    accurate = f"the {MOST_ACCURATE} most accurate of a set"
    counted = "corrections count those that they were chosen among"
    if on_same == {True}:
        return "reference methods: those on the same features"
    if on_same == {False}:
        why = "none is on the same features"
        if features == {""}:
            why = "no method names its features (such as pixels/mine)"
        return f"reference methods: {accurate}, since {why}; {counted}"
    otherwise = f"where there are none, {accurate}; {counted}"
    return f"reference methods: those on the same features; {otherwise}"
