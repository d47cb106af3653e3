"""Backbones by their names (docs/features.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark_spec.errors import BackboneError, UnknownNameError, listing
from benchmark_spec.extras import require
from builders.features import checkpoints, packaged
from builders.features.backbone import Backbone, DType, Preprocessing
from builders.features.packaged import WEIGHTS

if TYPE_CHECKING:
    from builders.training.settings import DataSettings

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
    """Refuse a backbone if its weights are missing and cannot be downloaded; it is not loaded."""
    family, colon, spec = name.partition(":")
    if colon and family in _FAMILIES:
        _, find, _ = _FAMILIES[family]
        find(spec.removesuffix(PAPER_SUFFIX), weights_folder)
    elif name in WEIGHTS:
        packaged.weights_file(name, weights_folder)


def load_backbone(
    name: str, weights_folder: Path | None = None, *, device: str = "cpu", dtype: DType = "float32"
) -> Backbone:
    """Load a pretrained network by its name.

    That is one of :data:`BACKBONES`; ``open_clip:ARCH/TAG_OR_FILE`` or ``timm:MODEL[@FILE]``,
    perhaps with ``+paper``; or ``trained:FOLDER``.  FILE is looked up in `weights_folder`, too.
    """
    family, colon, spec = name.partition(":")
    if colon and family in _FAMILIES:
        (*_, load), plain = _FAMILIES[family], spec.removesuffix(PAPER_SUFFIX)
        if plain == spec:
            backbone = load(spec, weights_folder)
        else:
            backbone = load(plain, weights_folder, PAPER)
            backbone.name += PAPER_SUFFIX
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
    there = sorted(path.parent.name for path in folder.glob("*/trained.json")) if folder else []
    raise BackboneError(
        f"there is no finished training {spec}",
        where=f"{Path.cwd()}{f' and {folder}' if folder else ''}",
        expected="a folder that fslbench-build train has made"
        + (f": {listing(there, 4)}" if there else ""),
        fix="name the folder of trainings with --weights, or the whole path: trained:PATH",
    )


def _load_trained(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load the network of a training; no code of a method of one's own is needed, or run.

    Features are its maps, flat, of pictures prepared as in its training.  A training without
    `channels` was perhaps of glyphs, which have pictures of three times the side.
    """
    from builders.training.trained import load_network, training_name

    if paper is not None:
        raise BackboneError(f"trained:{spec} has its own preprocessing", fix="leave +paper out")
    place = _find_trained(spec, folder)
    network, settings, about = load_network(place)
    data = settings.data
    factor = 1 if data.channels or data.fit else 3
    kept, side = (data.kept, data.kept), (factor * data.kept, factor * data.kept)
    return Backbone(
        f"trained:{place.resolve().name}",
        _flat(network, data, factor),
        Preprocessing(
            side, side, "bilinear" if data.fit else "nearest", (0, 0, 0), (1, 1, 1),
            side="short" if data.fit == "crop" else "both",
            sizes=() if data.fit else tuple(dict.fromkeys((kept, side))),
            grey=data.channels is None,
        ),
        weights_sha256=about["weights_sha256"],
        weights={"file": "weights.pt", "method": training_name(settings)},
    )  # fmt: skip


def _flat(network: Any, data: DataSettings, factor: int) -> Any:
    torch = require("torch")
    start = round((data.kept - data.side) / 2)
    middle = slice(start, start + data.side)
    mean, std = (
        torch.tensor(numbers or (of_none,)).view(-1, 1, 1)
        for numbers, of_none in ((data.mean, 0.0), (data.std, 1.0))
    )

    class Flat(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Turns pictures (B, 3, h, w) into flat maps of what the training makes of them."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, pictures: Any) -> Any:
            levels = pictures.float() * 255
            if data.inputs == 1:  # the luma of ITU-R 601, as Pillow rounds it
                weights = levels.new_tensor([19595, 38470, 7471])[:, None, None]
                levels = ((levels.round() * weights).sum(dim=1, keepdim=True) + 2**15) // 2**16
            levels = torch.nn.functional.avg_pool2d(levels, factor).round()[..., middle, middle]
            inputs = (levels / 255 - mean.to(levels)) / std.to(levels)
            return self.network(inputs.to(pictures)).flatten(1)

    return Flat()


_FAMILIES: dict[str, tuple[str, Callable[..., object], Callable[..., Backbone]]] = {
    "open_clip": (
        "open_clip:ARCH/TAG_OR_FILE", checkpoints.find_open_clip, checkpoints.load_open_clip
    ),
    "timm": ("timm:MODEL[@FILE]", checkpoints.find_timm, checkpoints.load_timm),
    "trained": ("trained:FOLDER", _find_trained, _load_trained),
}  # fmt: skip
"""How networks of a family are named, found and loaded."""

FAMILIES = tuple(usage for usage, *_ in _FAMILIES.values())
"""Forms of the names that are not in :data:`BACKBONES`."""
