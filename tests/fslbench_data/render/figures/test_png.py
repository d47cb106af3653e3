"""PNG files in fewer bytes show the same pixels."""

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fslbench_data.render.figures.png import packed

SUB = 1


def _written(pixels: NDArray[np.uint8], line_filter: int = SUB) -> bytes:
    """A PNG as the renderer writes them: RGBA, in lines that are differences or plain."""
    height, width, _ = pixels.shape
    lines = pixels.copy()
    if line_filter == SUB:
        lines[:, 1:] -= pixels[:, :-1]
    flat = np.hstack([np.full((height, 1), line_filter, np.uint8), lines.reshape(height, -1)])
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    data = zlib.compress(flat.tobytes(), 1)
    parts = [(b"IHDR", header), (b"IDAT", data[:50]), (b"IDAT", data[50:]), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in parts
    )


def _picture(colours: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(0)
    palette = rng.permutation(1 << 24)[:colours]
    words = palette[np.arange(60 * 80).reshape(60, 80) % colours].astype("<u4") | 0xFF000000
    return words.astype("<u4").view(np.uint8).reshape(60, 80, 4)


@pytest.mark.parametrize(
    ("colours", "line_filter", "mode"),
    [(3, SUB, "P"), (256, SUB, "P"), (257, SUB, "RGBA"), (3, 0, "RGBA")],
)
def test_the_pixels_are_the_same(colours: int, line_filter: int, mode: str) -> None:
    image: Any = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `builders`")
    pixels = _picture(colours)
    before = _written(pixels, line_filter)
    after = packed(before)
    assert len(after) < len(before)
    shown = image.open(io.BytesIO(after))
    assert shown.mode == mode
    assert np.array_equal(np.asarray(shown.convert("RGBA")), pixels)
    assert np.array_equal(np.asarray(image.open(io.BytesIO(before))), pixels)


def test_what_shines_through_stays() -> None:
    image: Any = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `builders`")
    pixels = _picture(3)
    pixels[5, 5, 3] = 7
    shown = image.open(io.BytesIO(packed(_written(pixels))))
    assert np.array_equal(np.asarray(shown), pixels)
