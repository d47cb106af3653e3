"""Submissions of one method."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

import fslbench_data as fb
from fslbench_data.submission.columns import NAMES, canonical
from fslbench_data.submission.model import Binding, Method


def recorded(tasks: Any, counts: Any, name: str = "mine", **about: Any) -> fb.Submission:
    """Give correct queries (m,) of the first m tasks, a set or its info, without predictions."""
    info, counts, run = getattr(tasks, "info", tasks), np.asarray(counts), about.pop("run", None)
    queries = getattr(tasks, "queries", info.protocol.n_query)
    key = (name, info.dataset, str(info.name))
    rows = {column: [value] * len(counts) for column, value in zip(NAMES, key, strict=True)}
    rows |= {"run": [run] * len(counts)} if run else {}
    rows |= {"transductive": [True] * len(counts)} if about.get("transductive") else {}
    rows |= {"task_id": range(len(counts)), "n_correct": counts}
    rows |= {"n_query": np.broadcast_to(queries, info.n_tasks)[: len(counts)]}
    bound = Binding(info.fingerprint, None if len(counts) == info.n_tasks else len(counts))
    table = canonical(pa.table(rows), "the recording")
    return fb.Submission(table, {name: Method(name, **about)}, {key: bound}, "the recording")


def answered(
    tasks: Any, predictions: Any, name: str = "mine", second: Any = None, **about: Any
) -> fb.Submission:
    recorder = fb.Recorder(name, **about)
    recorder.add_task_set(tasks, predictions, second)
    return recorder.submission()


def recorded_sets(
    release: fb.Release, counts: Mapping[str, Any], name: str = "mine", **about: Any
) -> fb.Submission:
    """Record correct queries of each task, of task sets by their names ``digits/open-5w5s5q``."""
    sets = [release.task_set_info(*key.split("/")) for key in counts]
    values = zip(sets, counts.values(), strict=True)
    return fb.merge([recorded(info, right, name, **about) for info, right in values])


def in_run(submission: fb.Submission, run: str) -> fb.Submission:
    column = pa.array([run] * submission.table.num_rows)
    return replace(submission, table=submission.table.append_column("run", column))
