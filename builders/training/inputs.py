"""What a network is given of pictures: made of one size and number of channels, then normalised."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.functional import center_crop, resize

from benchmark_spec.errors import SpecError
from builders.training.settings import AugmentationSettings, DataSettings
from fslbench_data.files.pictures import Picture


def levels_of(picture: Picture, data: DataSettings, name: str) -> NDArray[np.uint8]:
    """Make levels uint8 (C, kept, kept) of an RGB picture, which an error calls `name`.

    Raises a SpecError for a size or colours that the settings do not say what to do with.
    """
    side = data.kept
    if data.fit == "squeeze":
        picture = resize(picture, [side, side], InterpolationMode.BILINEAR)
    elif data.fit == "crop":
        picture = center_crop(resize(picture, [side], InterpolationMode.BILINEAR), [side, side])
    elif picture.size != (side, side):
        width, height = picture.size
        raise SpecError(
            f"{name} has {width} x {height} pixels",
            where="[data] of the training",
            expected=f"{side} x {side}, as no fit is said",
            fix='say fit = "squeeze" or fit = "crop" in [data], and train; or make pictures so',
        )
    if data.channels == 1:
        picture = picture.convert("L").convert("RGB")
    levels = np.asarray(picture, np.uint8).transpose(2, 0, 1)
    if data.channels is None and (levels != levels[0]).any():
        raise SpecError(
            f"{name} has colours",
            where="[data] of the training",
            expected="grey pictures, as no channels are said",
            fix="say channels = 3 in [data], or channels = 1 to make pictures grey, and train",
        )
    return levels[: data.inputs]


class Inputs:
    """Makes a network's input of levels (..., C, kept, kept): float32 (..., C, side, side)."""

    def __init__(
        self, data: DataSettings, augmentation: AugmentationSettings | None = None
    ) -> None:
        self._data, side = data, data.side
        self._start = round((data.kept - side) / 2)  # as torchvision rounds
        how = augmentation or AugmentationSettings()
        self._changes: v2.Transform | None = None
        if how != AugmentationSettings():
            crops = {
                "": lambda: v2.CenterCrop(side),
                "random": lambda: v2.RandomCrop(side, padding=how.padding or None),
                "resized": lambda: v2.RandomResizedCrop(side, scale=how.scale),
            }
            self._changes = v2.Compose(
                [crops[how.crop](), v2.ColorJitter(*how.jitter), v2.RandomHorizontalFlip(how.flip)]
            )

    def plain(self, levels: NDArray[Any]) -> Tensor:
        """Take the middle of pictures."""
        middle = slice(self._start, self._start + self._data.side)
        return self._normalised(levels[..., middle, middle])

    def changed(self, levels: NDArray[np.uint8], rng: np.random.Generator) -> Tensor:
        """Change each picture at random; `rng` gives the seed of PyTorch's draws."""
        if self._changes is None:
            return self.plain(levels)
        flat = torch.from_numpy(levels.reshape(-1, *levels.shape[-3:]))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            changed = torch.stack([self._changes(image) for image in flat])
        return self._normalised(changed.numpy().reshape(*levels.shape[:-2], *changed.shape[-2:]))

    def _normalised(self, levels: NDArray[Any]) -> Tensor:
        values = levels.astype(np.float32) / np.float32(255)
        if self._data.mean:
            values = values - np.array(self._data.mean, np.float32)[:, None, None]
        if self._data.std:
            values = values / np.array(self._data.std, np.float32)[:, None, None]
        return torch.from_numpy(values)
