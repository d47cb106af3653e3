"""What a comparison says, in plain words: the same in every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis_sql.comparison import Comparison, Verdict
from analysis_sql.intervals import Interval
from benchmark_spec.errors import listing
from fslbench_data.report import Score

TRANSDUCTIVE = "†"
TRANSDUCTIVE_NOTE = (
    "† transductive: uses a task's queries together, and so gains from every class having as many."
)


def labels(scores: Iterable[Score]) -> dict[str, str]:
    """What each method is called in a table: its name, and the mark of transductive ones."""
    return {s.method: f"{s.method} {TRANSDUCTIVE}" if s.transductive else s.method for s in scores}


_CLAIM = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.INCONCLUSIVE: "no difference",
    Verdict.NOT_ESTIMABLE: "nothing",
}
_LINK = {
    Verdict.BETTER: "than",
    Verdict.WORSE: "than",
    Verdict.INCONCLUSIVE: "from",
    Verdict.NOT_ESTIMABLE: "about",
}


def plus_minus(interval: Interval, *, signed: bool = False) -> str:
    """An interval as text, such as ``81.20 ± 0.31``; in words where ±0 would mislead."""
    mean = f"{interval.mean:+.2f}" if signed else f"{interval.mean:.2f}"
    if interval.halfwidth is None:
        return f"{mean}, no interval"
    if interval.constant:
        return f"{mean} on every task"
    return f"{mean} ± {_width(interval.halfwidth)}"


def _width(halfwidth: float) -> str:
    """Two decimals, or two significant digits where these would round to nothing."""
    return f"{halfwidth:.2f}" if halfwidth >= 0.005 else f"{halfwidth:.2g}"


def difference_text(comparison: Comparison) -> str:
    """The paired difference as text, the half-width for new classes in brackets."""
    if comparison.verdict is Verdict.IDENTICAL:
        return "identical"
    if comparison.difference.constant and comparison.difference.tasks > 1:
        return f"{comparison.difference.mean:+.2f} on every task"
    found = comparison.new_classes
    text = plus_minus(comparison.difference, signed=True)
    return text + bracket(found.difference if found is not None else None)


def bracket(new_classes: Interval | None) -> str:
    """The half-width for new classes, in brackets; nothing where there is none."""
    if new_classes is None or new_classes.halfwidth is None or new_classes.constant:
        return ""
    return f" ({_width(new_classes.halfwidth)})"


def sentence(comparison: Comparison) -> str:
    """One plain sentence: the paired conclusion, and whether the usual comparisons agree."""
    a, b, found = comparison.method, comparison.versus, comparison.difference
    tasks = f"{found.tasks} task{'s' if found.tasks != 1 else ''}"
    size = f"{abs(found.mean):.2f} points"
    if found.halfwidth and not found.constant:
        size = f"{plus_minus(found).removeprefix('-')} points"
    if comparison.verdict is Verdict.IDENTICAL:
        text = f"{a} and {b} answer alike: identical counts on all {tasks}"
    elif comparison.verdict is Verdict.NOT_ESTIMABLE and found.constant and found.tasks > 1:
        text = f"{a} and {b} differ by the same {size} on each of {tasks}, too few to conclude from"
    elif comparison.verdict is Verdict.NOT_ESTIMABLE:
        text = f"nothing can be concluded about {a} and {b} from {tasks}"
    elif comparison.verdict is Verdict.INCONCLUSIVE:
        text = f"{a} and {b} cannot be told apart on {tasks} (difference {plus_minus(found)})"
    else:
        direction = "better" if comparison.verdict is Verdict.BETTER else "worse"
        constant = ", the same on every task" if found.constant else ""
        text = f"{a} is {direction} than {b} by {size}{constant}, on {tasks}"
    usual = [
        f"{name} would say {_CLAIM[verdict]}"
        for name, verdict in (
            ("comparing their intervals directly", comparison.verdict_direct),
            ("closed intervals", comparison.verdict_closed),
        )
        if verdict is not None and _differs(verdict, comparison.verdict)
    ]
    other = new_classes_text([comparison])
    text += f"; {other[0].lower()}{other[1:]}" if other else ""
    return text + (f"; {' and '.join(usual)}." if usual else ".")


def summary(method: str, comparisons: Sequence[Comparison]) -> str:
    """One sentence on a method's comparisons within a task set, and where closed ones mislead."""
    said = []
    for verdict, phrase in (
        (Verdict.BETTER, "better than"),
        (Verdict.WORSE, "worse than"),
        (Verdict.INCONCLUSIVE, "not told apart from"),
        (Verdict.IDENTICAL, "identical to"),
        (Verdict.NOT_ESTIMABLE, "nothing concluded, from too few tasks, about"),
    ):
        names = [c.versus for c in comparisons if c.verdict is verdict]
        if names:
            said.append(f"{phrase} {listing(names, 4)}")
    text = f"{method}: {'; '.join(said)}."
    if other := new_classes_text(comparisons):
        text += f" {other}."
    for name, verdicts in (
        ("Comparing intervals directly", [(c, c.verdict_direct) for c in comparisons]),
        ("Closed intervals", [(c, c.verdict_closed) for c in comparisons]),
    ):
        if name.startswith("Closed") and comparisons[0].difference.kind == "closed":
            continue  # they are the separate ones
        wrong = [
            f"{_CLAIM[usual]} {_LINK[usual]} {c.versus}"
            for c, usual in verdicts
            if usual is not None and _differs(usual, c.verdict)
        ]
        if wrong:
            text += f" {name} would say: {listing(wrong, 4)}."
    if comparisons[0].difference.kind == "closed":
        text += " None of this is about new images."
    return text


def new_classes_text(comparisons: Sequence[Comparison]) -> str:
    """Where class-aware intervals conclude otherwise; empty where they agree."""
    lost, found = [], []
    for c in comparisons:
        if c.new_classes is None or c.new_classes.verdict is c.verdict:
            continue
        if c.verdict in (Verdict.BETTER, Verdict.WORSE):
            lost.append(f"{_CLAIM[c.verdict]} {_LINK[c.verdict]} {c.versus}")
        else:
            verdict = c.new_classes.verdict
            found.append(f"{_CLAIM[verdict]} {_LINK[verdict]} {c.versus}")
    said = [f"Not shown for new classes: {listing(lost, 4)}"] if lost else []
    said += [f"For new classes: {listing(found, 4)}"] if found else []
    return ". ".join(said)


def _differs(usual: Verdict, verdict: Verdict) -> bool:
    """Whether another way of comparing concludes otherwise; identical counts as no difference."""
    same = Verdict.INCONCLUSIVE if verdict is Verdict.IDENTICAL else verdict
    return usual is not same
