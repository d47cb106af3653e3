"""Give a method its inputs: features of images, copies of their files, or tensors."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, SpecError
from fslbench_data.files import scratch_folder
from fslbench_data.release.pictures import picture_paths
from fslbench_data.release.release import Release
from fslbench_data.tasks import Task

Inputs = Callable[[Sequence[Task]], AbstractContextManager[tuple[Any, Any]]]
"""Gives support (B, K, S, ...) and query (B, K·Q, ...) of B tasks while a method predicts them.

Of episodes it gives lists of B: a support is K arrays (S_k, ...), a query is an array.
"""

FeaturesOf = Callable[[str], NDArray[Any]]
"""Gives the inputs for the images of a data set: an array (N, ...)."""


LookUp = Callable[[NDArray[Any]], Any]
"""Gives the inputs for an array of image ids."""


def _looked_up(look_up: LookUp, tasks: Sequence[Task]) -> tuple[Any, Any]:
    """Return the support and query inputs of some tasks."""
    if tasks[0].info.name.varies:
        supports = [[look_up(image_ids) for image_ids in task.support] for task in tasks]
        return supports, [look_up(task.query) for task in tasks]
    support = np.stack([task.support for task in tasks])
    return look_up(support), look_up(np.stack([task.query for task in tasks]))


@contextmanager
def image_copies(
    paths: Sequence[Path], seed: int, tasks: Sequence[Task]
) -> Iterator[tuple[list[list[list[Path]]], list[list[Path]]]]:
    """Copy the images of tasks; give paths: for each task K lists of S (support), and K·Q (query).

    Names, folders, times and inodes of the original files give the class away.  Names of the copies
    follow from the seed, the task and the place in it, their times are all the same, and queries
    are written in their frozen order, in a folder that is removed after the call.  Links would keep
    times and inodes, and let a method write into the images.
    """
    with scratch_folder("images") as folder:
        supports, queries = [], []
        for task in tasks:
            key = ["fslbench-image-1", seed, task.info.dataset, task.info.task_set, task.task_id]
            ids = np.concatenate([*task.support, task.query]).tolist()
            copies = (
                _copy(paths[image_id], folder, [*key, place]) for place, image_id in enumerate(ids)
            )
            supports.append([list(islice(copies, len(of_class))) for of_class in task.support])
            queries.append(list(copies))
        yield supports, queries


def _copy(path: Path, folder: Path, key: list[Any]) -> Path:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    copy = folder / (name + path.suffix.lower())
    try:
        shutil.copyfile(path, copy)
        os.utime(copy, (0, 0))
    except OSError as error:
        raise SourceError(f"{path} cannot be copied: {error.strerror}") from None
    return copy


def sizes_digest(release: Release, datasets: Iterable[str], images: Path | Literal[True]) -> str:
    """Return a digest of the sizes of all pictures, to notice that a run goes on with others."""
    digest = hashlib.sha256()
    for dataset in datasets:
        sizes = [path.stat().st_size for path in picture_paths(release, dataset, images)]
        digest.update(json.dumps([dataset, sizes]).encode())
    return digest.hexdigest()[:16]


def input_kind(
    features: str | FeaturesOf | None,
    images: Path | Literal[True] | None,
    transform: Callable[[Any], Any] | None,
    device: Any,
) -> tuple[str, Callable[[Release, str, int], Inputs]]:
    """Choose the kind of inputs of a method by arguments of :func:`fslbench_data.evaluate`.

    Without `transform`, pictures are given as files; without `device`, features as arrays.  Raises
    a SpecError if these do not go together, or there is no such device.

    Returns
    -------
    device, opened
        The device of PyTorch's tensors, empty for a method that gets none; and a function of a
        release, a data set and the seed of copies' names that opens the data set's inputs, and
        raises a SourceError if pictures are missing.
    """
    if transform is not None and images is None:
        raise SpecError("features need no transform", fix="give images=, or no transform=")
    if device is not None and images is not None and transform is None:
        raise SpecError(
            "images are put on a device as tensors, which a transform makes of them",
            fix="in Python give transform= with device=, or let the method read the files",
        )
    device_name = "" if device is None else str(device)
    if transform is not None and device is None:
        device_name = "cpu"
    if device_name:
        from fslbench_data.torch.tensors import PictureTensors, put_on

        on_device = put_on(device_name)

    def opened(release: Release, dataset: str, seed: int) -> Inputs:
        look_up: LookUp
        if images is not None:
            paths = picture_paths(release, dataset, images)
            if transform is None:
                return partial(image_copies, paths, seed)
            look_up = PictureTensors(paths, transform)
        else:
            array = features(dataset) if callable(features) else None
            if array is None:
                array = release.features(dataset, str(features))
            look_up = lambda image_ids: array[image_ids].astype(np.float32)  # noqa: E731
        placed = (lambda image_ids: on_device(look_up(image_ids))) if device_name else look_up
        return lambda tasks: nullcontext(_looked_up(placed, tasks))

    return device_name, opened
