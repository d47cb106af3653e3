"""Drawings of characters by tiny fonts, whose pixels can be told beforehand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_fonts import BAR, SQUARE, WIDE, make_font

from builders.sources.glyph_fonts import NOWHERE, ROOM, SIDE, Renderer, small


@pytest.fixture
def font(tmp_path: Path) -> Renderer:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    make_font(tmp_path / "a.ttf", "One", {"a": SQUARE, "b": BAR, "w": WIDE, " ": ()})
    return Renderer(tmp_path / "a.ttf", 0)


def test_a_square_of_600_units_is_36_pixels_in_the_middle(font: Renderer) -> None:
    levels = font.levels("a")
    assert levels is not None
    expected = np.zeros((SIDE, SIDE), np.uint8)
    expected[24:60, 24:60] = 255
    assert (levels == expected).all()
    assert (small(levels) == expected[::3, ::3]).all()


def test_sizes_are_those_of_one_em(font: Renderer) -> None:
    square, bar = font.levels("a"), font.levels("b")
    assert square is not None
    assert bar is not None
    assert square.sum() == 255 * 36 * 36
    assert np.flatnonzero(bar.any(axis=1)).size == 42  # 700 of 1000 units
    assert np.flatnonzero(bar.any(axis=0)).size == 6


def test_larger_ink_is_drawn_smaller(font: Renderer) -> None:
    wide = font.levels("w")
    assert wide is not None
    columns = np.flatnonzero(wide.any(axis=0))
    assert ROOM - 6 <= columns.size <= ROOM
    assert abs((columns[0] + columns[-1]) / 2 - (SIDE - 1) / 2) <= 1


def test_nothing_is_drawn_of_a_space(font: Renderer) -> None:
    assert font.levels(" ") is None


def test_the_missing_glyph(font: Renderer) -> None:
    unknown = font.levels("q")
    assert unknown is not None
    assert font.missing is not None
    assert (unknown == font.missing).all()
    assert (font.levels(NOWHERE) == font.missing).all()


def test_small_drawings_are_rounded_means() -> None:
    levels = np.zeros((2, SIDE, SIDE), np.uint8)
    levels[0, 0, 0] = 4  # 4 / 9 rounds to 0
    levels[1, 0, :2] = (4, 1)  # 5 / 9 to 1
    levels[1, -3:, -3:] = 255
    shrunk = small(levels)
    assert shrunk.shape == (2, 28, 28)
    assert shrunk[0].sum() == 0
    assert (shrunk[1, 0, 0], shrunk[1, -1, -1], shrunk[1].sum()) == (1, 255, 256)
