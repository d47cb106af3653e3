"""What a comparison says, in plain words: the same in every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis_sql.comparison.verdicts import Comparison, Verdict
from analysis_sql.interval_kinds import BESIDE
from benchmark_spec.errors import listing
from fslbench_data.render.interval_text import (
    STOPPED,
    plus_minus,
    verdict_of,
)
from fslbench_data.scoring.scores import PREFIX, Score


def stopped_text(scores: Iterable[Score]) -> list[str]:
    """What holds of runs that were stopped when they were conclusive."""
    sentences = []
    for s in scores:
        if s.stopped is None:
            continue
        sequence = s.stopped.sequence
        text = f"{s.method} {STOPPED} was run against {s.stopped.versus}"
        if sequence is None and s.stopped.level != s.accuracy.level:
            sentences.append(
                f"{text}, to stop at level {100 * s.stopped.level:.8g} %: no verdict at "
                f"{100 * s.accuracy.level:.8g} %, since a run is judged at the level it stopped at."
            )
            continue
        if sequence is None:
            sentences.append(f"{text}, which is not here.")
            continue
        verdict = {1: "better", -1: "worse", 0: "no significant difference"}[sequence.sign]
        when = f" from task {sequence.conclusive_at} on" if sequence.conclusive_at else ""
        sentences.append(
            f"{text}, {sequence.tasks} tasks: {verdict}{when}, difference {sequence.low:+.2f} to "
            f"{sequence.high:+.2f} ({100 * sequence.level:.8g} % confidence sequence: "
            f"{s.stopped.estimand})."
        )
    return sentences


def prefix_text(scores: Iterable[Score], n_tasks: int) -> list[str]:
    """Which methods answer only the first tasks of a set, as many as the submitter chose."""
    answered = [f"{s.method} answers {s.accuracy.tasks}" for s in scores if s.prefix]
    if not answered:
        return []
    return [
        f"{listing(answered, 4)} of {n_tasks} tasks, {PREFIX}: a partial submission, whose tasks "
        "may have been chosen after seeing results; intervals are shown without a verdict (n/a)."
    ]


_CLAIM = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.INCONCLUSIVE: "no difference",
    Verdict.IDENTICAL: "no difference",
    Verdict.NOT_ESTIMABLE: "nothing",
}


_LINK = {
    Verdict.BETTER: "than",
    Verdict.WORSE: "than",
    Verdict.INCONCLUSIVE: "from",
    Verdict.IDENTICAL: "from",
    Verdict.NOT_ESTIMABLE: "about",
}


def sentence(comparison: Comparison) -> str:
    """One plain sentence: the paired conclusion, and whether the usual comparisons agree."""
    a, b, found = comparison.method, comparison.versus, comparison.difference
    tasks = f"{found.tasks} task{'s' if found.tasks != 1 else ''}"
    size = f"{abs(found.mean):.2f} points"
    if found.halfwidth and not found.constant:
        size = f"{plus_minus(found).removeprefix('-')} points"
    if comparison.verdict is Verdict.IDENTICAL:
        text = f"{a} and {b} answer alike: identical counts on all {tasks}"
    elif comparison.reason:
        text = f"nothing is concluded about {a} and {b} from {tasks}: {comparison.reason}"
    elif comparison.verdict is Verdict.NOT_ESTIMABLE and found.constant and found.tasks > 1:
        text = f"{a} and {b} differ by the same {size} on each of {tasks}, too few to conclude from"
    elif comparison.verdict is Verdict.NOT_ESTIMABLE:
        text = f"nothing can be concluded about {a} and {b} from {tasks}"
    elif comparison.verdict is Verdict.INCONCLUSIVE:
        text = f"no significant difference between {a} and {b} on {tasks} ({plus_minus(found)})"
    else:
        direction = "better" if comparison.verdict is Verdict.BETTER else "worse"
        constant = ", the same on every task" if found.constant else ""
        text = f"{a} is {direction} than {b} by {size}{constant}, on {tasks}"
    usual = [
        f"{name} would say {_CLAIM[verdict]}"
        for name, verdict in (
            ("error bars", comparison.verdict_direct),
            ("usual intervals", comparison.verdict_closed),
        )
        if verdict is not None and _differs(verdict, comparison.verdict)
    ]
    other = beside_text([comparison])
    text += f"; {other[0].lower()}{other[1:]}" if other else ""
    if comparison.of_one_model and comparison.verdict in (Verdict.BETTER, Verdict.WORSE):
        text += f"; of this one trained model of {' and '.join(comparison.of_one_model)}"
    return text + (f"; {' and '.join(usual)}." if usual else ".")


def beside_text(comparisons: Sequence[Comparison]) -> str:
    """Return where other kinds of interval conclude otherwise; empty where they agree."""
    sentences = []
    for kind, beside in BESIDE.items():
        lost, gained = [], []
        for c in comparisons:
            verdict = verdict_of(c, kind)
            if kind not in c.intervals or verdict is c.verdict:
                continue
            if c.verdict in (Verdict.BETTER, Verdict.WORSE):
                lost.append(f"{_CLAIM[c.verdict]} {_LINK[c.verdict]} {c.versus}")
            else:
                gained.append(f"{_CLAIM[verdict]} {_LINK[verdict]} {c.versus}")
        sentences += [f"Not shown for {beside.about}: {listing(lost, 4)}"] if lost else []
        sentences += [f"For {beside.about}: {listing(gained, 4)}"] if gained else []
    return ". ".join(sentences)


def _differs(usual: Verdict, verdict: Verdict) -> bool:
    """Whether another way of comparing concludes otherwise; identical counts as no difference."""
    same = Verdict.INCONCLUSIVE if verdict is Verdict.IDENTICAL else verdict
    return usual is not same
