"""Read a release's tables without trusting them, and write tables small.

A stranger may have written a release and its manifest.  So its tables are decoded in the sandbox,
and their memory is limited in proportion to the file.

Task sets without a stored table are drawn from their seed, compared with their digest, and cached
in ``fslbench/tasks`` below the assets folder of the Hub's cache (HF_HOME/assets), if it can be
written.  A cached table is named after its digest and compared with it at every reading, so it can
be removed at any time.  Only a regular file of the user's own is read; anything else of that name
is replaced.
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
from fslbench_data.sampling.redraw import draw_again
from fslbench_data.sandbox.client import read_untrusted_table
from fslbench_data.submission.columns import printable
from fslbench_data.submission.reading import read_parquet_table
from fslbench_data.tasks import Groups

Check = Callable[[pa.Table], object]
"""Raises a SchemaError if a table, here without rows, has other columns than expected."""

_MIB = 1 << 20
_SMALL, _RATIO = 64 * _MIB, 256
_LARGE, _LARGE_RATIO = 4096 * _MIB, 8
"""A table may take 64 MiB of memory or 256 times its file; beyond 4 GiB 8 times its file.  Ids and
features take up to 4 times their file, texts 16 times."""
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

    Raises a CorruptReleaseError if it is not the Parquet file of the manifest's `entry`, or takes
    much more memory than its file; and whatever `check` raises.

    Parameters
    ----------
    names
        Read names as dictionaries, as submissions store them.
    own
        Whether this user's own process wrote the file.
    """
    table = _read(path, entry, {"names": names}, own)
    check(pa.Table.from_batches([], table.schema))  # empty_table() would import pandas
    _check_row_count(path, entry, table.num_rows)
    return table


def read_head(path: Path, entry: Table) -> pa.Table:
    """Read a table's columns and metadata, without rows; raise what :func:`read_table` raises."""
    return _read(path, entry, {"group": -1})


def read_groups(path: Path, entry: Table, check: Check) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Return a table's columns, and an iterator over its row groups, one in memory at a time.

    Raises what :func:`read_table` raises; the number of rows is checked after the last group.
    """
    head = read_head(path, entry)
    check(head)
    groups, rows = (int(head.schema.metadata[key]) for key in (b"row_groups", b"rows"))
    _check_row_count(path, entry, rows)
    size = path.stat().st_size
    lists = [kind for kind in head.schema.types if pa.types.is_fixed_size_list(kind)]
    bits = sum(kind.list_size * kind.value_type.bit_width for kind in lists)
    if rows * bits // 8 > allowed_memory(size):
        raise _too_much(path, entry)

    def row_groups() -> Iterator[pa.Table]:
        allowed, found = allowed_memory(size), 0
        for group in range(groups):
            table = _read(path, entry, {"group": group})
            allowed -= table.nbytes
            found += table.num_rows
            if allowed < 0:
                raise _too_much(path, entry)
            if found > entry.rows:
                break
            yield table
        _check_row_count(path, entry, found)

    return head.schema, row_groups()


def _read(path: Path, entry: Table, options: dict[str, Any], own: bool = False) -> pa.Table:
    """Read a table in the sandbox; the package's own and the user's own in this process."""
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
    """Return how many bytes of memory a table may take whose file has `size` bytes."""
    return max(_SMALL, min(_RATIO * size, max(_LARGE, _LARGE_RATIO * size)))


def _check_row_count(path: Path, entry: Table, rows: int) -> None:
    if rows != entry.rows:
        raise damaged(path, entry, f"has {rows} rows, not {entry.rows}")


def _too_much(path: Path, entry: Table) -> CorruptReleaseError:
    most = allowed_memory(path.stat().st_size) // _MIB
    return damaged(path, entry, f"takes more than {most} MiB of memory to read")


def damaged(path: Path, entry: Table, what: str, expected: str = "") -> CorruptReleaseError:
    """Return the error about a file that is not the table of the manifest."""
    return CorruptReleaseError(
        f"{entry.path} {what}",
        where=str(path),
        expected=expected or f"{entry.rows} rows of Parquet, as the manifest says",
        fix="get the release again; if it stays so, tell its maintainers",
    )


OUT_OF_THE_FOLDER = r"^[/\\]|^[A-Za-z]:[/\\]|(^|[/\\])\.\.([/\\]|$)"
"""Matches the path of an image outside the folder of images."""

MOST_ROWS = 2**31 - 1
"""Rows of a table: ids are int32."""


def check_rows(manifest: Manifest, where: str) -> None:
    """Refuse a manifest whose numbers of rows do not fit its numbers of classes and images."""
    datasets = {dataset.name: dataset for dataset in manifest.datasets}
    rows = Counter[tuple[str, str, str]]()
    for table in manifest.tables:
        rows[table.kind, table.dataset, table.name] += table.rows
    for (kind, dataset, name), number in rows.items():
        least, most = 0, MOST_ROWS
        if kind == "classes":
            least = most = datasets[dataset].n_classes
        elif kind in ("images", "features", "attributes"):
            least = most = datasets[dataset].n_images
        elif kind == "tasks" and (task_set := TaskSetName.parse(name)).interval == "open":
            protocol = task_set.protocol
            most = datasets[dataset].n_images // (protocol.way * protocol.per_class)
        if not least <= number <= min(most, MOST_ROWS):
            bound = f"{most}" if least == most else f"at most {min(most, MOST_ROWS)}"
            table_name = " ".join(filter(None, (kind, quoted(name, 60)[1:-1], "of", dataset)))
            raise CorruptReleaseError(
                f"{table_name}: the manifest lists {number} rows",
                where=where,
                expected=f"{bound}, by its numbers of classes and images",
                fix="get the release again, and tell its maintainers",
            )


def check_columns(table: pa.Table, entry: Table) -> pa.Table:
    """Check the columns of a table of classes, images, attributes or tasks, and return it."""
    if entry.kind == "tasks":
        name = TaskSetName.parse(entry.name)
        return schemas.check(table, schemas.task_set(name), f"{entry.dataset}/{name}")
    where = " ".join(filter(None, (entry.kind, entry.name, "of", entry.dataset)))
    if entry.kind == "classes":
        return schemas.check_classes(table, where)
    schema = schemas.IMAGES if entry.kind == "images" else schemas.ATTRIBUTES
    return schemas.check(table, schema, where)


def declared_columns(manifest: Manifest) -> dict[str, pa.Schema]:
    """Return the columns of those configurations whose files differ in them.

    ``datasets`` needs one list of columns for all files; a column that a file lacks is null.
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
"""Columns without nulls, besides ids; other tables have no nulls at all."""


