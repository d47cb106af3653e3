"""Large values that differ end in a few lines at once, and pictures have a tolerance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparing import assert_same_picture, first_difference, is_large

LONG = "a line of a page\n" * 100_000


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (LONG, LONG[:-5] + LONG),
        (LONG.encode(), LONG.encode() + b"more"),
        ([*range(50_000)], [*range(49_999), 0]),
        ({"a": [LONG]}, {"a": [LONG + "b"]}),
    ],
)
def test_long_values_are_not_compared_by_pytest(left: Any, right: Any) -> None:
    with pytest.raises(pytest.fail.Exception) as raised:
        assert left == right
    said = str(raised.value)
    assert "first" in said
    assert len(said) < 2_000


def test_short_values_are_compared_by_pytest() -> None:
    assert not is_large("short")
    with pytest.raises(AssertionError, match="brown"):
        assert "the brown fox" == "the red fox"


def test_where_they_differ() -> None:
    assert "differ first at 2" in first_difference("abc", "abd")
    assert "differ first at 3" in first_difference(b"abc", b"abcd")
    assert first_difference({"a": 1}, {"b": 1}) == "only one holds the key 'a'"


@pytest.mark.parametrize(("moved", "same"), [(0, True), (1, True), (40, False)])
def test_pictures_have_a_tolerance(tmp_path: Path, moved: int, same: bool) -> None:
    """A letter's edge may have other greys; another letter is another picture."""
    image = pytest.importorskip("PIL.Image", reason="needs pillow, of the extra `test`")
    pixels = np.full((200, 200, 3), 255, np.uint8)
    pixels[50:60, 50:80] = 0
    image.fromarray(pixels).save(tmp_path / "a.png")
    pixels[50:60, 80:81] = 215
    pixels[50 : 50 + moved, 150:152] = 0
    image.fromarray(pixels).save(tmp_path / "b.png")
    if same:
        assert_same_picture(tmp_path / "a.png", tmp_path / "b.png")
        return
    with pytest.raises(AssertionError, match="differ"):
        assert_same_picture(tmp_path / "a.png", tmp_path / "b.png")
