"""The rules that a submission must meet, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from analysis_sql.queries.rules import offending_rows
from fslbench_data.validation import names
from fslbench_data.validation.register import as_texts
from fslbench_data.validation.rows import Rows, Terms
from fslbench_data.validation.stopping_rules import check_stopping
from fslbench_data.validation.wording import WORDING, Offence

Rule = Callable[[Rows, Terms], None]
"""Raises a SubmissionError if a submission breaks it."""


@dataclass(frozen=True)
class RowRule:
    """A rule about rows: a file of that name in ``analysis_sql/queries/rules``, and a wording.

    It may read a table of facts.  One about an optional column is met without it.
    """

    name: str
    facts: str = ""
    column: str = ""

    def __call__(self, answers: Rows, _: Terms) -> None:
        """Raise the error of the rule if it is broken."""
        if self.column and self.column not in answers.columns:
            return
        if self.facts:
            answers.facts(self.facts)
        if offending := offending_rows(answers.connection, self.name):
            error, wording = WORDING[self.name]
            offence = Offence(answers, offending)
            what, expected, fix = wording(offence)
            raise error(what, where=offence.where, expected=expected, fix=fix)


def _add_labels(answers: Rows, terms: Terms) -> None:
    """Put the tasks' right answers beside the predictions, where there are any."""
    if "predictions" not in answers.columns:
        return
    parts = []
    for number, info in enumerate(answers.infos):
        labels = terms.release.query_labels(info)
        lists = pa.FixedSizeListArray.from_arrays(labels.ravel(), labels.shape[1])
        texts = as_texts(lists.cast(pa.list_(pa.int8())))
        columns = [pa.array([number] * len(texts), pa.int32()), pa.array(range(len(texts)))]
        parts.append(pa.Table.from_arrays([*columns, texts], ["set", "task_id", "query_label"]))
    answers.connection.register("labels", pa.concat_tables(parts))


RULES: tuple[Rule, ...] = (
    names.check_declared_rows,
    RowRule("transductive", "marks", "transductive"),
    names.check_names,
    names.check_runs,
    RowRule("n_query", "group_facts"),
    RowRule("unknown_task", "group_facts"),
    RowRule("count_out_of_range", "group_facts"),
    names.check_fingerprints,
    RowRule("fingerprint", "group_fingerprints", "fingerprint"),
    names.check_bound,
    check_stopping,
    names.check_declared_tasks,
    RowRule("doubled_task", "incomplete"),
    RowRule("missing_task", "incomplete"),
    RowRule("task_beyond_declared", "incomplete"),
    RowRule("class_correct_null", column="class_correct"),
    RowRule("class_correct_length", column="class_correct"),
    RowRule("class_correct_range", column="class_correct"),
    RowRule("class_correct_sum", column="class_correct"),
    RowRule("predictions_null", column="predictions"),
    RowRule("predictions_length", column="predictions"),
    RowRule("predictions_range", column="predictions"),
    _add_labels,
    RowRule("counts_contradict_predictions", "contradictions", "predictions"),
    RowRule("class_counts_contradict_predictions", "contradictions", "predictions"),
)
"""In this order: of several broken rules, the first is told."""
