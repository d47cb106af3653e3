"""Tasks as tensors, drawn for loaders of PyTorch, logs of tasks, and methods run on tensors."""

import json
import pickle
import random
import subprocess
import sys
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from commands import printed
from tiny_features import build_pictures

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    FSLBenchWarning,
    MethodFailedError,
    OutputError,
    PredictionError,
    SamplingError,
    SourceError,
    SpecError,
    TaskLogError,
)

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `torch`")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from fslbench_data.torch import TaskDataset, collate  # noqa: E402

DIGITS = ("digits", "open-5w5s5q")
WHERE = {"datasets": "digits", "features": "pixels", "task_sets": "open-5w1s1q"}
FIVE_SHOTS = WHERE | {"task_sets": "open-5w5s5q"}


@pytest.fixture(scope="module")
def tasks(embedded):
    return TaskDataset(embedded, *DIGITS, features="pixels")


def nearest_of(batch):
    return torch.cdist(batch.query, batch.support.mean(dim=2)).argmin(dim=-1)


def _equal(one, other):
    return [task.task_id for task in one.tasks] == [task.task_id for task in other.tasks] and all(
        torch.equal(getattr(one, name), getattr(other, name))
        for name in ("support", "query", "query_label")
    )


def test_an_item_is_a_task(tasks, embedded):
    features = embedded.features("digits", "pixels").astype(np.float32)
    assert len(tasks) == 31
    for task_id, task in enumerate(embedded.task_set(*DIGITS)):
        item = tasks[task_id]
        assert [one.task_id for one in item.tasks] == [task_id]
        assert np.array_equal(item.support.numpy(), features[task.support][None])
        assert np.array_equal(item.query.numpy(), features[task.query][None])
        assert item.query_label.tolist() == [task.query_label.tolist()]
    assert (item.support.dtype, item.query_label.dtype) == (torch.float32, torch.int64)
    with pytest.raises(IndexError, match=r"0\.\.30, not 31"):
        tasks[31]


def test_features_are_not_sent_to_workers(embedded):
    photos = TaskDataset(embedded, "groceries", "open-5w1s1q", features="efficientnet_lite0-pca128")
    sent = pickle.dumps(photos)
    features = embedded.features("groceries", "efficientnet_lite0-pca128")
    assert len(sent) < features.astype(np.float16).nbytes
    assert _equal(pickle.loads(sent)[7], photos[7])


def test_batches_are_recorded_in_any_order(tasks):
    recorder, right = fb.Recorder("it", backbone="pixels"), 0
    for batch in DataLoader(tasks, batch_size=8, shuffle=True, collate_fn=collate):
        right += batch.to("cpu").record(recorder, nearest_of(batch))
    table = recorder.submission().table
    assert table.column("task_id").to_pylist() == [*range(31)]
    assert right == sum(table.column("n_correct").to_pylist())


def test_what_cannot_be_recorded_or_collated(tasks, embedded):
    batch, recorder = collate([tasks[0], tasks[1]]), fb.Recorder("it")
    with pytest.raises(PredictionError, match=r"for 1 tasks(.|\n)*begins with task 0"):
        batch.record(recorder, nearest_of(tasks[0]))
    with pytest.raises(PredictionError, match="float32"):
        batch.record(recorder, torch.cdist(batch.query, batch.support.mean(dim=2)))
    with pytest.raises(PredictionError, match="the method predicted 5"):
        batch.record(recorder, torch.full((2, 25), 5))
    batch.record(recorder, nearest_of(batch).numpy())  # an array will do
    other = TaskDataset(embedded, "digits", "open-5w1s1q", features="pixels")
    with pytest.raises(SpecError, match=r"digits/open-5w1s1q, digits/open-5w5s5q"):
        collate([tasks[0], other[0]])


def test_either_features_or_pictures_are_given(embedded):
    all_three = {"features": "pixels", "images": "x", "transform": abs}
    for options in ({}, {"images": "x"}, {"transform": abs}, all_three):
        with pytest.raises(SpecError, match="pictures by a transform"):
            TaskDataset(embedded, *DIGITS, **options)


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    """A release of 4 classes with 6 pictures each, of several sizes, and where they lie."""
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `torch`")
    base = tmp_path_factory.mktemp("birds")
    folder = build_pictures(base, 6, suites=("open",), protocols=("2w1s2q",), tasks={})
    return fb.load_release(folder), base / "raw/tiny"


