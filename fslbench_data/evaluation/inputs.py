"""Inputs of a method: the features of a task's images, copies of them as files, or tensors."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import chain, islice
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

Of episodes, lists of B: of support K arrays (S_k, ...) each, of query an array.
"""

FeaturesOf = Callable[[str], NDArray[Any]]
"""Gives the inputs for the images of a data set: an array (N, ...)."""


def looked_up(look: Callable[[NDArray[Any]], Any], tasks: Sequence[Task]) -> tuple[Any, Any]:
    """Return the inputs of some tasks, where `look` gives those of any array of image ids."""
    if tasks[0].info.name.varies:
        return [[look(own) for own in t.support] for t in tasks], [look(t.query) for t in tasks]
    return look(np.stack([t.support for t in tasks])), look(np.stack([t.query for t in tasks]))


@contextmanager
def image_copies(
    paths: Sequence[Path], seed: int, tasks: Sequence[Task]
) -> Iterator[tuple[list[list[list[Path]]], list[list[Path]]]]:
    """Give paths of images: of each task K lists of S of the support, a list of K·Q of the query.

    The files lie in classes, so that their names, folders, times and inodes give the class away.
    So a method is given copies, in a folder of the call's own, which is removed after it: names
    follow from the seed, the task and the place in it, times are all the same, and queries are
    written in their frozen order.  Links would keep times and inodes, and let a method write into
    the images.
    """
    with scratch_folder("images") as folder:
        supports, queries = [], []
        for task in tasks:
            key = ["fslbench-image-1", seed, task.info.dataset, task.info.task_set, task.task_id]
            ids = chain(*(own.tolist() for own in task.support), task.query.tolist())
            copies = (
                _copy(paths[image_id], folder, [*key, place]) for place, image_id in enumerate(ids)
            )
            supports.append([list(islice(copies, len(own))) for own in task.support])
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


def input_kind(
    features: str | FeaturesOf | None,
    images: Path | Literal[True] | None,
    transform: Callable[[Any], Any] | None,
    device: Any,
) -> tuple[str, Callable[[Release, str, int], Inputs]]:
    """Choose the kind of inputs of a method, as :func:`fslbench_data.evaluate` takes it.

    Pictures are given as files without `transform`, features as arrays without `device`.  Raises a
    SpecError if these do not go together, or there is no such device.

    Returns
    -------
    device, opened
        Where tensors of PyTorch are given, empty for a method that gets none; and what opens the
        inputs of a release's data set: its third argument is the seed of names of copies.  That
        raises a SourceError if pictures are missing.
    """
    if transform is not None and images is None:
        raise SpecError("features need no transform", fix="give images=, or no transform=")
    if device is not None and images is not None and transform is None:
        raise SpecError(
            "images are put on a device as tensors, which a transform makes of them",
            fix="in Python give transform= with device=, or let the method read the files",
        )
    there = "" if device is None is transform else "cpu" if device is None else str(device)
    if there:
        from fslbench_data.torch.tensors import PictureTensors, put_on

        on_device = put_on(there)

    def opened(release: Release, dataset: str, seed: int) -> Inputs:
        look: Callable[[NDArray[Any]], Any]
        if images is not None:
            paths = picture_paths(release, dataset, images)
            if transform is None:
                return partial(image_copies, paths, seed)
            look = PictureTensors(paths, transform)
        else:
            given = features(dataset) if callable(features) else None
            rows = release.features(dataset, str(features)) if given is None else given
            look = lambda ids: rows[ids].astype(np.float32)  # noqa: E731
        shown = (lambda ids: on_device(look(ids))) if there else look
        return lambda tasks: nullcontext(looked_up(shown, tasks))

    return there, opened
