"""A report as CSV and JSON, for machines; byte-identical for the same inputs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis_sql.comparison.verdicts import PairColumns
from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.bounds import unseen_bound
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS
from analysis_sql.ranking.told_apart import Evidence, Ties
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.interval_text import sentence, unseen_text
from fslbench_data.render.table import json_text, one_line
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.task_set_report import MARKS, WHICH_OF_TWO, TaskSetReport

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
    """
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

Texts = Iterator[str]
"""A column of values as JSON: a leaf of objects that are written many at a time."""


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
                "unseen_bound": unseen_bound(each.design.classes, each.level),
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
    letters = None if ties.letters is None else dict(zip(ties.methods, ties.letters, strict=True))
    tied = [*ties.tied.values()]
    beside = {f"tied_{row.key}": ties.tied.get(kind) for kind, row in BESIDE.items()}
    head = {name: getattr(ties, name) for name in ("methods", "adjustment", "family", "best")}
    return {**head, "tied": tied[0], **beside, "letters": letters}


def _comparisons(each: TaskSetReport, rows: Ints, columns: Ints, found: OfKinds) -> list[str]:
    """Write some pairs, those of runs that had a rule to stop by themselves."""
    stopped = each.of_stopped[rows, columns]
    texts = np.empty(columns.size, object)
    for kinds, some in ((each.kinds, ~stopped), (each.kinds[:1], stopped)):
        if (places := np.flatnonzero(some)).size:
            of_kinds = {kind: found[kind].some(places) for kind in kinds}
            texts[places] = _filled(_comparison(each, rows[places], columns[places], of_kinds))
    return [text.replace("\n", "\n  ") for text in texts]


def _comparison(each: TaskSetReport, rows: Ints, columns: Ints, found: OfKinds) -> dict[str, Any]:
    comparisons = each.comparisons_at(rows, columns, [*found.values()])
    evidence = each.evidence_at(rows, columns)
    by_kind = {kind: _pair(of_kind) for kind, of_kind in found.items()}
    return {
        "dataset": each.scored.dataset,
        "task_set": each.scored.task_set,
        "method": _texts(c.method for c in comparisons),
        "versus": _texts(c.versus for c in comparisons),
        **by_kind[each.interval_kind],
        "verdict_closed": _texts(c.verdict_closed for c in comparisons),
        **{beside.key: by_kind.get(kind) for kind, beside in BESIDE.items()},
        "run_error": _texts(c.run_error for c in comparisons),
        "of_one_model": _objects((c.of_one_model for c in comparisons), 1),
        "reason": _texts(c.reason for c in comparisons),
        "evidence": {
            name: _objects(map(attrgetter(name), evidence), 2)
            if name == "identical"
            else _texts(map(attrgetter(name), evidence))
            for name in (field.name for field in fields(Evidence))
        },
        "sentence": _texts(map(sentence, comparisons)),
    }


def _pair(found: PairColumns) -> dict[str, Any]:
    """Return the intervals and verdicts of a kind, with columns for values."""

    def interval(i: int) -> dict[str, Any]:
        return {
            "kind": found.kind,
            "level": found.level,
            "tasks": _numbers(found.tasks),
            "mean": _numbers(found.mean[i]),
            "halfwidth": _numbers(found.halfwidth[i]),
            "constant": _numbers(found.constant[i]),
        }

    return {
        **{name: interval(i) for i, name in enumerate(("mean", "versus_mean", "difference"))},
        "verdict": _texts(MARKS[code] for code in found.verdict.tolist()),
        "verdict_direct": _texts(MARKS[code] for code in found.direct.tolist()),
    }


def _numbers(values: Any) -> Texts:
    """Write numbers or truth values; NaN is null."""
    return iter(json.dumps(values.tolist())[1:-1].replace("NaN", "null").split(", "))


def _texts(values: Iterable[Any]) -> Texts:
    """Write texts and numbers, or None."""
    for value in values:
        if isinstance(value, float):
            yield float.__repr__(value)
        else:
            yield encode_basestring(value) if isinstance(value, str) else _object(value, 0)


def _objects(values: Iterable[Any], depth: int) -> Texts:
    """Write lists, or objects or None, as deep in an object as they stand."""
    return (_object(value, depth) for value in values)


@lru_cache(maxsize=1024)
def _object(value: Any, depth: int) -> str:
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
    return text.replace("\n", "\n" + " " * depth)


def _filled(structure: dict[str, Any]) -> list[str]:
    """Write as many objects of one structure as the columns that are its leaves have values."""
    columns: list[Texts] = []

    def slot(column: Texts) -> str:
        columns.append(column)
        return "\0"

    text = json.dumps(structure, indent=1, ensure_ascii=False, allow_nan=False, default=slot)
    template = text.replace("%", "%%").replace('"\\u0000"', "%s")
    return [template % values for values in zip(*columns, strict=True)]
