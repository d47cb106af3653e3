"""Means over data sets, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter, methodcaller
from typing import Any

from msgspec.structs import replace

from benchmark_spec.errors import listing
from fslbench_data.render.interval_text import capital, percent, verdict_column, width_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.dataset_means import DatasetMean

NOTE = (
    "Each data set counts alike. ± is about new images, or new classes, of these data sets: they "
    "are fixed. The sign test, over data sets, is about others like these."
)


def dataset_mean_tables(
    means: Sequence[DatasetMean], left_out: Sequence[str] = (), *, harmonic: bool = False
) -> list[Table]:
    """Return a table of the methods' means, and one of the differences of pairs.

    A note names the methods `left_out`, which do not answer all data sets.
    """
    singles = [row for row in means if row.versus is None]
    pairs = [row for row in means if row.versus is not None]
    what = f"{'harmonic ' if harmonic else ''}means over data sets"
    title = capital(what)
    if not singles:
        note = "no method answers all of two or more data sets of some ways and shots (--dataset)"
        return [Table(title, (Column("method", str),), [], (note,))]
    level = f"± {percent(singles[0].level)} CI"
    tables = [_table(f"{title}, {level}", singles)]
    if pairs:
        tables.append(_table(f"Differences of {what}, {level}", pairs))
    over = "; ".join(listing(names, 12) for names in dict.fromkeys(row.task_sets for row in means))
    notes = [f"Task sets: {over}.", NOTE]
    if left_out:
        notes.append(
            f"Not shown, without all tasks of all these data sets: {listing(left_out, 4)}."
        )
    return [*tables[:-1], replace(tables[-1], notes=tuple(notes))]


def _table(title: str, rows: Sequence[DatasetMean]) -> Table:
    """Return a table with a row per method or pair, and half-widths by what they are about."""
    lines: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault((row.ways, row.shots, row.method, row.versus), {})
        line["mean over"] = f"{len(row.datasets)} data sets, {row.tasks}"
        line |= {"method": row.method, "versus": row.versus, "mean": f"{row.mean:.2f}"}
        if row.versus is not None:
            line["difference"] = f"{row.difference:+z.2f}"
            line["higher on"] = f"{row.higher} of {len(row.datasets)}"
            line["sign test p"] = f"{row.sign_p:.2g}"
        line[f"± {row.about}"] = None if row.halfwidth is None else width_text(row.halfwidth)
        line[row.about] = row.verdict
    of_pairs = rows[0].versus is not None
    over, method = itemgetter("mean over"), itemgetter("method")
    columns = [Column("mean over", over, once=over)]
    columns.append(Column("method", method, once=method if of_pairs else None))
    if of_pairs:
        columns.append(Column("versus", itemgetter("versus")))
    mean = "difference" if of_pairs else "mean"
    columns.append(right(mean, itemgetter(mean)))
    for about in dict.fromkeys(row.about for row in rows):
        columns.append(right(f"± {about}", methodcaller("get", f"± {about}"), "n/a"))
        if of_pairs:
            columns.append(verdict_column(about, methodcaller("get", about)))
    if of_pairs:
        columns += [right(name, itemgetter(name)) for name in ("higher on", "sign test p")]
    return Table(title, tuple(columns), [*lines.values()])