def small(picture):
    assert picture.mode == "RGB"
    assert not getattr(picture, "filename", "")
    return torch.from_numpy(np.asarray(picture.resize((4, 4)), np.float32)).permute(2, 0, 1)


def test_pictures_become_tensors(birds):
    from PIL import Image

    release, folder = birds
    dataset = TaskDataset(release, "tiny", "open-2w1s2q", images=folder, transform=small)
    names = release.images("tiny").column("path").to_pylist()
    for item, task in zip(
        DataLoader(dataset, batch_size=1, num_workers=2, collate_fn=collate),
        release.task_set("tiny", "open-2w1s2q"),
        strict=True,
    ):
        assert tuple(item.support.shape) == (1, 2, 1, 3, 4, 4)
        assert tuple(item.query.shape) == (1, 4, 3, 4, 4)
        with Image.open(folder / names[task.query[3]]) as picture:
            assert torch.equal(item.query[0, 3], small(picture.convert("RGB")))
        with Image.open(folder / names[task.support[1, 0]]) as picture:
            assert torch.equal(item.support[0, 1, 0], small(picture.convert("RGB")))


def test_evaluate_gives_pictures_as_tensors(birds):
    release, folder = birds

    def nearest_pixels(support, query, rng):
        means, query = support.mean(dim=2).flatten(2), query.flatten(2)
        return torch.cdist(query, means).argmin(dim=-1)

    ran = fb.evaluate(nearest_pixels, release, name="it", images=folder, transform=small, batch=2)
    recorder = fb.Recorder("it")
    dataset = TaskDataset(release, "tiny", "open-2w1s2q", images=folder, transform=small)
    for batch in DataLoader(dataset, batch_size=3, collate_fn=collate):
        batch.record(recorder, nearest_pixels(batch.support, batch.query, None))
    assert content_digest(ran.table) == content_digest(recorder.submission().table)


def test_transforms_that_fail_name_the_picture(birds):
    release, folder = birds

    def first(transform, images=folder):
        return TaskDataset(release, "tiny", "open-2w1s2q", images=images, transform=transform)[0]

    def broken(picture):
        raise ValueError("no such colour")

    with pytest.raises(MethodFailedError, match=r"no such colour(.|\n)*class_\d/000\d\.(png|jpg)"):
        first(broken)
    with pytest.raises(MethodFailedError, match=r"gave a ndarray(.|\n)*a tensor"):
        first(np.asarray)
    with pytest.raises(MethodFailedError, match=r"several shapes(.|\n)*resize"):
        first(lambda picture: torch.from_numpy(np.array(picture)))
    with pytest.raises(SourceError, match="24 of 24 images of tiny are missing"):
        first(small, folder / "class_0")


LABELS = np.repeat(np.arange(12), 20)
RNG = np.random.default_rng(0)
FEATURES = torch.from_numpy(RNG.normal(size=(240, 4)) + RNG.normal(size=(12, 4))[LABELS])


class Embeddings(TensorDataset):
    def __init__(self):
        super().__init__(FEATURES, torch.from_numpy(LABELS))
        self.targets = LABELS


def by_means(support, of, query):
    means = torch.stack([support[of == i].mean(dim=0) for i in range(int(of.max()) + 1)])
    return torch.cdist(query, means).argmin(dim=1)


def test_tasks_follow_from_their_seed_and_are_kept():
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


def test_tasks_are_uniform_whatever_the_sizes_of_classes():
    labels = ["a"] * 3 + ["b"] * 9 + ["c"] * 5 + ["d"] * 4
    drawn = list(fb.TaskSampler(labels, 2, 1, 1, 1000))
    of = np.array(labels)[np.array(drawn)[:, ::2]]
    shares = [(of == name).any(axis=1).mean() for name in "abcd"]
    assert np.abs(np.array(shares) - 0.5).max() < 5 * 0.5 / 1000**0.5
    first = np.bincount(np.array(drawn).ravel(), minlength=21)
    expected = np.array([500 * 2 / labels.count(name) for name in labels])
    assert (np.abs(first - expected) < 5 * expected**0.5).all()


