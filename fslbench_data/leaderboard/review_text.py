"""A review as a comment in Markdown, short enough for any host, in which nothing foreign works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis_sql.comparison.verdicts import Comparison
from benchmark_spec.errors import listing
from fslbench_data.leaderboard.admission import Admitted, Refused
from fslbench_data.leaderboard.leaderboard import Board
from fslbench_data.leaderboard.lfs_pointers import unfetched
from fslbench_data.leaderboard.review import Review
from fslbench_data.leaderboard.standing import Row, Standing
from fslbench_data.leaderboard.tables import behind, from_where, label, legend_of, marks
from fslbench_data.render.escaping import escaped, neutral_grid
from fslbench_data.render.grid import Grid, markdown
from fslbench_data.render.sentences import (
    bracket,
    difference_text,
    labels,
    new_class_verdict,
    plus_minus,
)
from fslbench_data.scoring.report import Report

MOST_CHARACTERS = 60_000
"""Of a comment; hosts refuse more than 65,536."""
_MOST_REFUSED = 30
_MOST_ROWS = 60
_MOST_FILES = 10
_MOST_ALIKE = 30

VERDICTS_LEGEND = (
    "Verdicts: + better, - worse, 0 not told apart, = identical, ? not estimable; each stands "
    "alone. paired: whether 0 lies outside the interval of the paired difference; new classes: "
    "outside the class-aware interval, whose half-width stands in brackets."
)

_CUT = "_The rest is left out here; `fslbench review` says it all in parts._"


def review_text(found: Review) -> str:
    """The comment; what does not fit is left out from the end, and that is said."""
    text = ""
    for part in _parts(found):
        if len(text) + len(part) > MOST_CHARACTERS:
            return f"{text}{_CUT}\n"
        text += f"{part}\n\n"
    return text.rstrip() + "\n"


def _parts(found: Review) -> Iterator[str]:
    """Paragraphs and tables, the most important first."""
    signature = " + ".join(str(board) for board in found.boards)
    if signature:
        yield f"<!-- {signature.replace('--', '- -')} -->"
    if found.pointers[0]:
        yield f"**{unfetched(*found.pointers)} The ranks below leave them out.**"
    total = sum(len(one.digests) for one in found.accepted) + len(found.refused)
    files = "file" if total == 1 else "files"
    if not total:
        yield "No submission is added."
    elif not found.refused:
        yield f"**{total} {files}: every rule is met.**"
    else:
        yield f"**{total} {files}: {len(found.refused)} refused.**"
    for each in found.refused[:_MOST_REFUSED]:
        yield _refusal(each)
    if (left := len(found.refused) - _MOST_REFUSED) > 0:
        yield f"… and {left} more refused."
    for number, one in enumerate(found.accepted):
        report = found.reports[number] if number < len(found.reports) else None
        yield from _accepted(one, found.boards, report)
    sets = [each for board in found.boards for each in board.sets]
    if sets:
        yield legend_of(sets)
    if any(report is not None for report in found.reports):
        yield VERDICTS_LEGEND


def _refusal(each: Refused) -> str:
    lines = [f"- Refused: {escaped(each.name)}: {escaped(each.what)}"]
    for name, said in (
        ("where", each.where),
        ("expected", each.expected),
        ("to mend", each.fix),
    ):
        if said:
            lines.append(f"  - {name}: {escaped(said)}")
    return "\n".join(lines)


def _accepted(one: Admitted, boards: tuple[Board, ...], report: Report | None) -> Iterator[str]:
    """Where the methods of one file would stand, and how they compare with the references."""
    board = next(board for board in boards if one.digest in board.submissions)
    rows = [(each, row) for each in board.sets for row in each.rows_of(one.digest)]
    sets = list({str(each.scored): each for each, _ in rows}.values())
    methods = list(dict.fromkeys(row.method for _, row in rows))
    named = ", ".join(escaped(name) for name in methods[:10])
    more = f" and {len(methods) - 10} more" if len(methods) > 10 else ""
    files = ", ".join(digest[:12] for digest in one.digests[:_MOST_FILES])
    files += f" and {left} more" if (left := len(one.digests) - _MOST_FILES) > 0 else ""
    yield f"### {files}: {named}{more}"
    number = len(sets)
    yield f"Answers `{board.release}`, {number} task set{'s' if number > 1 else ''} of it."
    yield _table(_standing_grid(rows[:_MOST_ROWS]))
    if len(rows) > _MOST_ROWS:
        yield f"… and {len(rows) - _MOST_ROWS} more lines."
    yield from (escaped(text) for each, row in rows[:_MOST_ROWS] if (text := _ahead(each, row)))
    alike = _alike(one.digest, sets)
    yield from (escaped(text) for text in alike[:_MOST_ALIKE])
    if (left := len(alike) - _MOST_ALIKE) > 0:
        yield f"… and {left} more that are identical."
    if report is not None:
        yield "Against the reference methods:"
        yield _table(_comparisons_grid(report))
        if (left := len(report.comparisons) - _MOST_ROWS) > 0:
            yield f"… and {left} more lines."


def _alike(digest: str, sets: Iterable[Standing]) -> list[str]:
    """Which methods of a file have the counts of other methods, and of which of them."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in sets:
        for group in each.coincident:
            for entry in (entry for entry in group if entry.source == digest):
                others = [other for other in group if other is not entry]
                # of many, one of another file, if there is any: a comment is short
                other = min(others, key=lambda other: other.source == digest)
                key = (from_where(entry), from_where(other))
                found.setdefault(key, []).append(str(each.scored))
    return [
        f"{own} is identical on every task to {other}: {', '.join(there)}."
        for (own, other), there in found.items()
    ]


