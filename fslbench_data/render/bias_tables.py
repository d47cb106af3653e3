"""Ladders as tables: the scores of each step, and the gaps between steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from analysis_sql.bias.rank_correlation import RankCorrelation
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import listing
from fslbench_data.render.interval_text import capital, one_model_text, plus_minus
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.bias import BiasReport, LadderReport, Ranking
from fslbench_data.scoring.scores import PREFIX

NOTES = (
    "wAcc: accuracy of a task's worst class, mean over tasks. independent: what it would be for "
    "classes of the mean accuracy, independent of each other. equal: for equally hard classes, "
    "given how many queries of each task are right. excess: equal minus wAcc; an unlucky support "
    "set makes one too, so compare steps, never one excess alone. Nothing with one query a class.",
    "of level: the excess that the level of accuracy alone would give, if classes differed as on "
    "the first step and all moved by one shift of the logit. beyond level: excess minus that.",
    "lost, gained: from one step to the other, paired over the same classes.",
    "Spearman: correlation of the methods' ranking, of these trained models; bootstrap interval "
    "over tasks in brackets.",
)


MOST = 0.5
"""The share of (task, class) with inter-class queries below which a step says nothing of them."""


def bias_tables(report: BiasReport) -> list[Table]:
    """Return the tables of each ladder, and one that compares the ladders."""
    tables = [table for each in report.ladders for table in _of(each, report.signature.level)]
    if report.agreement:
        tables.append(_ranked("Ladders compared: how alike methods are ranked", report.agreement))
    return tables


def _of(ladder: LadderReport, level: float) -> Iterator[Table]:
    about = "new images of these classes" if ladder.kind == "open" else "new tasks of these images"
    title = f"{ladder.dataset}/{ladder.name}"
    notes = [inter_class_note(ladder)] if ladder.answers.inter_class else []
    if ladder.answers.left_out:
        left_out = ", ".join(ladder.answers.left_out)
        notes.append(f"Not shown, without counts by class: {left_out}.")
    if ladder.answers.prefixes:
        notes.append(
            f"Nothing is concluded about {listing(ladder.answers.prefixes, 10)}: {PREFIX}."
        )
    if single := one_model_text(ladder.answers.of_one_model):
        notes.append(f"{capital(single)}.")
    yield Table(
        title=f"{title}: {100 * level:.8g} % {ladder.kind} intervals ({about})",
        columns=(
            *_texts("method", "step"),
            right("T", lambda row: row[-1].accuracy.tasks),
            right("accuracy", lambda row: plus_minus(row[-1].accuracy)),
            right("wAcc", lambda row: plus_minus(row[-1].worst)),
            right("independent", lambda row: f"{row[-1].independent:.2f}"),
            right("equal", lambda row: None if row[-1].equal is None else f"{row[-1].equal:.2f}"),
            right("excess", lambda row: row[-1].excess and plus_minus(row[-1].excess)),
            right(
                "of level",
                lambda row: None if row[-1].of_level is None else f"{row[-1].of_level:.2f}",
            ),
            right("beyond level", partial(_signed, attrgetter("beyond_level"))),
        ),
        rows=[(m.method, step, score) for m in ladder.methods for step, score in m.steps.items()],
        notes=tuple(notes),
    )
    yield Table(
        title=f"{title}: from step to step",
        columns=(
            *_texts("method", "from", "to"),
            *_differences("accuracy lost", "wAcc lost", "excess gained", "beyond level"),
        ),
        rows=[(method.method, *gap) for method in ladder.methods for gap in method.gaps],
    )
    if ladder.pairs:
        rows: list[tuple[object, ...]] = []
        for pair in ladder.pairs:
            lost = {} if pair.lost is None else {"lost, first to last": pair.lost}
            rows += [(pair.method, pair.versus, *row) for row in (pair.steps | lost).items()]
        yield Table(
            title=f"{title}: methods compared",
            columns=(
                *_texts("method", "versus", "on"),
                *_differences("accuracy", "wAcc", "excess", "beyond level"),
            ),
            rows=rows,
        )
    if ladder.rankings:
        yield _ranked(f"{title}: how alike methods are ranked", ladder.rankings)


def inter_class_note(ladder: LadderReport) -> str:
    """Say of how many classes of tasks the queries really have another class's attribute."""
    shares = {step: f"{100 * share:.0f} %" for step, share in ladder.answers.inter_class.items()}
    if len(set(shares.values())) == 1:
        shares = {" and ".join(shares): next(iter(shares.values()))}
    of_steps = ", ".join(f"{share} ({step})" for step, share in shares.items())
    few = min(ladder.answers.inter_class.values()) < MOST
    nothing = ": of the others' attributes nothing can be said" if few else ""
    return f"Queries have another class's attribute in {of_steps} of (task, class){nothing}."


def _texts(*names: str) -> list[Column]:
    return [Column(name, itemgetter(i)) for i, name in enumerate(names)]


def _differences(*names: str) -> Iterator[Column]:
    """Give columns of what a row ends with, a gap or a contrast."""
    for name, measure in zip(names, ("accuracy", "worst", "excess", "beyond_level"), strict=True):
        yield right(name, partial(_signed, attrgetter(measure)))


def _signed(measure: Callable[[Any], Interval | None], row: tuple[Any, ...]) -> str | None:
    value = measure(row[-1])
    return None if value is None else plus_minus(value, signed=True)


def _ranked(title: str, rankings: Sequence[Ranking]) -> Table:
    columns = (
        Column("by", lambda ranking: ranking.first),
        Column("and by", lambda ranking: ranking.second),
        right("methods", lambda ranking: ranking.found.methods),
        right("T", lambda ranking: _tasks(ranking.found)),
        right("Spearman", lambda ranking: _correlation(ranking.found)),
    )
    return Table(title, columns, rankings)


def _tasks(correlation: RankCorrelation) -> str:
    same = correlation.tasks == correlation.other_tasks
    return str(correlation.tasks) if same else f"{correlation.tasks}, {correlation.other_tasks}"


def _correlation(correlation: RankCorrelation) -> str:
    text = (
        "none: one metric is the same for all"
        if correlation.value is None
        else f"{correlation.value:.2f}"
    )
    if correlation.low is not None and correlation.high is not None:
        text += f" ({correlation.low:.2f} to {correlation.high:.2f})"
    return text
