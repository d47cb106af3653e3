"""Arrow schemas of every table of a release and of a submission.

Column types are logical: a reader accepts ``large_string`` for ``string``, a dictionary of
strings for strings and a large list for a list, since Parquet writers differ in these.
"""

from __future__ import annotations

import pyarrow as pa

from benchmark_spec.digest import type_name
from benchmark_spec.errors import SchemaError
from benchmark_spec.protocol import MAX_WAY, Protocol, TaskSetName, suite_of

CLASSES = pa.schema(
    [
        ("class_id", pa.int32()),
        ("class_name", pa.string()),
        ("n_images", pa.int32()),
        ("first_image_id", pa.int32()),
    ]
)
"""One row a class, in the frozen order; image ids of a class are consecutive."""

CLASSES_OPTIONAL = pa.schema([("superclass", pa.string())])
"""The column that classes may have besides, after the others: the class of classes that each is
in, such as a character's alphabet.  A table has one of each class, or has no such column."""

IMAGES = pa.schema(
    [
        ("image_id", pa.int32()),
        ("class_id", pa.int32()),
        ("class_name", pa.string()),
        ("path", pa.string()),
        ("sha256", pa.string()),
        ("group", pa.int32()),
        ("creator", pa.string()),
        ("licence", pa.string()),
    ]
)
"""One row an image, in class order, then file order; only the first three are never null."""

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""An image file's content and name, as the ``Image`` of ``datasets`` stores them."""

PICTURES = pa.schema([("image_id", pa.int32()), ("image", PICTURE), ("label", pa.int64())])
"""One row an image, in the order of ids; `label` is its class id, and `image` null where the
image's own licence does not let it be passed on."""

ATTRIBUTES = pa.schema(
    [
        ("image_id", pa.int32()),
        ("text", pa.string()),
        ("attributes", pa.list_(pa.string())),
    ]
)
"""One row an image, in the order of ids; `text` is what the attributes are words of, null where
they are not words of a text.  Attributes are sorted, unique and in lower case."""

SUBMISSION = pa.schema(
    [
        ("method", pa.string()),
        ("dataset", pa.string()),
        ("task_set", pa.string()),
        ("task_id", pa.int32()),
        ("n_correct", pa.int16()),
        ("n_query", pa.int16()),
    ]
)
"""The columns that every submission has; one row a method, data set, task set and task."""

SUBMISSION_OPTIONAL = pa.schema(
    [
        ("class_correct", pa.list_(pa.int16())),
        ("predictions", pa.list_(pa.int8())),
        ("second", pa.list_(pa.int8())),
        ("correct", pa.list_(pa.int8())),
        ("fingerprint", pa.string()),
        ("run", pa.string()),
        ("transductive", pa.bool_()),
        ("inductive", pa.bool_()),
    ]
)
"""The columns that a submission may have besides.  `second` has the second-best classes of queries
of tasks of all classes, `correct` is 1 or 0 for each query in place of `predictions`, `run` names
training seeds of one method, and `transductive` and `inductive` are those of a method's
metadata."""

WIDE_PREDICTIONS = pa.list_(pa.int16())
"""Of ``predictions`` and ``second`` where some task has more than 127 classes."""

WIDE_COUNTS = pa.int32()
"""Of ``n_correct`` and ``n_query`` where some task has more than 32,767 queries."""


def tasks(protocol: Protocol) -> pa.Schema:
    """Return the schema of a task set of `protocol`; K ways, S shots, Q queries per class.

    ``class_ids`` (K,), ``support`` (K·S,) image ids, class by class, ``query`` (K·Q,) image ids
    in the frozen shuffled order, ``query_label`` (K·Q,) positions 0..K-1 in ``class_ids``.
    """
    label = pa.int8() if protocol.way <= MAX_WAY else pa.int16()
    return pa.schema(
        [
            ("task_id", pa.int32()),
            ("class_ids", pa.list_(pa.int32(), protocol.way)),
            ("support", pa.list_(pa.int32(), protocol.n_support)),
            ("query", pa.list_(pa.int32(), protocol.n_query)),
            ("query_label", pa.list_(label, protocol.n_query)),
        ]
    )


EPISODES = pa.schema(
    [
        ("task_id", pa.int32()),
        ("class_ids", pa.list_(pa.int32())),
        ("support", pa.list_(pa.int32())),
        ("support_label", pa.list_(pa.int8())),
        ("query", pa.list_(pa.int32())),
        ("query_label", pa.list_(pa.int8())),
    ]
)
"""Of tasks of different ways, shots and queries; labels are positions in ``class_ids``, those of
the support in order."""


def task_set(name: TaskSetName) -> pa.Schema:
    """Return the schema of the task set of that name: :func:`tasks`, perhaps with two columns more.

    Where a suite is made with attributes of images: ``attributes`` (K,), that of each class's
    support; and ``inter_class`` (K,), whether there were enough images with another class's
    attribute for the queries.
    """
    if name.varies:
        return EPISODES
    schema = tasks(name.protocol)
    if suite_of(name.suite).attributes:
        way = name.protocol.way
        schema = schema.append(pa.field("attributes", pa.list_(pa.string(), way)))
        schema = schema.append(pa.field("inter_class", pa.list_(pa.bool_(), way)))
    return schema


FEATURE_COLUMNS = ["image_id", "feature"]
FEATURE_VALUES = (pa.float16(), pa.float32())
"""What the values of features may be."""


def features(dimensions: int, kind: pa.DataType | None = None) -> pa.Schema:
    """Return the schema of a feature table: one row an image, `dimensions` values each.

    Values are float16, or of `kind`: float32 that are steps of ``scale`` in the table's
    provenance (:mod:`benchmark_spec.manifest`).
    """
    values = pa.list_(kind or pa.float16(), dimensions)
    return pa.schema(list(zip(FEATURE_COLUMNS, (pa.int32(), values), strict=True)))


def check_features(table: pa.Table, where: str) -> pa.Table:
    """Return `table` if it is one of features, of any number of dimensions.

    Raises a SchemaError if it has other columns, or values of another type.
    """
    if table.column_names == FEATURE_COLUMNS:
        kind = table.schema.field("feature").type
        is_features = pa.types.is_fixed_size_list(kind) and kind.value_type in FEATURE_VALUES
        if is_features and kind.list_size >= 1:
            return check(table, features(kind.list_size, kind.value_type), where)
        raise SchemaError(
            f"column 'feature' is of type {kind}",
            where=where,
            expected="fixed-size lists of at least one " + " or ".join(map(str, FEATURE_VALUES)),
        )
    return check(table, features(1), where)


def check_classes(table: pa.Table, where: str) -> pa.Table:
    """Return `table` if it is one of classes, with superclasses or without.

    Raises a SchemaError if it has other columns.
    """
    optional = CLASSES_OPTIONAL.names
    named = table.column_names[-len(optional) :] == optional
    return check(table, pa.schema([*CLASSES, *CLASSES_OPTIONAL]) if named else CLASSES, where)


def check(table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
    """Return `table` if it has exactly the columns of `schema`, in order.

    Raises a SchemaError naming the first that is missing, unknown, misplaced or of another type.
    """
    if table.column_names != schema.names:
        raise SchemaError(
            f"columns are {', '.join(table.column_names) or 'none'}",
            where=where,
            expected=", ".join(schema.names),
        )
    for field in schema:
        kind = table.schema.field(field.name).type
        if type_name(kind) != type_name(field.type):
            raise SchemaError(
                f"column {field.name!r} is of type {kind}", where=where, expected=str(field.type)
            )
    return table
