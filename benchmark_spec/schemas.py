"""Arrow schemas of the tables of releases and submissions.

Column types are logical: a reader accepts ``large_string`` for ``string``, a dictionary of
strings for strings and a large list for a list, since Parquet writers differ in these.
"""

from __future__ import annotations

import pyarrow as pa

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
"""One row per class, in the frozen order; image ids of a class are consecutive."""

CLASSES_OPTIONAL = pa.schema([("superclass", pa.string())])
"""The optional last column of classes: the superclass of each class, such as a character's
alphabet.  If a table has the column, every class has a superclass."""

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
"""One row per image, in class order, then file order; only the first three are never null."""

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""An image file's content and name, as the ``Image`` of ``datasets`` stores them."""

PICTURES = pa.schema([("image_id", pa.int32()), ("image", PICTURE), ("label", pa.int64())])
"""One row per image, in the order of ids; `label` is its class id, and `image` is null where the
image's licence does not allow redistribution."""

ATTRIBUTES = pa.schema(
    [
        ("image_id", pa.int32()),
        ("text", pa.string()),
        ("attributes", pa.list_(pa.string())),
    ]
)
"""One row per image, in the order of ids; `text` is the text that the attributes are words of, null
without one.  Attributes are sorted, unique and in lower case."""

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
"""The columns that every submission has; one row per method, data set, task set and task."""

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
"""The optional columns of a submission.  `second` has the second-best classes of queries in tasks
of all classes, `correct` is 1 or 0 for each query in place of `predictions`, `run` names a training
run of the method, and `transductive` and `inductive` are those of a method's metadata."""

WIDE_PREDICTIONS = pa.list_(pa.int16())
"""The type of ``predictions`` and ``second`` if some task has more than 127 classes."""

WIDE_COUNTS = pa.int32()
"""The type of ``n_correct`` and ``n_query`` if some task has more than 32,767 queries."""


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
"""Tasks that differ in ways, shots and queries; labels are positions in ``class_ids``, and those of
the support are sorted."""


def task_set(name: TaskSetName) -> pa.Schema:
    """Return the schema of a task set.

    A suite made with attributes of images has two more columns: ``attributes`` (K,), that of each
    class's support; and ``inter_class`` (K,), whether there were enough images with another class's
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


def features(dimensions: int, kind: pa.DataType | None = None) -> pa.Schema:
    """Return the schema of a feature table: one row per image, `dimensions` values each.

    Values are float16, or of `kind`, such as float32 in steps of the scale that the table's
    provenance has (:mod:`benchmark_spec.manifest`).
    """
    values = pa.list_(kind or pa.float16(), dimensions)
    return pa.schema(list(zip(FEATURE_COLUMNS, (pa.int32(), values), strict=True)))


def check_features(table: pa.Table, where: str) -> pa.Table:
    """Return `table` if it has the schema of features; raises a SchemaError if not."""
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
    """Return `table` if it has the schema of classes, with superclasses or without.

    Raises a SchemaError if not.
    """
    optional = CLASSES_OPTIONAL.names
    has_optional = table.column_names[-len(optional) :] == optional
    schema = pa.schema([*CLASSES, *CLASSES_OPTIONAL]) if has_optional else CLASSES
    return check(table, schema, where)


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


def type_name(kind: pa.DataType) -> str:
    """Return the logical name of an Arrow type, equal for types that hold the same values."""
    if pa.types.is_dictionary(kind):
        return type_name(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "binary"
    if pa.types.is_struct(kind):
        fields = (f"{field.name}: {type_name(field.type)}" for field in kind)
        return f"struct<{', '.join(fields)}>"
    if pa.types.is_fixed_size_list(kind):
        return f"fixed_size_list<{type_name(kind.value_type)}>[{kind.list_size}]"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return str(kind)
    return f"unsupported<{kind}>"
