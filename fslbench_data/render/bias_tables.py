"""Ladders as tables: scores of their steps, gaps between steps, rankings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

from msgspec.structs import asdict, replace

from analysis_sql.bias import RankCorrelation
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import listing, many
from fslbench_data.render.interval_text import (
    fixed,
    one_model_text,
    percent,
    plus_minus,
    sentences,
)
from fslbench_data.render.table import Column, Table, csv_of_rows, json_text, of_tuples, right
from fslbench_data.scoring.bias import BiasReport, Ladder, Ranking, step_of
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import WHICH_OF_TWO

NOTES = (
    "Reliance on the attribute is the accuracy lost from support to inter, or from same to other: "
    "it orders methods of known reliance best; wAcc and the excess can order them the wrong way "
    "round (docs/bias.md).",
    "wAcc: accuracy of a task's worst class, mean over tasks. independent: what it would be for "
    "classes of the mean accuracy, independent of each other. equal: for equally hard classes, "
    "given how many queries of each task are right. excess: equal minus wAcc; an unlucky support "
    "set makes one too, so compare steps, never one excess alone. Nothing with one query a class.",
    "of level: the excess that the level of accuracy alone would give, if classes differed as on "
    "the first step and all moved by one shift of the logit. beyond level: excess minus that.",
    "lost, gained: from one step to the other, paired over the same classes.",
)
OF_RANKINGS = (
    "Spearman: correlation of the methods' ranking, of these trained models; in brackets: of "
    "bootstrap samples of tasks, whose noise makes rankings less alike (no confidence interval)."
)
"""The note of tables that compare rankings."""


FEW_INTER_CLASS = 0.5
"""The share of (task, class) with inter-class queries below which a step is not about them."""


def bias_notes(report: BiasReport) -> tuple[str, ...]:
    """Say what the columns of the tables mean."""
    ranked = report.agreement or any(ladder.rankings for ladder in report.ladders)
    return (*NOTES, OF_RANKINGS) if ranked else NOTES


def bias_tables(report: BiasReport, *, all_references: bool = False) -> list[Table]:
    """Return the tables of each ladder, and one that compares the ladders.

    A submission is shown with the nearest references, unless all are asked for.
    """
    tables: list[Table] = []
    for ladder in report.ladders:
        own = [method for method in ladder.by_method if method not in ladder.references]
        hidden = {*ladder.by_method} - {*own, *ladder.nearest}
        if all_references or not own:
            hidden = set()
        first, *others = _tables(ladder, hidden)
        is_open = ladder.kind == "open"
        estimand = "new images of these classes" if is_open else "new tasks of these images"
        about = f"{percent(ladder.level)} {ladder.kind} intervals ({estimand})"
        tables += [
            replace(first, title=f"{first.title}, {about}", notes=_notes(ladder, hidden)),
            *others,
        ]
    if report.agreement:
        tables.append(_ranked("Ladders compared: how alike methods are ranked", report.agreement))
    return tables


def _notes(ladder: Ladder, hidden: Collection[str]) -> tuple[str, ...]:
    notes = [inter_class_note(ladder)] if ladder.inter_class else []
    if hidden:
        notes.append(f"{many(len(hidden), 'more reference method')}: --all-references.")
    if ladder.left_out:
        left_out = ", ".join(ladder.left_out)
        notes.append(f"Not shown, without counts by class or with a rule to stop: {left_out}.")
    if ladder.prefixes:
        notes.append(f"Nothing is concluded about {listing(ladder.prefixes, 10)}: {PREFIX}.")
    several = [
        method
        for method, by_step in ladder.by_method.items()
        if any(counts.ndim > 2 for counts in by_step.values())
    ]
    if several and ladder.kind == "closed":
        several_runs = f"Several runs of {listing(several, 4)}: their mean."
        notes.append(f"{several_runs} Intervals do not count how runs differ.")
    return (*notes, *sentences(one_model_text(ladder.of_one_model)))


def _tables(ladder: Ladder, hidden: Collection[str]) -> Iterator[Table]:
    """Yield the tables of a ladder; a row ends with the values that its columns take."""
    title, values = f"{ladder.dataset}/{ladder.name}", ladder.values.items()
    by_key = [(k, value) for k, value in values if not {k.method, k.versus} & {*hidden}]
    gaps = [(k.method, k.step, k.to, gap) for k, gap in by_key if k.to and not k.versus]
    if gaps:
        yield Table(
            title=f"{title}: from step to step",
            columns=(
                *_once("method", "from", "to"),
                *_differences("accuracy lost", "wAcc lost", "excess gained", "beyond level"),
            ),
            rows=gaps,
        )
    yield Table(
        title=f"{title}: each step",
        columns=(
            *_once("method", "step"),
            right("T", lambda row: row[-1].accuracy.tasks),
            *(
                right(heading, partial(_measured, attribute, signed=heading == "beyond level"))
                for heading, attribute in zip(STEP_HEADINGS, OF_STEP.values(), strict=True)
            ),
        ),
        rows=[(k.method, k.step, step) for k, step in by_key if not k.to and not k.versus],
    )
    if ladder.pairs:
        pairs = [(k, contrast) for k, contrast in by_key if k.versus]
        pairs.sort(key=lambda pair: (ladder.pairs.index(pair[0][:2]), not pair[0].to))
        yield Table(
            title=f"{title}: methods compared",
            columns=(
                *_once("method", "versus", "on"),
                *_differences("accuracy", "wAcc", "excess", "beyond level"),
            ),
            rows=[
                (k.method, k.versus, f"lost, {k.step}-{k.to}" if k.to else k.step, contrast)
                for k, contrast in pairs
            ],
        )
    if ladder.rankings:
        yield _ranked(f"{title}: how alike methods are ranked", ladder.rankings)


def _once(*names: str) -> Iterator[Column]:
    """Yield the columns with which a row begins; methods stand in the first of their rows."""
    for i, column in enumerate(of_tuples(*names)):
        is_method = column.name in ("method", "versus")
        yield replace(column, once=itemgetter(*range(i + 1))) if is_method else column


def inter_class_note(ladder: Ladder) -> str:
    """Say in how many (task, class) some queries have another class's attribute."""
    shares = {step: f"{100 * share:.0f} %" for step, share in ladder.inter_class.items()}
    if len(set(shares.values())) == 1:
        shares = {" and ".join(shares): next(iter(shares.values()))}
    by_step = ", ".join(f"{share} ({step})" for step, share in shares.items())
    few = min(ladder.inter_class.values()) < FEW_INTER_CLASS
    nothing = ": of the others' attributes nothing can be said" if few else ""
    return f"Queries have another class's attribute in {by_step} of (task, class){nothing}."


