"""What a researcher's own random tasks show, as CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import partial
from operator import attrgetter
from typing import Any

from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut
from fslbench_data.render.own_tasks_text import estimands, sentence
from fslbench_data.render.table import Column, Table, csv_text, json_text
from fslbench_data.scoring.own_report import Estimate, OwnTasks, OwnTaskSet, Width

_OF_WIDTH = tuple(field.name for field in fields(Width))


def own_csv(report: OwnTasks) -> str:
    """Write one row a method and one a pair, after the signature as a line beginning with ``#``."""
    columns = (
        *(Column(name, attrgetter(name)) for name in ("method", "versus", "tasks", "mean")),
        Column("level", lambda _: report.level),
        *(
            Column(f"{kind}_{name}", partial(_of_width, kind, name))
            for kind in LEFT_OUT
            for name in (*_OF_WIDTH, "verdict")
        ),
    )
    return csv_text(Table("", columns, _all(report)), report.signature)


def own_json(report: OwnTasks) -> str:
    """Write everything; null is not estimable, or not there."""
    return json_text(
        {
            "signature": report.signature,
            "source": report.source,
            "level": report.level,
            "classes": report.classes,
            "images": report.images,
            "unseen": report.unseen,
            "sizes_known": report.sizes_known,
            "roles": report.roles,
            "trained": report.trained,
            "run_column": report.run_column,
            "superclasses": report.superclasses,
            "estimands": estimands(report),
            "sets": [_content(group) for group in report.sets],
            "warnings": list(report.warnings),
            "sentence": sentence(report),
        }
    )


def _content(group: OwnTaskSet) -> dict[str, Any]:
    return {
        "tasks": group.tasks,
        "way": group.way,
        "images_per_class": group.per_class,
        "digest": group.digest,
        "unit": group.unit,
        "why": dict(group.why),
        "bounded": dict(group.bounded),
        "methods": [
            {"method": e.method, "mean": e.mean, "runs": e.runs[0], **_widths(e)}
            for e in group.means
        ],
        "pairs": [
            {"method": e.method, "versus": e.versus, "difference": e.mean, **_widths(e)}
            for e in group.pairs()
        ],
    }


def _widths(estimate: Estimate) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for kind in LEFT_OUT:
        width = estimate.widths.get(kind)
        content[kind] = None if width is None else asdict(width)
        if width is not None and estimate.versus:
            content[kind]["verdict"] = str(estimate.verdict(kind))
    return content


def _all(report: OwnTasks) -> Iterator[Estimate]:
    for group in report.sets:
        yield from group.means
        yield from group.pairs()


def _of_width(kind: LeftOut, name: str, estimate: Estimate) -> object:
    width = estimate.widths.get(kind)
    if width is None:
        return None
    if name == "verdict":
        return estimate.verdict(kind) if estimate.versus else None
    return getattr(width, name)
