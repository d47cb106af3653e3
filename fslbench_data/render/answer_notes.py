"""What must be known to read an answer: a line each, the weightiest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from shlex import quote

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.interval_kinds import ABOUT, family_of
from analysis_sql.intervals.near_perfect import ABOVE
from analysis_sql.ranking.evidence import FEW_TASKS
from benchmark_spec.errors import listing
from fslbench_data.render.answer_rows import BESIDE, beside
from fslbench_data.render.interval_text import STOPPED, TRANSDUCTIVE, one_model_text
from fslbench_data.render.place_words import NAME, listed, of_places
from fslbench_data.render.report_tables import UNBOUND_NOTE
from fslbench_data.render.sentences import stopped_text
from fslbench_data.render.short_names import shortened
from fslbench_data.scoring.answer import Answer
from fslbench_data.scoring.headlines import Headline
from fslbench_data.scoring.opponents import MOST_ACCURATE
from fslbench_data.scoring.remaining import Remaining
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.standings import Mark

MOST_STOPPED = 2
"""Runs with a rule to stop of which is said what their sequences say."""

MOST_NAMED = 4
"""Methods up to which it is said how one asks for the comparisons with them."""


def heading(answer: Answer) -> str:
    """Say what the numbers of the table are."""
    sets = answer.headlines
    if not sets:
        return ""
    level = f"{100 * answer.signature.level:.8g} %"
    kinds = dict.fromkeys(family_of(headline.images) for headline in sets)
    ways = sorted({headline.name.protocol.way for headline in sets})
    text = f"accuracy ± {level} interval for new images ({', '.join(kinds)})"
    if all(headline.images == "closed" for headline in sets):
        text = f"accuracy ± {level} interval for other tasks of these very images (closed)"
    text += f"; {ways[0]} ways" if len(ways) == 1 else ""
    tasks = {f"{headline.scored.n_tasks} {headline.name.suite}" for headline in sets}
    return text + (f"; {tasks.pop()} tasks on each set" if len(tasks) == 1 else "")


def notes(answer: Answer) -> list[str]:
    """Return what stands below the table wherever it is."""
    return [*_legend(answer), *_of_scores(answer)]


def _legend(answer: Answer) -> Iterator[str]:
    if answer.rows:
        if met := sum(len(row.met) for row in answer.rows):
            yield "+ better, - worse, 0 not told apart, = identical, ? nothing can be concluded"
            yield from _alone(answer, met)
            yield from _superclasses(answer)
        if any(beside(row, comparison) for row in answer.rows for comparison in row.best):
            yield f"{BESIDE} the most accurate reference of all: not among the comparisons counted"
        return
    families = sorted({column.family for column in answer.columns})
    if not families or not families[-1]:
        return
    pairs = " to ".join(f"{family:,}" for family in dict.fromkeys((families[0], families[-1])))
    by = "Holm" if all(column.holm for column in answer.columns) else "Bonferroni"
    marks = {s.mark for column in answer.columns for s in column.by_method.values()}
    of_new = any(headline.images != "closed" for headline in answer.headlines)
    images = "new images" if of_new else "these images"
    text = f"* highest mean; ~ not told apart from it for {images}"
    if Mark.NEW_IMAGES in marks and of_new:
        text += "; ° told apart for new images, not for new classes"
    classes = " and classes" if any(h.classes for h in answer.headlines) else ""
    text += f"; no mark: told apart for {images}{classes}"
    if Mark.UNJUDGED in marks:
        text += "; ? not judged"
    yield f"{text} ({by}, {pairs} pairs a set)"


def _alone(answer: Answer, met: int) -> Iterator[str]:
    """Say how many verdicts there are, and what would remain if all counted as one."""
    text = f"each verdict stands alone: {met} comparison{'s' if met > 1 else ''}"
    left = {"new images": answer.images, "new classes": answer.classes}
    shown = {about: some for about, some in left.items() if some.shown and some.family > 1}
    kept = [
        f"{some.shown - len(some.lost)} of {number} for {about}"
        for (about, some), number in zip(shown.items(), _numbers(shown.values()), strict=True)
    ]
    yield f"{text}; Holm over all leaves {listed(kept)}" if kept else text
    of_lost: dict[str, list[str]] = {}
    for about, some in shown.items():
        of_lost.setdefault(", from ".join(of_places(some.lost)), []).append(about)
    for lost, abouts in of_lost.items():
        if lost:
            yield f"not shown after Holm for {listed(abouts)}: from {lost}"


def _superclasses(answer: Answer) -> Iterator[str]:
    """Say of how many comparisons a difference is shown for new superclasses, which have no column.

    Task sets count whose classes are in enough superclasses for an interval.
    """
    verdicts = [
        pair.verdict
        for row in answer.rows
        for comparison in row.met
        for kind, pair in comparison.intervals.items()
        if ABOUT[kind] == "new superclasses"
    ]
    if verdicts:
        shown = sum(verdict in (Verdict.BETTER, Verdict.WORSE) for verdict in verdicts)
        of = f"{len(verdicts)} comparison{'s' if len(verdicts) > 1 else ''}"
        yield f"new superclasses: shown in {shown} of {of} (--details)"


def _numbers(several: Iterable[Remaining]) -> Iterator[str]:
    """How many differences are shown; of the first with the word."""
    for i, some in enumerate(several):
        yield f"{some.shown}" if i else _number(some.shown, "difference")


def _of_scores(answer: Answer) -> Iterator[str]:
    if answer.signature.unbound:
        yield UNBOUND_NOTE
    if these := [str(h.scored) for h in answer.headlines if h.images == "closed"]:
        yield (
            f"{listing(these, 2)}: nothing is said of new images, only of other tasks of these "
            "very images"
        )
    if prefix := _names(answer, lambda score: score.prefix):
        yield f"{prefix}: {PREFIX}; its intervals are shown, and nothing is concluded (?)"
    if stopped := [score for score in answer.scores if score.stopped is not None]:
        yield from stopped_text(stopped[:MOST_STOPPED])
        yield f"{STOPPED} run with a rule to stop: its ordinary intervals do not hold"
    if _names(answer, lambda score: score.transductive):
        yield f"{TRANSDUCTIVE} transductive: uses a task's queries together, gains from balance"
    if runs := _names(answer, lambda score: score.runs > 1):
        yield f"several training runs, counted in ± and verdicts: {runs}"
    names = dict.fromkeys(score.method for score in answer.scores if score.of_one_model)
    if single := one_model_text([shortened(name, NAME) for name in names]):
        yield f"{single} (more: column run; trains nothing: trained=False)"
    if few := [h for h in answer.headlines if h.images == "open" and h.scored.n_tasks < FEW_TASKS]:
        every = len(answer.headlines)
        where = f" on {len(few)} of {every} sets" if every > 1 else ""
        yield f"fewer than {FEW_TASKS} tasks{where}: an exact test beside each verdict in --details"
    if near := {score.method for score in answer.scores if score.near_perfect is not None}:
        yield (
            f"above {ABOVE:g} %, where ± covers too little ({len(near)} "
            f"method{'s' if len(near) > 1 else ''}): exact bounds in --details"
        )
    if grouped := _datasets(h for h in answer.headlines if h.groups):
        yield f"{grouped}: images of one group are left out together"
    if within := _datasets(h for h in answer.headlines if h.superclasses and h.classes):
        yield f"{within}: new classes of the superclasses seen"


def _datasets(headlines: Iterable[Headline]) -> str:
    return listing([*dict.fromkeys(headline.scored.dataset for headline in headlines)], 4)


def _names(answer: Answer, which: Callable[[Score], bool]) -> str:
    names = dict.fromkeys(score.method for score in answer.scores if which(score))
    return listing([shortened(name, NAME) for name in names], 3)


def left_out(answer: Answer) -> Iterator[str]:
    """Say what the report holds beside, and how one asks for it."""
    if _meets_some(answer):
        yield _references(answer)
    yield from _listing(answer)
    parts = [
        f"{_number(number, what)} ({option})"
        for number, what, option in (
            (answer.unmet, "reference method", "--all-references"),
            (answer.other_sets, "task set", "--details"),
        )
        if number
    ]
    if answer.left_out:
        parts.append(f"{answer.left_out} made with attributes of images (--bias)")
    if parts:
        yield f"there is more: {', '.join(parts)}"
    if answer.unshown:
        names = listing([shortened(name, NAME) for name in answer.unshown], 2)
        yield f"answered other task sets only: {names}"


def _listing(answer: Answer) -> Iterator[str]:
    """Say how one lists the comparisons that count, and no other, where not each has a row."""
    met = [row.met for row in answer.rows if row.met]
    if all(comparison in row.best for row in answer.rows for comparison in row.met):
        return
    names, *others = dict.fromkeys(tuple(c.versus for c in some) for some in met)
    option = "--details"
    if not others and len(names) <= MOST_NAMED:
        option = " ".join(f"--against {quote(shortened(name, NAME))}" for name in names)
    yield f"all {sum(map(len, met))} comparisons: {option}"


def _references(answer: Answer) -> str:
    """Say which reference methods are met, and why."""
    own = {score.backbone for score in answer.scores if not score.is_reference}
    met = {c.versus for row in answer.rows for c in row.met} or {*answer.references}
    of_same = {s.backbone in own for s in answer.scores if s.is_reference and s.method in met}
    accurate = f"the {MOST_ACCURATE} most accurate of a set"
    if of_same == {True}:
        return "references met: those on the same features"
    if of_same == {False}:
        return f"references met: {accurate}, since none is on the same features"
    return f"references met: those on the same features; where there are none, {accurate}"


def _meets_some(answer: Answer) -> bool:
    """Whether some reference methods are met, and others are not."""
    return bool(answer.unmet) and any(score.is_reference for score in answer.scores)


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
