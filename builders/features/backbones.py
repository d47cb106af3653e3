"""Backbones by their names.

Four come with packages of weights (:mod:`builders.features.packaged`), and all of open_clip and
timm by their own names.  ``+paper`` after one of these gives it the preprocessing with which
Lafargue et al. (TMLR 2024) ran CLIP, DINO and DINOv2 alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmark_spec.errors import UnknownNameError
from builders.features import open_clip_models, packaged, timm_models, trained_models
from builders.features.backbone import Backbone, DType, Preprocessing
from builders.features.weights import WEIGHTS

BACKBONES = tuple(WEIGHTS)
"""Names that stand for one network each."""

_LOADERS = {
    open_clip_models.FAMILY: open_clip_models.load,
    timm_models.FAMILY: timm_models.load,
    trained_models.FAMILY: trained_models.load,
}
_FINDERS: Mapping[str, Callable[[str, Path | None], object]] = {
    open_clip_models.FAMILY: open_clip_models.find,
    timm_models.FAMILY: timm_models.find,
    trained_models.FAMILY: trained_models.find,
}

FAMILIES = (open_clip_models.USAGE, timm_models.USAGE, trained_models.USAGE)
"""Forms of the other names."""

PAPER_SUFFIX = "+paper"
PAPER = Preprocessing(
    resize=(256, 256),
    crop=(224, 224),
    interpolation="bilinear",
    mean=(0.4712, 0.4499, 0.4031),
    std=(0.2726, 0.2634, 0.2794),
    side="both",
)
"""That of Lafargue et al., whatever the network: squeezed into a square, with the colours of
miniImageNet.  To compare with their results one must use it too; otherwise the networks' own is
better.  The kernel is not stated: bilinear is torchvision's default."""


def check_weights(name: str, weights_folder: Path | None = None) -> None:
    """Refuse a backbone whose weights are not there and cannot be had; it is not loaded.

    Parameters and errors are those of :func:`load_backbone`.
    """
    family, colon, spec = name.partition(":")
    if colon and family in _FINDERS:
        _FINDERS[family](spec.removesuffix(PAPER_SUFFIX), weights_folder)
    elif name in WEIGHTS:
        packaged.find(name, weights_folder)


def load_backbone(
    name: str,
    weights_folder: Path | None = None,
    *,
    device: str = "cpu",
    dtype: DType = "float32",
) -> Backbone:
    """Load a pretrained network by its name.

    Parameters
    ----------
    name
        One of :data:`BACKBONES`; ``open_clip:ARCH/TAG_OR_FILE``, such as
        ``open_clip:ViT-B-16/openai``; or ``timm:MODEL[@FILE]``, such as
        ``timm:vit_base_patch14_reg4_dinov2.lvd142m``.  The last two perhaps with ``+paper``.
    weights_folder
        What ``fslbench-build fetch`` has filled; FILE is looked for in it too.

    Raises
    ------
    UnknownNameError
        If there is no such backbone.
    BackboneError, SourceError
        If its weights are not there and cannot be had, or are not the right ones.
    """
    family, colon, spec = name.partition(":")
    if colon and family in _LOADERS:
        plain = spec.removesuffix(PAPER_SUFFIX)
        if plain == spec:
            backbone = _LOADERS[family](spec, weights_folder)
        else:
            backbone = _LOADERS[family](plain, weights_folder, PAPER)
            backbone = replace(backbone, name=backbone.name + PAPER_SUFFIX)
    elif name in WEIGHTS:
        backbone = packaged.load(name, weights_folder)
    else:
        raise UnknownNameError(
            "backbone",
            name,
            (*BACKBONES, *FAMILIES),
            fix=f"{PAPER_SUFFIX} goes with {' and '.join(FAMILIES)} only"
            if name.endswith(PAPER_SUFFIX)
            else "",
        )
    return backbone.to(device, dtype)