def _differences(*names: str) -> Iterator[Column]:
    """Yield the columns of a gap or a contrast, with which a row ends."""
    for name, attribute in zip(names, LOST.values(), strict=True):
        yield right(name, partial(_measured, attribute, signed=True))


def _measured(attribute: str, row: tuple[Any, ...], *, signed: bool) -> str | None:
    value = getattr(row[-1], attribute)
    return plus_minus(value, signed=signed) if isinstance(value, Interval) else fixed(value)


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
    return ", ".join(map(str, dict.fromkeys((correlation.tasks, correlation.other_tasks))))


def _correlation(correlation: RankCorrelation) -> str:
    text = fixed(correlation.value, missing="none: one metric is the same for all")
    if correlation.low is None or correlation.high is None:
        return text
    return f"{text} ({fixed(correlation.low)} to {fixed(correlation.high)})"


COLUMNS = (
    "dataset", "ladder", "method", "versus", "is_reference", "step", "to", "measure", "mean",
    "halfwidth", "T", "interval", "level", "of_one_model", "reason",
)  # fmt: skip
STEP_HEADINGS = "accuracy", "wAcc", "independent", "equal", "excess", "of level", "beyond level"
OF_STEP = {
    "accuracy": "accuracy",
    "worst_class": "worst",
    "independent": "independent",
    "equal": "equal",
    "excess": "excess",
    "excess_of_level": "of_level",
    "excess_beyond_level": "beyond_level",
}
LOST = {
    "accuracy_lost": "accuracy",
    "worst_class_lost": "worst",
    "excess_gained": "excess",
    "excess_gained_beyond_level": "beyond_level",
}
"""Measures of steps and of gaps, with the attribute that has the value."""

