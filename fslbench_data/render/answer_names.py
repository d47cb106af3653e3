"""An answer in which long features that many names begin with are said once."""

from __future__ import annotations

from dataclasses import replace

from analysis_sql.comparison.verdicts import Comparison
from fslbench_data.scoring.answer import Answer, Row
from fslbench_data.scoring.remaining import Remaining

LONG = 12
"""Characters of features that are left out of names."""


def with_short_names(answer: Answer) -> tuple[Answer, str]:
    """Leave the features of a single method out of all names that begin with them.

    Returns
    -------
    answer, features
        The features are empty if no name has become another: they are short, one name alone begins
        with them, or two names would be one.
    """
    features = answer.rows[0].score.backbone if answer.rows else ""
    prefix = f"{features}/"
    names = {score.method for score in answer.scores}
    short = {name: name.removeprefix(prefix) for name in names}
    alike = len({*short.values()}) < len(names) or "" in short.values()
    shared = sum(name.startswith(prefix) for name in names)
    if len(features) <= LONG or alike or shared < 2:  # nothing is said twice
        return answer, ""

    def of(comparison: Comparison) -> Comparison:
        one, other = (short.get(n, n) for n in (comparison.method, comparison.versus))
        return replace(comparison, method=one, versus=other)

    def in_row(row: Row) -> Row:
        score = replace(row.score, method=short[row.score.method])
        return replace(row, score=score, met=(*map(of, row.met),), best=(*map(of, row.best),))

    def of_lost(left: Remaining) -> Remaining:
        return replace(left, lost=tuple((at, short.get(name, name)) for at, name in left.lost))

    shortened = replace(
        answer,
        methods=tuple(short.get(name, name) for name in answer.methods),
        references=tuple(short.get(name, name) for name in answer.references),
        rows=tuple(map(in_row, answer.rows)),
        scores=tuple(replace(s, method=short[s.method]) for s in answer.scores),
        images=of_lost(answer.images),
        classes=of_lost(answer.classes),
    )
    return shortened, features


def features_note(features: str) -> list[str]:
    """Say what names are without, if they are."""
    return [f"names without a slash: on the features {features}"] if features else []
