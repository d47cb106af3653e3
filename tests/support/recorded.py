"""Submissions of one method."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

import fslbench_data as fb


def recorded(tasks: Any, counts: Any, name: str = "mine", **about: Any) -> fb.Submission:
    recorder = fb.Recorder(name, **about)
    recorder.add_counts(tasks, counts)
    return recorder.submission()


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
    recorder = fb.Recorder(name, **about)
    for key, values in counts.items():
        recorder.add_counts(release.task_set_info(*key.split("/")), values)
    return recorder.submission()


def in_run(submission: fb.Submission, run: str) -> fb.Submission:
    column = pa.array([run] * submission.table.num_rows)
    return replace(submission, table=submission.table.append_column("run", column))