def check_values(table: pa.Table, entry: Table, dataset: Dataset) -> pa.Table:
    """Check the values of a table of classes, images, attributes or tasks, and return it.

    Ids count from 0.  Images are in the order of their classes, and their paths stay in a folder.
    All ids in tasks are in range.  Raises a CorruptReleaseError.
    """
    id_column, *columns = table.column_names
    _check_nulls(table, entry, [id_column, *_PRESENT.get(entry.kind, columns)])
    if not np.array_equal(_integers(table, id_column), np.arange(len(table))):
        raise corrupt(entry, f"has other values of {id_column} or another order", "0, 1, 2, …")
    if entry.kind == "classes":
        _check_classes(table, entry, dataset)
    elif entry.kind == "images":
        classes = _in_range(table, entry, "class_id", dataset.n_classes)
        if (np.diff(classes) < 0).any():
            raise corrupt(entry, "is not in the order of classes", "class_id that never falls")
        if pc.any(pc.match_substring_regex(table.column("path"), OUT_OF_THE_FOLDER)).as_py():
            what = "has paths that lead out of the folder of images"
            raise corrupt(entry, what, "paths in it")
    elif entry.kind == "tasks":
        _in_range(table, entry, "class_ids", dataset.n_classes)
        _in_range(table, entry, "support", dataset.n_images)
        _in_range(table, entry, "query", dataset.n_images)
        _in_range(table, entry, "query_label", TaskSetName.parse(entry.name).protocol.way)
    return table


def _check_classes(table: pa.Table, entry: Table, dataset: Dataset) -> None:
    sizes = _integers(table, "n_images").astype(np.int64)
    if (sizes < 1).any() or sizes.sum() != dataset.n_images:
        raise corrupt(entry, "has other numbers of images", f"{dataset.n_images} in all, each >= 1")
    if not np.array_equal(_integers(table, "first_image_id"), sizes.cumsum() - sizes):
        raise corrupt(entry, "does not number images class by class", "sums of the sizes before")
    superclasses = number_of_superclasses(table)
    if superclasses != dataset.n_superclasses:
        expected = f"{dataset.n_superclasses}, the number that {MANIFEST_FILE} says"
        raise corrupt(entry, f"has {superclasses} superclasses", expected)


def number_of_superclasses(table: pa.Table) -> int:
    """Count the superclasses in a table of classes; 0 if it has none."""
    if "superclass" not in table.column_names:
        return 0
    return len(pc.unique(table.column("superclass")))


def _check_nulls(table: pa.Table, entry: Table, columns: list[str]) -> None:
    for name in columns:
        for chunk in table.column(name).chunks:
            nulls = chunk.null_count
            if not nulls and pa.types.is_nested(chunk.type):
                nulls = chunk.flatten().null_count
            if nulls:
                raise corrupt(entry, f"has nulls in column {name!r}", "a value in every row")


