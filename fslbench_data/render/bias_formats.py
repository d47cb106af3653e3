"""Ladders for machines: one row a figure, as CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from operator import itemgetter
from typing import Any

from analysis_sql.bias.spurious_bias import Contrast, StepScore
from fslbench_data.render.table import Column, Table, csv_text, json_text, objects
from fslbench_data.scoring.bias import BiasReport, MethodBias, PairBias, Ranking, step_of
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.task_set_report import WHICH_OF_TWO

COLUMNS = (
    "dataset", "ladder", "method", "versus", "is_reference", "step", "to", "measure", "mean",
    "halfwidth", "T", "interval", "level", "of_one_model", "reason",
)  # fmt: skip
MEASURES = ("accuracy", "worst_class", "excess", "excess_beyond_level")
OF_STEP = (
    "accuracy", "worst_class", "independent", "equal", "excess", "excess_of_level",
    "excess_beyond_level",
)  # fmt: skip
LOST = ("accuracy_lost", "worst_class_lost", "excess_gained", "excess_gained_beyond_level")


def bias_csv(report: BiasReport) -> str:
    """Write one row a figure, after the signature as a line beginning with ``#``.

    Measures of a step (`to` is empty): accuracy, worst_class, independent, equal, excess, and on
    all steps but the first excess_of_level and excess_beyond_level.  Of a gap, from `step` to `to`:
    accuracy_lost, worst_class_lost, excess_gained, excess_gained_beyond_level.  Where there is a
    `versus`, the figure is that of `method` minus that of `versus`, paired by task.  `reason` says
    why nothing is concluded from it, and `of_one_model` which of the two has one training run and
    may differ from run to run: method, versus or both.  Of no method are inter_class, the share in
    per cent of (task, class) of a step whose queries have another class's attribute, and spearman,
    the correlation of the methods' ranks by two metrics, from `low` to `high`.
    """
    columns = [Column(name, itemgetter(name)) for name in COLUMNS]
    columns += [Column(name, partial(_end, name)) for name in ("low", "high")]
    rows = [*_rows(report), *_correlations(report)]
    return csv_text(Table("", tuple(columns), rows), str(report.signature))


def bias_json(report: BiasReport) -> str:
    """Write the same rows as JSON, and the rank correlations of the methods."""
    return json_text(
        {
            "signature": str(report.signature),
            "rows": objects(_table(report)),
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


def _table(report: BiasReport) -> Table:
    return Table("", tuple(Column(name, itemgetter(name)) for name in COLUMNS), _rows(report))


def _end(name: str, row: dict[str, Any]) -> float | None:
    return row.get(name)


def _correlations(report: BiasReport) -> Iterator[dict[str, Any]]:
    """Give the rank correlations of each ladder, and of ladders with each other, as rows."""
    empty = dict.fromkeys(COLUMNS, "") | {"is_reference": False, "halfwidth": None, "interval": ""}
    ranked = [(each.dataset, each.name, r) for each in report.ladders for r in each.rankings]
    for dataset, ladder, ranking in (*ranked, *(("", "", r) for r in report.agreement)):
        found = ranking.found
        yield empty | {
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
    for ladder in report.ladders:
        answers, prefixes = ladder.answers, {*ladder.answers.prefixes}
        about: dict[str, Any] = {"dataset": ladder.dataset, "ladder": ladder.name}
        about["level"] = report.signature.level
        empty = "method", "versus", "interval", "of_one_model", "reason"
        of_none = dict.fromkeys(empty, "") | {"is_reference": False}
        tasks = {step_of(info): info.n_tasks for info in answers.infos}
        for step, share in answers.inter_class.items():
            told = {"step": step, "to": "", "measure": "inter_class", "mean": 100 * share}
            yield about | of_none | told | {"halfwidth": None, "T": tasks[step]}
        for method in ladder.methods:
            own = {"method": method.method, "versus": "", "is_reference": method.is_reference}
            own["reason"] = PREFIX if method.method in prefixes else ""
            own["of_one_model"] = "method" if method.method in answers.of_one_model else ""
            for row in (*_steps(method), *_figures(method.gaps, LOST)):
                yield about | own | row
        for pair in ladder.pairs:
            both = {"method": pair.method, "versus": pair.versus, "is_reference": False}
            both["reason"] = PREFIX if {pair.method, pair.versus} & prefixes else ""
            single = answers.of_one_model
            both["of_one_model"] = WHICH_OF_TWO[pair.method in single, pair.versus in single]
            for row in _pair(pair):
                yield about | both | row


def _steps(method: MethodBias) -> Iterator[dict[str, Any]]:
    for step, score in method.steps.items():
        told = {row["measure"]: row for row in _figures([(step, "", score)], MEASURES)}
        alone = {
            "independent": score.independent,
            "equal": score.equal,
            "excess_of_level": score.of_level,
        }
        for measure, mean in alone.items():
            if mean is not None:
                told[measure] = told["accuracy"] | {
                    "measure": measure, "mean": mean, "halfwidth": None,
                }  # fmt: skip
        yield from (told[measure] for measure in OF_STEP if measure in told)


def _pair(pair: PairBias) -> Iterator[dict[str, Any]]:
    yield from _figures([(step, "", contrast) for step, contrast in pair.steps.items()], MEASURES)
    if pair.lost is not None:
        first, *_, last = pair.steps
        yield from _figures([(first, last, pair.lost)], LOST)


def _figures(
    measured: Iterable[tuple[str, str, StepScore | Contrast]], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Give accuracy, wAcc and, where there is one, the excess of each, under these names."""
    for step, to, of in measured:
        values = (of.accuracy, of.worst, of.excess, of.beyond_level)
        for name, value in zip(names, values, strict=True):
            if value is not None:
                yield {
                    "step": step,
                    "to": to,
                    "measure": name,
                    "mean": value.mean,
                    "halfwidth": value.halfwidth,
                    "T": value.tasks,
                    "interval": value.kind,
                }
