"""PNG files in fewer bytes show the same pixels."""

import io
from typing import Any

import numpy as np
import pytest

from fslbench_data.render.figures.plot import packed


def _pixels(colours: int) -> Any:
    """A picture of 60 by 80 pixels that do not shine through, of so many colours."""
    palette = np.random.default_rng(0).choice(1 << 24, colours, replace=False)
    words = palette[np.arange(60 * 80).reshape(60, 80) % colours].astype("<u4") | 0xFF000000
    return words.astype("<u4").view(np.uint8).reshape(60, 80, 4)


@pytest.mark.parametrize(
    ("colours", "alpha", "mode"),
    [(1, 255, "P"), (3, 255, "P"), (256, 255, "P"), (257, 255, "RGBA"), (3, 7, "RGBA")],
)
def test_the_pixels_are_the_same(colours: int, alpha: int, mode: str) -> None:
    image: Any = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `report`")
    pixels = _pixels(colours)
    pixels[5, 5, 3] = alpha
    file = io.BytesIO()
    image.fromarray(pixels).save(file, format="PNG", compress_level=1)
    after = packed(file.getvalue())
    shown = image.open(io.BytesIO(after))
    assert shown.mode == mode
    assert np.array_equal(np.asarray(shown.convert("RGBA")), pixels)
    assert mode == "RGBA" or len(after) < len(file.getvalue())
