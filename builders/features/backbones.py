"""Load backbones by their names (docs/features.md)."""

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
"""The names of single networks."""

PAPER_SUFFIX = "+paper"
PAPER = Preprocessing(
    resize=(256, 256),
    crop=(224, 224),
    interpolation="bilinear",
    mean=(0.4712, 0.4499, 0.4031),
    std=(0.2726, 0.2634, 0.2794),
    side="both",
)
"""The preprocessing of Lafargue et al. (TMLR 2024) for every network: squeezed into a square, with
the colours of miniImageNet.  The kernel is not stated: bilinear is torchvision's default."""


def check_weights(name: str, weights_folder: Path | None = None) -> None:
    """Refuse a backbone whose weights are missing and cannot be downloaded, without loading it."""
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
        _, _, load = _FAMILIES[family]
        if spec.endswith(PAPER_SUFFIX):
            backbone = load(spec.removesuffix(PAPER_SUFFIX), weights_folder, PAPER)
            backbone.name += PAPER_SUFFIX
        else:
            backbone = load(spec, weights_folder)
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
    trained = sorted(path.parent.name for path in folder.glob("*/trained.json")) if folder else []
    raise BackboneError(
        f"there is no finished training {spec}",
        where=f"{Path.cwd()}{f' and {folder}' if folder else ''}",
        expected="a folder that fslbench-build train has made"
        + (f": {listing(trained, 4)}" if trained else ""),
        fix="name the folder of trainings with --weights, or the whole path: trained:PATH",
    )


def _load_trained(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load the network of a training; the code of the method is neither needed nor run.

    Features are its flat maps of pictures prepared as in its training.  A training without
    `channels` may be of glyphs, whose pictures have three times the side of their pixels.
    """
    from builders.training.trained import load_network, training_name

    if paper is not None:
        raise BackboneError(f"trained:{spec} has its own preprocessing", fix="leave +paper out")
    place = _find_trained(spec, folder)
    network, settings, about = load_network(place)
    data = settings.data
    factor = 1 if data.channels or data.fit else 3
    size, large_size = (data.kept, data.kept), (factor * data.kept, factor * data.kept)
    preprocessing = Preprocessing(
        resize=large_size,
        crop=large_size,
        interpolation="bilinear" if data.fit else "nearest",
        mean=(0, 0, 0),
        std=(1, 1, 1),
        side="short" if data.fit == "crop" else "both",
        sizes=() if data.fit else tuple(dict.fromkeys((size, large_size))),
        grey=data.channels is None,
    )
    return Backbone(
        f"trained:{place.resolve().name}",
        _flat_maps(network, data, factor),
        preprocessing,
        weights_sha256=about["weights_sha256"],
        weights={"file": "weights.pt", "method": training_name(settings)},
    )


def _flat_maps(network: Any, data: DataSettings, factor: int) -> Any:
    """Make the module from pictures `factor` times as large as in training to flat maps."""
    torch = require("torch")
    start = round((data.kept - data.side) / 2)
    middle = slice(start, start + data.side)
    mean = torch.tensor(data.mean or (0.0,)).view(-1, 1, 1)
    std = torch.tensor(data.std or (1.0,)).view(-1, 1, 1)

    class FlatMaps(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Turns pictures (B, 3, h, w) into the training's input, and that into flat maps."""

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

    return FlatMaps()


_FAMILIES: dict[str, tuple[str, Callable[..., object], Callable[..., Backbone]]] = {
    "open_clip": (
        "open_clip:ARCH/TAG_OR_FILE", checkpoints.find_open_clip, checkpoints.load_open_clip
    ),
    "timm": ("timm:MODEL[@FILE]", checkpoints.find_timm, checkpoints.load_timm),
    "trained": ("trained:FOLDER", _find_trained, _load_trained),
}  # fmt: skip
"""The form of a family's names, and the functions that find and load its networks."""

FAMILIES = tuple(usage for usage, *_ in _FAMILIES.values())
"""Forms of the names that are not in :data:`BACKBONES`."""
