"""Each rule about rows: a submission that breaks it, told by that rule and with its rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmark_spec.errors import SubmissionError
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.rows import Terms, register
from fslbench_data.validation.validate import RULES, RowRule

SET = "open-5w5s5q"  # 31 tasks of 25 queries
Columns = dict[str, list[Any]]
Edit = Callable[[Columns], None]


def _put(row: int, **values: Any) -> Edit:
    def edit(columns: Columns) -> None:
        for name, value in values.items():
            columns[name][row] = value

    return edit


def _drop(row: int) -> Edit:
    def edit(columns: Columns) -> None:
        for values in columns.values():
            del values[row]

    return edit


# rule: edit, tasks that the metadata declares, which rows the message names
CASES: dict[str, tuple[Edit, int | None, str]] = {
    "transductive": (_put(3, transductive=True), None, "data rows 1, 2, 3, 5, 6, 7, 8, 9 and 22"),
    "n_query": (_put(3, n_query=5), None, "data row 4 (mine on"),
    "unknown_task": (_put(30, task_id=31), None, "data row 31 (mine on"),
    "count_out_of_range": (_put(2, n_correct=26), None, "data row 3 (mine on"),
    "fingerprint": (_put(9, fingerprint=None), None, "data row 10 (mine on"),
    "doubled_task": (_put(3, task_id=2), None, "data rows 3, 4 (mine on"),
    "missing_task": (_drop(7), None, "(mine on"),
    "task_beyond_declared": (_put(0), 30, "(mine on"),
    "class_correct_null": (_put(5, class_correct=[1, None, 1, 1, 1]), None, "data row 6 (mine"),
    "class_correct_length": (_put(5, class_correct=[1, 1]), None, "data row 6 (mine on"),
    "class_correct_range": (_put(5, class_correct=[6, 0, 0, 0, 0]), None, "data row 6 (mine on"),
    "class_correct_sum": (_put(5, class_correct=[5, 5, 5, 5, 5]), None, "data row 6 (mine on"),
    "predictions_null": (_put(5, predictions=[None] * 25), None, "data row 6 (mine on"),
    "predictions_length": (_put(5, predictions=[0] * 24), None, "data row 6 (mine on"),
    "predictions_range": (_put(5, predictions=[0] * 24 + [-1]), None, "data row 6 (mine on"),
    "counts_contradict_predictions": (
        _put(5, n_correct=25, class_correct=[5] * 5),
        None,
        "data row 6 (mine on",
    ),
    "class_counts_contradict_predictions": (
        _put(5, class_correct=[0, 1, 1, 1, 2]),
        None,
        "data row 6 (mine on",
    ),
}


def test_every_rule_has_its_case(root: Path) -> None:
    in_order = [rule.name for rule in RULES if isinstance(rule, RowRule)]
    assert in_order == list(CASES)
    files = (root / "analysis_sql/queries/rules").glob("*.sql")
    assert sorted(path.stem for path in files) == sorted(CASES)


@pytest.mark.parametrize("rule", CASES)
def test_a_broken_rule_names_its_rows(rule: str, embedded: Release) -> None:
    edit, tasks, named = CASES[rule]
    task_set = embedded.task_set("digits", SET)
    recorder = Recorder("mine")
    predictions = np.random.default_rng(0).integers(0, 5, task_set.query_label.shape)
    recorder.add_task_set(task_set, predictions)
    columns = recorder.submission().table.to_pydict()
    columns["fingerprint"] = [task_set.info.fingerprint] * len(task_set)
    columns["transductive"] = [False] * len(task_set)
    edit(columns)
    bindings = {("mine", "digits", SET): Binding(task_set.info.fingerprint, tasks)}
    table = canonical(pa.table(columns), "x.csv")
    answers = register(Submission(table, bindings=bindings, source="x.csv"), embedded)
    terms = Terms(embedded, (), allow_unbound=False)
    for met_or_broken in RULES:
        try:
            met_or_broken(answers, terms)
        except SubmissionError as error:
            broken, text = met_or_broken, str(error)
            break
    assert isinstance(broken, RowRule)
    assert broken.name == rule
    assert named in text
    assert text.count("x.csv") == 1
