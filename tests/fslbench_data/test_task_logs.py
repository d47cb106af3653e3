"""Tasks drawn for loaders of PyTorch, and logs of tasks that other packages draw."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fslbench_data as fb
from benchmark_spec.errors import OutputError, SamplingError, SpecError, TaskLogError

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `torch`")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

LABELS = np.repeat(np.arange(12), 20)
RNG = np.random.default_rng(0)
FEATURES = torch.from_numpy(RNG.normal(size=(240, 4)) + RNG.normal(size=(12, 4))[LABELS])


class Embeddings(TensorDataset):
    """Features and labels, as most data sets have them."""

    def __init__(self) -> None:
        super().__init__(FEATURES, torch.from_numpy(LABELS))
        self.targets = LABELS


def nearest(support: Any, of: Any, query: Any) -> Any:
    means = torch.stack([support[of == i].mean(dim=0) for i in range(int(of.max()) + 1)])
    return torch.cdist(query, means).argmin(dim=1)


# ---- a sampler -----------------------------------------------------------------------------------


def test_tasks_follow_from_their_seed_and_are_kept() -> None:
    sampler = fb.TaskSampler(Embeddings(), 5, 2, 3, 40, seed=1)
    first, second = list(sampler), list(sampler)
    assert first[0][:6] == [72, 78, 60, 64, 65, 192]
    again = fb.TaskSampler(LABELS.tolist(), 5, 2, 3, 40, seed=1)
    assert [*again, *again] == first + second
    assert len(sampler) == len(first) == 40
    assert len({tuple(ids) for ids in first + second}) == 80
    assert next(iter(fb.TaskSampler(LABELS, 5, 2, 3, 40))) != first[0]
    for ids, drawn in zip(first + second, sampler.drawn, strict=True):
        assert len(set(ids)) == 25
        by_class = np.reshape(ids, (5, 5))
        assert (LABELS[by_class] == np.array(drawn["class_ids"])[:, None]).all()
        assert drawn["support_ids"] == by_class[:, :2].tolist()
        assert drawn["query_ids"] == by_class[:, 2:].tolist()


def test_tasks_are_uniform_whatever_the_sizes_of_classes() -> None:
    labels = ["a"] * 3 + ["b"] * 9 + ["c"] * 5 + ["d"] * 4
    drawn = list(fb.TaskSampler(labels, 2, 1, 1, 1000))
    of = np.array(labels)[np.array(drawn)[:, ::2]]
    shares = [(of == name).any(axis=1).mean() for name in "abcd"]
    assert np.abs(np.array(shares) - 0.5).max() < 5 * 0.5 / 1000**0.5
    first = np.bincount(np.array(drawn).ravel(), minlength=21)
    expected = np.array([500 * 2 / labels.count(name) for name in labels])
    assert (np.abs(first - expected) < 5 * expected**0.5).all()


def test_ranges_of_ways_and_shots(tmp_path: Path) -> None:
    sampler = fb.TaskSampler(Embeddings(), (3, 6), (1, 4), 2, 300, seed=1)
    log = fb.log_tasks(sampler)
    loader = DataLoader(Embeddings(), batch_sampler=log, collate_fn=sampler.episodic_collate_fn)
    ways, shots = [], []
    for (support, of, query, answer, classes), drawn in zip(loader, sampler.drawn, strict=True):
        ways.append(len(classes))
        shots += map(len, drawn["support_ids"])
        assert classes == drawn["class_ids"]
        assert torch.equal(support, FEATURES[np.concatenate(drawn["support_ids"])])
        assert torch.equal(query, FEATURES[np.concatenate(drawn["query_ids"])])
        assert of.bincount().tolist() == [*map(len, drawn["support_ids"])]
        assert answer.tolist() == [i for i in range(len(classes)) for _ in range(2)]
        log.record("m", nearest(support, of, query) == answer)
    for found, numbers in ((ways, range(3, 7)), (shots, range(1, 5))):
        shares = [found.count(number) / len(found) for number in numbers]
        assert np.abs(np.array(shares) - 0.25).max() < 5 * (3 / 16 / len(found)) ** 0.5
        assert sum(shares) == pytest.approx(1)
    assert [row["support_ids"] for row in log.rows] == [d["support_ids"] for d in sampler.drawn]
    report = fb.interval(log.rows, class_sizes=log.class_sizes)
    assert {"images", "classes"} <= {*report.scores[0].intervals}


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ((LABELS, 13, 1, 1, 1), SamplingError, "13 classes from 12"),
        ((LABELS, 2, 18, 3, 1), SamplingError, "takes 21 images of a class, and class 0 has 20"),
        ((LABELS, 2, 0, 3, 1), SamplingError, "n_shot is 0"),
        ((LABELS, (5, 3), 1, 3, 1), SamplingError, r"n_way is \(5, 3\)"),
        ((LABELS, 2, (1, 19), 3, 1), SamplingError, "takes 22 images of a class"),
        ((TensorDataset(FEATURES), 2, 1, 3, 1), SpecError, "of a TensorDataset are not known"),
        (([0.5, 0.5], 2, 1, 3, 1), SpecError, "of a list are not known"),
    ],
)
def test_what_cannot_be_drawn(arguments: Any, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        fb.TaskSampler(*arguments)


# ---- a log ---------------------------------------------------------------------------------------


class Batches:
    """A batch sampler of somebody's own, which knows no classes and interleaves them."""

    def __len__(self) -> int:
        return 150

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng(0)
        for _ in range(len(self)):
            classes = rng.permutation(12)[:5]
            images = np.stack([20 * c + rng.permutation(20)[:5] for c in classes])
            yield images.T.ravel().tolist()  # an image of each class, then another


