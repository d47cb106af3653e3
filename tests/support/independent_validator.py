"""A second validator, written from docs/submissions.md, docs/submission_files.md and nothing else.

Plain Python on rows; pyarrow only turns Parquet into them.  It says whether a file is accepted, and
if not one reason; it shares no code with :mod:`fslbench_data.submission`.
"""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

TEXTS = ("method", "dataset", "task_set")
INTEGERS = ("task_id", "n_correct", "n_query")
LISTS = ("class_correct", "predictions", "correct")
MARKS = ("correct", pa.bool_())
OPTIONAL = (*LISTS, "run", "fingerprint", "transductive")


@dataclass(frozen=True)
class Facts:
    """What a release says of a task set; `labels` are the true positions of each task's queries."""

    way: int
    query: int
    tasks: int
    fingerprint: str
    labels: list[list[int]]
    misleading: float = 0.0
    """The capital by which a set drifts (studies/coverage/stopping.md); 0 without a rule."""


AllFacts = Mapping[tuple[str, str], Facts]


@dataclass(frozen=True)
class Declared:
    """What metadata says of a method's answers to a task set; nothing, if it is silent."""

    fingerprint: str | None = None
    tasks: int | None = None
    level: float | None = None


class RefusedError(Exception):
    """The file is not accepted."""


def refusal(
    path: Path, facts: AllFacts, taken: frozenset[str], *, unbound: bool = False
) -> str | None:
    try:
        rows, about = _READERS[path.suffix](path)
        _require(bool(rows), "no rows")
        declared = _declared(about)
        _check_rows(rows, facts, taken)
        _check_marks(rows, about)
        _check_groups(rows, facts, declared, unbound)
    except RefusedError as reason:
        return str(reason)
    return None


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RefusedError(otherwise)


def _parquet(path: Path) -> tuple[list[Row], Any]:
    try:
        file = pq.ParquetFile(path)
        table = file.read()
        _require(table.num_rows == file.metadata.num_rows, "another number of rows")
        table.validate(full=True)
        names, kinds = table.schema.names, table.schema.types
        _check_columns(names)
        rows = table.to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise RefusedError(f"not to be read: {error}") from None
    for name, kind in zip(names, kinds, strict=True):
        if _is_index(name):
            continue
        number = name == "run" and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
        _require(name in (*TEXTS, *INTEGERS) or number or _may_be(kind, name), f"{name} is {kind}")
        if number:
            for row in rows:
                row[name] = None if row[name] != row[name] else row[name]
            _name_runs(rows)
    raw = (table.schema.metadata or {}).get(b"fslbench")
    if raw is None:
        return rows, None
    try:
        about = json.loads(raw, parse_constant=_no_json)
        json.dumps(about, ensure_ascii=False).encode()  # no half of a surrogate pair is UTF-8
    except (ValueError, RecursionError):
        raise RefusedError("metadata is not JSON") from None
    return rows, about


def _may_be(kind: pa.DataType, name: str) -> bool:
    """Whether an optional column is of the type that it should be, though all of it be null."""
    if name in LISTS:
        tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        return kind == pa.null() or (
            any(test(kind) for test in tests)
            and (pa.types.is_integer(kind.value_type) or (name, kind.value_type) == MARKS)
        )
    if name == "transductive":
        return kind in (pa.null(), pa.bool_())
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.null(), pa.string(), pa.large_string(), pa.string_view())


def _csv(path: Path) -> tuple[list[Row], Any]:
    lines = [cells for line in re.split("\r\n|\r|\n", _text(path)) if (cells := _cells(line))]
    _require(bool(lines), "an empty file")
    names = [cell or "" for cell in lines[0]]
    _check_columns(names)
    rows = []
    for cells in lines[1:]:
        _require(len(cells) == len(names), "a line of more or fewer cells")
        row: Row = dict(zip(names, cells, strict=True))
        for name in INTEGERS:
            cell = row[name] or ""
            found = re.fullmatch(r"\s*(-?[0-9]{1,15})(\.0+)?\s*", cell, re.ASCII)
            if found is None:
                raise RefusedError(f"{name} {cell!r}")
            row[name] = int(found[1])
        for name in LISTS:
            if row.get(name) is not None:
                row[name] = _json(row[name])
        if row.get("transductive") is not None:
            said = row["transductive"].lower()
            row["transductive"] = {"true": True, "false": False}.get(said, "")
        rows.append(row)
    return rows, None


