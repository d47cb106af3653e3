"""Read a release's tables without trusting them.

A release may come from a stranger, who wrote its manifest too.  So its tables are decoded in the
sandbox, and what they take in memory is in proportion to the file.

Task sets that a release holds no table of are drawn again from their seed, compared with their
digest, and kept in ``fslbench/tasks`` below the assets folder of the Hub's cache (HF_HOME/assets),
where that can be written.  A kept table is compared with its digest, its name, whenever it is read,
so it can be removed at any time.  Only a regular file of the user's own is read; whatever else has
its name is replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CorruptReleaseError,
    FSLBenchError,
    OutputError,
    TooLargeError,
    UnreadableError,
    quoted,
)
from benchmark_spec.manifest import MANIFEST_FILE, Dataset, Manifest, Table
from benchmark_spec.protocol import MAX_QUERIES, TaskSetName
from fslbench_data.files import is_kept, whole_file
from fslbench_data.sandbox.client import read_untrusted_table
from fslbench_data.sandbox.reader import read_parquet_table
from fslbench_data.submission.columns import printable
from fslbench_data.tasks.draw import Groups
from fslbench_data.tasks.redraw import draw_again

Check = Callable[[pa.Table], object]
"""Raises a SchemaError about a table, here one without rows, of other columns than it should be."""

_MIB = 1 << 20
_SMALL, _RATIO = 64 * _MIB, 256
_LARGE, _LARGE_RATIO = 4096 * _MIB, 8
"""A table takes at most 64 MiB of memory or 256 times its file; beyond 4 GiB 8 times its file.
Ids and features take up to 4 times their file, texts 16 times."""
_PACKAGE = Path(__file__).resolve().parents[1]


def read_table(
    path: Path,
    entry: Table,
    check: Check,
    *,
    names: bool = False,
    own: bool = False,
) -> pa.Table:
    """Read a table of a release.

    Raises a CorruptReleaseError if it is not the Parquet file that the manifest promises in
    `entry`, or takes much more memory than such a file has bytes; and what `check` raises.

    Parameters
    ----------
    names
        Give names as dictionaries, as submissions store them.
    own
        Whether this user's own process wrote the file.
    """
    table = _read(path, entry, {"names": names}, own)
    check(pa.Table.from_batches([], table.schema))  # empty_table() would import pandas
    _check_number(path, entry, table.num_rows)
    return table


def read_head(path: Path, entry: Table) -> pa.Table:
    """Read a table's columns and metadata, and no rows; raise what :func:`read_table` raises."""
    return _read(path, entry, {"group": -1})


def read_groups(path: Path, entry: Table, check: Check) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Return a table's columns, and its row groups, of which one at a time is in memory.

    Raises what :func:`read_table` raises; about rows, some of it after the last group.
    """
    head = read_head(path, entry)
    check(head)
    groups, rows = (int(head.schema.metadata[key]) for key in (b"row_groups", b"rows"))
    _check_number(path, entry, rows)
    size = path.stat().st_size
    lists = [kind for kind in head.schema.types if pa.types.is_fixed_size_list(kind)]
    bits = sum(kind.list_size * kind.value_type.bit_width for kind in lists)
    if rows * bits // 8 > allowed_memory(size):
        raise _too_much(path, entry)

    def parts() -> Iterator[pa.Table]:
        left, found = allowed_memory(size), 0
        for group in range(groups):
            part = _read(path, entry, {"group": group})
            left, found = left - part.nbytes, found + part.num_rows
            if left < 0:
                raise _too_much(path, entry)
            if found > entry.rows:
                break
            yield part
        _check_number(path, entry, found)

    return head.schema, parts()


def _read(path: Path, entry: Table, options: dict[str, Any], own: bool = False) -> pa.Table:
    """Read a table in the sandbox; the package's and own ones in this process."""
    try:
        if own or path.is_relative_to(_PACKAGE):
            return read_parquet_table(path, entry.path, **options)
        most = allowed_memory(path.stat().st_size)
        seconds = 60.0 + path.stat().st_size / _MIB
        return read_untrusted_table(path, entry.path, options, most, seconds)
    except (TooLargeError, UnreadableError) as error:
        raise damaged(path, entry, error.what.removeprefix(f"{entry.path} ")) from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise damaged(path, entry, f"cannot be read: {printable(error)}") from None


def allowed_memory(size: int) -> int:
    """Return how many bytes of memory a table may take, by those of its file."""
    return max(_SMALL, min(_RATIO * size, max(_LARGE, _LARGE_RATIO * size)))


def _check_number(path: Path, entry: Table, rows: int) -> None:
    if rows != entry.rows:
        raise damaged(path, entry, f"has {rows} rows, not {entry.rows}")


def _too_much(path: Path, entry: Table) -> CorruptReleaseError:
    most = allowed_memory(path.stat().st_size) // _MIB
    return damaged(path, entry, f"takes more than {most} MiB of memory to read")


