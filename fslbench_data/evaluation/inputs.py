"""Inputs of a method: the features of a task's images, copies of them as files, or tensors."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, SpecError
from fslbench_data.files import scratch_folder
from fslbench_data.release.pictures import picture_paths
from fslbench_data.release.release import Release
from fslbench_data.tasks import Task

Inputs = Callable[[Sequence[Task]], AbstractContextManager[tuple[Any, Any]]]
"""Gives support (B, K, S, ...) and query (B, K·Q, ...) of B tasks while a method predicts them."""

FeaturesOf = Callable[[str], NDArray[Any]]
"""Gives the inputs for the images of a data set: an array (N, ...)."""


@contextmanager
def feature_inputs(
    features: NDArray[Any], tasks: Sequence[Task]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Give features as float32 arrays: support (B, K, S, ...), query (B, K·Q, ...).

    Of episodes, lists of B: of support K arrays (S_k, D) each, of query an array.
    """
    if tasks[0].info.name.varies:
        supports = [[features[own].astype(np.float32) for own in task.support] for task in tasks]
        yield supports, [features[task.query].astype(np.float32) for task in tasks]  # type: ignore[misc]
        return
    support, query = (np.stack([getattr(t, part) for t in tasks]) for part in ("support", "query"))
    yield features[support].astype(np.float32), features[query].astype(np.float32)


@contextmanager
def image_inputs(
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
        both = [_copied(paths, seed, task, folder) for task in tasks]
        yield [support for support, _ in both], [query for _, query in both]


def _copied(
    paths: Sequence[Path], seed: int, task: Task, folder: Path
) -> tuple[list[list[Path]], list[Path]]:
    support_ids = [own.tolist() for own in task.support]
    ids = [*chain(*support_ids), *task.query.tolist()]
    key = ["fslbench-image-1", seed, task.info.dataset, str(task.info.name), task.task_id]
    copies = []
    for place, image_id in enumerate(ids):
        path = paths[image_id]
        name = hashlib.sha256(json.dumps([*key, place]).encode()).hexdigest()[:16]
        copy = folder / (name + path.suffix.lower())
        try:
            shutil.copyfile(path, copy)
            os.utime(copy, (0, 0))
        except OSError as error:
            raise SourceError(f"{path} cannot be copied: {error.strerror}") from None
        copies.append(copy)
    files = iter(copies)
    support = [list(islice(files, len(own))) for own in support_ids]
    return support, list(files)


class InputChoice(Struct, frozen=True, eq=False):
    """The kind of inputs of a method, as :func:`fslbench_data.evaluate` takes it.

    Pictures are given as files without `transform`, features as arrays without `device`.  Raises a
    SpecError if these do not go together, or there is no such device.
    """

    features: str | FeaturesOf | None
    images: Path | Literal[True] | None
    transform: Callable[[Any], Any] | None = None
    device: Any = None

    def __post_init__(self) -> None:
        if (self.features is None) == (self.images is None):
            raise SpecError(
                "a method is run on features or on images",
                expected="one of the two, --features and --images; in Python features= and images=",
            )
        if self.transform is not None and self.images is None:
            raise SpecError("features need no transform", fix="give images=, or no transform=")
        if self.device is not None and self.images is not None and self.transform is None:
            raise SpecError(
                "images are put on a device as tensors, which a transform makes of them",
                fix="in Python give transform= with device=, or let the method read the files",
            )
        if self.tensor_device:
            from fslbench_data.torch.tensors import device_of

            device_of(self.tensor_device)

    @property
    def tensor_device(self) -> str:
        """Where tensors of PyTorch are given; empty for a method that gets none."""
        if self.device is None and self.transform is None:
            return ""
        return "cpu" if self.device is None else str(self.device)

    def of(self, release: Release, dataset: str, seed: int) -> Inputs:
        """Open the inputs of a data set; `seed` decides the names of copies of images.

        Raises a SourceError if pictures are missing.
        """
        if callable(self.features):
            return partial(feature_inputs, self.features(dataset))
        if self.tensor_device:
            from fslbench_data.torch.tensors import device_of, image_tensors, tensor_inputs

            images = image_tensors(release, dataset, self.features, self.images, self.transform)
            return partial(tensor_inputs, images, device_of(self.tensor_device))
        if self.features is not None:
            return partial(feature_inputs, release.features(dataset, self.features))
        assert self.images is not None  # noqa: S101
        return partial(image_inputs, picture_paths(release, dataset, self.images), seed)