def _cells(line: str) -> list[str | None]:
    """The cells of a line; none of an empty line."""
    cells: list[str | None] = []
    at = 0
    while line and at <= len(line):
        quoted = line.startswith('"', at)
        found = re.compile(r'"((?:[^"]|"")*)"' if quoted else r'([^",]*)').match(line, at)
        if found is None or line[found.end() : found.end() + 1] not in ("", ","):
            raise RefusedError("a quote that does not stand around a cell")
        cells.append(found[1].replace('""', '"') or None)
        at = found.end() + 1
    return cells


def _json_lines(path: Path) -> tuple[list[Row], Any]:
    rows = [_json(line) for line in _text(path).split("\n") if line.strip(" \t\r")]
    _require(all(isinstance(row, dict) for row in rows), "a line that is no object")
    _check_columns(list({name: None for row in rows for name in row}))
    _name_runs(rows)
    return rows, None


def _name_runs(rows: list[Row]) -> None:
    """Write runs as texts that are whole numbers in all rows, whatever type they are of."""
    named = [row for row in rows if row.get("run") is not None]
    if all(type(row["run"]) in (int, float) and row["run"] % 1 == 0 for row in named):
        for row in named:
            row["run"] = str(int(row["run"]))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusedError("not UTF-8") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_json, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise RefusedError(f"not JSON: {text[:40]!r}") from None


def _no_json(text: str) -> None:
    raise ValueError(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _require(len({key for key, _ in pairs}) == len(pairs), "a key stands twice")
    return dict(pairs)


_READERS = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines}


def _is_index(name: str) -> bool:
    """Whether pandas calls an index without a name so, which nobody reads."""
    return name in ("", "Unnamed: 0") or re.fullmatch(r"__index_level_\d+__", name) is not None


def _check_columns(names: list[str]) -> None:
    names = [name for name in names if not _is_index(name)]
    _require(len(set(names)) == len(names), "a column stands twice")
    _require({*TEXTS, *INTEGERS} <= set(names), "a column is missing")
    _require(set(names) <= {*TEXTS, *INTEGERS, *OPTIONAL}, "an unknown column")


def _declared(about: Any) -> dict[tuple[str, str, str], Declared]:
    if about is None:
        return {}
    _require(isinstance(about, dict) and isinstance(about.get("methods"), dict), "no methods")
    version = about.get("spec_version", "1")
    _require(isinstance(version, str) and version.split(".")[0] == "1", "another specification")
    _require(_is_line(about.get("package_version", "")), "package_version")
    found: dict[tuple[str, str, str], Declared] = {}
    for method, entry in about["methods"].items():
        _check_name(method)
        _require(isinstance(entry, dict), "a method that is no object")
        _require(all(_is_line(entry.get(k, "")) for k in ("description", "backbone", "link")), "?")
        _require(type(entry.get("transductive", False)) is bool, "transductive")
        sets = entry.get("task_sets", {})
        _require(isinstance(sets, dict), "task_sets")
        for key, bound in sets.items():
            dataset, slash, task_set = key.partition("/")
            _require(bool(slash) and _is_line(key), "no DATASET/TASK_SET")
            found[method, dataset, task_set] = _binding(bound)
    return found


def _binding(bound: Any) -> Declared:
    _require(isinstance(bound, dict) and isinstance(bound.get("fingerprint"), str), "unbound")
    tasks = bound.get("tasks")
    _require(tasks is None or (type(tasks) is int and tasks >= 1), "tasks")
    stopping, level = bound.get("stopping"), None
    if stopping is not None:
        _require(isinstance(stopping, dict) and set(stopping) == {"versus", "level"}, "stopping")
        _check_name(stopping["versus"])
        level = stopping["level"]
        _require(isinstance(level, float) and 0.01 <= level <= 0.999999, "level")
    return Declared(bound["fingerprint"], tasks, level)


def _is_line(text: Any) -> bool:
    return isinstance(text, str) and text.isprintable() and len(text) <= 10_000


def _check_name(name: Any) -> None:
    _require(isinstance(name, str) and 1 <= len(name) <= 200, "a name's length")
    _require(name.isprintable() and name == name.strip(), "a name with what is not seen")
    hidden = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0"
    _require(not re.search(f"[{hidden}]", name), "a name with what is not seen")
    cells = [cell.lstrip("\"' ") or " " for cell in name.split(";")[1:]]
    _require(all(cell[0] not in "=+-@＝＋－＠" for cell in [name, *cells]), "a formula")
    _require("†" not in name and "‡" not in name, "a mark of tables")
    marks = "".join("m" if unicodedata.category(c)[0] == "M" else " " for c in name)
    _require("mmmmm" not in marks, "marks upon marks")


