"""Means over data sets, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter

from analysis_sql.comparison.verdicts import Verdict
from fslbench_data.render.interval_text import verdict_column, width_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.dataset_means import DATASET_MEANS, DatasetMean, dataset_mean_table

Row = dict[str, DatasetMean]
"""A method, or a pair, by what the interval is about."""

NOTE = (
    "Each data set counts alike. ± is about new images, or new classes, of these data sets: they "
    "are fixed. The sign test, over data sets, is about others like these."
)


def dataset_mean_tables(means: Sequence[DatasetMean], *, harmonic: bool = False) -> list[Table]:
    """Return the means of methods, and the differences of pairs, a table each."""
    singles = [row for row in means if row.versus is None]
    pairs = [row for row in means if row.versus is not None]
    what = f"{'harmonic ' if harmonic else ''}means over data sets"
    title = f"{what[0].upper()}{what[1:]}"
    if not singles:
        note = "no method answers task sets of the same ways and shots on two data sets or more"
        return [Table(title, (Column("method", str),), [], (note,))]
    level = f"± {100 * singles[0].level:.8g} % CI"
    tables = [_table(f"{title}, {level}", singles, _of_methods(singles))]
    if pairs:
        tables.append(_table(f"Differences of {what}, {level}", pairs, _of_pairs(pairs)))
    return [*tables[:-1], replace(tables[-1], notes=(NOTE,))]


def values(means: Sequence[DatasetMean]) -> Table:
    """Return the rows of SQL's table `dataset_means`: for CSV and JSON."""
    rows = dataset_mean_table(means).to_pylist()
    columns = (Column(name, itemgetter(name)) for name in DATASET_MEANS.names)
    return Table("", tuple(columns), rows)


def _table(title: str, rows: Sequence[DatasetMean], columns: Sequence[Column]) -> Table:
    by_pair: dict[tuple[object, ...], Row] = {}
    for row in rows:
        key = row.ways, row.shots, row.method, row.versus
        by_pair.setdefault(key, {})[row.about] = row
    return Table(title, tuple(columns), [*by_pair.values()])


def _any(row: Row) -> DatasetMean:
    return next(iter(row.values()))


def _sets(row: Row) -> str:
    one = _any(row)
    return f"{len(one.datasets)} data sets, {one.ways}-way {one.shots}-shot"


def _about(rows: Sequence[DatasetMean]) -> list[str]:
    return [*dict.fromkeys(row.about for row in rows)]


def _width(about: str, row: Row) -> str | None:
    width = row[about].halfwidth if about in row else None
    return None if width is None else width_text(width)


def _of_methods(rows: Sequence[DatasetMean]) -> list[Column]:
    return [
        Column("mean over", _sets, once=_sets),
        Column("method", lambda row: _any(row).method),
        right("mean", lambda row: f"{_any(row).mean:.2f}"),
        *(right(f"± {about}", partial(_width, about), "n/a") for about in _about(rows)),
    ]


def _of_pairs(rows: Sequence[DatasetMean]) -> list[Column]:
    columns = [
        Column("mean over", _sets, once=_sets),
        Column("method", lambda row: _any(row).method, once=lambda row: _any(row).method),
        Column("versus", lambda row: _any(row).versus),
        right("difference", lambda row: f"{_any(row).difference:+.2f}"),
    ]
    for about in _about(rows):
        columns.append(right(f"± {about}", partial(_width, about), "n/a"))
        columns.append(verdict_column(about, partial(_verdict, about)))
    return [
        *columns,
        right("higher on", lambda row: f"{_any(row).higher} of {len(_any(row).datasets)}"),
        right("sign test p", lambda row: f"{_any(row).sign_p:.2g}"),
    ]


def _verdict(about: str, row: Row) -> Verdict | None:
    return row[about].verdict if about in row else None
