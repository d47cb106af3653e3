"""Make all reference results again from the features that the embedded release holds.

Those on pooled sets, too: 4,000 tasks of each.  The tests leave most pooled sets out.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.digest import content_digest
from builders.baselines import run_head
from builders.release.results import with_right_queries
from fslbench_data.release.release import Release, load_release

BACKBONES = ("pixels", "efficientnet_lite0-pca128")
HEADS = ("NCC", "MatchingNet", "LR")


def told(
    release: Release, method: str, datasets: Sequence[str], task_sets: Sequence[str] = ()
) -> pa.Table:
    """Return a reference method's results on some data sets and, if given, task sets."""
    (table,) = (each.table for each in release.references() if [*each.methods] == [method])
    for column, values in (("dataset", datasets), ("task_set", task_sets)):
        if values:
            among = pc.is_in(table.column(column).cast(pa.string()), pa.array(values))
            table = table.filter(among)
    return table


def digests_of_both(
    release: Release,
    backbone: str,
    head: str,
    datasets: Sequence[str],
    task_sets: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the digests of a method's results made again, and of those that the release holds."""
    kept = told(release, f"{backbone}/{head}", datasets, task_sets)
    names = kept.column("task_set").unique().to_pylist()
    made = run_head(release, head, backbone, datasets, task_sets=names)
    again = with_right_queries(made, release)
    return content_digest(_wide(again.table)), content_digest(_wide(kept))


def _wide(table: pa.Table) -> pa.Table:
    """Return classes that are told as int16, as some set of a method has them, or none."""
    for name in ("predictions", "second"):
        if (at := table.schema.get_field_index(name)) >= 0:
            column = table.column(at).cast(pa.list_(pa.int16()))
            table = table.drop_columns([name])
            if column.null_count < len(column):
                table = table.append_column(name, column)
    return table


def main() -> None:
    """Answer every task of the data sets with features, with each head."""
    release = load_release()
    wrong = []
    for backbone in BACKBONES:
        datasets = release.datasets_with("features", backbone)
        for head in HEADS:
            again, kept = digests_of_both(release, backbone, head, datasets)
            rows = len(told(release, f"{backbone}/{head}", datasets))
            same = "the same" if again == kept else "DIFFERENT"
            print(f"{backbone}/{head} on {', '.join(datasets)}: {rows:,} tasks, {same}")
            if again != kept:
                wrong.append(f"{backbone}/{head}")
    assert not wrong, wrong
