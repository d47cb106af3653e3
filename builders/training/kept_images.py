"""Images of trainings, kept in a file so that only the first of them reads their source."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from benchmark_spec.errors import SpecError
from builders.execution.steps import make_folder
from builders.sources.image_set import raw_state
from builders.training.images import TrainingImages
from builders.training.settings import DataSettings
from builders.training.source import raw_folder, read_images
from fslbench_data.files import whole_file
from fslbench_data.files.kept import is_kept, open_kept

Pair = tuple[TrainingImages, TrainingImages]
"""What is trained on, and what is validated on."""
_PARTS = ("train", "validate")
_DAMAGE = (
    OSError, ValueError, LookupError, EOFError, NotImplementedError, RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip
"""What reading a damaged file raises."""


def data_digest(data: DataSettings) -> str:
    """Compute the SHA-256 of a training's table of data."""
    return hashlib.sha256(json.dumps(to_builtins(data), sort_keys=True).encode()).hexdigest()


def keep_images(
    data: DataSettings, raw: Path | None, folder: Path, told: Callable[[str], None]
) -> Path:
    """Read images into a file of `folder`, unless it has them; gives the file.

    They are read anew if `raw` is named and its files are others than they were.
    """
    path = folder / f"{data_digest(data)}.npz"
    state = raw_state(raw_folder(data, raw))
    if is_kept(path) and (raw is None or _loaded(path, "state") == state):
        return path
    images, validation = read_images(data, raw, told)
    parts = [images] if validation is images else [images, validation]
    arrays: dict[str, Any] = {"state": np.array(state)}
    for name, part in zip(_PARTS, parts, strict=False):
        arrays |= {f"{name}_{key}": np.asarray(value) for key, value in vars(part).items()}
    make_folder(folder)
    with whole_file(path, follow=False) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    return path


def load_images(path: Path) -> Pair:
    """Load what :func:`keep_images` has written; SpecError if it is damaged."""
    try:
        with open_kept(path) as file, np.load(file) as arrays:
            parts = [_part(arrays, n) for n in _PARTS if f"{n}_pixels" in arrays]
        return parts[0], parts[-1]
    except _DAMAGE as error:
        raise _damaged(path, error) from None


def _part(arrays: Any, name: str) -> TrainingImages:
    pixels, sizes = arrays[f"{name}_pixels"], arrays[f"{name}_class_sizes"]
    if (
        (pixels.dtype, pixels.ndim, sizes.dtype, sizes.ndim) != (np.uint8, 3, np.int64, 1)
        or (sizes < 0).any()
        or sizes.sum() != len(pixels)
    ):
        raise ValueError("its arrays do not fit together")
    return TrainingImages(pixels, sizes, str(arrays[f"{name}_digest"]))


def _loaded(path: Path, name: str) -> str:
    try:
        with open_kept(path) as file, np.load(file) as arrays:
            return str(arrays[name])
    except _DAMAGE as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> SpecError:
    return SpecError(
        f"the images kept in {path.name} cannot be read: {type(error).__name__}",
        where=str(path),
        expected="the file as it was written",
        fix="remove it: the images are then read again from their source",
    )