def _table(grid: Grid) -> str:
    return markdown([neutral_grid(grid)], "").rstrip()


def _comparisons_grid(report: Report) -> Grid:
    """One line a comparison, the first ones."""
    names = labels(report.scores)
    found = report.comparisons[:_MOST_ROWS]
    return Grid(
        title="",
        columns=(
            "task set",
            "interval",
            "T",
            "method",
            "versus",
            "difference",
            "paired",
            "new classes",
        ),
        right=frozenset({"T", "difference"}),
        rows=tuple(
            (
                f"{c.dataset}/{c.task_set}",
                f"{100 * c.difference.level:.8g} % {c.difference.kind}",
                str(c.difference.tasks),
                names[c.method],
                names[c.versus],
                difference_text(c),
                c.verdict.value,
                "" if c.difference.kind == "closed" else new_class_verdict(c).value,
            )
            for c in found
        ),
        notes=tuple(
            f"Nothing is concluded (?) about {listing(names, 10)}: {reason}."
            for reason, names in _unconcluded(found).items()
        ),
    )


def _unconcluded(found: Iterable[Comparison]) -> dict[str, list[str]]:
    """Methods by why nothing is concluded about them."""
    by_reason: dict[str, dict[str, None]] = {}
    for c in found:
        if c.reason:
            by_reason.setdefault(c.reason, {})[c.method] = None
    return {reason: list(names) for reason, names in by_reason.items()}


def _standing_grid(rows: list[tuple[Standing, Row]]) -> Grid:
    """One line a method and task set."""

    def claim(could: bool | None) -> str:
        return "" if could is None else "yes" if could else "no"

    return Grid(
        title="",
        columns=(
            "task set",
            "interval",
            "T",
            "method",
            "rank",
            "accuracy",
            "behind",
            "leader",
            "could be best",
            "new classes",
        ),
        right=frozenset({"T", "rank", "accuracy", "behind"}),
        rows=tuple(
            (
                str(each.scored),
                f"{100 * each.level:.8g} % {each.kind}",
                str(row.accuracy.tasks)
                + (f" of {each.scored.n_tasks}" if row.rank is None else ""),
                label(row),
                f"{row.rank} of {each.compared}" if row.rank else "-",
                plus_minus(row.accuracy) + bracket(row.new_classes),
                behind(row),
                each.leader or "",
                claim(row.could_be_best),
                claim(row.could_be_best_new_classes),
            )
            for each, row in rows
        ),
        notes=tuple(marks([row for _, row in rows])),
    )


def _ahead(each: Standing, row: Row) -> str:
    """By how much a leader is ahead of the next."""
    if row.method != each.leader:
        return ""
    following = next((other for other in each.rows() if other.difference is not None), None)
    if following is None or following.difference is None:
        return ""
    text = behind(following)
    return f"{row.method} would lead {each.scored}. Next is {following.method}, behind by: {text}."