def _check(log: fb.LoggedTasks, tmp_path: Path, rows: int = 150) -> None:
    """The log is read as rows and from each kind of file, with the same intervals."""
    assert len(log.rows) == rows
    assert log.class_sizes == dict.fromkeys(range(12), 20)
    sizes = tmp_path / "sizes.json"
    sizes.write_text(json.dumps(log.class_sizes))
    shown = fb.interval(log.rows, class_sizes=log.class_sizes)
    assert {"images", "classes"} <= {*shown.scores[0].intervals}
    for name in ("log.csv", "log.jsonl", "log.parquet"):
        log.write(tmp_path / name)
        report = fb.interval(tmp_path / name, class_sizes=sizes)
        assert [s.intervals for s in report.scores] == [s.intervals for s in shown.scores]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_sampler_of_ones_own(workers: int, tmp_path: Path) -> None:
    log = fb.log_tasks(Batches(), LABELS, n_shot=2)
    loader = DataLoader(Embeddings(), batch_sampler=log, num_workers=workers)
    for features, labels in loader:  # a loader of workers draws ahead
        x = features.reshape(5, 5, -1).transpose(0, 1)
        of = torch.arange(5).repeat_interleave(2)
        predicted = nearest(x[:, :2].flatten(0, 1), of, x[:, 2:].flatten(0, 1))
        right = predicted == torch.arange(5).repeat_interleave(3)
        log.record("one", right)
        log.record("other", ~right)
        assert log.rows[-2]["n_correct"] == sum(log.rows[-2]["correct"]) == int(right.sum())
        assert log.rows[-1]["class_ids"] == labels[:5].tolist()
    assert len(log) == 150
    _check(log, tmp_path, 300)


def test_tasks_of_another_pass_are_the_same_where_they_are_alike() -> None:
    log = fb.log_tasks(Batches(), LABELS)
    for method in ("one", "other"):
        for _ in log:
            log.record(method, 7, 15)
    assert [row["task"] for row in log.rows] == [*range(150), *range(150)]
    assert "image_ids" in log.rows[0]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="that a Batches draws are not known"):
        fb.log_tasks(Batches())
    with pytest.raises(TaskLogError, match="its class is not known"):
        list(fb.log_tasks(Batches(), LABELS[:50]))
    log = fb.log_tasks(Batches(), LABELS)
    with pytest.raises(TaskLogError, match="nothing has been recorded"):
        log.write(tmp_path / "log.csv")
    with pytest.raises(TaskLogError, match="answers task 1 of an iteration in which 0 were drawn"):
        log.record("m", 3)
    next(iter(log))
    with pytest.raises(TaskLogError, match="not known how many queries the task has"):
        log.record("m", 3)
    log.record("m", 3, 15)
    with pytest.raises(OutputError, match="is no name of a log"):
        log.write(tmp_path / "log.txt")


# ---- other packages ------------------------------------------------------------------------------


def test_easyfsl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samplers = pytest.importorskip("easyfsl.samplers", reason="needs easyfsl, of the extra `test`")
    monkeypatch.setattr("torch.utils.data.Sampler.__init__", lambda self, data_source=None: None)
    random.seed(0)
    theirs = samplers.TaskSampler(
        SimpleNamespace(get_labels=LABELS.tolist), n_way=5, n_shot=2, n_query=3, n_tasks=150
    )
    log = fb.log_tasks(theirs)
    loader = DataLoader(Embeddings(), batch_sampler=log, collate_fn=theirs.episodic_collate_fn)
    for support, of, query, answer, _ in loader:
        log.record("m", (nearest(support, of, query) == answer).sum())
    assert np.shape(log.rows[0]["support_ids"]) == (5, 2)
    _check(log, tmp_path)
