"""Accuracies, and two files of one method against each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import invoke

import fslbench_data as fb
from benchmark_spec.errors import (
    AccuracyError,
    UnboundError,
    UnreadableError,
)
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import read_accuracies

SET = "dtd/published-5w10s7q"  # 9 tasks of 35 queries
COUNTS = [35, 30, 28, 0, 7, 33, 34, 20, 21]


def test_fractions_and_percentages(embedded: Release) -> None:
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
def test_accuracies_that_no_tasks_give(values: Any, said: str, embedded: Release) -> None:
    with pytest.raises(AccuracyError, match=said):
        Submission.from_accuracies(values, embedded.task_set_info(*SET.split("/")), "mine")


def test_every_way_to_write_a_list(tmp_path: Path) -> None:
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


def test_lists_that_cannot_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "words.txt").write_text("good bad")
    (tmp_path / "wide.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("objects.npy", "words.txt", "wide.csv", "empty.csv", "nowhere.txt"):
        with pytest.raises(UnreadableError):
            read_accuracies(tmp_path / name)


def test_two_files_of_one_method_are_compared(embedded: Release, tmp_path: Path) -> None:
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
