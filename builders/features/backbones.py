"""Backbones by their names (docs/features.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmark_spec.errors import BackboneError, UnknownNameError
from benchmark_spec.extras import require
from builders.features import checkpoints, packaged
from builders.features.backbone import Backbone, DType, Preprocessing
from builders.features.packaged import WEIGHTS

BACKBONES = tuple(WEIGHTS)
"""Names that stand for one network each."""

PAPER_SUFFIX = "+paper"
PAPER = Preprocessing(
    resize=(256, 256),
    crop=(224, 224),
    interpolation="bilinear",
    mean=(0.4712, 0.4499, 0.4031),
    std=(0.2726, 0.2634, 0.2794),
    side="both",
)
"""Of Lafargue et al. (TMLR 2024), whatever the network: squeezed into a square, with the colours
of miniImageNet.  The kernel is not stated: bilinear is torchvision's default."""


def check_weights(name: str, weights_folder: Path | None = None) -> None:
    """Refuse a backbone whose weights are not there and cannot be had; it is not loaded."""
    family, colon, spec = name.partition(":")
    if colon and family in _FAMILIES:
        _FAMILIES[family].find(spec.removesuffix(PAPER_SUFFIX), weights_folder)
    elif name in WEIGHTS:
        packaged.weights_file(name, weights_folder)


def load_backbone(
    name: str, weights_folder: Path | None = None, *, device: str = "cpu", dtype: DType = "float32"
) -> Backbone:
    """Load a pretrained network by its name.

    That is one of :data:`BACKBONES`; ``open_clip:ARCH/TAG_OR_FILE`` or ``timm:MODEL[@FILE]``,
    perhaps with ``+paper``; or ``trained:FOLDER``.  FILE is looked for in `weights_folder`, too.
    """
    family, colon, spec = name.partition(":")
    if colon and family in _FAMILIES:
        load, plain = _FAMILIES[family].load, spec.removesuffix(PAPER_SUFFIX)
        if plain == spec:
            backbone = load(spec, weights_folder)
        else:
            backbone = load(plain, weights_folder, PAPER)
            backbone = replace(backbone, name=backbone.name + PAPER_SUFFIX)
    elif name in WEIGHTS:
        backbone = packaged.load(name, weights_folder)
    else:
        fix = f"{PAPER_SUFFIX} goes with {' and '.join(FAMILIES)} only"
        valid = (*BACKBONES, *FAMILIES)
        raise UnknownNameError(
            "backbone", name, valid, fix=fix if name.endswith(PAPER_SUFFIX) else ""
        )
    return backbone.to(device, dtype)


def _find_trained(spec: str, folder: Path | None) -> Path:
    for place in (Path(spec).expanduser(), *([folder / spec] if folder else [])):
        if (place / "trained.json").is_file():
            return place
    raise BackboneError(
        f"there is no finished training {spec}",
        where=f"trained:{spec}",
        expected="a folder that fslbench-build train has made, here or in the folder of weights",
    )


def _load_trained(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load the network of a training; no code of a method of one's own is needed, or run.

    Features are its maps, flat, of grey pictures of three times the side, shrunk by means of 3 x 3.
    """
    from builders.training.trained import load_network, training_name

    if paper is not None:
        raise BackboneError(f"trained:{spec} has its own preprocessing", fix="leave +paper out")
    place = _find_trained(spec, folder)
    network, settings, about = load_network(place)
    side = 3 * settings.data.side
    return Backbone.of(
        f"trained:{place.resolve().name}",
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


class _Family(NamedTuple):
    """How networks of a family are named, found and loaded."""

    usage: str
    find: Callable[[str, Path | None], object]
    load: Callable[..., Backbone]


_FAMILIES = {
    "open_clip": _Family(
        "open_clip:ARCH/TAG_OR_FILE", checkpoints.find_open_clip, checkpoints.load_open_clip
    ),
    "timm": _Family("timm:MODEL[@FILE]", checkpoints.find_timm, checkpoints.load_timm),
    "trained": _Family("trained:FOLDER", _find_trained, _load_trained),
}
FAMILIES = tuple(family.usage for family in _FAMILIES.values())
"""Forms of the names that are not in :data:`BACKBONES`."""