def test_ranges_of_ways_and_shots(tmp_path):
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
        log.record("m", by_means(support, of, query) == answer)
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
        ((LABELS, (5,), 1, 3, 1), SamplingError, r"n_way is \(5,\)"),
        ((LABELS, "5", 1, 3, 1), SamplingError, "n_way is '5'"),
        ((LABELS, 2, 1, (1, 2), 1), SamplingError, r"n_query is \(1, 2\)"),
        ((LABELS, 2, 1, 3, 2.5), SamplingError, "n_tasks is 2.5"),
        ((LABELS, 2, (1, 19), 3, 1), SamplingError, "takes 22 images of a class"),
        ((TensorDataset(FEATURES), 2, 1, 3, 1), SpecError, "of a TensorDataset are not known"),
        (([0.5, 0.5], 2, 1, 3, 1), SpecError, "of a list are not known"),
    ],
)
def test_what_cannot_be_drawn(arguments, error, what):
    with pytest.raises(error, match=what):
        fb.TaskSampler(*arguments)


class Batches:
    """A batch sampler of somebody's own, which knows no classes and interleaves them."""

    def __len__(self):
        return 150

    def __iter__(self):
        rng = np.random.default_rng(0)
        for _ in range(len(self)):
            images = np.stack([20 * c + rng.permutation(20)[:5] for c in rng.permutation(12)[:5]])
            yield images.T.ravel().tolist()  # an image of each class, then another


def _check(log, tmp_path, rows=150):
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
def test_a_batch_sampler_of_ones_own(workers, tmp_path):
    log = fb.log_tasks(Batches(), LABELS, n_shot=2)
    loader = DataLoader(Embeddings(), batch_sampler=log, num_workers=workers)
    for features, labels in loader:  # a loader of workers draws ahead
        x = features.reshape(5, 5, -1).transpose(0, 1)
        of = torch.arange(5).repeat_interleave(2)
        predicted = by_means(x[:, :2].flatten(0, 1), of, x[:, 2:].flatten(0, 1))
        right = predicted == torch.arange(5).repeat_interleave(3)
        log.record("one", right)
        log.record("other", ~right)
        classes = labels[:5].tolist()
    one, other = log.rows[-2:]
    assert one["n_correct"] == sum(one["correct"]) == int(right.sum())
    assert other["class_ids"] == classes
    assert len(log) == 150
    _check(log, tmp_path, 300)


def test_tasks_of_another_pass_are_the_same_where_they_are_alike():
    log = fb.log_tasks(Batches(), LABELS)
    for method in ("one", "other"):
        for _ in log:
            log.record(method, 7, 15)
    assert [row["task"] for row in log.rows] == [*range(150), *range(150)]
    assert "image_ids" in log.rows[0]


def test_what_is_refused(tmp_path):
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
    for wrong in (0.78, float("nan"), torch.tensor([1, 2]), object(), "x"):
        with pytest.raises(TaskLogError, match=r"no count|makes no array"):
            log.record("m", wrong, 15)
    for wrong in (-1, 16, torch.ones(14)):
        with pytest.raises(TaskLogError, match=r"are right, and the task has 15"):
            log.record("m", wrong, 15)
    with pytest.raises(TaskLogError, match="a method is called None"):
        log.record(None, 3, 15)
    log.record("m", np.float32(3.0), 15)
    with pytest.raises(OutputError, match="is no name of a log"):
        log.write(tmp_path / "log.txt")


def test_rows_have_the_columns_of_all_whatever_the_first_has(tmp_path):
    log, rng = (
        fb.log_tasks(fb.TaskSampler(LABELS, np.int64(5), 2, 3, 150)),
        np.random.default_rng(0),
    )
    for _ in log:
        right = rng.random((3, 15)) < 0.7
        log.record("plain", int(right[0].sum()))
        for run in range(2):
            log.record("trained", right[run + 1], run=run)
    assert {row["run"] for row in log.rows} == {None, "0", "1"}
    assert "correct" not in log.rows[0]
    shown = fb.interval(log.rows, class_sizes=log.class_sizes)
    assert [score.runs for score in shown.scores] == [1, 2]
    for name in ("log.csv", "log.jsonl", "log.parquet"):
        log.write(tmp_path / name)
        report = fb.interval(tmp_path / name, class_sizes=log.class_sizes)
        assert [s.intervals for s in report.scores] == [s.intervals for s in shown.scores]


def test_a_task_that_failed():
    log = fb.log_tasks(Batches(), LABELS)
    for number, _ in enumerate(log):
        log.record("m", None if number == 5 else 7, 15)
        if number != 5:
            log.record("left out", 7, 15)
    with pytest.raises(TaskLogError, match=r"left out has recorded 149 of the 150(.|\n)*None"):
        list(log)
    log.record("left out", None)
    assert [row["task"] for row in log.rows if row["method"] == "m"] == [*range(5), *range(6, 150)]