def _in_range(table: pa.Table, entry: Table, name: str, number: int) -> NDArray[np.integer]:
    """Return the ids of a column; raise a CorruptReleaseError unless all are below `number`."""
    values = _integers(table, name)
    if values.size and (values.min() < 0 or values.max() >= number):
        worst = values.min() if values.min() < 0 else values.max()
        raise corrupt(entry, f"has {worst} among its {name}", f"0 to {number - 1}")
    return values


def _integers(table: pa.Table, name: str) -> NDArray[np.integer]:
    """Return the values of a column without nulls, or of its lists."""
    column = table.column(name).combine_chunks()
    if pa.types.is_nested(column.type):
        column = column.flatten()
    values: NDArray[np.integer] = column.to_numpy(zero_copy_only=False)
    return values


def corrupt(entry: Table, what: str, expected: str = "", where: str = "") -> CorruptReleaseError:
    """Return the error about a table whose values are not allowed in a release."""
    return CorruptReleaseError(
        f"{entry.path} {what}",
        where=where,
        expected=expected,
        fix="get the release again, and tell its maintainers: fslbench-build verify lists problems",
    )


MOST_BYTES = 64 * 2**20
"""Bytes of a table that is drawn: 160,000 tasks of ``5w10s7q``."""

MOST_STEPS = 2**31
"""Tasks times K (S+Q)² of a table that is drawn, which takes seconds.  4,000 tasks of ``20w20s20q``
take 2^27."""

Design = Callable[[], tuple[Sequence[int], Groups | None, Sequence[str] | None]]
"""Returns the images of each class, and the group and path of each image if they are needed."""


def redrawn(entry: Table, design: Design) -> pa.Table:
    """Draw the table of a task set that is not stored, or read it from the cache.

    Raises a CorruptReleaseError if the drawn tasks have another digest than in the manifest, or are
    too many to draw; a SamplingError if they cannot be drawn from the provenance, such as by
    another version of the samplers.
    """
    from huggingface_hub import constants

    name = TaskSetName.parse(entry.name)
    _check_may_draw(entry, name)
    schema = schemas.task_set(name)
    cached = Path(constants.HF_ASSETS_CACHE) / "fslbench" / "tasks" / f"{entry.digest}.parquet"
    with suppress(OSError, FSLBenchError):
        if is_kept(cached):
            table = read_table(cached, entry, lambda t: schemas.check(t, schema, ""), own=True)
            if content_digest(table) == entry.digest:
                return table.cast(schema)  # Parquet gives the items of lists another name
    sizes, groups, paths = design()
    table = draw_again(
        entry.dataset, name, sizes, entry.provenance, entry.rows, groups, paths=paths
    )
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
        cached.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(cached, follow=False) as temporary:
            pq.write_table(table, temporary, compression="zstd", use_dictionary=False)
    return table


def _check_may_draw(entry: Table, name: TaskSetName) -> None:
    """Refuse an entry whose table would take too long, or too much memory, to draw."""
    where = f"{entry.dataset}/{entry.name}, which the release holds no table of"
    if not re.fullmatch("[0-9a-f]{64}", entry.digest):  # it names a file of the cache
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


_COMPRESSED_FAST = 32 * 2**20
"""Bytes in memory from which on a table is compressed fast: 200,000 one-shot tasks."""


def write_parquet(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table with options of ``pyarrow.parquet``; the file appears whole or not at all."""
    with whole_file(path) as temporary:
        pq.write_table(table, temporary, **options)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table small: zstd, ids split by byte, dictionaries of few texts and rounded features.

    float16 is not split, since DuckDB cannot read it so; large tables get a lower level of zstd.
    """
    split = [
        f"{field.name}.list.element" if pa.types.is_fixed_size_list(field.type) else field.name
        for field in table.schema
        if pa.types.is_int32(getattr(field.type, "value_type", field.type))
    ]
    write_parquet(
        table.replace_schema_metadata(None),
        path,
        compression="zstd",
        compression_level=19 if table.nbytes < _COMPRESSED_FAST else 3,
        use_dictionary=of_few_values(table.schema),
        use_byte_stream_split=split,
        store_schema=True,
    )


def of_few_values(schema: pa.Schema) -> list[str] | bool:
    """Return the columns to write with dictionaries: lists of attributes, rounded features."""
    few = (pa.string(), pa.float32())
    columns = [
        f"{field.name}.list.element"
        for field in schema
        if pa.types.is_fixed_size_list(field.type) and field.type.value_type in few
    ]
    return columns or False
