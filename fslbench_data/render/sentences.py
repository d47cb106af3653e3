"""What a comparison says, in plain words: the same in every format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis_sql.comparison.multiplicity import conclusive
from analysis_sql.comparison.ties import VerdictCounts
from analysis_sql.comparison.verdicts import Comparison, Verdict
from analysis_sql.interval_kinds import BESIDE
from analysis_sql.ranking.evidence import Evidence
from analysis_sql.ranking.ties_with_best import Ties
from benchmark_spec.errors import listing
from fslbench_data.render.interval_text import (
    SHOWN_AS,
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
        verdict = {1: "better", -1: "worse", 0: "not told apart"}[sequence.sign]
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
        f"{listing(answered, 4)} of {n_tasks} tasks, {PREFIX}: who looks first finds a number that "
        "flatters, so its intervals are shown and nothing is concluded (?)."
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
        text = f"{a} and {b} cannot be told apart on {tasks} (difference {plus_minus(found)})"
    else:
        direction = "better" if comparison.verdict is Verdict.BETTER else "worse"
        constant = ", the same on every task" if found.constant else ""
        text = f"{a} is {direction} than {b} by {size}{constant}, on {tasks}"
    usual = [
        f"{name} would say {_CLAIM[verdict]}"
        for name, verdict in (
            ("error bars", comparison.verdict_direct),
            ("closed error bars", comparison.verdict_closed),
        )
        if verdict is not None and _differs(verdict, comparison.verdict)
    ]
    other = beside_text([comparison])
    text += f"; {other[0].lower()}{other[1:]}" if other else ""
    if comparison.of_one_model and comparison.verdict in (Verdict.BETTER, Verdict.WORSE):
        text += f"; of this one trained model of {' and '.join(comparison.of_one_model)}"
    return text + (f"; {' and '.join(usual)}." if usual else ".")


def summary(method: str, comparisons: Sequence[Comparison]) -> str:
    """One sentence on a method's comparisons within a task set, and where closed ones mislead."""
    claims = []
    phrases = {
        Verdict.BETTER: "better than",
        Verdict.WORSE: "worse than",
        Verdict.INCONCLUSIVE: "not told apart from",
        Verdict.IDENTICAL: "identical to",
        Verdict.NOT_ESTIMABLE: "nothing concluded, from too few tasks, about",
    }
    for verdict, phrase in phrases.items():
        names = [c.versus for c in comparisons if c.verdict is verdict and not c.reason]
        if names:
            claims.append(f"{phrase} {listing(names, 4)}")
    for reason in dict.fromkeys(c.reason for c in comparisons if c.reason):
        names = [c.versus for c in comparisons if c.reason == reason]
        claims.append(f"nothing concluded about {listing(names, 4)}: {reason}")
    text = f"{method}: {'; '.join(claims)}."
    if other := beside_text(comparisons):
        text += f" {other}."
    reused = comparisons[0].interval_kind == "images"
    closed = "Intervals for these images alone" if reused else "Closed error bars"
    for name, verdicts in (
        ("Error bars", [(c, c.verdict_direct) for c in comparisons]),
        (closed, [(c, c.verdict_closed) for c in comparisons]),
    ):
        if name == closed and comparisons[0].interval_kind == "closed":
            continue  # they are the separate ones
        wrong = [
            f"{_CLAIM[usual]} {_LINK[usual]} {c.versus}"
            for c, usual in verdicts
            if usual is not None and _differs(usual, c.verdict)
        ]
        if wrong:
            text += f" {name} would say: {listing(wrong, 4)}."
    if comparisons[0].interval_kind == "closed":
        text += " None of this is about new images."
    return text


def ties_text(ties: Ties) -> str:
    """Return who cannot be told from the best, and among how many comparisons."""
    carried, *beside = [kind for kind in ties.tied if kind != "closed"] or ties.tied
    others = {kind: [n for n in tied if n != ties.best] for kind, tied in ties.tied.items()}
    text = f"Highest mean: {ties.best}. Not told apart from it (Holm, {ties.family} pairs): "
    text += listing(others[carried], 6) or "no other"
    for kind in beside:
        if set(others[kind]) != set(others[carried]):
            text += f"; for {BESIDE[kind].about}: {listing(others[kind], 6)}"
    return f"{text}."


def power_text(comparisons: Sequence[Comparison], beside: Sequence[Evidence]) -> str:
    """What these tasks could have shown; of few tasks, the exact test's p-values too."""
    sizes = sorted(e.detectable for e in beside if e.detectable is not None)
    said = []
    if sizes and sizes[0] > 100:
        said.append("No possible difference would be found 4 times in 5.")
    elif sizes:
        shown = f"{sizes[0]:.1f}"
        if f"{sizes[-1]:.1f}" != shown:
            shown += f" to {sizes[-1]:.1f}" if sizes[-1] <= 100 else " or far more"
        said.append(f"A true difference of {shown} points, on new images, is found 4 times in 5.")
    exact = [
        (c, e.p_sign_flip)
        for c, e in zip(comparisons, beside, strict=True)
        if e.p_sign_flip is not None and c.verdict is not Verdict.IDENTICAL
    ]
    if exact:
        shown = listing([f"{c.versus} {p:.2g}" for c, p in exact], 6)
        said.append(f"Few tasks; sign-flip test, p: {shown}.")
        level = exact[0][0].difference.level
        claimed = [(c, p) for c, p in exact if c.verdict in (Verdict.BETTER, Verdict.WORSE)]
        lost = [c.versus for c, p in claimed if not conclusive(p, level)]
        if lost:
            said.append(
                f"It does not confirm the verdict on {listing(lost, 4)}, which rests on the "
                "normal law."
            )
    return " ".join(said)


def counts_text(counts: Mapping[str, VerdictCounts]) -> str:
    """How many comparisons each kind of interval calls conclusive, as one line."""
    paired = counts.get("paired")
    if paired is None or not paired.compared:
        return ""
    numbers = []
    for kind, count in counts.items():
        of = f" of {count.compared}" if count.compared != paired.compared else ""
        if count.compared:
            name = SHOWN_AS.get(kind) or kind.partition(" (")[0]
            numbers.append(f"{name} {count.conclusive}{of}")
    many = f"{paired.compared} comparison{'s' if paired.compared != 1 else ''}"
    return f"Shown, of {many} on tasks that share no image: {', '.join(numbers)}."


def reused_text(counts: Mapping[str, VerdictCounts]) -> str:
    """How many comparisons hold up where tasks reuse images, as one line."""
    if "closed" not in counts or not counts["closed"].compared:
        return ""
    numbers = [
        f"{kind.partition(' (')[0]} {count.conclusive}"
        for kind, count in counts.items()
        if kind != "closed"
    ]
    total = counts["closed"]
    many = f"{total.compared} comparison{'s' if total.compared != 1 else ''}"
    return (
        f"Shown, of {many} on tasks that reuse images: {', '.join(numbers)}; for these images "
        f"alone {total.conclusive}."
    )


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
