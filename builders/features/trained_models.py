"""Networks that ``fslbench-build train`` has trained: ``trained:FOLDER``.

Features are the network's maps, flat.  A picture becomes a grey one of three times the side that
the network was trained on, then means of 3 x 3 pixels: glyphs of 84 x 84 pixels become what they
were in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_spec.errors import BackboneError
from benchmark_spec.extras import require
from builders.features.backbone import Backbone, Preprocessing

FAMILY = "trained"
USAGE = f"{FAMILY}:FOLDER"


@dataclass(frozen=True)
class TrainedFolder:
    """Where a finished training lies."""

    folder: Path


def find(spec: str, folder: Path | None) -> TrainedFolder:
    """Find ``FOLDER``, by itself or among the weights."""
    places = [Path(spec).expanduser(), *([folder / spec] if folder else [])]
    for place in places:
        if (place / "trained.json").is_file():
            return TrainedFolder(place)
    raise BackboneError(
        f"there is no finished training {spec}",
        where=f"{FAMILY}:{spec}",
        expected="a folder that fslbench-build train has made, here or in the folder of weights",
    )


def load(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load the network of ``FOLDER``; no code of a method of one's own is needed, or run."""
    from builders.training.trained import load_network, training_name

    if paper is not None:
        raise BackboneError(f"{FAMILY}:{spec} has its own preprocessing", fix="leave +paper out")
    place = find(spec, folder).folder
    network, settings, about = load_network(place)
    side = 3 * settings.data.side
    return Backbone.of(
        f"{FAMILY}:{place.resolve().name}",
        _flat(network),
        Preprocessing((side, side), (side, side), "bilinear", (0, 0, 0), (1, 1, 1), side="both"),
        weights_sha256=about["weights_sha256"],
        weights={"file": "weights.pt", "method": training_name(settings)},
    )


def _flat(network: Any) -> Any:
    torch = require("torch")

    class Flat(torch.nn.Module):  # type: ignore[misc, name-defined]
        """From pictures (B, 3, 3s, 3s) to flat maps of grey images (B, 1, s, s)."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, pictures: Any) -> Any:
            grey = torch.nn.functional.avg_pool2d(pictures.mean(dim=1, keepdim=True), 3)
            return self.network((grey * 255).round() / 255).flatten(1)

    return Flat()
