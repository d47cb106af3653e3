"""What an answer shows, in sentences: the most exact of several that has room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from analysis_sql.comparison.verdicts import Comparison, PairInterval, Verdict
from fslbench_data.render.place_words import NAME, THESE, by_points, listed, of_places
from fslbench_data.render.short_names import shortened
from fslbench_data.render.standing_words import standing_sentences
from fslbench_data.scoring.answer import Answer, Row
from fslbench_data.scoring.headlines import Headline

CONCLUSIVE = {Verdict.BETTER: "better", Verdict.WORSE: "worse"}


@dataclass(frozen=True)
class Claim:
    """A difference that is shown: of a method and another, on a task set that leads."""

    headline: Headline
    versus: str
    verdict: Verdict
    points: float


def sentences(answer: Answer) -> list[list[str]]:
    """Return what is shown of each method, several texts of each, the most exact first."""
    if answer.rows:
        return [_of_one(answer.rows)]
    return [standing_sentences(name, answer.columns) for name in answer.methods]


def _of_one(rows: Sequence[Row]) -> list[str]:
    name = shortened(rows[0].score.method, NAME)
    if not any(row.met for row in rows):
        return [f"{name}: there is nothing to compare it with."]
    verdicts = {pair.verdict for row in rows for c in row.met for pair in c.intervals.values()}
    if verdicts == {Verdict.NOT_ESTIMABLE}:
        return [f"{name}: nothing can be concluded."]
    return [f"{name}: {_clauses(rows, exactly)}." for exactly in (_places, _numbers, _count)]


def _clauses(rows: Sequence[Row], exactly: Callable[..., str]) -> str:
    """What is shown for new images, for new classes, and where only for the images at hand."""
    of_images = [(row, c) for row in rows for c in row.met if c.interval_kind != "closed"]
    of_these = [(row, c) for row in rows for c in row.met if c.interval_kind == "closed"]
    parts = []
    if of_images:
        claims = [
            claim
            for row, c in of_images
            for claim in _claims(row.headline, c.versus, c.intervals[c.interval_kind])
        ]
        shown = _shown([c for _, c in of_images], claims, exactly)
        parts.append(f"for new images {shown}")
        parts.append(f"for new classes {_for_classes(of_images, claims, exactly)}")
    if of_these:
        claims = [
            claim
            for row, c in of_these
            for claim in _claims(row.headline, c.versus, c.intervals["closed"])
        ]
        shown = _shown([c for _, c in of_these], claims, exactly)
        parts.append(f"{THESE} {shown}")
    return "; ".join(parts)


def _claims(headline: Headline, versus: str, pair: PairInterval) -> Iterator[Claim]:
    if pair.verdict in CONCLUSIVE:
        yield Claim(headline, versus, pair.verdict, abs(pair.difference.mean))


def _shown(
    comparisons: Sequence[Comparison], claims: Sequence[Claim], exactly: Callable[..., str]
) -> str:
    said = _said(claims, comparisons, exactly)
    open_ones = sum(c.verdict in (Verdict.INCONCLUSIVE, Verdict.IDENTICAL) for c in comparisons)
    silent = sum(c.verdict is Verdict.NOT_ESTIMABLE for c in comparisons)
    if silent == len(comparisons):
        return "nothing can be concluded"
    if open_ones and claims:
        said += f", not told apart in {open_ones} of {len(comparisons)} comparisons"
    elif open_ones:
        said += f" ({_many(len(comparisons))})"
    return said + (
        f", nothing can be concluded from {silent} of {len(comparisons)}" if silent else ""
    )


def _for_classes(
    compared: Sequence[tuple[Row, Comparison]],
    of_images: Sequence[Claim],
    exactly: Callable[..., str],
) -> str:
    judged = [
        (row.headline, c, c.intervals[row.headline.classes])
        for row, c in compared
        if row.headline.classes in c.intervals and row.headline.classes is not None
    ]
    if not judged:
        return "there is no interval"
    verdicts = {pair.verdict for _, _, pair in judged}
    if verdicts == {Verdict.NOT_ESTIMABLE}:
        return "nothing can be concluded"
    claims = [claim for about, c, pair in judged for claim in _claims(about, c.versus, pair)]
    if claims and claims == [*of_images]:
        return "the same"
    return _said(claims, [c for _, c, _ in judged], exactly)


def _said(
    claims: Sequence[Claim], comparisons: Sequence[Comparison], exactly: Callable[..., str]
) -> str:
    parts = []
    for verdict, word in CONCLUSIVE.items():
        some = [claim for claim in claims if claim.verdict is verdict]
        if some:
            most = max(claim.points for claim in some)
            parts.append(f"{word} {exactly(some, comparisons)}, {by_points(most, len(some))}")
    return ", ".join(parts) or "no difference is shown"


def _places(claims: Sequence[Claim], comparisons: Sequence[Comparison]) -> str:
    """Where, by name: ``than A and B on digits (5 and 10 shots), than C on emoji (1 shot)``."""
    return ", ".join(f"than {of}" for of in of_places((c.headline, c.versus) for c in claims))


def _numbers(claims: Sequence[Claim], comparisons: Sequence[Comparison]) -> str:
    """On how many task sets than which: ``than A (on 3 of 6) and B (on 2 of 6)``."""
    total: dict[str, int] = {}
    for c in comparisons:
        total[c.versus] = total.get(c.versus, 0) + 1
    found: dict[str, int] = {}
    for claim in claims:
        found[claim.versus] = found.get(claim.versus, 0) + 1
    texts = [f"{shortened(name, NAME)} (on {n} of {total[name]})" for name, n in found.items()]
    return f"than {listed(texts)}"


def _count(claims: Sequence[Claim], comparisons: Sequence[Comparison]) -> str:
    return f"in {len(claims)} of {_many(len(comparisons))}"


def _many(number: int) -> str:
    return f"{number} comparison{'s' if number != 1 else ''}"
