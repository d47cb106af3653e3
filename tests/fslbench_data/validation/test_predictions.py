"""Which predictions are right, and which counts contradict them, against loops over rows."""

import re
from collections import defaultdict
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from golden_inputs import write_columns
from msgspec.structs import replace

from benchmark_spec.errors import ContradictionError, PredictionError
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate


def _submission(release, names):
    """Two methods, one of two runs, that answer some of each set's queries rightly."""
    rng = np.random.default_rng(0)
    parts = []
    for method, run in (("a/one", None), ("b/two", "x"), ("b/two", "y")):
        recorder = Recorder(method)
        for name in names:
            tasks = release.task_set(*name)
            label = tasks.query_label
            other = rng.integers(0, tasks.info.protocol.way, label.shape)
            recorder.add_task_set(tasks, np.where(rng.random(label.shape) < 0.3, other, label))
        table = recorder.submission().table
        table = table.append_column("run", pa.array([run] * len(table), pa.string()))
        parts.append(table.append_column("inductive", pa.array([True] * len(table))))
    return Submission(canonical(pa.concat_tables(parts), "the test"), {}, {}, "the test")


def _with(table, name, values):
    number, field = table.column_names.index(name), table.schema.field(name)
    return table.set_column(number, field, pa.array(values, field.type))


def _named(release, suites):
    """The last set of digits of each suite."""
    every = [info for info in release.task_sets if info.dataset == "digits"]
    return [
        [("digits", str(info.name)) for info in every if info.name.suite == suite][-1]
        for suite in suites
    ]


def _by_hand(release, submission):
    """In how many runs each query is right, class by class, from one row after the other."""
    found = {}
    label_of = cache(lambda *name: release.task_set(*name).query_label.tolist())
    for row in submission.table.to_pylist():
        key = row["method"], row["task_set"], row["task_id"]
        label = label_of(row["dataset"], row["task_set"])[row["task_id"]]
        by_class = defaultdict(list)
        for own, said in zip(label, row["predictions"], strict=True):
            by_class[own].append(int(own == said))
        right = [x for own in sorted(by_class) for x in by_class[own]]
        found[key] = [a + b for a, b in zip(found.get(key, [0] * len(right)), right, strict=True)]
    return found


def _right(checked):
    return {
        (group.method, str(group.info.name), task): own.tolist()
        for group in checked.groups
        if group.right is not None
        for task, own in enumerate(group.right.counts)
    }


@pytest.mark.parametrize("shuffled", [False, True])
def test_right_queries_are_those_of_a_loop(embedded, shuffled):
    submission = _submission(embedded, _named(embedded, ("closed", "allway", "open")))
    if shuffled:
        order = np.random.default_rng(1).permutation(submission.table.num_rows)
        submission = replace(submission, table=submission.table.take(order))
    expected = _by_hand(embedded, submission)
    found = _right(validate(submission, embedded, allow_unbound=True))
    assert found == {key: own for key, own in expected.items() if not key[1].startswith("open")}


def test_a_method_with_a_row_that_has_none_has_none(embedded):
    submission = _submission(embedded, _named(embedded, ("closed",)))
    column = submission.table.column("predictions").to_pylist()
    column[7] = None
    table = _with(submission.table, "predictions", column)
    checked = validate(replace(submission, table=table), embedded, allow_unbound=True)
    without = {group.method: group.right is None for group in checked.groups}
    assert without == {"a/one": True, "b/two": False}


@pytest.mark.parametrize("suite", ["allway", "open"])
@pytest.mark.parametrize("which", ["n_correct", "class_correct", "predictions"])
def test_the_rows_that_contradict_are_named(embedded, suite, which):
    names = _named(embedded, (suite,))
    submission, label = _submission(embedded, names), embedded.task_set(*names[0]).query_label
    rng = np.random.default_rng(2)
    table = submission.table.take(rng.permutation(submission.table.num_rows))
    bad = sorted(rng.choice(table.num_rows, 3, replace=False).tolist())
    values = table.column(which).to_pylist()
    for row in bad:
        if which == "n_correct":
            values[row] += 1 if values[row] == 0 else -1
        elif which == "class_correct":  # the same sum, of other classes
            low, high = np.argsort(values[row])[[0, -1]]
            values[row][high] -= 1
            values[row][low] += 1
        else:
            right = label[table.column("task_id")[row].as_py(), 0]
            values[row][0] = right if values[row][0] != right else (right + 1) % 5
    table = _with(table, which, values)
    if which == "n_correct":  # what it is beside, but the predictions, agrees with it
        table = _with(table, "class_correct", [None] * len(table))
    with pytest.raises(ContradictionError) as error:
        validate(replace(submission, table=table), embedded, allow_unbound=True)
    named = re.search(r"data rows? ([\d, and]+)", error.value.where)
    assert [int(row) - 1 for row in re.findall(r"\d+", named[1])] == bad