def damaged(path: Path, entry: Table, what: str, expected: str = "") -> CorruptReleaseError:
    """Return the error about a file that is not the table which the manifest lists."""
    return CorruptReleaseError(
        f"{entry.path} {what}",
        where=str(path),
        expected=expected or f"{entry.rows} rows of Parquet, as the manifest says",
        fix="get the release again; if it stays so, tell its maintainers",
    )


OUT_OF_THE_FOLDER = r"^[/\\]|^[A-Za-z]:[/\\]|(^|[/\\])\.\.([/\\]|$)"
"""What is in a path of an image that does not stay in the folder of images."""


MOST_ROWS = 2**31 - 1
"""Rows of a table: ids are int32."""


def check_rows(manifest: Manifest, where: str) -> None:
    """Refuse a manifest that lists other rows than it has classes and images, or too many tasks."""
    about = {dataset.name: dataset for dataset in manifest.datasets}
    rows = Counter[tuple[str, str, str]]()
    for table in manifest.tables:
        rows[table.kind, table.dataset, table.name] += table.rows
    for (kind, dataset, name), number in rows.items():
        least, most = 0, MOST_ROWS
        if kind == "classes":
            least = most = about[dataset].n_classes
        elif kind in ("images", "features", "attributes"):
            least = most = about[dataset].n_images
        elif kind == "tasks" and (of := TaskSetName.parse(name)).interval == "open":
            most = about[dataset].n_images // (of.protocol.way * of.protocol.per_class)
        if not least <= number <= min(most, MOST_ROWS):
            bound = f"{most}" if least == most else f"at most {min(most, MOST_ROWS)}"
            raise CorruptReleaseError(
                f"{' '.join(filter(None, (kind, quoted(name, 60)[1:-1], 'of', dataset)))}: the "
                f"manifest lists {number} rows",
                where=where,
                expected=f"{bound}, by its numbers of classes and images",
                fix="get the release again, and tell its maintainers",
            )


def check_columns(table: pa.Table, entry: Table) -> pa.Table:
    """Return a table of classes, images, attributes or tasks if it has the columns of one."""
    if entry.kind == "tasks":
        name = TaskSetName.parse(entry.name)
        return schemas.check(table, schemas.task_set(name), f"{entry.dataset}/{name}")
    where = " ".join(filter(None, (entry.kind, entry.name, "of", entry.dataset)))
    if entry.kind == "classes":
        return schemas.check_classes(table, where)
    schema = schemas.IMAGES if entry.kind == "images" else schemas.ATTRIBUTES
    return schemas.check(table, schema, where)


def declared_columns(manifest: Manifest) -> dict[str, pa.Schema]:
    """Return the columns of configurations with files that differ in them.

    ``datasets`` wants one list of features for all files, and takes what a file lacks for null.
    """
    columns: dict[str, pa.Schema] = {}
    if any(dataset.n_superclasses for dataset in manifest.datasets):
        columns["classes"] = pa.schema([*schemas.CLASSES, *schemas.CLASSES_OPTIONAL])
    if any(table.kind == "results" for table in manifest.tables):
        wide = dict.fromkeys(("predictions", "second"), schemas.WIDE_PREDICTIONS)
        task_sets = {table.name for table in manifest.tables if table.kind == "tasks"}
        if any(TaskSetName.parse(name).protocol.n_query > MAX_QUERIES for name in task_sets):
            wide |= {"n_correct": schemas.WIDE_COUNTS, "n_query": schemas.WIDE_COUNTS}
        fields = (*schemas.SUBMISSION, *schemas.SUBMISSION_OPTIONAL)
        columns["results"] = pa.schema(f.with_type(wide.get(f.name, f.type)) for f in fields)
    return columns


_PRESENT = {"images": ("class_id", "class_name"), "attributes": ("attributes",)}
"""Columns without nulls, besides ids; of other tables all are."""


def check_values(table: pa.Table, entry: Table, about: Dataset) -> pa.Table:
    """Return a table of classes, images, attributes or tasks of a data set if its values may be.

    Ids count from 0.  Images follow each other class by class, and their paths stay in a folder; of
    tasks all ids are in range.  Raises a CorruptReleaseError.
    """
    number, *columns = table.column_names
    _complete(table, entry, [number, *_PRESENT.get(entry.kind, columns)])
    if not np.array_equal(_integers(table, number), np.arange(len(table))):
        raise corrupt(entry, f"has other values of {number} or another order", "0, 1, 2, …")
    if entry.kind == "classes":
        _check_classes(table, entry, about)
    elif entry.kind == "images":
        classes = _in_range(table, entry, "class_id", about.n_classes)
        if (np.diff(classes) < 0).any():
            raise corrupt(entry, "is not in the order of classes", "class_id that never falls")
        if pc.any(pc.match_substring_regex(table.column("path"), OUT_OF_THE_FOLDER)).as_py():
            what = "has paths that lead out of the folder of images"
            raise corrupt(entry, what, "paths in it")
    elif entry.kind == "tasks":
        _in_range(table, entry, "class_ids", about.n_classes)
        _in_range(table, entry, "support", about.n_images)
        _in_range(table, entry, "query", about.n_images)
        _in_range(table, entry, "query_label", TaskSetName.parse(entry.name).protocol.way)
    return table


