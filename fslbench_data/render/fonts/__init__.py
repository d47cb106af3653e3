"""The fonts of figures and pages, the same on every machine."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmark_spec.extras import require

FAMILY = "FSLBench Sans, Helvetica, Arial, sans-serif"
"""The font family of figures and pages; the first lacks some letters, which others have."""

REGULAR = str(Path(__file__).with_name("FSLBenchSans-Regular.ttf"))

_WEIGHTS = {"Regular": "normal", "Bold": "bold"}


@lru_cache(maxsize=1)
def renderer() -> Any:
    """Return the module ``vl_convert``, which draws with the fonts of this folder.

    Raises a MissingPackageError without the extra ``report``.
    """
    convert = require("vl_convert", "report")
    convert.register_font_directory(str(Path(__file__).parent))
    return convert


@lru_cache(maxsize=1)
def font_faces() -> str:
    """Return the style sheet that holds the fonts, for an SVG or a page."""
    faces = []
    for style, weight in _WEIGHTS.items():
        font = Path(__file__).with_name(f"FSLBenchSans-{style}.woff2").read_bytes()
        source = f"url(data:font/woff2;base64,{b64encode(font).decode()}) format('woff2')"
        faces.append(f"@font-face {{ font-family: 'FSLBench Sans'; font-weight: {weight}; ")
        faces.append(f"src: {source}; }}\n")
    return "".join(faces)
