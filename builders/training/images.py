"""Images to train on, and how pictures become a network's input.

Images are small and all in memory.  A file keeps them, so that several trainings read their source
once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import to_builtins
from numpy.typing import NDArray
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.functional import center_crop, resize

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SpecError
from benchmark_spec.protocol import Protocol
from builders.execution.steps import make_folder
from builders.sources import GENERAL
from builders.sources.image_set import ABOUT_OPTIONS, ImageSet, in_threads, raw_state
from builders.sources.source import read_source
from builders.training.settings import AugmentationSettings, DataSettings
from fslbench_data.files import is_kept, open_regular, whole_file
from fslbench_data.pictures import Picture

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Images of a part of a data set: levels uint8 (N, C, h, w), class by class.

    `class_sizes` holds an int64 for each class; `digest` is that of the source's table of images.
    """

    pixels: NDArray[np.uint8]
    class_sizes: Positions
    digest: str

    @cached_property
    def starts(self) -> Positions:
        """The first image of each class."""
        return np.cumsum(self.class_sizes) - self.class_sizes

    def classes_for(self, protocol: Protocol, what: str) -> Positions:
        """Return the classes with enough images for a task; `what` names the tasks in errors."""
        enough = np.flatnonzero(self.class_sizes >= protocol.shot + protocol.query)
        if enough.size < protocol.way:
            raise SpecError(
                f"{enough.size} of {self.class_sizes.size} classes have at least "
                f"{protocol.shot + protocol.query} images, {protocol.way} are needed",
                where=f"{what} {protocol}",
                expected=f"at least {protocol.way}: a task takes as many classes, and of each so "
                "many images for support and queries",
                fix="ask for fewer ways, shots or queries in `episode`, or give more images",
            )
        return enough


def levels_in(images: ImageSet, data: DataSettings) -> NDArray[np.uint8]:
    """Read all images of a data set, uint8 (N, C, kept, kept).

    A data set of grey pixels of the right size is taken as it is; other pictures go through
    :func:`levels_of`.
    """
    grey, side = images.pixels, data.kept
    if grey is not None and grey.shape[1] == side * side and data.inputs == 1 and not data.fit:
        levels = grey if images.white == 255 else np.round(grey * (255 / images.white))
        return levels.astype(np.uint8).reshape(-1, 1, side, side)
    return read_levels(images.open, len(images.images), data, f"{images.name}: image")


def read_levels(
    open_one: Callable[[int], Picture], count: int, data: DataSettings, name: str
) -> NDArray[np.uint8]:
    """Read pictures by their number, uint8 (N, C, kept, kept); an error names the i-th `name` i."""
    levels = np.empty((count, data.inputs, data.kept, data.kept), np.uint8)

    def read(number: int) -> None:
        levels[number] = levels_of(open_one(number), data, f"{name} {number}")

    list(in_threads(read, range(count)))
    return levels


def levels_of(picture: Picture, data: DataSettings, name: str) -> NDArray[np.uint8]:
    """Make levels uint8 (C, kept, kept) of an RGB picture.

    SpecError, which names it `name`, for a size or colours that the settings do not cover.
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
    """Turns levels (..., C, kept, kept) into a network's input, float32 (..., C, side, side)."""

    def __init__(
        self, data: DataSettings, augmentation: AugmentationSettings | None = None
    ) -> None:
        self._data = data
        self._start = round((data.kept - data.side) / 2)  # as torchvision rounds
        self._changes: v2.Transform | None = None
        if augmentation and augmentation != AugmentationSettings():
            self._changes = _changes(augmentation, data.side)

    def plain(self, levels: NDArray[Any]) -> Tensor:
        """Cut out the middle of each picture."""
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


def _changes(augmentation: AugmentationSettings, side: int) -> v2.Transform:
    """Make the random changes of a picture, whose crop has `side` pixels."""
    match augmentation.crop:
        case "":
            crop: v2.Transform = v2.CenterCrop(side)
        case "random":
            crop = v2.RandomCrop(side, padding=augmentation.padding or None)
        case "resized":
            crop = v2.RandomResizedCrop(side, scale=augmentation.scale)
    jitter, flip = v2.ColorJitter(*augmentation.jitter), v2.RandomHorizontalFlip(augmentation.flip)
    return v2.Compose([crop, jitter, flip])


