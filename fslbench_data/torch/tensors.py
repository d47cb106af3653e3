"""Load the features or pictures of tasks as tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from torch.utils.data import Dataset

from benchmark_spec.errors import MethodFailedError, PredictionError, SpecError
from fslbench_data.pictures import decode
from fslbench_data.release.pictures import picture_paths
from fslbench_data.release.release import Release
from fslbench_data.submission.recorder import Recorder, array_of
from fslbench_data.tasks import Task

Transform = Callable[[Any], torch.Tensor]
"""Converts an RGB image of Pillow (:func:`decode`) to a tensor."""


class FeatureTensors:
    """Frozen features as float32 tensors (..., D).

    Pickling leaves out the features; another process opens them in the release itself.
    """

    def __init__(self, release: Release, dataset: str, backbone: str) -> None:
        self._source = (release, dataset, backbone)
        self._features = release.features(dataset, backbone)

    def __call__(self, image_ids: NDArray[np.integer[Any]]) -> torch.Tensor:
        """Return the features of images."""
        return torch.from_numpy(self._features[image_ids].astype(np.float32))

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureTensors, self._source


class PictureTensors(Struct, frozen=True, eq=False):
    """Pictures as tensors that a transform makes of them, often (..., C, H, W)."""

    paths: Sequence[Path]
    transform: Transform

    def __call__(self, image_ids: NDArray[np.integer[Any]]) -> torch.Tensor:
        """Read pictures and stack their transformed tensors.

        Raises a SourceError if a file is no picture; a MethodFailedError if the transform raises an
        error, or does not return tensors of one shape.
        """
        images = [self._image(self.paths[image_id]) for image_id in image_ids.ravel().tolist()]
        shapes = {tuple(image.shape) for image in images}
        if len(shapes) > 1:
            raise MethodFailedError(
                f"the transform gave tensors of several shapes: {sorted(shapes)}",
                expected="one shape for all pictures",
                fix="let it resize and crop them to one size",
            )
        return torch.stack(images).reshape(*image_ids.shape, *images[0].shape)

    def _image(self, path: Path) -> torch.Tensor:
        picture = decode(path, str(path), extra="torch")
        try:
            image = self.transform(picture)
        except Exception as error:
            raise MethodFailedError.of("the transform", error, where=str(path)) from error
        if not isinstance(image, torch.Tensor):
            raise MethodFailedError(
                f"the transform gave a {type(image).__name__}",
                where=str(path),
                expected="a tensor",
                fix="end it with a conversion, such as torchvision.transforms.ToTensor()",
            )
        return image


def put_on(device: str) -> Callable[[Any], torch.Tensor]:
    """Return a function that puts arrays on a device; raise a SpecError if there is no such one."""
    try:
        torch.empty(1, device=device)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        raise SpecError(
            f"PyTorch opens no device {device!r}: {str(error).partition(chr(10))[0]}",
            expected="one that this machine has, such as cpu or cuda",
        ) from None
    return partial(torch.as_tensor, device=device)


class TaskBatch(Struct, frozen=True, eq=False):
    """B tasks of one protocol.

    Attributes
    ----------
    tasks
        The tasks of the batch.
    support : float32 (B, K, S, D), or (B, K, S, C, H, W) of pictures
        Row k is of the class at position k.
    query : float32 (B, K·Q, D), or (B, K·Q, C, H, W) of pictures
        In the frozen order.
    query_label : int64 (B, K·Q)
        Position of each query's class, for the loss of a training task.  A method must not see it
        in evaluation.
    """

    tasks: tuple[Task, ...]
    support: torch.Tensor
    query: torch.Tensor
    query_label: torch.Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> TaskBatch:
        """Return the batch with its tensors on a device."""
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> TaskBatch:
        """Return the batch in pinned memory; a DataLoader calls this."""
        return self._mapped(lambda tensor: tensor.pin_memory())

    def record(self, recorder: Recorder, predictions: Any) -> int:
        """Record predictions (B, K·Q): positions 0..K-1, a tensor of any device or an array.

        Returns
        -------
        int
            The number of correct predictions.

        Raises
        ------
        PredictionError
            If they are anything else, such as scores of classes.
        DoubledTaskError
            If a task of the batch has been recorded.
        """
        first = self.tasks[0]
        batch = f"the batch that begins with task {first.task_id}"
        where = f"{recorder.name} on {first.info}, {batch}"
        rows = array_of(predictions, where)
        if rows.shape[:1] != (len(self.tasks),):
            raise PredictionError(
                f"there are predictions for {len(rows) if rows.ndim else 'no'} tasks",
                where=where,
                expected=f"{len(self.tasks)} rows, one for each task of the batch",
            )
        return sum(recorder.add(task, row) for task, row in zip(self.tasks, rows, strict=True))

    def _mapped(self, change: Any) -> TaskBatch:
        return replace(
            self,
            support=change(self.support),
            query=change(self.query),
            query_label=change(self.query_label),
        )


def collate(batches: Sequence[TaskBatch]) -> TaskBatch:
    """Join batches of tasks into one: ``DataLoader(..., collate_fn=collate)``.

    Raises a SpecError if the tasks have several protocols, or their images several shapes.
    """
    shapes = {(batch.support.shape[1:], batch.query.shape[1:]) for batch in batches}
    if len(shapes) > 1:
        names = sorted({str(task.info) for batch in batches for task in batch.tasks})
        raise SpecError(
            f"a batch cannot hold tasks of several shapes: {', '.join(names)}",
            fix="use a DataLoader for each protocol and backbone",
        )
    return TaskBatch(
        tuple(task for batch in batches for task in batch.tasks),
        torch.cat([batch.support for batch in batches]),
        torch.cat([batch.query for batch in batches]),
        torch.cat([batch.query_label for batch in batches]),
    )


class TaskDataset(Dataset[TaskBatch]):
    """The tasks of a task set in their frozen order, each as a batch of one.

    The same index gives the same tensors in any process, if `transform` is deterministic.

    Parameters
    ----------
    release
        The release with the tasks.
    dataset, task_set
        The task set, such as ``"digits"`` and ``"open-5w5s5q"``.
    features
        A backbone of the release; instead of `images` and `transform`.
    images, transform
        The folder of the data set's pictures, as ``evaluate`` takes it, and a function from an RGB
        image of Pillow to a tensor, such as torchvision's transforms.

    Raises
    ------
    UnknownNameError
        If the release has no such data set, task set or features.
    SourceError
        If pictures are missing.

    Examples
    --------
    >>> tasks = TaskDataset(release, "digits", "open-5w5s5q", features="pixels")  # doctest: +SKIP
    >>> tasks[0].support.shape  # doctest: +SKIP
    torch.Size([1, 5, 5, 64])
    """

    def __init__(
        self,
        release: Release,
        dataset: str,
        task_set: str,
        *,
        features: str | None = None,
        images: str | Path | Literal[True] | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.tasks = release.task_set(dataset, task_set)
        # from image ids to tensors, of the shape of the ids, then of an image
        self._tensors: FeatureTensors | PictureTensors
        if features is not None and images is None and transform is None:
            self._tensors = FeatureTensors(release, dataset, features)
        elif features is None and images is not None and transform is not None:
            folder = images if images is True else Path(images)
            self._tensors = PictureTensors(picture_paths(release, dataset, folder), transform)
        else:
            raise SpecError(
                "tensors are made of features, or of pictures by a transform",
                expected="features=BACKBONE, or images=FOLDER and transform=FUNCTION",
            )

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, index: int) -> TaskBatch:
        task = self.tasks[index]
        if self.tasks.info.name.varies:
            raise SpecError(
                f"tasks of {task.info} differ in shots, and make no one tensor",
                expected="features as arrays, or images as files",
                fix="leave device= and transform= out, and make tensors in the method",
            )
        support, query = self._tensors(task.support[None]), self._tensors(task.query[None])
        label = torch.from_numpy(task.query_label.astype("int64"))
        return TaskBatch((task,), support, query, label[None])