def test_a_position_that_is_none_is_refused_wherever_it_stands(embedded):
    submission = _submission(embedded, _named(embedded, ("closed",)))
    column = submission.table.column("predictions").to_pylist()
    column[5][-1], column[9][3] = 5, -1
    table = _with(submission.table, "predictions", column)
    with pytest.raises(PredictionError, match=r"predictions holds 5\n.*rows 6, 10"):
        validate(replace(submission, table=table), embedded, allow_unbound=True)


def _told(release, submission, of):
    """Say which queries are right in place of predictions, row by row, of some methods."""
    said = []
    left = submission.table.column("predictions").to_pylist()
    for row, answer in enumerate(submission.table.to_pylist()):
        if answer["method"] not in of:
            said.append(None)
            continue
        label = release.task_set(answer["dataset"], answer["task_set"]).query_label
        said.append([a == b for a, b in zip(label[answer["task_id"]], left[row], strict=True)])
        left[row] = None
    table = _with(submission.table, "predictions", left)
    table = table.append_column("correct", pa.array(said, pa.list_(pa.bool_())))
    return replace(submission, table=canonical(table, "the test"))


def test_which_are_right_says_what_predictions_say(embedded):
    submission = _submission(embedded, _named(embedded, ("closed", "allway")))
    table = submission.table.take(np.random.default_rng(1).permutation(submission.table.num_rows))
    submission = replace(submission, table=table)
    told = _told(embedded, submission, {"a/one"})
    assert told.table.column("correct").null_count == len(told.table) * 2 // 3
    checked = (validate(each, embedded, allow_unbound=True) for each in (submission, told))
    predicted, said = map(_right, checked)
    assert said == predicted


def test_which_are_right_beside_predictions(embedded):
    submission = _submission(embedded, _named(embedded, ("open",)))
    told = _told(embedded, submission, {"a/one"}).table
    right = told.column("correct").to_pylist()
    predicted = submission.table.column("predictions").to_pylist()
    predicted[3] = None  # of a method that has predictions in other rows
    mixed = _with(submission.table, "predictions", predicted)
    alone = [right[3] if row == 3 else None for row in range(len(mixed))]
    mixed = mixed.append_column("correct", pa.array(alone, pa.list_(pa.int16())))
    with pytest.raises(PredictionError, match=r"both predictions and correct\n.*row 4\b"):
        validate(replace(submission, table=mixed), embedded, allow_unbound=True)
    right[3][0] = 300  # which no prediction of the other method can be
    told = told.drop_columns("correct").append_column("correct", pa.array(right))
    with pytest.raises(PredictionError, match=r"correct holds 300\n.*row 4 "):
        validate(replace(submission, table=canonical(told, "x")), embedded, allow_unbound=True)


def test_which_are_right_in_files_of_every_kind(embedded, tmp_path):
    submission = _submission(embedded, _named(embedded, ("closed",)))
    expected = _right(validate(submission, embedded, allow_unbound=True))
    frame = _told(embedded, submission, {"a/one", "b/two"}).table.drop_columns("predictions")
    columns = frame.to_pydict()
    for ending in ("parquet", "csv", "jsonl"):
        write_columns(tmp_path / f"x.{ending}", columns)
        columns["correct"] = [[*map(bool, own)] for own in columns["correct"]]
    for path in sorted(tmp_path.iterdir()):
        assert _right(validate(str(path), embedded, allow_unbound=True)) == expected, path.name
    sandboxed = read_untrusted(tmp_path / "x.parquet")
    assert _right(validate(sandboxed, embedded, allow_unbound=True)) == expected
