"""A report as CSV and JSON, for machines; byte-identical for the same inputs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import compress
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis_sql.comparison.verdicts import VERDICTS, PairColumns, Verdict
from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.bounds import zero_bound
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS, Interval
from analysis_sql.ranking.told_apart import Evidence, Ties
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.draws_text import values as draw_values
from fslbench_data.render.interval_text import plus_minus, unseen_text
from fslbench_data.render.table import csv_text, json_text, objects, one_line
from fslbench_data.scoring.own_release import DrawFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.task_set_report import (
    MARKS,
    OF_TWO,
    WHICH_OF_TWO,
    Facts,
    TaskSetReport,
)

COLUMNS = {
    name: {"T": "tasks", "diff": "difference", "diff_halfwidth": "halfwidth"}.get(name, name)
    for name in (
        "dataset", "task_set", "method", "versus", "T", "mean", "mean_halfwidth", "diff",
        "diff_halfwidth", "verdict", "verdict_direct", "verdict_closed", "interval", "level",
        "reason", "trained", "versus_trained", "run_error", "of_one_model",
    )
}  # fmt: skip
"""Columns and their names in the relation of comparisons."""


def render_csv(report: Report) -> str:
    """Write the signature as a line beginning with ``#``, a header, and the comparisons.

    One line a comparison and kind of interval, first the one that the task set carries; the column
    `interval` tells them apart.

    A method that there is nothing to compare with gets a line of its own with an empty
    `versus`, so that its mean is not lost.  What is not estimable, or not there, is empty; `reason`
    says why nothing is concluded where the tasks as such would allow it.

    Of a log of all classes at once: a line a method, and one a pair.
    """
    if isinstance(report.log, DrawFacts):
        return csv_text(draw_values(report, report.log), str(report.signature))
    lines = [f"# {one_line(str(report.signature))}\n", _line(COLUMNS)]
    for each in report.sets:
        for batch in each.batches(with_p=False):
            columns = [_written(batch.column(name)) for name in COLUMNS.values()]
            joined = pc.binary_join_element_wise(*columns, ",")
            lines.append("\n".join([*joined.to_pylist(), ""]))
        lines += map(_line, _alone(each))
    return "".join(lines)


def _line(values: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue()


def _written(column: pa.Array) -> pa.Array:
    """Write the values of a column; the same ones once."""
    coded = column.dictionary_encode()
    if pa.types.is_string(column.type):
        texts = [_line([text, ""])[:-2] for text in coded.dictionary.to_pylist()]
    else:
        texts = [*map(repr, coded.dictionary.to_pylist())]
    return pa.array(texts, pa.string()).take(coded.indices).fill_null("")


def _alone(each: TaskSetReport) -> Iterator[list[object]]:
    """Give lines of methods that there is nothing to compare with, one a kind of interval."""
    own = len(each.asked)
    alone = ~(each.asked.any(axis=1) | each.asked[:, :own].any(axis=0))
    for i in np.flatnonzero(alone).tolist():
        score = each.scores[i]
        values = {
            "dataset": score.dataset,
            "task_set": score.task_set,
            "method": score.method,
            "reason": PREFIX if score.prefix else "",
            "trained": score.trained,
            "run_error": score.run_error,
            "of_one_model": WHICH_OF_TWO[score.of_one_model, False],
        }
        for kind in each.kinds:
            mean = score.intervals[kind]
            of_kind = {
                "interval": kind,
                "tasks": mean.tasks,
                "mean": mean.mean,
                "mean_halfwidth": mean.halfwidth,
                "level": mean.level,
            }
            yield [(values | of_kind).get(name) for name in COLUMNS.values()]


OfKinds = Mapping[IntervalKind, PairColumns]
"""What each kind of interval says of some pairs."""


def json_pieces(report: Report) -> Iterator[str]:
    """Give the signature (as text and in parts), scores and comparisons, in percentage points.

    Some comparisons are a piece, since they may be very many.
    """
    comparisons = '\n "comparisons": ['
    before, _, after = json_text(_content(report)).partition(comparisons)
    yield before + comparisons
    separator = "\n  "
    for each in report.sets:
        for rows, columns, found in each.pairs_at_once():
            yield separator + ",\n  ".join(_comparisons(each, rows, columns, found))
            separator = ",\n  "
    yield ("" if separator == "\n  " else "\n ") + after


def _content(report: Report) -> dict[str, Any]:
    """Return everything but the comparisons."""
    kinds = sorted({kind for each in report.sets if each.scores for kind in each.kinds})
    about = [{"dataset": s.scored.dataset, "task_set": s.scored.task_set} for s in report.sets]
    sets = list(zip(report.sets, about, strict=True))
    content = {
        "signature": {"text": str(report.signature), **asdict(report.signature)},
        "estimands": {
            **{str(kind): ESTIMANDS[kind] for kind in kinds},
            "p_sign_flip": INDEPENDENT_TASKS,
        },
        "scores": [_score(score) for each in report.sets for score in each.scores],
        "comparisons": [],
        "ties": [of_set | _ties(each.ties) for each, of_set in sets if each.ties is not None],
        "new_classes": [
            of_set
            | {
                "level": each.level,
                "classes": each.design.classes,
                "unseen_bound": zero_bound(each.design.classes, each.level),
                "sentence": unseen_text(each.design.classes, each.level),
            }
            for each, of_set in sets
            if each.design is not None
        ],
        "verdict_counts": {k: asdict(count) for k, count in report.verdict_counts.items()},
        "verdict_counts_where_reused": {
            k: asdict(count) for k, count in report.counts_where_reused.items()
        },
    }
    if isinstance(report.log, DrawFacts):
        content["all_classes"] = objects(draw_values(report, report.log))
    return content if report.log is None else content | {"log": asdict(report.log)}


def _score(score: Score) -> dict[str, object]:
    values = {field.name: getattr(score, field.name) for field in fields(score)}
    del values["interval_kind"], values["intervals"], values["run_means"]
    head = {name: values.pop(name) for name in ("dataset", "task_set", "method", "is_reference")}
    plain = {
        name: asdict(value) if name in ("faultless", "stopped", "near_perfect") and value else value
        for name, value in values.items()
    }
    means: dict[IntervalKind, dict[str, Any]] = {k: asdict(i) for k, i in score.intervals.items()}
    beside = {row.key: means.get(kind) for kind, row in BESIDE.items()}
    accuracy = means[score.interval_kind]
    return {**head, "accuracy": accuracy, **plain, "run_error": score.run_error, **beside}


def _ties(ties: Ties) -> dict[str, object]:
    tied = [*ties.tied.values()]
    beside = {f"tied_{row.key}": ties.tied.get(kind) for kind, row in BESIDE.items()}
    head = {name: getattr(ties, name) for name in ("methods", "adjustment", "family", "best")}
    return {**head, "tied": tied[0], **beside}


def _comparisons(each: TaskSetReport, rows: Ints, columns: Ints, found: OfKinds) -> list[str]:
    """Write some pairs, those of runs that had a rule to stop by themselves."""
    stopped = each.of_stopped[rows, columns]
    texts = np.empty(columns.size, object)
    for kinds, some in ((each.kinds, ~stopped), (each.kinds[:1], stopped)):
        if (places := np.flatnonzero(some)).size:
            of_kinds = {kind: found[kind].some(places) for kind in kinds}
            texts[places] = _filled(_comparison(each, rows[places], columns[places], of_kinds))
    return texts.tolist()


def _comparison(each: TaskSetReport, rows: Ints, columns: Ints, found: OfKinds) -> dict[str, Any]:
    """Return the structure of pairs, with columns for values."""
    facts, evidence = each.facts(rows, columns), each.evidence_at(rows, columns)
    names = pa.array(each.methods)
    method, versus = (names.take(pa.array(places)) for places in (rows, columns))
    pairs = [*zip(method.to_pylist(), versus.to_pylist(), strict=True)]
    of_one_model = map(compress, pairs, (OF_TWO[which] for which in facts.of_one_model))
    carried = found[each.interval_kind]
    tasks = _numbers(carried.tasks)
    same = [  # whatever the kind
        {"tasks": tasks, "mean": _numbers(mean), "constant": _numbers(constant)}
        for mean, constant in zip(carried.mean, carried.constant, strict=True)
    ]
    by_kind = {kind: _pair(of_kind, same) for kind, of_kind in found.items()}
    return {
        "dataset": each.scored.dataset,
        "task_set": each.scored.task_set,
        "method": _texts(method),
        "versus": _texts(versus),
        **by_kind[each.interval_kind],
        "verdict_closed": _marks(facts.closed),
        **{beside.key: by_kind.get(kind) for kind, beside in BESIDE.items()},
        "run_error": _numbers(facts.run_error),
        "of_one_model": pa.array(map(_list, of_one_model)),
        "reason": _texts(facts.reason),
        "evidence": {
            name: pa.array([_object(value) for value in values])
            if name == "identical"
            else _numbers(np.array(values, float))
            for name in (field.name for field in fields(Evidence))
            for values in [[getattr(one, name) for one in evidence]]
        },
        "sentence": _texts(_sentences(each, pairs, found, facts)),
    }


def _sentences(
    each: TaskSetReport, pairs: Sequence[tuple[str, str]], found: OfKinds, facts: Facts
) -> Iterator[str]:
    carried = found[each.interval_kind]
    verdicts = [[VERDICTS[code] for code in of.verdict.tolist()] for of in found.values()]
    usual = ([MARKS[code] for code in codes.tolist()] for codes in (carried.direct, facts.closed))
    return map(
        _sentence,
        pairs,
        carried.intervals_of(2),
        verdicts[0],
        zip(*usual, strict=True),
        (dict(zip(found, of_pair, strict=True)) for of_pair in zip(*verdicts, strict=True)),
        facts.reason,
        map(compress, pairs, (OF_TWO[which] for which in facts.of_one_model)),
    )


_CLAIM = {
    Verdict.BETTER: ("better", "than"),
    Verdict.WORSE: ("worse", "than"),
    Verdict.INCONCLUSIVE: ("no difference", "from"),
    Verdict.IDENTICAL: ("no difference", "from"),
    Verdict.NOT_ESTIMABLE: ("nothing", "about"),
}


def _sentence(
    methods: tuple[str, str],
    found: Interval,
    concluded: Verdict,
    usual: tuple[Verdict | None, Verdict | None],
    of_kinds: Mapping[IntervalKind, Verdict],
    reason: str,
    of_one_model: Iterable[str],
) -> str:
    """Say what is concluded of two methods, and where other kinds of interval do not agree.

    `usual` are the verdicts of error bars and of closed intervals.
    """
    a, b = methods
    tasks = f"{found.tasks} task{'s' if found.tasks != 1 else ''}"
    size = f"{abs(found.mean):.2f} points"
    if found.halfwidth and not found.constant:
        size = f"{plus_minus(found).removeprefix('-')} points"
    significant = concluded in (Verdict.BETTER, Verdict.WORSE)
    if concluded is Verdict.IDENTICAL:
        text = f"{a} and {b} answer alike: identical counts on all {tasks}"
    elif reason:
        text = f"nothing is concluded about {a} and {b} from {tasks}: {reason}"
    elif concluded is Verdict.NOT_ESTIMABLE and found.constant and found.tasks > 1:
        text = f"{a} and {b} differ by the same {size} on each of {tasks}, too few to conclude from"
    elif concluded is Verdict.NOT_ESTIMABLE:
        text = f"nothing can be concluded about {a} and {b} from {tasks}"
    elif concluded is Verdict.INCONCLUSIVE:
        text = f"no significant difference between {a} and {b} on {tasks} ({plus_minus(found)})"
    else:
        constant = ", the same on every task" if found.constant else ""
        text = f"{a} is {_CLAIM[concluded][0]} than {b} by {size}{constant}, on {tasks}"
    otherwise = []
    for kind, row in BESIDE.items():
        verdict = of_kinds.get(kind, concluded)
        if verdict is not concluded:
            claim, link = _CLAIM[concluded if significant else verdict]
            before = "Not shown for" if significant else "For"
            otherwise.append(f"{before} {row.about}: {claim} {link} {b}")
    if other := ". ".join(otherwise):
        text += f"; {other[0].lower()}{other[1:]}"
    if significant and (single := [*of_one_model]):
        text += f"; of this one trained model of {' and '.join(single)}"
    same = Verdict.INCONCLUSIVE if concluded is Verdict.IDENTICAL else concluded
    differing = [
        f"{name} would say {_CLAIM[verdict][0]}"
        for name, verdict in zip(("error bars", "usual intervals"), usual, strict=True)
        if verdict is not None and verdict is not same
    ]
    return text + (f"; {' and '.join(differing)}." if differing else ".")


def _pair(found: PairColumns, same: Sequence[Mapping[str, pa.Array]]) -> dict[str, Any]:
    """Return the intervals and verdicts of a kind; `same` are their parts that all kinds share."""
    names = ("mean", "versus_mean", "difference")
    about = {"kind": found.kind, "level": found.level}
    order = ("kind", "level", "tasks", "mean", "halfwidth", "constant")
    return {
        **{
            name: {key: values[key] for key in order}
            for name, part, width in zip(names, same, found.halfwidth, strict=True)
            for values in [{**about, **part, "halfwidth": _numbers(width)}]
        },
        "verdict": _marks(found.verdict),
        "verdict_direct": _marks(found.direct),
    }


def _numbers(values: Any) -> pa.Array:
    """Write numbers or truth values, the same ones once; NaN is null."""
    coded = pa.array(values).dictionary_encode()
    texts = json.dumps(coded.dictionary.to_pylist())[1:-1].replace("NaN", "null")
    return pa.array(texts.split(", ")).take(coded.indices)


def _texts(values: Iterable[str]) -> pa.Array:
    """Write texts, the same ones once."""
    coded = pa.array(values, pa.string()).dictionary_encode()
    return pa.array(map(encode_basestring, coded.dictionary.to_pylist())).take(coded.indices)


def _marks(codes: Any) -> pa.Array:
    """Write verdicts, positions or -1."""
    return pa.array([json.dumps(mark) for mark in MARKS.values()]).take(pa.array(codes + 1))


def _list(texts: Iterable[str]) -> str:
    """Write a list of texts as deep as it stands in a comparison."""
    written = ",\n    ".join(map(encode_basestring, texts))
    return f"[\n    {written}\n   ]" if written else "[]"


def _object(value: Any) -> str:
    """Write an object or None, as deep as it stands in the evidence."""
    if value is None:
        return "null"
    text = json.dumps(asdict(value), indent=1, ensure_ascii=False, allow_nan=False)
    return text.replace("\n", "\n    ")


def _filled(structure: dict[str, Any]) -> list[str]:
    """Write as many objects of one structure as the columns that are its leaves have values."""
    columns: list[pa.Array] = []

    def slot(column: pa.Array) -> str:
        columns.append(column)
        return "\0"

    text = json.dumps(structure, indent=1, ensure_ascii=False, allow_nan=False, default=slot)
    first, *between = text.replace("\n", "\n  ").split('"\\u0000"')
    parts = (part for both in zip(columns, between, strict=True) for part in both)
    texts: list[str] = pc.binary_join_element_wise(first, *parts, "").to_pylist()
    return texts
