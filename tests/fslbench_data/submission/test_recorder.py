import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from recorded import recorded

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CountError,
    DoubledTaskError,
    MethodNameError,
    MissingTaskError,
    OutputError,
    PredictionError,
    SubmissionError,
)
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate


def test_at_once_is_the_same_as_one_by_one(toy: Release) -> None:
    tasks = toy.task_set("cats", "closed-2w1s2q")
    predictions = np.random.default_rng(0).integers(0, 2, tasks.query_label.shape)
    one, all_ = Recorder("mine"), Recorder("mine")
    counts = [one.add(task, predictions[task.task_id]) for task in tasks]
    assert all_.add_task_set(tasks, predictions).tolist() == counts
    assert content_digest(one.submission().table) == content_digest(all_.submission().table)


def test_the_first_tasks_may_be_answered_alone(toy: Release, tmp_path: Path) -> None:
    tasks = toy.task_set("cats", "closed-2w1s2q")
    recorder = Recorder("mine")
    recorder.add(tasks[1], tasks.query_label[1])
    with pytest.raises(MissingTaskError, match="task_id 0"):
        recorder.submission()
    recorder.add(tasks[0], tasks.query_label[0])
    recorder.submission().write(tmp_path / "x.parquet")
    metadata = pq.read_schema(tmp_path / "x.parquet").metadata[b"fslbench"]
    declared = json.loads(metadata)["methods"]["mine"]["task_sets"]
    assert declared == {"cats/closed-2w1s2q": {"fingerprint": tasks.info.fingerprint, "tasks": 2}}
    assert validate(Submission.read(tmp_path / "x.parquet"), toy).groups[0].tasks == 2


def test_what_cannot_be_recorded(toy: Release) -> None:
    tasks = toy.task_set("cats", "closed-2w1s2q")
    recorder = Recorder("mine")
    with pytest.raises(SubmissionError, match="nothing"):
        recorder.submission()
    for wrong, said in (
        ([0, 1, 0], "shape"),
        ([0.0, 1.0, 0.0, 1.0], "float64"),
        ([0, 1, 2, 0], "hold 2"),
        ([0, 1, -1, 0], "hold -1"),
        ([[0, 1, 0, 1]] * 2, "2 tasks"),
        (([0, 1, 0, 1], [0.5]), "a tuple of which numpy makes no array"),
    ):
        with pytest.raises(PredictionError, match=said):
            recorder.add(tasks[0], wrong)
    for counts in ([5, 0, 0, 0, 0], [-1], [1.5], [1] * 6, [], [[1]]):
        with pytest.raises(CountError):
            recorder.add_counts(tasks, counts)
    recorder.add(tasks[0], [0, 1, 0, 1])
    with pytest.raises(DoubledTaskError, match="task 0"):
        recorder.add(tasks[0], [0, 1, 0, 1])
    with pytest.raises(MethodNameError):
        Recorder(" mine")


def test_episodes_refuse_what_other_sets_do(embedded: Release) -> None:
    tasks = embedded.task_set("digits", "episodes-10w100s10q")
    right = [task.query_label for task in tasks]
    with pytest.raises(PredictionError, match="predictions for 601 tasks"):
        Recorder("mine").add_task_set(tasks, [*right, right[0]])
    with pytest.raises(PredictionError, match="of tasks of all classes alone"):
        Recorder("mine").add_task_set(tasks, right, [own + 1 for own in right])


def test_a_file_that_cannot_be_written_leaves_nothing(toy: Release, tmp_path: Path) -> None:
    submission = recorded(toy.task_set("cats", "closed-2w1s2q"), [4, 3, 2, 1, 0])
    (tmp_path / "y.parquet").mkdir()
    for name, said in (
        ("no/x.parquet", "cannot write"),
        ("x", r"does not end in \.parquet"),
        ("y.parquet", "is a folder"),
    ):
        with pytest.raises(OutputError, match=said):
            submission.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == [tmp_path / "y.parquet"]
