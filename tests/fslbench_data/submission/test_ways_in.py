"""Results recorded and read: recorders, accuracies, and files that are nearly another kind."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import invoke
from recorded import recorded

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    AccuracyError,
    CountError,
    DoubledTaskError,
    FSLBenchError,
    MethodNameError,
    MissingTaskError,
    OutputError,
    PredictionError,
    SubmissionError,
    UnboundError,
    UnreadableError,
)
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import read_accuracies
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate


def test_at_once_is_the_same_as_one_by_one(toy):
    tasks = toy.task_set("cats", "closed-2w1s2q")
    predictions = np.random.default_rng(0).integers(0, 2, tasks.query_label.shape)
    one, all_ = Recorder("mine"), Recorder("mine")
    counts = [one.add(task, predictions[task.task_id]) for task in tasks]
    assert all_.add_task_set(tasks, predictions).tolist() == counts
    assert content_digest(one.submission().table) == content_digest(all_.submission().table)


def test_the_first_tasks_may_be_answered_alone(toy, tmp_path):
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


def test_what_cannot_be_recorded(toy):
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


def test_episodes_refuse_what_other_sets_do(embedded):
    tasks = embedded.task_set("digits", "episodes-10w100s10q")
    right = [task.query_label for task in tasks]
    with pytest.raises(PredictionError, match="predictions for 601 tasks"):
        Recorder("mine").add_task_set(tasks, [*right, right[0]])
    with pytest.raises(PredictionError, match="of tasks of all classes alone"):
        Recorder("mine").add_task_set(tasks, right, [own + 1 for own in right])


def test_a_file_that_cannot_be_written_leaves_nothing(toy, tmp_path):
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


# ---- accuracies ----------------------------------------------------------------------------------


SET = "dtd/published-5w10s7q"  # 9 tasks of 35 queries
COUNTS = [35, 30, 28, 0, 7, 33, 34, 20, 21]


def test_fractions_and_percentages(embedded):
    info = embedded.task_set_info(*SET.split("/"))
    for scale in (1, 100):
        found = Submission.from_accuracies(scale * np.array(COUNTS) / 35, info, "mine")
        assert found.table.column("n_correct").to_pylist() == COUNTS
        assert found.bindings == {}
        with pytest.raises(UnboundError):
            fb.score(found, embedded)
        assert fb.score(found, embedded, allow_unbound=True).signature.unbound
    vouched = Submission.from_accuracies(np.array(COUNTS) / 35, info, "mine", bind=True)
    assert not fb.score(vouched, embedded).signature.unbound


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5] * 9, "no multiple of 1/35"),
        ([1.0] * 8, r"\(8,\)"),
        ([float("nan")] + [1.0] * 8, "tasks 0"),
        ([-0.2] + [1.0] * 8, "tasks 0"),
        ([120.0] + [100.0] * 8, "tasks 0"),
    ],
)
def test_accuracies_that_no_tasks_give(values, said, embedded):
    with pytest.raises(AccuracyError, match=said):
        Submission.from_accuracies(values, embedded.task_set_info(*SET.split("/")), "mine")


def test_every_way_to_write_a_list(tmp_path):
    values = 100 * np.array(COUNTS) / 35
    np.save(tmp_path / "a.npy", values.astype(np.float32))
    (tmp_path / "b.txt").write_text("\n".join(map(repr, values.tolist())))
    (tmp_path / "c.txt").write_text(", ".join(map(str, values.tolist())))
    (tmp_path / "d.csv").write_text("\n".join(map(str, values.tolist())))
    (tmp_path / "e.csv").write_text("accuracy\n" + "\n".join(map(str, values.tolist())))
    rows = "".join(f"{i},{v}\n" for i, v in enumerate(values.tolist()))
    (tmp_path / "f.csv").write_text("task,accuracy\n" + rows)
    for name in ("a.npy", "b.txt", "c.txt", "d.csv", "e.csv", "f.csv"):
        assert read_accuracies(tmp_path / name) == pytest.approx(values)


def test_lists_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "words.txt").write_text("good bad")
    (tmp_path / "wide.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("objects.npy", "words.txt", "wide.csv", "empty.csv", "nowhere.txt"):
        with pytest.raises(UnreadableError):
            read_accuracies(tmp_path / name)


def test_two_files_of_one_method_are_compared(embedded, tmp_path):
    """As before and after a change, of which the second is worse on one task set."""
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    for path, loss in ((old, 0), (new, 3)):
        recorder = fb.Recorder("mine")
        rng = np.random.default_rng(0)
        for name, less in (("open-5w5s5q", loss), ("open-5w10s7q", 0)):
            tasks = embedded.task_set("digits", name)
            recorder.add_counts(tasks, rng.integers(15, 24, len(tasks)) - less)
        recorder.submission().write(path)
    result = invoke("compare", new, old, "--fail-if-worse")
    assert result.exit_code == 1
    assert "mine (new) is worse on digits/open-5w5s5q" in result.stderr
    assert "mine (old)" in result.stdout
    assert "pixels/NCC" not in result.stdout
    assert invoke("compare", old, new, "--fail-if-worse").exit_code == 0
    only = invoke("compare", new, old, "--task-set", "open-5w10s7q", "--fail-if-worse")
    assert only.exit_code == 0
    assert "identical" in only.stdout
    one = invoke("compare", new, "pixels/LR", "--task-set", "open-5w5s5q", "--signature").stdout
    assert one.count("#") == 2  # the release and one task set


COMMAS = "separate the columns by commas"


@pytest.mark.parametrize(
    ("read", "name", "text", "fix"),
    [
        (fb.score, "semi.csv", "method;task;class_ids\na;0;[1, 2]\n", COMMAS),
        (fb.score, "tabs.csv", "method\ttask_set\na\topen\n", COMMAS),
        (fb.score, "x.jsonl", '{"method": "a", "classes": [1], "query_ids": [[1]]}\n', "class_ids"),
        (fb.score, "x.csv", "method,draw,image,class,pred\na,0,0,1,1\n", "image, class, predicted"),
        (fb.reported, "table.csv", "method;result\na;57.6 ± 0.3\n", COMMAS),
    ],
)
def test_the_fix_is_of_the_kind_that_was_meant(read, name, text, fix, tmp_path):
    (path := tmp_path / name).write_text(text)
    with pytest.raises(FSLBenchError) as caught:
        read(path)
    assert fix in str(caught.value.fix)


def test_sizes_of_a_file_that_is_no_log(tmp_path):
    (path := tmp_path / "log.jsonl").write_text('{"method": "a", "classes": [1]}\n')
    said = invoke("score", path, "--class-sizes", "CUB").output
    assert f"class_ids, a column that {path} has not" in " ".join(said.split())