def _check_classes(table: pa.Table, entry: Table, about: Dataset) -> None:
    sizes = _integers(table, "n_images").astype(np.int64)
    if (sizes < 1).any() or sizes.sum() != about.n_images:
        raise corrupt(entry, "has other numbers of images", f"{about.n_images} in all, each >= 1")
    if not np.array_equal(_integers(table, "first_image_id"), sizes.cumsum() - sizes):
        raise corrupt(entry, "does not number images class by class", "sums of the sizes before")
    superclasses = number_of_superclasses(table)
    if superclasses != about.n_superclasses:
        raise corrupt(
            entry,
            f"has {superclasses} superclasses",
            f"{about.n_superclasses}, the number that {MANIFEST_FILE} says",
        )


def number_of_superclasses(table: pa.Table) -> int:
    """Count the superclasses of classes; 0 where they have none."""
    if "superclass" not in table.column_names:
        return 0
    return len(pc.unique(table.column("superclass")))


def _complete(table: pa.Table, entry: Table, columns: list[str]) -> None:
    for name in columns:
        for chunk in table.column(name).chunks:
            nulls = chunk.null_count
            if not nulls and pa.types.is_nested(chunk.type):
                nulls = chunk.flatten().null_count
            if nulls:
                raise corrupt(entry, f"has nulls in column {name!r}", "a value in every row")


def _in_range(table: pa.Table, entry: Table, name: str, most: int) -> NDArray[np.integer]:
    """Return the ids of a column, all below `most`."""
    values = _integers(table, name)
    if values.size and (values.min() < 0 or values.max() >= most):
        worst = values.min() if values.min() < 0 else values.max()
        raise corrupt(entry, f"has {worst} among its {name}", f"0 to {most - 1}")
    return values


def _integers(table: pa.Table, name: str) -> NDArray[np.integer]:
    """Return the values of a column without nulls, or of its lists."""
    column = table.column(name).combine_chunks()
    if pa.types.is_nested(column.type):
        column = column.flatten()
    values: NDArray[np.integer] = column.to_numpy(zero_copy_only=False)
    return values


def corrupt(entry: Table, what: str, expected: str = "", where: str = "") -> CorruptReleaseError:
    """Return the error about a table with values that are not those of a release."""
    return CorruptReleaseError(
        f"{entry.path} {what}",
        where=where,
        expected=expected,
        fix="get the release again, and tell its maintainers: fslbench-build verify lists problems",
    )


MOST_BYTES = 64 * 2**20
"""Of a table that is drawn: 160,000 tasks of ``5w10s7q``."""

MOST_STEPS = 2**31
"""Tasks times K (S+Q)²: what drawing a table takes, seconds at most.  4,000 tasks of ``20w20s20q``
take 2^27."""

Design = Callable[[], tuple[Sequence[int], Groups | None, Sequence[str] | None]]
"""Gives the images of each class, and the group and path of each image where they matter."""


def redrawn(entry: Table, design: Design) -> pa.Table:
    """Return the table of a task set that is not stored.

    Raises a CorruptReleaseError if the drawn tasks have another digest than in the manifest, or are
    too many to draw. Raises a SamplingError if they cannot be drawn from the provenance, such as by
    another version of the samplers.
    """
    from huggingface_hub import constants

    name = TaskSetName.parse(entry.name)
    _check(entry, name)
    schema = schemas.task_set(name)
    kept = Path(constants.HF_ASSETS_CACHE) / "fslbench" / "tasks" / f"{entry.digest}.parquet"
    with suppress(OSError, FSLBenchError):
        if is_kept(kept):
            table = read_table(kept, entry, lambda t: schemas.check(t, schema, ""), own=True)
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
    with suppress(OSError, OutputError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(kept, follow=False) as temporary:
            pq.write_table(table, temporary, compression="zstd", use_dictionary=False)
    return table


def _check(entry: Table, name: TaskSetName) -> None:
    """Refuse a table that would take a long time to draw, or much memory, for a line of text."""
    where = f"{entry.dataset}/{entry.name}, which the release holds no table of"
    if not re.fullmatch("[0-9a-f]{64}", entry.digest):  # a file is named after it
        raise CorruptReleaseError(
            f"{entry.path}: {quoted(entry.digest)} is no content digest",
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