def test_easyfsl(tmp_path, monkeypatch):
    samplers = pytest.importorskip("easyfsl.samplers", reason="needs easyfsl, of the extra `test`")
    monkeypatch.setattr("torch.utils.data.Sampler.__init__", lambda self, data_source=None: None)
    random.seed(0)
    theirs = samplers.TaskSampler(
        SimpleNamespace(get_labels=LABELS.tolist), n_way=5, n_shot=2, n_query=3, n_tasks=150
    )
    log = fb.log_tasks(theirs)
    loader = DataLoader(Embeddings(), batch_sampler=log, collate_fn=theirs.episodic_collate_fn)
    for support, of, query, answer, _ in loader:
        log.record("m", (by_means(support, of, query) == answer).sum())
    assert np.shape(log.rows[0]["support_ids"]) == (5, 2)
    _check(log, tmp_path)


def nearest(support, query, rng):
    """Positions of one task, (K, S, D) and (K·Q, D), or of B of them."""
    return torch.cdist(query, support.mean(dim=-2)).argmin(dim=-1)


def _digest(method, **options):
    return content_digest(fb.evaluate(method, **{"name": "it"} | WHERE | options).table)


@pytest.mark.parametrize("device", ["cpu", *["cuda"] * torch.cuda.is_available()])
def test_one_task_or_many(device):
    shapes = set()

    def look(support, query, rng):
        shapes.add((tuple(support.shape), tuple(query.shape)))
        assert support.dtype == query.dtype == torch.float32
        assert support.device.type == query.device.type == device
        return nearest(support, query, rng)

    alone = _digest(look, device=device)
    assert shapes == {((5, 1, 64), (5, 64))}
    assert _digest(look, device=device, batch=50) == alone
    assert {support[0] for support, _ in shapes if len(support) == 4} == {50, 26}

    def of_arrays(support, query, rng):
        return nearest(torch.from_numpy(support), torch.from_numpy(query), rng)

    assert _digest(of_arrays) == alone


@pytest.mark.parametrize(
    "answer",
    [
        torch.zeros(5, dtype=torch.bfloat16),
        torch.zeros(5, dtype=int, device="meta"),
        [torch.zeros((), requires_grad=True)] * 5,
    ],
)
def test_tensors_that_are_no_answer(answer, embedded):
    with pytest.raises(PredictionError) as caught:
        _digest(lambda s, q, r: answer)
    assert caught.value.where == "it on digits/open-5w1s1q, task 0"


