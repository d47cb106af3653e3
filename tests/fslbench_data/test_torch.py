"""Tasks as tensors: a data set of PyTorch, batches, pictures."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import build_pictures

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    MethodFailedError,
    PredictionError,
    SourceError,
    SpecError,
)
from fslbench_data.release.release import Release

DIGITS = ("digits", "open-5w5s5q")


torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `torch`")

from torch.utils.data import DataLoader  # noqa: E402

from fslbench_data.torch import TaskDataset, collate  # noqa: E402


@pytest.fixture(scope="module")
def tasks(embedded: Release) -> Any:
    return TaskDataset(embedded, *DIGITS, features="pixels")


def nearest(batch: Any) -> Any:
    return torch.cdist(batch.query, batch.support.mean(dim=2)).argmin(dim=-1)


def _equal(one: Any, other: Any) -> bool:
    return [task.task_id for task in one.tasks] == [task.task_id for task in other.tasks] and all(
        torch.equal(getattr(one, name), getattr(other, name))
        for name in ("support", "query", "query_label")
    )


# ---- features ------------------------------------------------------------------------------------


def test_an_item_is_a_task(tasks: Any, embedded: Release) -> None:
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


def test_batches_are_the_same_with_workers(tasks: Any) -> None:
    whole = list(DataLoader(tasks, batch_size=8, collate_fn=collate))
    assert [tuple(batch.support.shape) for batch in whole] == [(8, 5, 5, 64)] * 3 + [(7, 5, 5, 64)]
    in_workers = list(DataLoader(tasks, batch_size=8, collate_fn=collate, num_workers=2))
    assert all(map(_equal, whole, in_workers))


def test_features_are_not_sent_to_workers(embedded: Release) -> None:
    photos = TaskDataset(embedded, "groceries", "open-5w1s1q", features="efficientnet_lite0-pca128")
    sent = pickle.dumps(photos)
    features = embedded.features("groceries", "efficientnet_lite0-pca128")
    assert len(sent) < features.astype(np.float16).nbytes
    assert _equal(pickle.loads(sent)[7], photos[7])


def test_batches_are_recorded_in_any_order(tasks: Any) -> None:
    recorder, right = fb.Recorder("it", backbone="pixels"), 0
    for batch in DataLoader(tasks, batch_size=8, shuffle=True, collate_fn=collate):
        right += batch.to("cpu").record(recorder, nearest(batch))
    table = recorder.submission().table
    assert table.column("task_id").to_pylist() == [*range(31)]
    assert right == sum(table.column("n_correct").to_pylist())


def test_what_cannot_be_recorded(tasks: Any) -> None:
    batch, recorder = collate([tasks[0], tasks[1]]), fb.Recorder("it")
    with pytest.raises(PredictionError, match=r"for 1 tasks(.|\n)*begins with task 0"):
        batch.record(recorder, nearest(tasks[0]))
    with pytest.raises(PredictionError, match="float32"):
        batch.record(recorder, torch.cdist(batch.query, batch.support.mean(dim=2)))
    with pytest.raises(PredictionError, match="predictions hold 5"):
        batch.record(recorder, torch.full((2, 25), 5))
    batch.record(recorder, nearest(batch).numpy())  # an array will do


def test_one_batch_has_one_protocol(tasks: Any, embedded: Release) -> None:
    other = TaskDataset(embedded, "digits", "open-5w1s1q", features="pixels")
    with pytest.raises(SpecError, match=r"digits/open-5w1s1q, digits/open-5w5s5q"):
        collate([tasks[0], other[0]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"images": "x"},
        {"transform": abs},
        {"features": "pixels", "images": "x", "transform": abs},
    ],
)
def test_either_features_or_pictures_are_given(options: Any, embedded: Release) -> None:
    with pytest.raises(SpecError, match="pictures by a transform"):
        TaskDataset(embedded, *DIGITS, **options)


# ---- pictures ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A release of 4 classes with 6 pictures each, of several sizes, and where they lie."""
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `torch`")
    base = tmp_path_factory.mktemp("birds")
    folder = build_pictures(base, 6, suites=("open",), protocols=("2w1s2q",), tasks={})
    return fb.load_release(folder), base / "raw/tiny"


def small(picture: Any) -> Any:
    """A tensor (3, 4, 4) of a picture."""
    assert picture.mode == "RGB"
    assert not getattr(picture, "filename", "")
    pixels = np.asarray(picture.resize((4, 4)), np.float32)
    return torch.from_numpy(pixels).permute(2, 0, 1)


def test_pictures_become_tensors(birds: tuple[Release, Path]) -> None:
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


def test_evaluate_gives_pictures_as_tensors(birds: tuple[Release, Path]) -> None:
    release, folder = birds

    def nearest_pixels(support: Any, query: Any, rng: object) -> Any:
        means, query = support.mean(dim=2).flatten(2), query.flatten(2)
        return torch.cdist(query, means).argmin(dim=-1)

    ran = fb.evaluate(nearest_pixels, release, name="it", images=folder, transform=small, batch=2)
    recorder = fb.Recorder("it")
    dataset = TaskDataset(release, "tiny", "open-2w1s2q", images=folder, transform=small)
    for batch in DataLoader(dataset, batch_size=3, collate_fn=collate):
        batch.record(recorder, nearest_pixels(batch.support, batch.query, None))
    assert content_digest(ran.table) == content_digest(recorder.submission().table)


def test_transforms_that_fail_name_the_picture(birds: tuple[Release, Path]) -> None:
    release, folder = birds

    def first(transform: Any, images: Path = folder) -> Any:
        return TaskDataset(release, "tiny", "open-2w1s2q", images=images, transform=transform)[0]

    def broken(picture: Any) -> Any:
        raise ValueError("no such colour")

    with pytest.raises(MethodFailedError, match=r"no such colour(.|\n)*class_\d/000\d\.(png|jpg)"):
        first(broken)
    with pytest.raises(MethodFailedError, match=r"gave a ndarray(.|\n)*a tensor"):
        first(np.asarray)
    with pytest.raises(MethodFailedError, match=r"several shapes(.|\n)*resize"):
        first(lambda picture: torch.from_numpy(np.array(picture)))
    with pytest.raises(SourceError, match="24 of 24 images of tiny are missing"):
        first(small, folder / "class_0")
