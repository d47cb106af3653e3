"""What a method is given: the features of a task's images, copies of them as files, or tensors."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, SpecError
from fslbench_data.files.scratch import scratch_folder
from fslbench_data.release.pictures import picture_paths
from fslbench_data.release.release import Release
from fslbench_data.tasks import Task


class Inputs(Protocol):
    """Turns tasks into arguments of a method while it answers: a row of them for each task."""

    def batch(self, tasks: Sequence[Task]) -> AbstractContextManager[tuple[Any, Any]]:
        """Support (B, K, S, ...) and query (B, K·Q, ...) of B tasks."""


@dataclass(frozen=True, eq=False)
class FeatureInputs:
    """Features as float32 arrays: support (B, K, S, D), query (B, K·Q, D)."""

    features: NDArray[Any]

    @contextmanager
    def batch(self, tasks: Sequence[Task]) -> Iterator[tuple[Any, Any]]:
        """Look the features of B tasks up."""
        ids = (np.stack([t.support for t in tasks]), np.stack([t.query for t in tasks]))
        support, query = (self.features[each].astype(np.float32) for each in ids)
        yield support, query


@dataclass(frozen=True, eq=False)
class ImageInputs:
    """Paths of images: of each task K lists of S of the support, and a list of K·Q of the query.

    The files lie in classes, so that their names, folders, times and inodes tell the class.  So a
    method is given copies, in a folder of the call's own, which is removed after it: names follow
    from the seed, the task and the place in it, times are all the same, and queries are written in
    their frozen order.  Links would keep times and inodes, and let a method write into the images.
    """

    paths: list[Path]
    seed: int

    @contextmanager
    def batch(self, tasks: Sequence[Task]) -> Iterator[tuple[Any, Any]]:
        """Lists of the supports and queries of B tasks."""
        with scratch_folder("images") as folder:
            both = [self._copied(task, folder) for task in tasks]
            yield [support for support, _ in both], [query for _, query in both]

    def _copied(self, task: Task, folder: Path) -> tuple[list[list[Path]], list[Path]]:
        ids = [*task.support.ravel().tolist(), *task.query.tolist()]
        key = ["fslbench-image-1", self.seed, task.info.dataset, str(task.info.name), task.task_id]
        copies = []
        for place, image_id in enumerate(ids):
            path = self.paths[image_id]
            name = hashlib.sha256(json.dumps([*key, place]).encode()).hexdigest()[:16]
            copy = folder / (name + path.suffix.lower())
            try:
                shutil.copyfile(path, copy)
                os.utime(copy, (0, 0))
            except OSError as error:
                raise SourceError(f"{path} cannot be copied: {error.strerror}") from None
            copies.append(copy)
        way, shot = task.support.shape
        support = [copies[k * shot : (k + 1) * shot] for k in range(way)]
        return support, copies[way * shot :]


@dataclass(frozen=True, eq=False)
class InputChoice:
    """What of a task's images a method is to be given, as :func:`fslbench_data.evaluate` takes it.

    Pictures are given as files without `transform`, features as arrays without `device`.  Raises a
    SpecError if these do not go together, or there is no such device.
    """

    features: str | None
    images: Path | Literal[True] | None
    transform: Callable[[Any], Any] | None = None
    device: Any = None

    def __post_init__(self) -> None:
        if (self.features is None) == (self.images is None):
            raise SpecError("a method is run on features or on images", expected="one of the two")
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
        if self.tensor_device:
            from fslbench_data.torch.tensors import TensorInputs, device_of, image_tensors

            images = image_tensors(release, dataset, self.features, self.images, self.transform)
            return TensorInputs(images, device_of(self.tensor_device))
        if self.features is not None:
            return FeatureInputs(release.features(dataset, self.features))
        assert self.images is not None  # noqa: S101
        return ImageInputs(picture_paths(release, dataset, self.images), seed)