def _check_rows(rows: list[Row], facts: AllFacts, taken: frozenset[str]) -> None:
    for row in rows:
        _require(all(isinstance(row.get(name), str) for name in TEXTS), "a text")
        for name in INTEGERS:
            if isinstance(row.get(name), float) and row[name].is_integer():
                row[name] = int(row[name])
        _require(all(type(row.get(name)) is int for name in INTEGERS), "an integer")
        _check_name(row["method"])
        _require(row["method"] not in taken, "a reference method's name")
        if row.get("run") is not None:
            _check_name(row["run"])
        known = facts.get((row["dataset"], row["task_set"]))
        if known is None:
            raise RefusedError("no such task set")
        _require(row["n_query"] == known.way * known.query, "n_query")
        _require(0 <= row["task_id"] < known.tasks, "task_id")
        _require(0 <= row["n_correct"] <= row["n_query"], "n_correct")
        _check_lists(row, known)


def _check_lists(row: Row, facts: Facts) -> None:
    by_class, predictions = row.get("class_correct"), row.get("predictions")
    if (told := row.get("correct")) is not None:
        _require(predictions is None, "predictions and correct")
        _require(isinstance(told, list), "correct")
        told = [int(value) if type(value) is bool else value for value in told]
        _require(_are_integers(told, row["n_query"], 1), "correct")
        labels = facts.labels[row["task_id"]]
        pairs = zip(labels, told, strict=True)
        predictions = [own if right else (own + 1) % facts.way for own, right in pairs]
    if by_class is not None:
        _require(_are_integers(by_class, facts.way, facts.query), "class_correct")
        _require(sum(by_class) == row["n_correct"], "class_correct and n_correct")
    if predictions is not None:
        _require(_are_integers(predictions, row["n_query"], facts.way - 1), "predictions")
        counted = [0] * facts.way
        for label, answer in zip(facts.labels[row["task_id"]], predictions, strict=True):
            counted[label] += label == answer
        _require(sum(counted) == row["n_correct"], "predictions and n_correct")
        _require(by_class in (None, counted), "predictions and class_correct")


def _are_integers(values: Any, length: int, most: int) -> bool:
    if not isinstance(values, list) or len(values) != length:
        return False
    return all(type(value) is int and 0 <= value <= most for value in values)


def _check_marks(rows: list[Row], about: Any) -> None:
    methods = {} if about is None else about["methods"]
    for mark, unsaid in (("transductive", False), ("inductive", None)):
        found = {name: entry.get(mark, unsaid) for name, entry in methods.items()}
        found = {name: value for name, value in found.items() if value is not None}
        for row in rows:
            value = row.get(mark)
            if value is not None:
                _require(type(value) is bool, mark)
                _require(found.setdefault(row["method"], value) == value, f"{mark} or not")


def _check_groups(
    rows: list[Row],
    facts: AllFacts,
    declared: Mapping[tuple[str, str, str], Declared],
    unbound: bool,
) -> None:
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["method"], row["dataset"], row["task_set"], row.get("run")].append(row)
    _require(set(declared) <= {key[:3] for key in groups}, "declared, but without rows")
    without = {key[:3] for key in groups if key[3] is None}
    _require(not without & {k[:3] for k in groups if k[3] is not None}, "runs, and rows of none")
    for key, runs in Counter(key[:3] for key in groups).items():
        known = facts[key[1:]]
        number = declared.get(key, Declared()).tasks or known.tasks
        _require(number * known.way * known.query * runs**2 <= 3_037_000_499, "too many runs")
    for (method, dataset, task_set, _), group in groups.items():
        known = facts[dataset, task_set]
        claim = declared.get((method, dataset, task_set), Declared())
        fingerprint, tasks = claim.fingerprint, claim.tasks
        _require(tasks is None or tasks <= known.tasks, "more tasks than there are")
        if claim.level is not None:
            tolerable = 0.25 * 2 / (1 - max(claim.level, 0.9))
            _require(known.misleading < tolerable, "a rule to stop where classes drift")
        answered = sorted(row["task_id"] for row in group)
        _require(answered == list(range(tasks or known.tasks)), "not every task once")
        column = [row.get("fingerprint") for row in group]
        _require(all(type(text) in (str, type(None)) for text in column), "no text")
        _require(len({text is None for text in column}) == 1, "a fingerprint in some rows only")
        said = [text for text in [*column, fingerprint] if text is not None]
        _require(bool(said) or unbound, "unbound")
        for text in said:
            _require(re.fullmatch("[0-9a-fA-F]{12,64}", text) is not None, "no fingerprint")
            _require(known.fingerprint.startswith(text.lower()), "other tasks")