_EMPTY = dict.fromkeys(COLUMNS, "") | dict.fromkeys(("halfwidth", "low", "high"))
_EMPTY["is_reference"] = False


def bias_csv(report: BiasReport) -> str:
    """Write one row per value, after the signature as a line beginning with ``#``.

    A step (`to` is empty) has the measures accuracy, worst_class, independent, equal, excess, and
    unless it is the first excess_of_level and excess_beyond_level.  A gap, from `step` to `to`, has
    accuracy_lost, worst_class_lost, excess_gained, excess_gained_beyond_level.  With a `versus`, a
    value is that of `method` minus that of `versus`, paired by task.  `reason` says why nothing is
    concluded, and `of_one_model` which of the two has a single training run: method, versus or
    both.  Two measures are of no method: inter_class, the percentage of (task, class) of a step
    with queries of another class's attribute, and spearman, the correlation of the methods' ranks
    by two metrics, from `low` to `high`.
    """
    names = (*COLUMNS, "low", "high")
    rows = map(itemgetter(*names), chain(_rows(report), _correlations(report)))
    return csv_of_rows(names, rows, str(report.signature))


def bias_json(report: BiasReport) -> str:
    """Write the same rows as JSON, and the rank correlations of the methods."""
    return json_text(
        {
            "signature": str(report.signature),
            "rows": [{name: row[name] for name in COLUMNS} for row in _rows(report)],
            "rankings": [
                {"dataset": ladder.dataset, "ladder": ladder.name, **_ranking(ranking)}
                for ladder in report.ladders
                for ranking in ladder.rankings
            ],
            "agreement": [_ranking(ranking) for ranking in report.agreement],
        }
    )


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {"first": ranking.first, "second": ranking.second, **asdict(ranking.found)}


def _correlations(report: BiasReport) -> Iterator[dict[str, Any]]:
    """Yield the rank correlations of each ladder, then of ladders with each other, as rows."""
    within = [(each.dataset, each.name, r) for each in report.ladders for r in each.rankings]
    between = [("", "", ranking) for ranking in report.agreement]
    for dataset, ladder, ranking in (*within, *between):
        found = ranking.found
        yield _EMPTY | {
            "dataset": dataset,
            "ladder": ladder,
            "step": ranking.first,
            "to": ranking.second,
            "measure": "spearman",
            "mean": found.value,
            "T": found.tasks,
            "level": report.signature.level,
            "low": found.low,
            "high": found.high,
        }


def _rows(report: BiasReport) -> Iterator[dict[str, Any]]:
    """Yield a row for each measure that has a value; only intervals have a half-width."""
    for ladder in report.ladders:
        about = {"dataset": ladder.dataset, "ladder": ladder.name, "level": ladder.level}
        tasks = {step_of(info): info.n_tasks for info in ladder.infos}
        for step, share in ladder.inter_class.items():
            values = {"step": step, "measure": "inter_class", "mean": 100 * share, "T": tasks[step]}
            yield _EMPTY | about | values
        single, prefixes = ladder.of_one_model, ladder.prefixes
        for key, measured in ladder.values.items():
            of_key = {
                **key._asdict(),
                "is_reference": not key.versus and key.method in ladder.references,
                "reason": PREFIX if key.method in prefixes or key.versus in prefixes else "",
                "of_one_model": WHICH_OF_TWO[key.method in single, key.versus in single],
            }
            for measure, attribute in (LOST if key.to else OF_STEP).items():
                value = getattr(measured, attribute, None)
                if value is None:
                    continue
                interval = value if isinstance(value, Interval) else None
                of_measure = {
                    "measure": measure,
                    "mean": value if interval is None else interval.mean,
                    "halfwidth": None if interval is None else interval.halfwidth,
                    "T": (interval or measured.accuracy).tasks,
                    "interval": (interval or measured.accuracy).kind,
                }
                yield _EMPTY | about | of_key | of_measure
