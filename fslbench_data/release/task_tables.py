"""Reading the table of a task set: from its file, or drawn again where the release has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import Dataset, Table
from fslbench_data.release.redrawn import redrawn
from fslbench_data.release.tables import open_table, read_table, readable
from fslbench_data.release.values import check_tasks
from fslbench_data.tasks.drawn import Groups, groups_of


def read_tasks(
    entry: Table,
    about: Dataset,
    path_of: Callable[[Table], Path],
    classes: Callable[[str], pa.Table],
    images: Callable[[str], pa.Table] | None,
    column: str = "",
) -> pa.Table:
    """Read a task set, or one column of it, and check its ids.

    Parameters
    ----------
    about
        Of its data set.
    path_of
        Gives the file of a table, compared with the manifest; not asked where there is none.
    classes, images
        Give these tables of a data set, the latter None where images are not known; asked only
        where the tasks are drawn.
    """
    name = TaskSetName.parse(entry.name)

    def check(table: pa.Table) -> object:
        return schemas.check(table, schemas.task_set(name), f"{entry.dataset}/{name}")

    def design() -> tuple[list[int], Groups | None]:
        groups = None if images is None else groups_of(images(entry.dataset))
        return classes(entry.dataset).column("n_images").to_pylist(), groups

    if entry.drawn:
        table = redrawn(entry, design)
        table = table.select([column]) if column else table
    elif column:
        path = path_of(entry)
        file, _ = open_table(path, entry, check)
        with readable(path, entry):
            table = file.read([column])
    else:
        table = read_table(path_of(entry), entry, check)
    return check_tasks(table, entry, about, name.protocol)
