"""A network that turns pictures into features, and its preprocessing.

The reference is Pillow's resizing, which rounds to whole grey levels after columns and after rows.
On a GPU Triton's kernels do the same, and round only ties differently; Pillow resizes for a GPU for
which they cannot be compiled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import BackboneError, SourceError
from benchmark_spec.extras import require
from builders.training import state_sha256
from fslbench_data.pictures import Picture, rgb

TOLERANCE = 2
"""Grey levels (of 255) by which :meth:`Preprocessing.batch` may differ from the reference."""

Size = tuple[int, int]
"""Height and width."""

Colour = tuple[float, float, float]


TRITON = "Triton"


@cache
def resizes_with(device: str) -> str:
    """Name what resizes pictures for a device: Triton for a GPU where its kernels compile."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    compiles = device == "cuda" and compiler and find_spec("triton")
    return TRITON if compiles else "Pillow, the reference"


@dataclass(frozen=True)
class Preprocessing:
    """Resize, crop the centre, scale grey levels, subtract a mean and divide by a deviation.

    The short or the long `side` becomes `resize` and the other keeps the picture's shape, or
    ``both`` become it.  `crop` is cut out of the middle; a larger crop is filled with grey levels
    `fill`.  `mean` and `std` are of red, green and blue, where white is `white`.  Pictures of none
    of the `sizes`, if there are any, are refused, and coloured ones if `grey`.
    """

    resize: Size
    crop: Size
    interpolation: Literal["bilinear", "bicubic", "nearest"]
    mean: Colour
    std: Colour
    side: Literal["short", "long", "both"] = "short"
    white: Literal[1, 255] = 1
    fill: tuple[int, int, int] = (0, 0, 0)
    sizes: tuple[Size, ...] = ()
    grey: bool = False

    def resized(self, height: int, width: int) -> Size:
        """Compute the height and width of a resized picture, rounded as in torchvision."""
        tall, wide = self.resize
        if self.side == "both":
            return tall, wide
        if self.side == "short" and tall == wide:
            if height <= width:
                return tall, int(tall * width / height)
            return int(wide * height / width), wide
        choose = min if self.side == "short" else max
        ratio = choose(height / tall, width / wide)
        return round(height / ratio), round(width / ratio)

    def check(self, picture: Picture) -> None:
        """Raise SourceError for an RGB picture of a refused size or with colours."""
        fix = "train with a fit and channels in [data], or make the pictures so"
        if self.sizes and picture.size[::-1] not in self.sizes:
            sizes = " or ".join(f"{wide} x {tall}" for tall, wide in self.sizes)
            raise SourceError(f"{picture.width} x {picture.height} pixels, not {sizes}", fix=fix)
        if self.grey and any(channel != picture.getchannel(0) for channel in picture.split()[1:]):
            raise SourceError("it has colours, and the network was trained on grey", fix=fix)

    def reference(self, picture: Picture) -> NDArray[np.float32]:
        """Preprocess a picture of any mode with Pillow on the CPU, float32 (3, H, W)."""
        pil = require("PIL.Image")
        kernel = pil.Resampling[self.interpolation.upper()]
        picture = rgb(picture)
        height, width = self.resized(picture.height, picture.width)
        if picture.size != (width, height):
            picture = picture.resize((width, height), kernel)
        top, left = self._corner(height, width)
        canvas = pil.new("RGB", self.crop[::-1], self.fill)
        canvas.paste(picture, (-left, -top))
        values = np.asarray(canvas, dtype=np.float32).transpose(2, 0, 1)
        if self.white == 1:
            values = values / np.float32(255)
        mean = np.array(self.mean, np.float32).reshape(3, 1, 1)
        std = np.array(self.std, np.float32).reshape(3, 1, 1)
        return np.ascontiguousarray((values - mean) / std)

    def batch(self, images: Sequence[Any] | Any) -> Any:
        """Preprocess images on the device where they are, float32 (B, 3, H, W).

        Images are a uint8 tensor (B, 3, h, w), or a sequence of such (3, h, w) of any sizes.
        """
        torch, device = require("torch"), images[0].device
        if resizes_with(device.type) != TRITON:
            pil = require("PIL.Image")
            pictures = (pil.fromarray(image.permute(1, 2, 0).cpu().numpy()) for image in images)
            inputs = [torch.from_numpy(self.reference(picture)) for picture in pictures]
            return torch.stack(inputs).to(device)
        from builders.features.resizing import resize

        resized = [self.resized(*image.shape[-2:]) for image in images]
        corners = [self._corner(*size) for size in resized]
        levels = resize(images, resized, corners, self.crop, self.interpolation, self.fill)
        mean, std = (levels.new_tensor(colour)[:, None, None] for colour in (self.mean, self.std))
        if self.white == 1:
            levels = levels / 255
        return (levels - mean).div_(std)  # the same operations as in the reference

    def describe(self) -> dict[str, Any]:
        """Return its description in the provenance of features."""
        antialiased = "" if self.interpolation == "nearest" else ", antialiased"
        return {
            "mode": "RGB",
            "resize": list(self.resize),
            "side": self.side,
            "interpolation": self.interpolation + antialiased,
            "crop": list(self.crop),
            "fill": list(self.fill),
            "mean": list(self.mean),
            "std": list(self.std),
            "white": self.white,
            "reference": "Pillow",
            "tolerance": f"{TOLERANCE} of 255 grey levels",
            **({"sizes": [list(size) for size in self.sizes]} if self.sizes else {}),
        }

    def _corner(self, height: int, width: int) -> tuple[int, int]:
        """Return the crop's top and left, rounded as in torchvision; negative for a larger crop."""
        top, left = (
            round((size - crop) / 2) if size >= crop else -((crop - size) // 2)
            for size, crop in zip((height, width), self.crop, strict=True)
        )
        return top, left


DType = Literal["float32", "bfloat16"]


@dataclass(eq=False)
class Backbone:
    """A pretrained network without its classifier; its output is checked on a black picture.

    `module` is the ``torch.nn.Module`` from (B, 3, H, W) to (B, D), in evaluation mode;
    `parameters` is their number.  `weights` describes the origin of the weights; `weights_sha256`
    is that of their file, or else of the weights themselves.
    """

    name: str
    module: Any
    preprocessing: Preprocessing
    weights_sha256: str = ""
    weights: Mapping[str, str] = field(default_factory=dict)
    dimensions: int = field(init=False)
    parameters: int = field(init=False)

    def __post_init__(self) -> None:
        torch, crop = require("torch"), self.preprocessing.crop
        self.module.eval().to(memory_format=torch.channels_last)  # twice as fast on a CPU
        with torch.no_grad():
            try:
                features = self.module(torch.zeros(1, 3, *crop))
            except (RuntimeError, ValueError, AssertionError, TypeError) as error:
                raise BackboneError(f"{self.name} takes no pictures of {crop}: {error}") from error
        if not isinstance(features, torch.Tensor) or features.ndim != 2 or not features.shape[1]:
            shape = tuple(getattr(features, "shape", ())) or type(features).__name__
            what = f"{self.name} gives no features: {shape} of one picture"
            raise BackboneError(what, expected="a vector, (1, D)")
        self.dimensions = features.shape[1]
        self.parameters = sum(parameter.numel() for parameter in self.module.parameters())
        self.weights_sha256 = self.weights_sha256 or state_sha256(self.module.state_dict())

    @property
    def device(self) -> Any:
        """The ``torch.device`` of the weights."""
        return next(self.module.parameters()).device

    @property
    def dtype(self) -> DType:
        """The type of the weights."""
        name: DType = str(next(self.module.parameters()).dtype).removeprefix("torch.")  # type: ignore[assignment]
        return name

    def to(self, device: Any = None, dtype: DType | None = None) -> Backbone:
        """Move it to a device or to another type of numbers; returns itself."""
        kind = None if dtype is None else getattr(require("torch"), dtype)
        self.module.to(device=device, dtype=kind)
        return self

    def features(self, batch: Any) -> Any:
        """Compute float32 features (B, D) of preprocessed pictures (B, 3, H, W)."""
        torch = require("torch")
        with torch.no_grad():
            return self.module(batch.to(self.device, getattr(torch, self.dtype))).float()

    def describe(self) -> dict[str, Any]:
        """Return its description in the provenance of features."""
        return {
            "backbone": self.name,
            "dimensions": self.dimensions,
            "parameters": self.parameters,
            "weights": {**self.weights, "sha256": self.weights_sha256},
            "preprocessing": self.preprocessing.describe(),
            "dtype": self.dtype,
        }
