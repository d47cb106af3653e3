"""Submissions that break a rule, or several: how each is made, for their golden refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from golden_inputs import (
    CLOSED,
    OPEN,
    Columns,
    answers,
    bare,
    joined,
    release,
    with_fingerprints,
    write,
    write_columns,
)

Edit = Callable[[Columns], None]
ALL = ("parquet", "csv", "jsonl")


def good() -> Columns:
    """One method on 31 tasks of 25 queries, with predictions and fingerprints."""
    return with_fingerprints(answers("mine", "digits", OPEN, 0.8, seed=1))


def four() -> Columns:
    """Two methods on two task sets, the second of 19 tasks of 35 queries: 100 rows."""
    parts = [
        answers(method, "digits", task_set, 0.8, seed=1)
        for method in ("mine", "other")
        for task_set in (OPEN, "open-5w10s7q")
    ]
    return with_fingerprints(joined(parts))


def in_runs() -> Columns:
    """Three runs of one method, and one of another."""
    parts = [answers("mine", "digits", OPEN, 0.8, seed=1, run=r) for r in ("a", "b", "c")]
    parts.append(answers("other", "digits", OPEN, 0.8, seed=1, run="a"))
    return with_fingerprints(bare(joined(parts)))


def put(column: str, values: dict[int, Any]) -> Edit:
    """Set some rows of a column, which may be a new one."""

    def edit(columns: Columns) -> None:
        known = columns.get(column, [None] * len(columns["method"]))
        columns[column] = [values.get(row, value) for row, value in enumerate(known)]

    return edit


def fill(column: str, rows: range, value: Any) -> Edit:
    """Set these rows of a column to one value."""
    return put(column, dict.fromkeys(rows, value))


def whole(column: str, value: Any) -> Edit:
    def edit(columns: Columns) -> None:
        columns[column] = [value] * len(columns["method"])

    return edit


def cast(column: str, to: Callable[[Any], Any]) -> Edit:
    def edit(columns: Columns) -> None:
        columns[column] = [to(value) for value in columns[column]]

    return edit


def drop(*names: str) -> Edit:
    def edit(columns: Columns) -> None:
        for name in names:
            del columns[name]

    return edit


def keep(choose: Callable[[list[int]], list[int]]) -> Edit:
    """Take rows, by their positions."""

    def edit(columns: Columns) -> None:
        at = choose(list(range(len(columns["method"]))))
        for name in columns:
            columns[name] = [columns[name][i] for i in at]

    return edit


counts = drop("predictions", "class_correct")
no_classes, no_predictions = drop("class_correct"), drop("predictions")


def right_alone(columns: Columns) -> None:
    """Say which queries are right in place of the predictions, and of the class counts."""
    del columns["class_correct"]
    label = release().task_set("digits", OPEN).query_label
    told = zip(columns["task_id"], columns.pop("predictions"), strict=True)
    columns["correct"] = [(label[task] == own).astype(int).tolist() for task, own in told]


def without(*rows: int) -> Edit:
    return keep(lambda at: [i for i in at if i not in rows])


def doubled(*rows: int) -> Edit:
    return keep(lambda at: [*at, *rows])


ZEROS = "0" * 64
# name: base, and edits of it
ROWS: dict[str, tuple[Any, ...]] = {
    "nothing wrong": (good,),
    "nothing wrong in four groups": (four,),
    "nothing wrong in runs": (in_runs,),
    # completeness
    "missing task": (good, without(7)),
    "many missing tasks": (good, keep(lambda at: at[:3])),
    "missing in the third group of four": (four, without(52, 60)),
    "missing in two groups": (four, without(33, 99)),
    "a group of one row": (four, keep(lambda at: at[:81])),
    "doubled task": (good, doubled(4)),
    "many doubled tasks": (good, doubled(*range(12))),
    "tripled task": (good, doubled(4, 4)),
    "all doubled": (four, keep(lambda at: at + at)),
    "one task in place of another": (good, put("task_id", {3: 2})),
    "doubled in the last group": (four, put("task_id", {99: 0})),
    "missing and doubled in different groups": (four, without(2), doubled(60)),
    "doubled and missing in different groups": (four, doubled(2), without(60)),
    "out of order and a task missing": (four, without(40), keep(lambda at: at[::-1])),
    "interleaved and a task doubled": (
        four,
        keep(lambda at: sorted(at, key=lambda i: (i * 37) % 100)),
        doubled(9),
    ),
    # task ids
    "unknown task": (good, put("task_id", {30: 31})),
    "several unknown tasks": (good, put("task_id", {i: 100 - i for i in range(9)})),
    "unknown tasks in two groups": (four, put("task_id", {40: 25, 90: 31, 91: 19})),
    "negative task": (good, put("task_id", {0: -1, 5: -7})),
    "absurd task": (good, put("task_id", {0: 2**40, 3: -(2**40)})),
    "null task": (good, put("task_id", {9: None, 20: None})),
    "fractional task": (good, cast("task_id", float), put("task_id", {2: 1.5})),
    "texts for tasks": (good, cast("task_id", lambda v: f"t{v}")),
    # counts
    "too many right": (good, counts, put("n_correct", {2: 26})),
    "too many right in two groups": (four, counts, put("n_correct", {99: 36, 33: 40})),
    "right in one group and too many in another": (four, counts, put("n_correct", {5: 30})),
    "percentages": (good, counts, cast("n_correct", lambda v: 4 * v)),
    "fewer than none right": (good, counts, put("n_correct", {5: -1, 6: -2})),
    "absurd count": (good, counts, put("n_correct", {5: 70_000, 6: -70_000})),
    "null count": (good, counts, put("n_correct", {4: None})),
    "fractional counts": (good, counts, cast("n_correct", float), fill("n_correct", range(8), 3.5)),
    "accuracies": (good, counts, cast("n_correct", lambda v: v / 25)),
    "not a number": (good, counts, cast("n_correct", float), put("n_correct", {1: float("nan")})),
    "infinite": (good, counts, cast("n_correct", float), put("n_correct", {1: float("inf")})),
    "counts as floats": (good, counts, cast("n_correct", float)),
    "counts as texts": (good, counts, cast("n_correct", str)),
    "counts as words": (good, counts, put("n_correct", {0: "many", 8: "few"})),
    "counts as booleans": (good, counts, cast("n_correct", bool)),
    # queries
    "another number of queries": (good, whole("n_query", 15)),
    "one row's number of queries": (good, put("n_query", {12: 5})),
    "queries of the other set": (four, fill("n_query", range(31, 50), 25)),
    "queries in two groups": (four, put("n_query", {98: 1, 3: 2})),
    "null queries": (good, put("n_query", {12: None})),
    "huge number of queries": (good, put("n_query", {12: 40_000})),
    # names
    "null method": (good, put("method", {3: None})),
    "null set": (good, put("task_set", {3: None, 4: None})),
    "names as numbers": (good, whole("method", 3)),
    "empty name": (good, whole("method", " ")),
    "an unprintable name": (four, put("method", {70: "a\x1b[31m"})),
    "a name with spaces around": (good, whole("method", " mine ")),
    "a very long name": (good, whole("method", "x" * 300)),
    "a reference method's name": (four, cast("method", {"mine": "mine", "other": "pixels/LR"}.get)),
    "two bad names": (four, cast("method", {"mine": "pixels/NCC", "other": "b\x07"}.get)),
    "no such data set": (four, put("dataset", {40: "digit"})),
    "no data set like it": (good, whole("dataset", "zzz")),
    "no such task set": (four, put("task_set", {60: "open-5w5s4q", 70: "zzz"})),
    "a task set of other data": (good, whole("task_set", "published-5w5s5q")),
    # fingerprints
    "wrong fingerprint": (good, whole("fingerprint", ZEROS)),
    "wrong fingerprint in one group": (four, fill("fingerprint", range(50, 81), ZEROS)),
    "fingerprints of the other set": (four, put("fingerprint", {40: "e2c84bbb9f386fc4"})),
    "mixed fingerprints": (good, put("fingerprint", {8: ZEROS, 20: "1" * 64})),
    "a fingerprint left out": (good, put("fingerprint", {8: None, 9: None})),
    "fingerprints left out of a group": (four, fill("fingerprint", range(50, 81), None)),
    "left out here and wrong there": (four, put("fingerprint", {8: None, 3: ZEROS})),
    "a fingerprint cut too short": (good, whole("fingerprint", "e2c84bbb9f3")),
    "something else for a fingerprint": (good, put("fingerprint", {5: "embedded@1.0.0"})),
    "fingerprints as numbers": (good, whole("fingerprint", 7)),
    "no fingerprint": (good, drop("fingerprint")),
    "no fingerprint in four groups": (four, drop("fingerprint")),
    "fingerprints all null": (good, whole("fingerprint", None)),
    # columns
    "missing column": (good, drop("n_query")),
    "missing columns": (good, drop("method", "dataset", "task_id")),
    "unknown columns": (good, whole("accuracy", 1.0), whole("Seed", 1)),
    "missing and unknown columns": (good, drop("task_id"), whole("Task_ID", 1)),
    # lists
    "predictions too long": (good, put("predictions", {3: [0] * 26, 9: [0] * 30})),
    "predictions too short in two groups": (four, put("predictions", {40: [1], 70: []})),
    "a class id for a prediction": (good, put("predictions", {3: [7] * 25, 4: [-1] * 25})),
    "a null among predictions": (good, put("predictions", {3: [None] * 25})),
    "no predictions in some rows": (good, put("predictions", {3: None, 4: None})),
    "which are right, too long": (good, right_alone, put("correct", {3: [1] * 26})),
    "which are right, of a class": (good, right_alone, put("correct", {3: [2] * 25})),
    "a null among which are right": (good, right_alone, put("correct", {3: [None] * 25})),
    "which are right, and predictions": (good, whole("correct", [1] * 25)),
    "which are right, as texts": (good, right_alone, whole("correct", ["1"] * 25)),
    "which are right, against counts": (good, right_alone, put("n_correct", {7: 0, 11: 0})),
    "which are right, in some rows": (good, right_alone, put("correct", {3: None})),
    "predictions as texts": (good, whole("predictions", ["1"] * 25)),
    "predictions as one text": (good, whole("predictions", "1 2 3")),
    "predictions that are no int16": (good, put("predictions", {3: [99999] * 25})),
    "class counts too short": (good, whole("class_correct", [1, 1])),
    "a null among class counts": (
        good,
        whole("class_correct", [1, 1, 1, 1, 1]),
        put("class_correct", {5: [1, None, 1, 1, 1]}),
    ),
    "class counts out of range": (
        good,
        no_predictions,
        put("class_correct", {0: [6, 0, 0, 0, 0], 7: [0, 0, -1, 0, 9]}),
    ),
    "class counts beyond the other set's": (
        four,
        no_predictions,
        put("class_correct", {2: [7, 0, 0, 0, 0], 40: [8, 7, 7, 7, 7]}),
    ),
    # contradictions
    "counts that contradict predictions": (good, no_classes, fill("n_correct", range(11, 24), 0)),
    "counts that contradict predictions in two groups": (
        four,
        no_classes,
        put("n_correct", {90: 0, 35: 1, 4: 2}),
    ),
    "class counts that contradict the count": (
        four,
        no_predictions,
        put("class_correct", {2: [5] * 5, 77: [0] * 5}),
    ),
    "class counts that contradict predictions": (
        four,
        cast("class_correct", lambda v: v[1:] + v[:1]),
    ),
    "count against both lists": (good, put("n_correct", {11: 0})),
    # runs
    "a run misses a task": (in_runs, without(40)),
    "a run misses its last tasks": (in_runs, without(60, 61, 59)),
    "a run twice": (in_runs, fill("run", range(31, 62), "a")),
    "null run": (in_runs, put("run", {5: None})),
    "runs as fractions": (in_runs, whole("run", 0.5)),
    "an unprintable run": (in_runs, fill("run", range(31, 62), "b\x1b")),
    "runs without a column": (in_runs, drop("run")),
    # marks
    "marks that contradict": (four, put("transductive", {3: True, 4: False, 60: True})),
    "marks of another type": (four, whole("transductive", "perhaps")),
    # two rules broken at once: which is said first
    "query count and task": (four, put("n_query", {60: 5}), put("task_id", {3: 99})),
    "task and count": (four, counts, put("n_correct", {3: 99}), put("task_id", {60: 99})),
    "count and fingerprint": (
        four,
        counts,
        put("n_correct", {60: 99}),
        put("fingerprint", {3: ZEROS}),
    ),
    "name and count": (
        four,
        counts,
        put("n_correct", {3: 99}),
        cast("method", {"mine": "mine", "other": "pixels/LR"}.get),
    ),
    "name and data set": (four, whole("method", "pixels/LR"), put("dataset", {90: "zzz"})),
    "fingerprint and missing": (four, put("fingerprint", {60: ZEROS}), without(3)),
    "unbound and missing": (four, drop("fingerprint"), without(3)),
    "missing and predictions": (four, put("predictions", {3: [9] * 25}), without(60)),
    "predictions and class counts": (
        four,
        put("predictions", {3: [9] * 25}),
        put("class_correct", {60: [9] * 5}),
    ),
    "lengths and contradiction": (
        four,
        put("n_correct", {3: 0}),
        put("class_correct", {60: [1]}),
        put("predictions", {70: [0]}),
    ),
    "marks and names": (
        four,
        whole("method", "pixels/LR"),
        put("transductive", {3: True, 4: False}),
    ),
    "type and null": (good, put("task_set", {1: None}), cast("task_id", lambda v: v + 0.5)),
    "column and type": (good, whole("accuracy", 1), whole("method", 3)),
}


ENDINGS: dict[str, tuple[str, ...]] = {
    "not a number": ("parquet", "csv"),
    "infinite": ("parquet", "csv"),
    "counts as texts": ("parquet", "jsonl"),
    "counts as words": ("csv",),
    "a null among class counts": ("parquet",),
    "runs as fractions": ("parquet", "jsonl"),
}
"""Formats of rows that not every format can hold."""


def write_rows(name: str, path: Path) -> None:
    """Write one of ROWS, as the path ends."""
    base, *edits = ROWS[name]
    columns = base()
    for edit in edits:
        edit(columns)
    write_columns(path, columns)


HEAD = "method,dataset,task_set,task_id,n_correct,n_query"
ROW = f"a,digits,{OPEN},0,3,25"
# name: file, content
TEXTS: dict[str, tuple[str, bytes]] = {
    "not Parquet": ("x.parquet", b"hello"),
    "empty Parquet": ("x.parquet", b""),
    "empty CSV": ("x.csv", b""),
    "header only": ("x.csv", f"{HEAD}\n".encode()),
    "another ending": ("x.xlsx", b"x"),
    "no ending": ("x", b"x"),
    "bytes in CSV": ("x.csv", b"method\n\xff\xfe\n"),
    "latin CSV": ("x.csv", f"{HEAD}\n\xe9,digits,{OPEN},0,3,25\n".encode("latin-1")),
    "ragged CSV": ("x.csv", f"{HEAD}\n{ROW}\na,digits,{OPEN},1\n".encode()),
    "header again": ("x.csv", f"{HEAD}\n{ROW}\n{HEAD}\n".encode()),
    "a quote without its other": ("x.csv", b'method,dataset\n"a","b"\na,"b'),
    "something behind a quote": ("x.csv", b'method,dataset\n"a"b,"c"\n'),
    "a cell of two lines": ("x.csv", b'method,dataset\n"a\nb","c"\n'),
    "a quote in a bare cell": ("x.csv", b'method,dataset\na"b,c\n'),
    "semicolons": ("x.csv", (HEAD + "\n" + ROW + "\n").replace(",", ";").encode()),
    "an index": ("x.csv", f",{HEAD}\n0,{ROW}\n".encode()),
    "capitals and spaces": (
        "x.csv",
        b"method,dataset,task_set,Task_ID, n_correct,n_query\n" + ROW.encode(),
    ),
    "doubled column": ("x.csv", f"{HEAD},method\n{ROW},a\n".encode()),
    "a list that is none": ("x.csv", f"{HEAD},predictions\n{ROW},1 2 3\n".encode()),
    "a list too large": ("x.csv", f"{HEAD},predictions\n{ROW},[99999]\n".encode()),
    "a list of texts": ("x.csv", f'{HEAD},class_correct\n{ROW},"[""a"", 1]"\n'.encode()),
    "bad JSON": ("x.jsonl", b'{"method": '),
    "words for JSON": ("x.jsonl", b"{method: a}\n"),
    "an object over two lines": ("x.jsonl", b'{"method": "a"}\n{"method":\n"a"}\n'),
    "two objects on a line": ("x.jsonl", b'\n{"method": "a"} {"method": "a"}\n'),
    "JSON Lines cut short": ("x.ndjson", b'{"method": "a"}\n{"method": "a", "predictions": [1, 2'),
    "deep JSON": ("x.jsonl", b"[" * 200 + b"]" * 200 + b"\n"),
    "other types in one column": ("x.jsonl", b'{"method": "a"}\n{"method": 3}\n'),
    "not one submission column": ("x.jsonl", b'{"a": 1}\n'),
}


def _of_set(more: str) -> bytes:
    bound = f'{{"fingerprint": "x", {more}}}'
    return f'{{"methods": {{"mine": {{"task_sets": {{"digits/s": {bound}}}}}}}}}'.encode()


METADATA: dict[str, bytes] = {
    "not UTF-8": b"\xff",
    "a list": b"[]",
    "empty": b"{}",
    "a method is a number": b'{"methods": {"mine": 3}}',
    "a description is a number": b'{"methods": {"mine": {"description": 3}}}',
    "transductive is a text": b'{"methods": {"mine": {"transductive": "yes"}}}',
    "a name that is unprintable": b'{"methods": {"a\\u001b": {}}}',
    "a set without data": b'{"methods": {"mine": {"task_sets": {"digits": {"fingerprint": "x"}}}}}',
    "no fingerprint": b'{"methods": {"mine": {"task_sets": {"digits/s": {}}}}}',
    "no tasks": _of_set('"tasks": 0'),
    "stopping is a text": _of_set('"stopping": "now"'),
    "version is a number": b'{"methods": {}, "package_version": 3}',
    "newer specification": b'{"spec_version": "2.0", "methods": {}}',
    "not a number": b'{"methods": NaN}',
    "a link of two lines": b'{"methods": {"mine": {"link": "a\\nb"}}}',
    "nested": b'{"methods": ' + b"[" * 100_000,
    "nested and closed": b'{"methods": {}, "package_version": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a number without end": b'{"methods": {}, "x": -Infinity}',
    "a number of many digits": b'{"methods": {}, "package_version": ' + b"9" * 5000 + b"}",
    "a fraction of tasks": _of_set('"tasks": 1.5'),
    "many tasks": _of_set(f'"tasks": {10**4000}'),
    "a stopping level that is none": _of_set('"stopping": {"versus": "a", "level": 1e308}'),
    "stopping against an escape": _of_set('"stopping": {"versus": "\\u001b", "level": 0.95}'),
    "a version that is a list": b'{"methods": {}, "spec_version": [1]}',
    "a version that escapes": b'{"methods": {}, "package_version": "\\u001b[31m"}',
    "half a character for a name": b'{"methods": {"\\ud800": {}}}',
    "an escape for a task set": b'{"methods": {"mine": {"task_sets": {"\\u001b/x": {"fingerprint": '
    b'"x"}}}}}',
    "a direction override": b'{"methods": {"mine": {"description": "\\u202egnp.exe"}}}',
    "a blank that is not seen": b'{"methods": {"mine": {"backbone": "a\\u200bb"}}}',
    "an endless description": b'{"methods": {"mine": {"description": "' + b"x" * 20_000 + b'"}}}',
    "a method that is none": b'{"methods": {"mine": null}}',
    "nothing": b"",
}


def write_metadata(name: str, path: Path) -> None:
    table = pa.table(good()).replace_schema_metadata({b"fslbench": METADATA[name]})
    pq.write_table(table, path)


def _declared(
    tasks: Any, rows: int, stopping: Any = None, task_set: str = OPEN
) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        columns = bare(answers("mine", "digits", task_set, 0.8, seed=1))
        more = {"tasks": tasks} | ({"stopping": stopping} if stopping else {})
        cut = {name: values[:rows] for name, values in columns.items()}
        write(path, cut, declared={f"mine digits/{task_set}": more})

    return make


def _rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    """The four groups, bound by metadata, then changed."""

    def make(path: Path) -> None:
        write(path, bare({k: v for k, v in four().items() if k != "fingerprint"}))
        pq.write_table(change(pq.read_table(path)), path)

    return make


def _with_metadata(old: str, new: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        metadata = table.schema.metadata[b"fslbench"]
        assert old.encode() in metadata
        return table.replace_schema_metadata(
            {b"fslbench": metadata.replace(old.encode(), new.encode(), 1)}
        )

    return change


def _marked(path: Path) -> None:
    columns = bare(answers("mine", "digits", OPEN, 0.8, seed=1))
    columns["transductive"] = [False] * 31
    write(path, columns, {"mine": {"transductive": True}})


def _cut(path: Path) -> None:
    pq.write_table(pa.table(good()), path)
    path.write_bytes(path.read_bytes()[:-100])


def _nested(path: Path) -> None:
    pq.write_table(pa.table({"method": [["a"]], "dataset": [{"a": 1}]}), path)


def _no_rows(path: Path) -> None:
    pq.write_table(pa.table(good()).slice(0, 0), path)


RULE = {"versus": "pixels/LR", "level": 0.95}
SPECIAL: dict[str, Callable[[Path], None]] = {
    "declared prefix": _declared(10, 10),
    "declared one more than there is": _declared(11, 10),
    "declared one fewer than there is": _declared(9, 10),
    "declared more than the set has": _declared(32, 31),
    "declared stop on a drifting set": _declared(10, 10, RULE),
    "declared stop on a closed set": _declared(10, 10, RULE, CLOSED),
    "declared stop at no level": _declared(10, 10, {"versus": "pixels/LR", "level": 2.0}, CLOSED),
    "declared results lost": _rewritten(lambda table: table.slice(0, 50)),
    "other tasks in the metadata": _rewritten(_with_metadata("e2c84bbb9f38", "000000000000")),
    "short fingerprint in the metadata": _rewritten(
        lambda t: _with_metadata(
            "e2c84bbb9f386fc4475c5673d77164cb684cd4b0c996c364034260fd2a61389f", "e2c8"
        )(t)
    ),
    "metadata and column disagree": _rewritten(
        lambda t: _with_metadata("e2c84bbb9f38", "000000000000")(
            t.append_column("fingerprint", pa.array(four()["fingerprint"]))
        )
    ),
    "metadata speaks of one group only": _rewritten(_with_metadata('"mine"', '"yours"')),
    "metadata and marks disagree": _marked,
    "metadata lost": _rewritten(lambda table: table.replace_schema_metadata(None)),
    "cut short": _cut,
    "a folder": lambda path: path.mkdir(),
    "not there": lambda path: None,
    "nested columns": _nested,
    "no rows": _no_rows,
}
