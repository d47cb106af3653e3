"""Intervals, verdicts and the notes that qualify them, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from analysis_sql.comparisons import Comparison, Verdict
from analysis_sql.interval_kinds import (
    ABOUT,
    ADDITIONAL_KINDS,
    ESTIMANDS,
    about_test_set,
    family_of,
)
from analysis_sql.intervals.intervals import Interval, zero_bound
from analysis_sql.multiple_comparisons import Ties
from benchmark_spec.errors import listing, many
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.table import Column
from fslbench_data.scoring.designs import Units
from fslbench_data.scoring.scores import Score, may_be_training_runs
from fslbench_data.scoring.summary import SIGNIFICANT, Mark
from fslbench_data.tasks import TaskSetInfo

VERDICT_WORDS = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.INCONCLUSIVE: "ns",
    Verdict.IDENTICAL: "identical",
    Verdict.NOT_ESTIMABLE: "n/a",
}
"""Verdicts as people read them; ns: no significant difference, n/a: nothing can be concluded."""

_IN_FULL = VERDICT_WORDS | {
    Verdict.INCONCLUSIVE: "no significant difference",
    Verdict.NOT_ESTIMABLE: "nothing can be concluded",
}

VERDICT_STYLES = {"better": "bold green", "worse": "bold red"}
"""Styles of verdicts on the terminal."""

MARKS = {
    Mark.HIGHEST: "*",
    Mark.NOT_SIGNIFICANT: "~",
    Mark.NEW_IMAGES: "°",
    Mark.SIGNIFICANT: "",
    Mark.UNJUDGED: "?",
}
"""The marks of means in a table: how a method compares to the highest mean."""

CLAIMS: Mapping[IntervalKind, str] = MappingProxyType({**ABOUT, "closed": "same images only"})
"""The estimand that a verdict on a difference is for, by kind of interval."""

UNBOUND_NOTE = (
    "unbound: these results do not say which tasks they were made on; everything here rests on "
    "the word of whoever made them."
)

KIND_NAMES = {"paired": "new images", "direct": "error bars", "closed": "closed error bars"}
"""Names of the keys of counts for people, on tasks that share no image."""

TRANSDUCTIVE = "†"
TRANSDUCTIVE_NOTE = (
    "† transductive: uses a task's queries together, and so gains from every class having as many."
)

AT_MOST = "± is an upper bound"
"""The beginning of a note; what the interval is about and the reason follow."""


def one_model_text(names: Sequence[str], most: int = 3, hint: str = "") -> str:
    """Say which methods have a single training run, so that how much runs differ is unknown."""
    if not names:
        return ""
    models = "this trained model only" if len(names) == 1 else "these trained models only"
    each = "each " if len(names) > 1 else ""
    return f"one training run {each}of {listing(names, most)}: results hold for {models}{hint}"


def runs_word(scores: Iterable[Score]) -> str:
    """Return what runs are called: training runs, unless a method trains nothing."""
    return "training runs" if may_be_training_runs(scores) else "runs"


def several_runs_text(
    scores: Sequence[Score], names: Sequence[str], most: int, column: str = ""
) -> str:
    """Say which methods have several runs, that ± counts them, and that two are too few.

    `column` tells where a log has the runs.
    """
    if not names:
        return ""
    if all([*score.intervals] == ["closed"] for score in scores):
        return f"{runs_word(scores)}, which ± and verdicts do not count: {listing(names, most)}"
    text = f"{runs_word(scores)}{column}, counted in ± and verdicts: {listing(names, most)}"
    if alike := [*dict.fromkeys(score.method for score in scores if score.run_spread == 0)]:
        text += f"; all runs of {listing(alike, most)} have one mean (copies?)"
    if any(score.runs == 2 and score.run_spread for score in scores):
        text += (
            "; two hardly tell how much runs differ, so ± may be wide: run three or more (how "
            "many: fslbench plan)"
        )
    return text


def new_runs_text(numbers: Collection[int], runs: str) -> str:
    """Say in a caption that ± includes new runs of methods that have several."""
    if not numbers:
        return ""
    return f"± allows for new {runs} ({span(numbers)} of each method that has several)"


GROUPED = "a group of images counts as one image"
"""The note for data sets with groups of images."""

PER_QUERY = "per query"
"""The name of a leave-one-out interval that uses which queries were right."""


def by_queries_text(names: Sequence[str], n_methods: int, most: int = 3) -> str:
    """Say which methods have intervals per query; all `n_methods` are not named."""
    which = f": {listing(names, most)}" if len(names) < n_methods else ""
    return f"± for new images uses which queries were right{which}" if names else ""


QUERIES_HINT = "± for new images is usually narrower, by a fifth at 600 tasks"
"""The gain of recording which queries were right; a few hundredths at 4,000 tasks."""


def span(numbers: Iterable[int]) -> str:
    """Return the range of some numbers, such as ``19 to 57``, or the one that all are."""
    ordered = sorted(numbers)
    low, high = ordered[0], ordered[-1]
    return f"{low}" if low == high else f"{low} to {high}"


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def ended(*texts: str) -> list[str]:
    """Return texts with a full stop, without the empty ones."""
    return [f"{text}." for text in texts if text]


def sentences(*texts: str) -> list[str]:
    """Return texts with a full stop and a first letter in upper case, without the empty ones."""
    return ended(*map(capital, texts))


def percent(share: float) -> str:
    """Return a level, or another share, such as ``95 %``."""
    return f"{100 * share:.8g} %"


def fixed(value: float | None, digits: int = 2, missing: str = "") -> str:
    """Return a number with so many decimals, without a minus before zeros."""
    return missing if value is None else f"{value:z.{digits}f}"


STOPPED = "‡"
STOPPED_NOTE = (
    "‡ run under a rule to stop when conclusive: its ordinary intervals do not hold and are left "
    "out; the confidence sequence holds however often one looks."
)


def marked(name: str, *, transductive: bool, stopped: bool) -> str:
    """Return the label of a method in a table: its name and its marks."""
    marks = (TRANSDUCTIVE if transductive else "") + (STOPPED if stopped else "")
    return f"{name} {marks}" if marks else name


def labels(scores: Iterable[Score]) -> dict[str, str]:
    """Return the label of each method in a table."""
    return {
        s.method: marked(s.method, transductive=s.transductive, stopped=s.stopped is not None)
        for s in scores
    }


def plus_minus(interval: Interval, *, signed: bool = False) -> str:
    """Return an interval as text, such as ``81.20 ± 0.31``; in words where ±0 would mislead."""
    mean = f"{interval.mean:{'+' if signed else ''}z.2f}"
    # runs may differ where tasks do not
    if interval.constant and interval.tasks > 1 and not interval.halfwidth:
        return f"{mean} on every task"
    if interval.halfwidth is None:
        return f"{mean}, no interval"
    return f"{mean} ± {width_text(interval.halfwidth)}"


def width_text(halfwidth: float) -> str:
    """Return a half-width with two decimals, or two significant digits if these would be 0.00."""
    return f"{halfwidth:.2f}" if halfwidth >= 0.005 else f"{halfwidth:.2g}"


def difference_text(comparison: Comparison) -> str:
    """Return the paired difference as text, half-widths of other kinds in brackets."""
    if comparison.verdict is Verdict.IDENTICAL:
        return "identical"
    _, *additional = (pair.difference for pair in comparison.intervals.values())
    return paired_text(comparison.difference, additional)


def paired_text(difference: Interval, additional: Iterable[Interval | None]) -> str:
    """Return a difference, and half-widths of other kinds in brackets."""
    if difference.constant and difference.tasks > 1 and not difference.halfwidth:
        return f"{difference.mean:+z.2f} on every task"
    return plus_minus(difference, signed=True) + bracket(i for i in additional if i is not None)


def comparison_text(comparison: Comparison) -> str:
    """Say in a sentence what the difference is, and for what it is significant."""
    c = comparison.displayed
    where, tasks = f"{c.method} against {c.versus} on {c.dataset}/{c.task_set}", c.difference.tasks
    if c.verdict is Verdict.IDENTICAL:
        return f"{where}: the same on all {many(tasks, 'task')}."
    widths = [
        f"± {width_text(width)} for {ABOUT[kind]} ({_IN_FULL[pair.verdict]})"
        for kind, pair in c.intervals.items()
        if (width := pair.difference.halfwidth) is not None
    ]
    how = ", ".join(widths) or "no interval"
    if not widths and c.difference.constant and tasks > 1:
        how = f"the same on each of {tasks} tasks, too few to conclude from"
    text = f"{where}: {c.difference.mean:+z.2f} points, {how}."
    if c.of_one_model and any(p.verdict in SIGNIFICANT for p in c.intervals.values()):
        text += f" Of one trained model of {' and '.join(c.of_one_model)}."
    return f"{text} Nothing is concluded: {c.reason}." if c.reason else text


def with_bracket(intervals: Mapping[IntervalKind, Interval], kinds: Sequence[IntervalKind]) -> str:
    """Return an accuracy with its first half-width, those of the other kinds in brackets."""
    primary, *additional = (intervals[kind] for kind in kinds)
    return plus_minus(primary) + bracket(additional)


def ties_text(ties: Ties, most: int = 6) -> str:
    """Say which methods do not differ significantly from the best, Holm-adjusted."""
    first, *others = [kind for kind in ties.tied if kind != "closed"] or ties.tied
    names = {kind: [n for n in tied if n != ties.best] for kind, tied in ties.tied.items()}
    text = f"Highest mean: {ties.best}. No significant difference from it (Holm, {ties.family} "
    text += f"pairs): {listing(names[first], most) or 'none'}"
    for kind in others:
        if set(names[kind]) != set(names[first]):
            text += f"; for {ADDITIONAL_KINDS[kind].about}: {listing(names[kind], most) or 'none'}"
    return f"{text}."


_RUN = re.compile(r"(.+?)[-_. ]*(?:seed|run|trial|fold)[-_. ]*\d+", re.IGNORECASE)
"""The name of a method that ends in the number of a training run."""


def runs_hint(names: Iterable[str]) -> str:
    """Say that methods seem to be runs of one method, by their names; empty if none do."""
    of_method: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if found := _RUN.fullmatch(name):
            of_method.setdefault(found[1], []).append(name)
    alike = [name for names in of_method.values() if len(names) > 1 for name in names]
    if not alike:
        return ""
    return f"{listing(alike, 3)}: if they are runs of one method, name it alike, and runs in `run`"


def bracket(additional: Iterable[Interval]) -> str:
    """Return half-widths of additional kinds in brackets, or nothing if there are none."""
    widths = [i.halfwidth for i in additional if i.halfwidth]
    return f" ({'; '.join(map(width_text, widths))})" if widths else ""


def set_title(
    scored: TaskSetInfo,
    units: Units,
    level: float,
    kinds: Sequence[IntervalKind],
    before: str = " (",
) -> str:
    """Return the number of tasks, level and kinds of interval; estimands follow `before`."""
    first = ESTIMANDS[kinds[0]]
    if units.groups:
        first = first.replace("new images", "new groups of images")
    if scored.name.whole and kinds[0] != "closed":
        first = f"{about_in(scored, kinds[0])}, all answers weighted equally"
    tasks = f"{scored.n_tasks} {'draw' if scored.name.whole else 'task'}"
    tasks += "s" * (scored.n_tasks > 1)
    title = f"{tasks}, {percent(level)} {family_in(scored, kinds[0])} intervals"
    if len(kinds) < 2:
        return f"{title}{before}{first}"
    about = "; ".join(ADDITIONAL_KINDS[kind].about for kind in kinds[1:])
    if units.superclasses:
        about = about.replace("new classes", "new classes of these superclasses")
    families = dict.fromkeys(ADDITIONAL_KINDS[kind].family for kind in kinds[1:])
    names = "" if kinds[0] in ADDITIONAL_KINDS else f"{', '.join(families)} "
    return f"{title}{before}{first}; {names}in brackets: {about}"


def about_in(scored: TaskSetInfo, kind: IntervalKind) -> str:
    """Return what a kind is about, of tasks of all classes with their draws of the support."""
    if scored.name.whole and ABOUT[kind] == "new images":
        return about_test_set(scored.n_tasks, scored.protocol.shot)
    return ABOUT[kind]


def family_in(scored: TaskSetInfo, kind: IntervalKind) -> str:
    """Return the name of a kind in the titles of a task set."""
    whole = scored.name.whole and kind != "closed"
    return "Student's t" if whole else family_of(kind)


def missing_text(units: Units) -> list[str]:
    """Say in a sentence per reason which kinds of interval are missing or bounds."""
    missing, bounded = by_reason(units.missing), by_reason(units.bounded)
    return [
        *(f"No interval for {listing(about)} ({reason})." for reason, about in missing.items()),
        *(f"{AT_MOST} for {listing(about)} ({reason})." for reason, about in bounded.items()),
    ]


def by_reason(
    kinds: Mapping[IntervalKind, str],
    about: Callable[[IntervalKind], str] = lambda kind: ADDITIONAL_KINDS[kind].about,
) -> dict[str, list[str]]:
    """Group kinds of interval by reason, each named by what it is about."""
    grouped: dict[str, list[str]] = {}
    for kind, reason in kinds.items():
        grouped.setdefault(reason, []).append(about(kind))
    return grouped


def verdict_column(name: str, verdict: Callable[[Any], Verdict | None]) -> Column:
    """Return a column of verdicts, in words."""

    def word(row: Any) -> str | None:
        return (found := verdict(row)) and VERDICT_WORDS[found]

    return Column(name, word, style=lambda text: VERDICT_STYLES.get(text, ""))


def verdict_of(comparison: Comparison, kind: IntervalKind) -> Verdict:
    """Return the verdict of a kind; a run that stopped itself has none and is not estimable."""
    pair = comparison.intervals.get(kind)
    return Verdict.NOT_ESTIMABLE if pair is None else pair.verdict


def stopped_text(scores: Iterable[Score]) -> Iterator[str]:
    """Say what runs with a rule to stop when conclusive resulted in."""
    for score in scores:
        if (stopped := score.stopped) is None:
            continue
        text = f"{score.method} {STOPPED} was run against {stopped.versus}"
        if (sequence := stopped.sequence) is not None:
            verdict = {1: "better", -1: "worse", 0: "no significant difference"}[sequence.sign]
            when = f" from task {sequence.conclusive_at} on" if sequence.conclusive_at else ""
            yield (
                f"{text}, {sequence.tasks} tasks: {verdict}{when}, difference "
                f"{sequence.low:+z.2f} to {sequence.high:+z.2f} ({percent(sequence.level)} "
                f"confidence sequence: {stopped.estimand})."
            )
        elif stopped.level != (level := score.accuracy.level):
            yield (
                f"{text}, to stop at level {percent(stopped.level)}: no verdict at "
                f"{percent(level)}, since a run is judged at the level it stopped at."
            )
        else:
            yield f"{text}, which is not here."


def unseen_text(classes: int, level: float) -> str:
    """Say what verdicts for new classes do not cover: kinds of classes that the set lacks."""
    bound = zero_bound(classes, level)
    return (
        f"New classes: up to {bound:.2g} % of all may be of a kind that none of these {classes} is "
        f"({percent(level)})."
    )
