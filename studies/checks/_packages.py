"""The packages that hold the images, fetched once into a folder that is kept."""

from __future__ import annotations

import os
from pathlib import Path

from builders.sources import source_module
from builders.sources.packages import fetch


def fetched(*sources: str) -> Path:
    """Fetch the packages of some sources; give the folder, FSLBENCH_PACKAGES or ``.packages``."""
    folder = Path(os.environ.get("FSLBENCH_PACKAGES", ".packages")).resolve()
    for name in sources:
        fetch(source_module(name).PACKAGES, folder)
    return folder
