"""Images of a training, from a source of the builders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from builders.sources.read import read_source
from builders.training.images import TrainingImages
from builders.training.settings import DataSettings


def raw_folder(data: DataSettings, raw: Path | None) -> Path | None:
    """Return the raw folder of a training's images below that of all."""
    return None if raw is None else raw / (data.folder or data.source)


def read_images(
    data: DataSettings, raw: Path | None, told: Callable[[str], None]
) -> tuple[TrainingImages, TrainingImages]:
    """Read what is trained on and what is validated on; raises what `read_source` does."""

    def part(options: Mapping[str, Any]) -> TrainingImages:
        chosen = ", ".join(f"{key} = {value}" for key, value in options.items())
        told(f"reading {data.source}{': ' if chosen else ''}{chosen}")
        folder = raw_folder(data, raw)
        found = read_source(data.source, folder, options=options, progress=told)
        return TrainingImages.of(found, data.side)

    images = part(data.train)
    return images, images if data.validate == data.train else part(data.validate)
