"""The features or pictures of tasks as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark_spec.errors import MethodFailedError, SpecError
from fslbench_data.files.pictures import decode
from fslbench_data.release.pictures import picture_paths
from fslbench_data.release.release import Release
from fslbench_data.tasks import Task

Transform = Callable[[Any], torch.Tensor]
"""Makes a tensor of a picture, which it gets as an RGB image of Pillow (:func:`decode`)."""


class ImageTensors(Protocol):
    """Gives a tensor for every image of a data set."""

    def of(self, image_ids: NDArray[np.integer[Any]]) -> torch.Tensor:
        """Tensors of images, on the CPU: of the shape of `image_ids`, then of an image."""


class FeatureTensors:
    """Frozen features as float32 tensors (..., D).

    Another process that gets a copy opens the release's features itself: they are not sent along.
    """

    def __init__(self, release: Release, dataset: str, backbone: str) -> None:
        self._source = (release, dataset, backbone)
        self._features = release.features(dataset, backbone)

    def of(self, image_ids: NDArray[np.integer[Any]]) -> torch.Tensor:
        """Look features up."""
        return torch.from_numpy(self._features[image_ids].astype(np.float32))

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureTensors, self._source


@dataclass(frozen=True, eq=False)
class PictureTensors:
    """Pictures as tensors that a transform makes of them, often (..., C, H, W)."""

    paths: Sequence[Path]
    transform: Transform

    def of(self, image_ids: NDArray[np.integer[Any]]) -> torch.Tensor:
        """Read pictures and stack what the transform makes of them.

        Raises a SourceError if a file is no picture; a MethodFailedError if the transform raises,
        or gives anything but tensors of one shape.
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
            raise MethodFailedError(
                f"the transform raised {type(error).__name__}: {error}", where=str(path)
            ) from error
        if not isinstance(image, torch.Tensor):
            raise MethodFailedError(
                f"the transform gave a {type(image).__name__}",
                where=str(path),
                expected="a tensor",
                fix="end it with a conversion, such as torchvision.transforms.ToTensor()",
            )
        return image


def image_tensors(
    release: Release,
    dataset: str,
    features: str | None,
    images: str | Path | Literal[True] | None,
    transform: Transform | None,
) -> ImageTensors:
    """Choose features, or pictures and a transform.

    Raises a SpecError if it is neither or both; a SourceError if pictures are missing.
    """
    if features is not None and images is None and transform is None:
        return FeatureTensors(release, dataset, features)
    if features is None and images is not None and transform is not None:
        folder = images if images is True else Path(images)
        return PictureTensors(picture_paths(release, dataset, folder), transform)
    raise SpecError(
        "tensors are made of features, or of pictures by a transform",
        expected="features=BACKBONE, or images=FOLDER and transform=FUNCTION",
    )


@dataclass(frozen=True, eq=False)
class TensorInputs:
    """What a method gets that is run on tensors: support (B, K, S, ...), query (B, K·Q, ...)."""

    images: ImageTensors
    device: torch.device

    @contextmanager
    def batch(self, tasks: Sequence[Task]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Put B tasks on the device."""
        support, query = task_tensors(self.images, tasks)
        yield support.to(self.device), query.to(self.device)


def task_tensors(images: ImageTensors, tasks: Sequence[Task]) -> tuple[torch.Tensor, torch.Tensor]:
    """Tensors of the support (B, K, S, ...) and the query (B, K·Q, ...) of B tasks."""
    support = np.stack([task.support for task in tasks])
    query = np.stack([task.query for task in tasks])
    return images.of(support), images.of(query)


def device_of(device: Any) -> torch.device:
    """Open a device, such as ``cuda`` or ``cuda:1``; a SpecError if there is none here."""
    try:
        opened = torch.device(device)
        torch.empty(1, device=opened)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        raise SpecError(
            f"PyTorch opens no device {device!r}: {str(error).partition(chr(10))[0]}",
            expected="one that this machine has, such as cpu or cuda",
        ) from None
    return opened
