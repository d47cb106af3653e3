"""What a release says of itself in a terminal and in a notebook, from its manifest alone."""

from __future__ import annotations

from collections import Counter

from benchmark_spec.manifest import Manifest
from benchmark_spec.tables import Kind
from fslbench_data.submission.html_table import html_table


def release_text(manifest: Manifest, where: str) -> str:
    """Say its name, how much it holds, and where it lies: two lines."""
    return f"<Release {_summary(manifest)}\n in {where}>"


def release_html(manifest: Manifest) -> str:
    """Write a table of its data sets."""
    task_sets = _tables_of(manifest, "tasks")
    rows = (
        (about.name, about.n_classes, about.n_images, task_sets[about.name])
        for about in manifest.datasets
    )
    columns = ("data set", "classes", "images", "task sets")
    return html_table(_summary(manifest), columns, rows, len(manifest.datasets))


def _summary(manifest: Manifest) -> str:
    methods = {table.name for table in manifest.tables if table.kind == "results"}
    n_task_sets = _tables_of(manifest, "tasks").total()
    return (
        f"{manifest.name}@{manifest.version}: {len(manifest.datasets)} data sets, "
        f"{n_task_sets} task sets, {len(methods)} reference methods"
    )


def _tables_of(manifest: Manifest, kind: Kind) -> Counter[str]:
    return Counter(table.dataset for table in manifest.tables if table.kind == kind)
