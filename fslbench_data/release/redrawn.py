"""Task sets that a release holds no table of: drawn again from their seed, compared, and kept.

A release says their digest; classes, groups and provenance say how they are drawn.  A drawn table
is kept in ``fslbench/tasks`` below the assets folder of the Hub's cache (HF_HOME/assets); where
nothing can be written there, in a folder of the user's own below the temporary one; else nowhere.
It is named after its digest and compared with it whenever it is read, so it never grows old, and it
can be removed at any time.  Only a regular file of the user's own is read; whatever else has its
name is replaced.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, OutputError, shown
from benchmark_spec.manifest import Table
from benchmark_spec.protocol import TaskSetName
from fslbench_data.files import is_kept, is_own_folder, whole_file
from fslbench_data.release.tables import read_table
from fslbench_data.tasks.draw import Groups
from fslbench_data.tasks.redraw import draw_again

MOST_BYTES = 64 * 2**20
"""Of a table that is drawn: 160,000 tasks of ``5w10s7q``."""

MOST_STEPS = 2**31
"""Tasks times K (S+Q)²: what drawing a table takes, seconds at most.  4,000 tasks of ``20w20s20q``
take 2^27."""

Design = Callable[[], tuple[Sequence[int], Groups | None, Sequence[str] | None]]
"""Gives the images of each class, and the group and path of each image where they matter."""


def redrawn(entry: Table, design: Design) -> pa.Table:
    """Return the table of a task set that is not stored.

    Raises a CorruptReleaseError if the drawn tasks have another digest than the manifest says, or
    are too many to draw. Raises a SamplingError if they cannot be drawn from the provenance, such
    as by another version of the samplers.
    """
    name = TaskSetName.parse(entry.name)
    _check(entry, name)
    schema = schemas.task_set(name)
    for folder in _folders():
        with suppress(OSError, FSLBenchError):
            path = folder / f"{entry.digest}.parquet"
            if not is_kept(path):
                continue
            table = read_table(path, entry, lambda t: schemas.check(t, schema, ""), own=True)
            if content_digest(table) == entry.digest:
                return table.cast(schema)  # Parquet names the items of lists otherwise
    sizes, groups, paths = design()
    how = entry.provenance, entry.rows, groups
    table = draw_again(entry.dataset, name, sizes, *how, paths=paths)
    digest = content_digest(table)
    if digest != entry.digest:
        raise CorruptReleaseError(
            f"{entry.path}: the tasks drawn from the seed are not those that were released",
            where=f"{entry.dataset}/{entry.name}, which the release holds no table of",
            expected=f"content digest {entry.digest}; found {digest}",
            fix="get the release again, since its classes, groups or provenance were changed; if "
            "it stays so, tell its maintainers: no result on these tasks can be scored",
        )
    for folder in _folders(make=True):
        with suppress(OSError, OutputError):
            with whole_file(folder / f"{digest}.parquet", follow=False) as temporary:
                pq.write_table(table, temporary, compression="zstd", use_dictionary=False)
            break
    return table


def _folders(*, make: bool = False) -> Iterator[Path]:
    """The folders that drawn tables may lie in, made if that is wanted and can be done."""
    from huggingface_hub import constants

    kept = Path(constants.HF_ASSETS_CACHE) / "fslbench" / "tasks"
    with suppress(OSError):
        if make:
            kept.mkdir(parents=True, exist_ok=True)
        yield kept
    own = Path(tempfile.gettempdir()) / f"fslbench-{os.getuid() if hasattr(os, 'getuid') else ''}"
    with suppress(OSError):
        if make:
            own.mkdir(mode=0o700, exist_ok=True)
        others = stat.S_IRWXG | stat.S_IRWXO if hasattr(os, "getuid") else 0
        if is_own_folder(own) and not own.lstat().st_mode & others:  # others can put nothing there
            yield own


def _check(entry: Table, name: TaskSetName) -> None:
    """Refuse a table that would take a long time to draw, or much memory, for a line of text."""
    where = f"{entry.dataset}/{entry.name}, which the release holds no table of"
    if not re.fullmatch("[0-9a-f]{64}", entry.digest):  # a file is named after it
        raise CorruptReleaseError(
            f"{entry.path}: {shown(entry.digest)} is no content digest",
            where=where,
            expected="64 hexadecimal digits",
            fix="get the release again",
        )
    protocol = name.protocol
    images = protocol.way * protocol.per_class
    size = entry.rows * (4 + 4 * protocol.way + 4 * images + protocol.n_query)
    if size > MOST_BYTES or entry.rows * images * protocol.per_class > MOST_STEPS:
        raise CorruptReleaseError(
            f"{entry.path}: {entry.rows} tasks of {protocol} are too many to be drawn again",
            where=where,
            expected=f"at most {MOST_BYTES} bytes, and {MOST_STEPS} for tasks times K (S+Q)²",
            fix="get a release that holds the table",
        )