class Network(torch.nn.Module):
    """One whose answers are all the first class unless it is in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, support, query, rng=None):
        found = nearest(support, query, rng)
        return found * 0 if self.training else found


class Holder:
    """A method that holds networks, anywhere that can be seen."""

    def __init__(self, kept):
        self.kept = kept

    def __call__(self, support, query, rng):
        kept = self.kept.values() if isinstance(self.kept, dict) else self.kept
        return next(iter(kept if not isinstance(kept, Network) else [kept]))(support, query)


HOLDERS = {
    "itself": lambda network: network,
    "held": Holder,
    "in a list": lambda network: Holder([network]),
    "in a mapping": lambda network: Holder({"a": network}),
    "a bound method": lambda network: Holder(network).__call__,
    "a partial": lambda network: partial(lambda held, *given: held(*given), network),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_networks_left_in_training_mode(kind):
    network = Network()
    with pytest.warns(FSLBenchWarning, match="it: Network was left in training mode") as said:
        found = _digest(HOLDERS[kind](network), device="cpu")
    (told,) = (one for one in said if one.category is FSLBenchWarning)  # not of what is collected
    assert "\n" not in str(told.message)
    assert not network.training
    assert found == _digest(nearest, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _digest(HOLDERS[kind](network), device="cpu", max_tasks=1)


def test_settings_that_are_wrong(tmp_path):
    journal = {"name": "it", "max_tasks": 1, "journal": tmp_path / "j", **WHERE}
    fb.evaluate(nearest, device="cpu", **journal)
    with pytest.raises(OutputError, match="device: 'cpu', now 'cpu:0'"):
        fb.evaluate(nearest, device=torch.device("cpu", 0), **journal)
    wrong = (
        ({"features": "pixels", "device": "abacus"}, "opens no device 'abacus'"),
        ({"features": "pixels", "device": 1.5}, "opens no device"),
        ({"features": "pixels", "device": "cuda:99"}, "opens no device 'cuda:99'"),
        ({"features": "pixels", "transform": abs}, "features need no transform"),
        ({"images": tmp_path, "device": "cpu"}, "which a transform makes of them"),
    )
    for options, said in wrong:
        with pytest.raises(SpecError, match=said):
            fb.evaluate(nearest, **options)


def test_the_command(tmp_path, monkeypatch):
    (tmp_path / "tensor_method.py").write_text(
        "def nearest(support, query, rng):\n"
        "    return (query[:, None] - support.mean(dim=1)).norm(dim=2).argmin(dim=1)\n"
    )
    monkeypatch.chdir(tmp_path)
    options = "--features pixels --dataset digits --task-set open-5w1s1q --device cpu -o x.parquet"
    printed("evaluate", "tensor_method.py:nearest", *options.split())
    written = fb.Submission.read(tmp_path / "x.parquet")
    assert content_digest(written.table) == _digest(nearest, name="nearest", device="cpu")


@pytest.fixture(scope="module")
def methods():
    return pytest.importorskip("easyfsl.methods", reason="needs easyfsl")


def test_easyfsls_prototypical_networks(methods):
    networks = fb.easyfsl(methods.PrototypicalNetworks())
    expected = _digest(nearest, device="cpu", **FIVE_SHOTS)
    assert _digest(networks, **FIVE_SHOTS) == expected
    assert _digest(networks, device="cpu", **FIVE_SHOTS) == expected


def test_easyfsls_backbone_in_training_mode(methods):
    backbone = torch.nn.Linear(64, 8)
    with pytest.warns(FSLBenchWarning, match="PrototypicalNetworks was left in training mode"):
        fb.easyfsl(methods.PrototypicalNetworks(backbone))
    assert not backbone.training
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.easyfsl(methods.PrototypicalNetworks(backbone).eval())
        fb.easyfsl(methods.PrototypicalNetworks())  # without a network


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SimpleShot", {}),
        ("BDCSPN", {}),
        ("Finetune", {"fine_tuning_steps": 20}),
        ("PTMAP", {"fine_tuning_steps": 2}),
    ],
)
def test_easyfsls_methods_answer_each_task_by_itself(name, settings, methods):
    kind, options = getattr(methods, name), {"name": "it", "device": "cpu", **FIVE_SHOTS}
    adapted = fb.easyfsl(kind(**settings))
    submission = fb.evaluate(adapted, max_tasks=2, **options)
    assert submission.methods["it"].transductive == kind.is_transductive()
    again = fb.evaluate(adapted, max_tasks=1, **options)
    assert again.table == submission.table.slice(0, 1)  # nothing is left of the tasks before
    assert np.mean(submission.table.column("n_correct").to_numpy()) > 18  # of 25


def test_easyfsls_random_numbers_come_from_the_task(methods):
    class Noisy(torch.nn.Module):
        def forward(self, features):
            return features + 20 * torch.randn_like(features)

    noisy = fb.easyfsl(methods.SimpleShot(Noisy()))
    before = torch.random.get_rng_state()
    first = _digest(noisy, **FIVE_SHOTS)
    assert torch.equal(before, torch.random.get_rng_state())
    assert first == _digest(noisy, **FIVE_SHOTS)
    assert first != _digest(noisy, seed=1, **FIVE_SHOTS)


def test_what_easyfsl_cannot_answer(methods, root):
    for wrong, said in ((methods.SimpleShot, "is a class"), ({}, "dict has no process_support_se")):
        with pytest.raises(SpecError, match=said):
            fb.easyfsl(wrong)
    with pytest.raises(MethodFailedError, match=r"support of \(2, 5, 5, 64\)"):
        _digest(fb.easyfsl(methods.SimpleShot()), batch=2, **FIVE_SHOTS)
    with pytest.raises(SpecError, match="support of files"):
        fb.easyfsl(methods.SimpleShot())([[root]], [root], np.random.default_rng(0))


@pytest.mark.slow
def test_the_example_of_all_three(methods, root, tmp_path):
    path = tmp_path / "x.parquet"
    script = root / "examples/outside_methods.py"
    subprocess.run([sys.executable, script, path], check=True, cwd=tmp_path)
    report = fb.score(path)
    assert len(report.scores) == 6
    assert not report.signature.unbound
