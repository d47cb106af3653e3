"""Files that are refused: submissions that break a rule or several, and files that declare."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from forged import parquet
from golden_inputs import (
    CLOSED,
    OPEN,
    Columns,
    answers,
    bare,
    joined,
    release,
    several,
    with_fingerprints,
    write,
    write_columns,
)

from benchmark_spec.manifest import Dataset, Manifest, Table, table_path

Edit = Callable[[Columns], object]
ALL = ("parquet", "csv", "jsonl")


def good() -> Columns:
    """One method on 31 tasks of 25 queries, with predictions and fingerprints."""
    return with_fingerprints(answers("mine", "digits", OPEN, 0.8, seed=1))


def four() -> Columns:
    """Two methods on two task sets, the second of 19 tasks of 35 queries: 100 rows."""
    skills = {"mine": 0.8, "other": 0.8}
    return with_fingerprints(several(skills, OPEN, "open-5w10s7q", seed=1))


def in_runs() -> Columns:
    parts = [answers("mine", "digits", OPEN, 0.8, seed=1, run=r) for r in ("a", "b", "c")]
    parts.append(answers("other", "digits", OPEN, 0.8, seed=1, run="a"))
    return with_fingerprints(bare(joined(parts)))


def put(**changes: dict[int, Any]) -> Edit:
    def edit(columns: Columns) -> None:
        for column, values in changes.items():
            known = columns.get(column, [None] * len(columns["method"]))
            columns[column] = [values.get(row, value) for row, value in enumerate(known)]

    return edit


def fill(rows: range, **values: Any) -> Edit:
    return put(**{column: dict.fromkeys(rows, value) for column, value in values.items()})


def whole(**values: Any) -> Edit:
    return fill(range(1000), **values)


def cast(**to: Callable[[Any], Any]) -> Edit:
    return lambda columns: columns.update({k: [*map(of, columns[k])] for k, of in to.items()})


def drop(*names: str) -> Edit:
    return lambda columns: [columns.pop(name) for name in names]


def keep(choose: Callable[[list[int]], list[int]]) -> Edit:
    def edit(columns: Columns) -> None:
        at = choose(list(range(len(columns["method"]))))
        columns |= {name: [values[i] for i in at] for name, values in columns.items()}

    return edit


counts, no_classes = drop("predictions", "class_correct"), drop("class_correct")
taken = cast(method={"mine": "mine", "other": "pixels/LR"}.get)
mixed = keep(lambda at: sorted(at, key=lambda i: (i * 37) % 100))


def by_class(values: dict[int, list[int]]) -> Edit:
    return lambda columns: [
        edit(columns) for edit in (drop("predictions"), put(class_correct=values))
    ]


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
    "one task in place of another": (good, put(task_id={3: 2})),
    "doubled in the last group": (four, put(task_id={99: 0})),
    "missing and doubled in different groups": (four, without(2), doubled(60)),
    "doubled and missing in different groups": (four, doubled(2), without(60)),
    "out of order and a task missing": (four, without(40), keep(lambda at: at[::-1])),
    "interleaved and a task doubled": (four, mixed, doubled(9)),
    # task ids
    "unknown task": (good, put(task_id={30: 31})),
    "several unknown tasks": (good, put(task_id={i: 100 - i for i in range(9)})),
    "unknown tasks in two groups": (four, put(task_id={40: 25, 90: 31, 91: 19})),
    "negative task": (good, put(task_id={0: -1, 5: -7})),
    "absurd task": (good, put(task_id={0: 2**40, 3: -(2**40)})),
    "null task": (good, put(task_id={9: None, 20: None})),
    "fractional task": (good, cast(task_id=float), put(task_id={2: 1.5})),
    "texts for tasks": (good, cast(task_id=lambda v: f"t{v}")),
    # counts
    "too many right": (good, counts, put(n_correct={2: 26})),
    "too many right in two groups": (four, counts, put(n_correct={99: 36, 33: 40})),
    "right in one group and too many in another": (four, counts, put(n_correct={5: 30})),
    "percentages": (good, counts, cast(n_correct=lambda v: 4 * v)),
    "fewer than none right": (good, counts, put(n_correct={5: -1, 6: -2})),
    "absurd count": (good, counts, put(n_correct={5: 70_000, 6: -70_000})),
    "null count": (good, counts, put(n_correct={4: None})),
    "fractional counts": (good, counts, cast(n_correct=float), fill(range(8), n_correct=3.5)),
    "accuracies": (good, counts, cast(n_correct=lambda v: v / 25)),
    "not a number": (good, counts, cast(n_correct=float), put(n_correct={1: float("nan")})),
    "infinite": (good, counts, cast(n_correct=float), put(n_correct={1: float("inf")})),
    "counts as floats": (good, counts, cast(n_correct=float)),
    "counts as texts": (good, counts, cast(n_correct=str)),
    "counts as words": (good, counts, put(n_correct={0: "many", 8: "few"})),
    "counts as booleans": (good, counts, cast(n_correct=bool)),
    # queries
    "another number of queries": (good, whole(n_query=15)),
    "one row's number of queries": (good, put(n_query={12: 5})),
    "queries of the other set": (four, fill(range(31, 50), n_query=25)),
    "queries in two groups": (four, put(n_query={98: 1, 3: 2})),
    "null queries": (good, put(n_query={12: None})),
    "huge number of queries": (good, put(n_query={12: 40_000})),
    # names
    "null method": (good, put(method={3: None})),
    "null set": (good, put(task_set={3: None, 4: None})),
    "names as numbers": (good, whole(method=3)),
    "empty name": (good, whole(method=" ")),
    "an unprintable name": (four, put(method={70: "a\x1b[31m"})),
    "a name with spaces around": (good, whole(method=" mine ")),
    "a very long name": (good, whole(method="x" * 300)),
    "a reference method's name": (four, taken),
    "two bad names": (four, cast(method={"mine": "pixels/NCC", "other": "b\x07"}.get)),
    "no such data set": (four, put(dataset={40: "digit"})),
    "no data set like it": (good, whole(dataset="zzz")),
    "no such task set": (four, put(task_set={60: "open-5w5s4q", 70: "zzz"})),
    "a task set of other data": (good, whole(task_set="published-5w5s5q")),
    # fingerprints
    "wrong fingerprint": (good, whole(fingerprint=ZEROS)),
    "wrong fingerprint in one group": (four, fill(range(50, 81), fingerprint=ZEROS)),
    "fingerprints of the other set": (four, put(fingerprint={40: "e2c84bbb9f386fc4"})),
    "mixed fingerprints": (good, put(fingerprint={8: ZEROS, 20: "1" * 64})),
    "a fingerprint left out": (good, put(fingerprint={8: None, 9: None})),
    "fingerprints left out of a group": (four, fill(range(50, 81), fingerprint=None)),
    "left out here and wrong there": (four, put(fingerprint={8: None, 3: ZEROS})),
    "a fingerprint cut too short": (good, whole(fingerprint="e2c84bbb9f3")),
    "something else for a fingerprint": (good, put(fingerprint={5: "embedded@1.0.0"})),
    "fingerprints as numbers": (good, whole(fingerprint=7)),
    "no fingerprint": (good, drop("fingerprint")),
    "no fingerprint in four groups": (four, drop("fingerprint")),
    "fingerprints all null": (good, whole(fingerprint=None)),
    # columns
    "missing column": (good, drop("n_query")),
    "missing columns": (good, drop("method", "dataset", "task_id")),
    "unknown columns": (good, whole(accuracy=1.0, Seed=1)),
    "missing and unknown columns": (good, drop("task_id"), whole(Task_ID=1)),
    # lists
    "predictions too long": (good, put(predictions={3: [0] * 26, 9: [0] * 30})),
    "predictions too short in two groups": (four, put(predictions={40: [1], 70: []})),
    "a class id for a prediction": (good, put(predictions={3: [7] * 25, 4: [-1] * 25})),
    "a null among predictions": (good, put(predictions={3: [None] * 25})),
    "no predictions in some rows": (good, put(predictions={3: None, 4: None})),
    "which are right, too long": (good, right_alone, put(correct={3: [1] * 26})),
    "which are right, of a class": (good, right_alone, put(correct={3: [2] * 25})),
    "a null among which are right": (good, right_alone, put(correct={3: [None] * 25})),
    "which are right, and predictions": (good, whole(correct=[1] * 25)),
    "which are right, as texts": (good, right_alone, whole(correct=["1"] * 25)),
    "which are right, against counts": (good, right_alone, put(n_correct={7: 0, 11: 0})),
    "which are right, in some rows": (good, right_alone, put(correct={3: None})),
    "predictions as texts": (good, whole(predictions=["1"] * 25)),
    "predictions as one text": (good, whole(predictions="1 2 3")),
    "predictions that are no int16": (good, put(predictions={3: [99999] * 25})),
    "class counts too short": (good, whole(class_correct=[1, 1])),
    "a null among class counts": (good, put(class_correct={5: [1, None, 1, 1, 1]})),
    "class counts out of range": (good, by_class({0: [6, 0, 0, 0, 0], 7: [0, 0, -1, 0, 9]})),
    "class counts beyond the other set's": (four, by_class({2: [7] + 4 * [0], 40: [8] + 4 * [7]})),
    # contradictions
    "counts that contradict predictions": (good, no_classes, fill(range(11, 24), n_correct=0)),
    "counts that contradict predictions in two groups": (
        four,
        no_classes,
        put(n_correct={90: 0, 35: 1, 4: 2}),
    ),
    "class counts that contradict the count": (four, by_class({2: [5] * 5, 77: [0] * 5})),
    "class counts that contradict predictions": (four, cast(class_correct=lambda v: v[1:] + v[:1])),
    "count against both lists": (good, put(n_correct={11: 0})),
    # runs
    "a run misses a task": (in_runs, without(40)),
    "a run misses its last tasks": (in_runs, without(60, 61, 59)),
    "a run twice": (in_runs, fill(range(31, 62), run="a")),
    "null run": (in_runs, put(run={5: None})),
    "runs as fractions": (in_runs, whole(run=0.5)),
    "an unprintable run": (in_runs, fill(range(31, 62), run="b\x1b")),
    "runs without a column": (in_runs, drop("run")),
    # marks
    "marks that contradict": (four, put(transductive={3: True, 4: False, 60: True})),
    "marks of another type": (four, whole(transductive="perhaps")),
    # two rules broken at once: which is said first
    "query count and task": (four, put(n_query={60: 5}, task_id={3: 99})),
    "task and count": (four, counts, put(n_correct={3: 99}, task_id={60: 99})),
    "count and fingerprint": (four, counts, put(n_correct={60: 99}, fingerprint={3: ZEROS})),
    "name and count": (four, counts, put(n_correct={3: 99}), taken),
    "name and data set": (four, whole(method="pixels/LR"), put(dataset={90: "zzz"})),
    "fingerprint and missing": (four, put(fingerprint={60: ZEROS}), without(3)),
    "unbound and missing": (four, drop("fingerprint"), without(3)),
    "missing and predictions": (four, put(predictions={3: [9] * 25}), without(60)),
    "predictions and class counts": (
        four,
        put(predictions={3: [9] * 25}, class_correct={60: [9] * 5}),
    ),
    "lengths and contradiction": (
        four,
        put(n_correct={3: 0}, class_correct={60: [1]}, predictions={70: [0]}),
    ),
    "marks and names": (four, whole(method="pixels/LR"), put(transductive={3: True, 4: False})),
    "type and null": (good, put(task_set={1: None}), cast(task_id=lambda v: v + 0.5)),
    "column and type": (good, whole(accuracy=1, method=3)),
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
    "capitals and spaces": ("x.csv", f"{HEAD.replace('task_id,', 'Task_ID, ')}\n{ROW}".encode()),
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
    bound = f'{{{more}"fingerprint": "x"}}'
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
    "no tasks": _of_set('"tasks": 0, '),
    "stopping is a text": _of_set('"stopping": "now", '),
    "version is a number": b'{"methods": {}, "package_version": 3}',
    "newer specification": b'{"spec_version": "2.0", "methods": {}}',
    "not a number": b'{"methods": NaN}',
    "a link of two lines": b'{"methods": {"mine": {"link": "a\\nb"}}}',
    "nested": b'{"methods": ' + b"[" * 100_000,
    "nested and closed": b'{"methods": {}, "package_version": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a number without end": b'{"methods": {}, "x": -Infinity}',
    "a number of many digits": b'{"methods": {}, "package_version": ' + b"9" * 5000 + b"}",
    "a fraction of tasks": _of_set('"tasks": 1.5, '),
    "many tasks": _of_set(f'"tasks": {10**4000}, '),
    "a stopping level that is none": _of_set('"stopping": {"versus": "a", "level": 1e308}, '),
    "stopping against an escape": _of_set('"stopping": {"versus": "\\u001b", "level": 0.95}, '),
    "stopping against itself": _of_set('"stopping": {"versus": "mine", "level": 0.95}, '),
    "a version that is a list": b'{"methods": {}, "spec_version": [1]}',
    "a version that escapes": b'{"methods": {}, "package_version": "\\u001b[31m"}',
    "half a character for a name": b'{"methods": {"\\ud800": {}}}',
    "an escape for a task set": _of_set("").replace(b"digits/s", b"\\u001b/x"),
    "a direction override": b'{"methods": {"mine": {"description": "\\u202egnp.exe"}}}',
    "a blank that is not seen": b'{"methods": {"mine": {"backbone": "a\\u200bb"}}}',
    "an endless description": b'{"methods": {"mine": {"description": "' + b"x" * 20_000 + b'"}}}',
    "a method that is none": b'{"methods": {"mine": null}}',
    "nothing": b"",
}


def write_metadata(name: str, path: Path) -> None:
    table = pa.table(good()).replace_schema_metadata({b"fslbench": METADATA[name]})
    pq.write_table(table, path)


def _declared(path: Path, tasks: int, rows: int, task_set: str = OPEN, **stopping: Any) -> None:
    columns = bare(answers("mine", "digits", task_set, 0.8, seed=1))
    more = {"tasks": tasks} | ({"stopping": stopping} if stopping else {})
    cut = {name: values[:rows] for name, values in columns.items()}
    write(path, cut, declared={f"mine digits/{task_set}": more})


def _rewritten(change: Callable[[pa.Table], pa.Table], path: Path) -> None:
    """The four groups, bound by metadata, then changed."""
    write(path, bare({k: v for k, v in four().items() if k != "fingerprint"}))
    pq.write_table(change(pq.read_table(path)), path)


def _said(old: str, new: str, table: pa.Table) -> pa.Table:
    """The table with another text in its metadata."""
    metadata = table.schema.metadata[b"fslbench"]
    assert old.encode() in metadata
    changed = metadata.replace(old.encode(), new.encode(), 1)
    return table.replace_schema_metadata({b"fslbench": changed})


def _disagreeing(table: pa.Table) -> pa.Table:
    prints = pa.array(four()["fingerprint"])
    return _said(PRINT[:12], ZEROS[:12], table).append_column("fingerprint", prints)


def _marked(path: Path) -> None:
    columns = bare(answers("mine", "digits", OPEN, 0.8, seed=1))
    columns["transductive"] = [False] * 31
    write(path, columns, {"mine": {"transductive": True}})


PRINT = "e2c84bbb9f386fc4475c5673d77164cb684cd4b0c996c364034260fd2a61389f"
RULE = {"versus": "pixels/LR", "level": 0.95}
SPECIAL: dict[str, Callable[[Path], object]] = {
    "declared prefix": lambda path: _declared(path, 10, 10),
    "declared one more than there is": lambda path: _declared(path, 11, 10),
    "declared one fewer than there is": lambda path: _declared(path, 9, 10),
    "declared more than the set has": lambda path: _declared(path, 32, 31),
    "declared stop on a drifting set": lambda path: _declared(path, 10, 10, **RULE),
    "declared stop on a closed set": lambda path: _declared(path, 10, 10, CLOSED, **RULE),
    "declared stop at no level": lambda path: _declared(
        path, 10, 10, CLOSED, **RULE | {"level": 2.0}
    ),
    "declared results lost": partial(_rewritten, lambda t: t.slice(0, 50)),
    "other tasks in the metadata": partial(_rewritten, partial(_said, PRINT[:12], ZEROS[:12])),
    "short fingerprint in the metadata": partial(_rewritten, partial(_said, PRINT, "e2c8")),
    "metadata and column disagree": partial(_rewritten, _disagreeing),
    "metadata speaks of one group only": partial(_rewritten, partial(_said, '"mine"', '"yours"')),
    "metadata and marks disagree": _marked,
    "metadata lost": partial(_rewritten, lambda t: t.replace_schema_metadata(None)),
    "cut short": lambda path: path.write_bytes(parquet(pa.table(good()))[:-100]),
    "a folder": Path.mkdir,
    "not there": lambda path: None,
    "nested columns": lambda path: pq.write_table(
        pa.table({"method": [["a"]], "dataset": [{"a": 1}]}), path
    ),
    "no rows": lambda path: pq.write_table(pa.table(good()).slice(0, 0), path),
}

# ---- files that declare: their texts, and what the error must name ---------------------------

SPEC = 'name = "r"\nversion = "1.0.0"\ndescription = "d"\n'
CUB = '[[dataset]]\nname = "cub"\nsource = "catalogue"\n'
# what stands behind a data set, and what the error names
_FIELDS_OF_SPECS: dict[str, tuple[str, str]] = {
    "an unknown field of a data set": ('suits = ["open"]\n', "'suites'"),
    "a field of another level": ('version = "1.0.0"\n', "version"),
    "suites are a number": ("suites = 3\n", "suites"),
    "suites are a text": ('suites = "open"\n', "suites"),
    "a suite is a number": ('suites = ["open", 1]\n', "suites"),
    "protocols are numbers": ("protocols = [5]\n", "protocols"),
    "no protocols": ("protocols = []\n", "protocols"),
    "a seed is true": ("seed = true\n", "seed"),
    "a seed is a text": ('seed = "1"\n', "seed"),
    "a seed is a fraction": ("seed = 1.5\n", "seed"),
    "tasks are a number": ("tasks = 600\n", "tasks"),
    "no tasks": ("tasks = { closed = 0 }\n", "tasks.closed"),
    "many tasks": ("tasks = { pooled = 1, closed = 10000001 }\n", "tasks.closed"),
    "tasks as texts": ('tasks = { closed = "600" }\n', "tasks.closed"),
    "tasks of no suite": ("tasks = { closd = 3 }\n", "'closed'"),
    "queries are a word": ('queries = "best"\n', "queries"),
    "queries by an unknown rule": ('queries = { haed = "NCC" }\n', "'head'"),
    "queries by a head that is a number": ("queries = { head = 3 }\n", "head"),
    "queries on no seeds": ("queries = { seeds = 0 }\n", "seeds"),
    "queries on many seeds": ("queries = { seeds = 1000000 }\n", "seeds"),
    "attributes are a list": ('attributes = ["titles"]\n', "attributes"),
    "a recipe is a number": ("attributes = { titles = 3 }\n", "attributes.titles"),
    "pictures of no size": ("pictures = 3\n", "pictures"),
    "pictures as a word": ('pictures = "file"\n', "pictures"),
    "pictures are true": ("pictures = true\n", "pictures"),
    "options are a list": ("options = []\n", "options"),
    "fine-tuning is a list": ("fine_tuning = []\n", "fine_tuning"),
    "fine-tuning of nothing": (
        "fine_tuning = { backbones = [], task_sets = ['y'] }\n",
        "backbones",
    ),
    "fine-tuning on nothing": ('fine_tuning = { backbones = ["x"] }\n', "task_sets"),
    "fine-tuning on no tasks": (
        'fine_tuning = { backbones = ["x"], task_sets = ["y"], max_tasks = 0 }\n',
        "max_tasks",
    ),
    "fine-tuning with an unknown field": ('fine_tuning = { backbone = ["x"] }\n', "'backbones'"),
    "the second data set": ('[[dataset]]\nname = "dtd"\nseed = "x"\n', "seed"),
    "listed twice": (CUB, "cub"),
}
SPECS: dict[str, tuple[str, str]] = {
    **{name: (SPEC + CUB + text, said) for name, (text, said) in _FIELDS_OF_SPECS.items()},
    "no TOML": ("x = [", "not TOML"),
    "nested": (f"x = {'[' * 5000}", "not TOML"),
    "a number of many digits": (f"seed = {'9' * 5000}", "not TOML"),
    "no data sets": (SPEC, "dataset"),
    "an empty list of data sets": (SPEC + "dataset = []\n", "dataset"),
    "a number of data sets": (SPEC + "dataset = 3\n", "dataset"),
    "numbers for data sets": (SPEC + "dataset = [3]\n", "dataset"),
    "no name": (CUB, "name"),
    "a number for a name": (SPEC.replace('"r"', "3") + CUB, "name"),
    "a date for a version": (SPEC.replace('"1.0.0"', "2020-01-01") + CUB, "version"),
    "an unknown field": (SPEC + "sed = 1\n" + CUB, "'seed'"),
    "no name of a data set": (SPEC + '[[dataset]]\nsource = "cub"\n', "name"),
    "a name of a data set that cannot be": (SPEC + '[[dataset]]\nname = "Cub!"\n', "Cub!"),
}

RUN = 'method = "ProtoNet"\n{head}[data]\nsource = "digits"\nside = 8\n{data}'
_MORE: dict[str, tuple[str, str, str]] = {
    "an unknown field": ("sed = 1\n", "", "'seed'"),
    "an unknown part": ("", "[networks]\n", "'network'"),
    "an unknown field of a part": ("", "[network]\nchanels = 3\n", "'channels'"),
    "a seed of 2^64": ("seed = 18446744073709551616\n", "", "seed"),
    "a seed below 0": ("seed = -1\n", "", "seed"),
    "a seed is true": ("seed = true\n", "", "seed"),
    "a number of many digits": (f"seed = {'9' * 5000}\n", "", "not TOML"),
    "a part is a number": ("training = 3\n", "", "training"),
    "settings are a list": ("settings = []\n", "", "settings"),
    "a date among settings": ("settings = { a = 2020-01-01 }\n", "", "settings"),
    "nan among options": ("", "train = { a = nan }\n", "train"),
    "an option nested deep": ("", f"train = {{ a = {'[' * 50 + ']' * 50} }}\n", "train"),
    "channels without end": ("", "[network]\nchannels = 999999999\n", "channels"),
    "no such network": ("", '[network]\nname = "conv5"\n', "name"),
    "three pools": ("", "[network]\npools = [true, true, false]\n", "pools"),
    "pools are numbers": ("", "[network]\npools = [1, 1, 0, 0]\n", "pools"),
    "a slope below 0": ("", "[network]\nslope = -0.1\n", "slope"),
    "a slope that is none": ("", "[network]\nslope = nan\n", "slope"),
    "a start elsewhere": ("", '[network]\nstart = "../../x"\n', "start"),
    "a start with a null": ("", '[network]\nstart = "a\\u0000b"\n', "start"),
    "a long start": ("", f'[network]\nstart = "{"a" * 201}"\n', "start"),
    "steps beyond counting": ("", f"[training]\nsteps = {'9' * 30}\n", "steps"),
    "no steps": ("", "[training]\nsteps = 0\n", "steps"),
    "a rate of 0": ("", "[training]\nrate = 0\n", "rate"),
    "a rate no float can be": ("", f"[training]\nrate = {'9' * 400}\n", "rate"),
    "a rate is true": ("", "[training]\nrate = true\n", "rate"),
    "a batch without end": ("", "[training]\nbatch = 99999999999\n", "batch"),
    "no such optimizer": ("", '[training]\noptimizer = "adagrad"\n', "optimizer"),
    "an episode is a number": ("", "[training]\nepisode = 5\n", "episode"),
    "an episode that is none": ("", '[training]\nepisode = "5w"\n', "5w"),
    "many tasks": ("", "[validation]\ntasks = 1000001\n", "tasks"),
}
RUNS: dict[str, tuple[str, str]] = {
    **{k: (RUN.format(head=head, data=data), said) for k, (head, data, said) in _MORE.items()},
    "no TOML": ("x = [", "not TOML"),
    "no method": ('[data]\nsource = "digits"\n', "method"),
    "no data": ('method = "ProtoNet"\n', "data"),
    "no source": ('method = "ProtoNet"\n[data]\nside = 8\n', "source"),
}

BOARDS: dict[str, tuple[str, str]] = {
    "empty": ("", "releases"),
    "no releases": ("releases = []", "releases"),
    "releases are a text": ('releases = "embedded"', "releases"),
    "releases are numbers": ("releases = [1]", "releases"),
    "a release twice": ('releases = ["embedded", "embedded"]', "releases"),
    "a folder": ('releases = ["/etc"]', "/etc"),
    "a title is a number": ('title = 1\nreleases = ["embedded"]', "title"),
    "a title that is not printable": ('title = "a\\u001b[31m"\nreleases = ["embedded"]', "title"),
    "a long title": (f'title = "{"a" * 201}"\nreleases = ["embedded"]', "title"),
    "unknown settings": ('sort = "x"\nreleases = ["embedded"]', "sort"),
    "no TOML": ("releases = [", "TOML"),
    "nested": ("x = " + "[" * 5000, "TOML"),
    "long": ("#" * 70000, "longer"),
}


_BIRDS = Dataset("cub", "Birds", "https://example.org", "none", "@misc{x}", 2, 4, "")
_TABLES: Any = ("classes", "cub", ""), ("tasks", "cub", "open-5w1s1q"), ("results", "", "m")
_LISTED = tuple(Table(table_path(*key), *key, 1, 2, "s", "d", "", {}) for key in _TABLES)
MANIFEST = Manifest("small", "1.0.0", "é", (_BIRDS,), _LISTED)
_FIELDS: dict[str, tuple[tuple[str | int, ...], Any, str]] = {
    "another digest": (("digest",), "0", "digest"),
    "a table of tables": (("tables",), {}, "tables"),
    "a name is a number": (("name",), 3, "name"),
    "a name with commands": (("name",), "a\x1b[31m", "name"),
    "a version of one number": (("version",), "1", "version"),
    "a version of many digits": (("version",), "9" * 5000 + ".0.0", "version"),
    "a later specification": (("spec_version",), "2.0", "2.0"),
    "a specification that is a list": (("spec_version",), [[1]], "spec_version"),
    "a SHA-256 that is none": (("specification",), "x", "specification"),
    "made with a number": (("made_with",), 3, "made_with"),
    "made with what is not printable": (("made_with",), "a\x1b[31m", "made with"),
    "a long description": (("description",), "x" * 20_000, "description"),
    "a data set is a text": (("datasets", 0), "cub", "'cub'"),
    "a title is a number": (("datasets", 0, "title"), 3, "title"),
    "a title of two lines": (("datasets", 0, "title"), "a\nb", "title"),
    "fewer classes than none": (("datasets", 0, "n_classes"), -1, "n_classes"),
    "a text of classes": (("datasets", 0, "n_classes"), "2", "n_classes"),
    "fractions of images": (("datasets", 0, "n_images"), 4.5, "n_images"),
    "superclasses are true": (("datasets", 0, "n_superclasses"), True, "n_superclasses"),
    "redistribution of everything": (("datasets", 0, "redistribution"), "all", "redistribution"),
    "a name of a data set that cannot be": (("datasets", 0, "name"), "Cub!", "Cub!"),
    "no rows": (("tables", 1, "rows"), -1, "rows"),
    "rows beyond 64 bits": (("tables", 1, "rows"), 1 << 63, "rows"),
    "rows beyond counting": (("tables", 1, "rows"), 10**4000, "rows"),
    "bytes are true": (("tables", 1, "bytes"), True, "bytes"),
    "a digest is null": (("tables", 1, "digest"), None, "digest"),
    "no such kind": (("tables", 1, "kind"), "task", "kind"),
    "drawn is a text": (("tables", 1, "drawn"), "yes", "drawn"),
    "a table of classes that is drawn": (("tables", 0, "drawn"), True, "classes/cub.parquet"),
    "provenance is a list": (("tables", 1, "provenance"), [], "provenance"),
    "provenance nested deep": (("tables", 1, "provenance"), {"a": json.loads("[" * 17 + "]" * 17)},
                               "provenance"),
    "a path out of the release": (("tables", 1, "path"), "../x.parquet", "../x.parquet"),
    "a name that is none": (("tables", 1, "name"), "x", "'x'"),
    "an unknown data set": (("tables", 1, "dataset"), "dtd", "dtd"),
}  # fmt: skip


_LEFT_OUT = object()


def _changed(path: tuple[str | int, ...], value: Any = _LEFT_OUT) -> str:
    """The manifest with another value at a place, or none."""
    at = raw = json.loads(MANIFEST.to_json())
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    if value is _LEFT_OUT:
        del at[path[-1]]
    return json.dumps(raw)


MANIFESTS: dict[str, tuple[str, str]] = {
    **{name: (_changed(path, value), said) for name, (path, value, said) in _FIELDS.items()},
    "empty": ("", "JSON"),
    "a list": ("[]", ""),
    "nested": ('{"a":' * 100_000, "JSON"),
    "NaN": (_changed(("tables", 1, "provenance"), {"seed": float("nan")}), ""),
    "1e999": (_changed(("tables", 1, "provenance"), {"seed": 0}).replace("0}", "1e999}"), ""),
    "half a character": ('{"spec_version": "\\ud800"}', ""),
    "no name": (_changed(("name",)), "name"),
    "no title": (_changed(("datasets", 0, "title")), "title"),
    "no rows said": (_changed(("tables", 2, "rows")), "rows"),
    "no digest": (_changed(("digest",)), "digest"),
}


def readers(folder: Path) -> dict[str, tuple[dict[str, tuple[str, str]], Callable[[str], object]]]:
    """The files of each kind, and what reads their text."""
    from builders.release.spec_file import read_spec
    from builders.training.settings import read_settings
    from fslbench_data.leaderboard.repository import parse_board

    def written(read: Callable[[Path], object], text: str) -> object:
        path = folder / "x.toml"
        path.write_text(text, encoding="utf-8")
        return read(path)

    return {
        "specification": (SPECS, partial(written, read_spec)),
        "training": (RUNS, partial(written, read_settings)),
        "board": (BOARDS, lambda text: parse_board(text.encode(), "leaderboard.toml")),
        "manifest": (MANIFESTS, lambda text: Manifest.from_json(text, "release.json")),
    }