_PLACEHOLDERS = dict.fromkeys(ABOUT_OPTIONS[:4], "unsaid")
"""Options of a data set of one's own that a release requires and a training does not."""


def read_images(
    data: DataSettings, raw: Path | None, progress: Callable[[str], None]
) -> tuple[TrainingImages, TrainingImages]:
    """Read the images to train and to validate on; raises what `read_source` does."""

    def read_part(part: Mapping[str, Any]) -> TrainingImages:
        chosen = ", ".join(f"{key} = {value}" for key, value in part.items())
        progress(f"reading {data.source}{': ' if chosen else ''}{chosen}")
        options = {**(_PLACEHOLDERS if data.source in GENERAL else {}), **part}
        folder = raw and raw / data.raw_name
        if folder and "folder" in options:
            folder /= options.pop("folder")
        images = read_source(
            data.source, folder, name=data.source, options=options, progress=progress
        )
        sizes = np.array(images.class_sizes, np.int64)
        return TrainingImages(levels_in(images, data), sizes, content_digest(images.images))

    images = read_part(data.train)
    validation = images if data.validate == data.train else read_part(data.validate)
    if data.train and images.digest == validation.digest:
        progress("validate has the images of train: its accuracy says nothing of new classes")
    return images, validation


_PARTS = ("train", "validate")


def data_digest(data: DataSettings) -> str:
    """Compute the SHA-256 of the table `data` of a training's settings."""
    return hashlib.sha256(json.dumps(to_builtins(data), sort_keys=True).encode()).hexdigest()


def keep_images(
    data: DataSettings, raw: Path | None, path: Path, progress: Callable[[str], None]
) -> None:
    """Write a training's images into a file, unless it has them.

    They are read anew if `raw` is named and its files have changed.
    """
    state = raw_state(raw and raw / data.raw_name)
    if is_kept(path):
        with _kept_arrays(path) as kept:
            if raw is None or str(kept["state"]) == state:
                return
    images, validation = read_images(data, raw, progress)
    parts = [images] if validation is images else [images, validation]
    arrays: dict[str, Any] = {"state": np.array(state)}
    for name, part in zip(_PARTS, parts, strict=False):
        arrays |= {f"{name}_{key}": np.asarray(value) for key, value in vars(part).items()}
    make_folder(path.parent)
    with whole_file(path, follow=False) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def load_images(path: Path) -> tuple[TrainingImages, TrainingImages]:
    """Load what :func:`keep_images` has written; SpecError if it is damaged."""
    with _kept_arrays(path) as arrays:
        parts = [_kept_part(arrays, name) for name in _PARTS if f"{name}_pixels" in arrays]
        return parts[0], parts[-1]  # the same where the file has one part


def kept_digests(path: Path) -> dict[str, str]:
    """Return the digests of the images that :func:`keep_images` has written, by part."""
    with _kept_arrays(path) as arrays:
        digests = [str(arrays[f"{name}_digest"]) for name in _PARTS if f"{name}_digest" in arrays]
    return dict(zip(_PARTS, (digests[0], digests[-1]), strict=True))


def _kept_part(arrays: Any, name: str) -> TrainingImages:
    pixels, sizes = arrays[f"{name}_pixels"], arrays[f"{name}_class_sizes"]
    if (
        (pixels.dtype, pixels.ndim, sizes.dtype, sizes.ndim) != (np.uint8, 4, np.int64, 1)
        or (sizes < 0).any()
        or sizes.sum() != len(pixels)
    ):
        raise ValueError("its arrays do not fit together")
    return TrainingImages(pixels, sizes, str(arrays[f"{name}_digest"]))


@contextmanager
def _kept_arrays(path: Path) -> Iterator[Any]:
    """Open a kept file; SpecError if it is damaged."""
    try:
        with open_regular(path, kept=True) as file, np.load(file) as arrays:
            yield arrays
    except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
        raise SpecError(
            f"the images kept in {path.name} cannot be read: {type(error).__name__}",
            where=str(path),
            expected="the file as it was written",
            fix="remove it: the images are then read again from their source",
        ) from None
