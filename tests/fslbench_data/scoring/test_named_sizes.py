"""Sizes of classes by the name of a data set's test split."""

from typing import Any

import numpy as np
import pytest
from own_logs import estimates

import benchmark_spec.catalogue as known
import fslbench_data as fb
from benchmark_spec.errors import TaskLogError, UnknownNameError


def _log(sizes: dict[str, int], tasks: int = 300) -> dict[str, list[Any]]:
    """Tasks of 5 ways and 6 images a class, drawn from classes of these names and sizes."""
    rng, names = np.random.default_rng(0), [*sizes]
    log: dict[str, list[Any]] = {"method": ["A"] * tasks, "task": list(range(tasks))}
    classes = [rng.choice(len(names), 5, replace=False) for _ in range(tasks)]
    log["class_ids"] = [[names[c] for c in of] for of in classes]
    log["image_ids"] = [
        [(1000 * c + rng.choice(sizes[names[c]], 6, replace=False)).tolist() for c in of]
        for of in classes
    ]
    log["n_correct"], log["n_query"] = rng.integers(10, 26, tasks).tolist(), [25] * tasks
    return log


MINI = {str(n): 600 for n in range(20)}


def test_the_splits_of_papers() -> None:
    splits = known.test_splits()
    assert (splits["miniimagenet"].classes, splits["miniimagenet"].images) == (20, 600)
    assert (splits["tieredimagenet"].classes, splits["tieredimagenet"].images) == (160, 954)
    assert (splits["isic"].classes, splits["isic"].images) == (7, 115)
    assert (splits["cropdisease"].classes, splits["cropdisease"].images) == (38, None)
    assert splits["cub"] is splits["cub_100_50_50"]
    assert splits["cub_meta_dataset"].sizes == splits["cub_140_30_30"].sizes
    assert known.test_split("CUB 130/20/50") == splits["cub_130_20_50"]
    assert known.test_split("CIFAR-FS") == splits["cifar_fs"]


def test_sizes_under_the_names_of_a_log() -> None:
    split = known.TestSplit({"a": 3, "b": 3, "c": 3})
    assert split.sizes_of(["b", "c"]) == {"a": 3, "b": 3, "c": 3}
    assert split.sizes_of(["0", "2"]) == {"0": 3, "2": 3, "a": 3}
    assert split.sizes_of(["0", "a"]) == {"0": 3, "a": 3, "b": 3}
    assert split.sizes_of("0123") == {"a": 3, "b": 3, "c": 3}
    assert known.TestSplit({"a": 3, "b": 4}).sizes_of(["0"]) == {"a": 3, "b": 4}


def test_data_sets_by_their_names() -> None:
    """Of papers, whatever the log calls their classes, and of the package."""
    classes = fb.load_release().classes("digits")
    digits = {row["class_name"]: row["n_images"] for row in classes.to_pylist()}
    for name, sizes in (("miniImageNet", MINI), ("Digits", digits)):
        log = _log(sizes)
        named, given = (fb.interval(log, class_sizes=told) for told in (name, sizes))
        assert named.log.images + named.log.unseen == sum(sizes.values())
        assert estimates(named) == estimates(given)


def test_cub_by_the_names_of_its_classes() -> None:
    sizes = known.test_splits()["cub"].known
    log = _log(sizes, tasks=600)
    seen = {image for task in log["image_ids"] for of in task for image in of}
    assert fb.interval(log, class_sizes="CUB").log.unseen == 2953 - len(seen)
    log["class_ids"] = [[list(sizes).index(name) for name in of] for of in log["class_ids"]]
    with pytest.raises(TaskLogError, match="the class sizes lack 50 classes of the log"):
        fb.interval(log, class_sizes="CUB")


def test_names_that_give_no_sizes() -> None:
    for name in ("minimagenet", "cropdisease"):
        with pytest.raises(UnknownNameError, match="or give a file with the columns class and"):
            fb.interval(_log(MINI), class_sizes=name)
