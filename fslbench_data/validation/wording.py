"""How each rule about rows is worded when it is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark_spec.errors import (
    ContradictionError,
    CountError,
    DoubledTaskError,
    FingerprintError,
    MissingTaskError,
    PredictionError,
    QueryCountError,
    SubmissionError,
    UnknownTaskError,
    listing,
    rows,
)
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation import names
from fslbench_data.validation.rows import Key, Rows


class First(Sequence[Any]):
    """The first of `total` items, of which no more are at hand: for messages, which count them."""

    def __init__(self, items: Sequence[Any], total: int) -> None:
        self._items, self._total = items, total

    def __len__(self) -> int:
        return self._total

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]


@dataclass(frozen=True)
class Offence:
    """The first rows that break a rule, as its SQL gives them."""

    answers: Rows
    rows: list[dict[str, Any]]

    def __getitem__(self, name: str) -> Any:
        return self.rows[0][name]

    @property
    def key(self) -> Key:
        """The group of the first row."""
        key: Key = self.answers.keys[self["group"]]
        return key

    @property
    def info(self) -> TaskSetInfo:
        """Its task set."""
        return self.key.info

    @property
    def where(self) -> str:
        """File, and where there are such: rows, and the group of the first of them."""
        numbers = f", {rows(self.all('row'))}" if "row" in self.rows[0] else ""
        group = f" ({self.key})" if "group" in self.rows[0] else ""
        return f"{self.answers.where}{numbers}{group}"

    def all(self, name: str) -> First:
        """Values of a column, of all rows that break the rule."""
        return First([row[name] for row in self.rows], self["total"])

    @property
    def tasks(self) -> str:
        """The tasks that it is about, listed."""
        return listing(First(self["ids"], self["n"]))


Texts = tuple[str, str, str]
"""What is wrong, what was expected, and how to mend it (which may be left empty)."""


def _transductive(o: Offence) -> Texts:
    other = "other rows" if o["by_rows"] else "the file's metadata"
    value = str(o["transductive"]).lower()
    return (
        f"transductive of {o.answers.methods[o['method']]} is {value}, and {other} say otherwise",
        "the same in all rows of a method, and in its metadata",
        "write what is true of the method, or leave it empty",
    )


def _n_query(o: Offence) -> Texts:
    protocol = o.info.protocol
    return (
        f"n_query is {o['n_query']}",
        f"{protocol.n_query}, since a task of {o.info.name} has {protocol.way} ways with "
        f"{protocol.query} queries each",
        "answer every query of the task set named in the row",
    )


def _unknown_task(o: Offence) -> Texts:
    return (
        f"there is no task {o.tasks}",
        f"task_id 0..{o.info.n_tasks - 1}",
        "number tasks from 0 in the release's order, and leave out any others",
    )


def _count_out_of_range(o: Offence) -> Texts:
    return (
        f"n_correct is {listing(o.all('n_correct'))}, out of range",
        f"0..{o.info.protocol.n_query}, the number of queries answered rightly",
        "give counts of correct queries, not percentages",
    )


def _doubled_task(o: Offence) -> Texts:
    return (
        f"task {o.tasks} is answered more than once",
        "one row for each task",
        "keep one answer; several methods in one file need different names, and several runs of "
        "one method a column `run`",
    )


def _missing_task(o: Offence) -> Texts:
    expected = o.answers.expected[o["group"]]
    return (
        f"{o['n']} of {expected} tasks are missing: task_id {o.tasks}",
        f"every task_id 0..{expected - 1} once",
        "run the missing tasks; a file of only the first m tasks must declare so, as Parquet files "
        "do that Recorder wrote (CSV and JSON Lines cannot)",
    )


def _task_beyond_declared(o: Offence) -> Texts:
    expected = o.answers.expected[o["group"]]
    return (
        f"task_id {o.tasks} lies beyond the {expected} tasks that the metadata declares",
        f"task_id 0..{expected - 1}",
        "declare the number of tasks that were really answered",
    )


def _fingerprint(o: Offence) -> Texts:
    return names.other_tasks(o["fingerprint"], o.info)


def _class_correct_length(o: Offence) -> Texts:
    expected = f"{o.info.protocol.way} (K, one count for each class of the task)"
    return f"class_correct has {o['length']} entries", expected, ""


def _predictions_length(o: Offence) -> Texts:
    expected = f"{o.info.protocol.n_query} (K·Q, one position for each query in the frozen order)"
    return f"predictions has {o['length']} entries", expected, ""


def _class_correct_range(o: Offence) -> Texts:
    return f"class_correct holds {o['worst']}", "0..Q, the class's queries answered rightly", ""


def _predictions_range(o: Offence) -> Texts:
    expected = "0..K-1, the position of the class in the task's class_ids"
    return f"predictions holds {o['worst']}", expected, ""


def _class_correct_sum(o: Offence) -> Texts:
    return (
        f"class_correct sums to {o['counted']} where n_correct is {o['n_correct']}",
        "the counts of a task's classes to sum to n_correct",
        "",
    )


def _counts_contradict_predictions(o: Offence) -> Texts:
    return (
        f"the predictions are right on {o['counted']} queries where n_correct is {o['n_correct']}",
        "counts that follow from the predictions",
        "predictions are positions 0..K-1 in class_ids, in the frozen query order; drop the "
        "counts' own computation or mend it",
    )


def _class_counts_contradict_predictions(o: Offence) -> Texts:
    return (
        f"class_correct is {o['class_correct']} where the predictions give {o['by_class']}",
        "counts that follow from the predictions, by position in class_ids",
        "",
    )


WORDING: dict[str, tuple[type[SubmissionError], Callable[[Offence], Texts]]] = {
    "transductive": (ContradictionError, _transductive),
    "n_query": (QueryCountError, _n_query),
    "unknown_task": (UnknownTaskError, _unknown_task),
    "count_out_of_range": (CountError, _count_out_of_range),
    "fingerprint": (FingerprintError, _fingerprint),
    "doubled_task": (DoubledTaskError, _doubled_task),
    "missing_task": (MissingTaskError, _missing_task),
    "task_beyond_declared": (UnknownTaskError, _task_beyond_declared),
    "class_correct_null": (PredictionError, lambda _: ("class_correct has a null inside", "", "")),
    "class_correct_length": (PredictionError, _class_correct_length),
    "class_correct_range": (PredictionError, _class_correct_range),
    "class_correct_sum": (ContradictionError, _class_correct_sum),
    "predictions_null": (PredictionError, lambda _: ("predictions has a null inside", "", "")),
    "predictions_length": (PredictionError, _predictions_length),
    "predictions_range": (PredictionError, _predictions_range),
    "counts_contradict_predictions": (ContradictionError, _counts_contradict_predictions),
    "class_counts_contradict_predictions": (
        ContradictionError,
        _class_counts_contradict_predictions,
    ),
}
"""By the name of the rule: the error that says that it is broken, and its texts."""
