"""What fonts state of themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_fonts import SQUARE, make_font

from builders.sources.glyph_fonts import Face, read_faces
from builders.sources.packages import Package

ONE = Package.deb("fonts-one", "1", "0" * 64)
TWO = Package.deb("fonts-two", "1", "1" * 64)


def _faces(folder: Path, *packages: Package, serifs: dict[str, str] | None = None) -> list[Face]:
    return list(read_faces(folder / "raw", packages, map(ord, "ab"), serifs or {}, "glyphs"))


@pytest.mark.parametrize(
    ("stated", "style", "says"),
    [
        ({}, ("sans",), True),
        ({"panose": (2, 2)}, ("serif",), True),
        ({"panose": (3, 0)}, (), True),
        ({"panose": (0, 0)}, (), False),
        ({"panose": (0, 0), "family_class": 8}, ("sans",), True),
        ({"panose": (2, 1), "family_class": 1}, ("serif",), True),
        ({"panose": (0, 0), "family_class": 12}, (), False),
        ({"weight": 600}, ("bold", "sans"), True),
        ({"weight": 599}, ("sans",), True),
        ({"weight": 300}, ("light", "sans"), True),
        ({"weight": 301}, ("sans",), True),
        ({"width": 4}, ("condensed", "sans"), True),
        ({"panose": (2, 11, 9)}, ("monospaced", "sans"), True),
        ({"panose": (3, 11, 9)}, (), True),
        ({"italic": True, "fixed": True}, ("italic", "monospaced", "sans"), True),
    ],
)
def test_style(
    fetched: Callable[[Package], Path],
    tmp_path: Path,
    stated: dict[str, Any],
    style: tuple[str, ...],
    says: bool,
) -> None:
    make_font(fetched(ONE) / "a.ttf", "One", {"a": SQUARE}, **stated)
    (face,) = _faces(tmp_path, ONE)
    assert (face.style, face.says_serifs) == (style, says)


def test_a_family_whose_tables_do_not_say(
    fetched: Callable[[Package], Path], tmp_path: Path
) -> None:
    make_font(fetched(ONE) / "a.ttf", "One", {"a": SQUARE}, panose=(0, 0))
    (face,) = _faces(tmp_path, ONE, serifs={"One": "serif"})
    assert (face.style, face.says_serifs) == (("serif",), True)
    (face,) = _faces(tmp_path, ONE, serifs={"One": "neither"})
    assert (face.style, face.says_serifs) == ((), True)


def test_order_and_what_is_passed_over(fetched: Callable[[Package], Path], tmp_path: Path) -> None:
    one, two = fetched(ONE), fetched(TWO)
    make_font(two / "z/a.ttf", "Later", {"a": SQUARE})
    make_font(one / "b.ttf", "Second", {"a": SQUARE, "x": SQUARE})
    make_font(one / "a.otf", "First", {"b": SQUARE})
    make_font(one / "c.ttf", "Neither", {"x": SQUARE})
    (one / "d.ttf").symlink_to("a.otf")
    (one / "e.txt").write_text("no font")
    faces = _faces(tmp_path, ONE, TWO)
    assert [(face.path, face.index, face.package, face.family) for face in faces] == [
        ("fonts-one/a.otf", 0, "fonts-one", "First"),
        ("fonts-one/b.ttf", 0, "fonts-one", "Second"),
        ("fonts-two/z/a.ttf", 0, "fonts-two", "Later"),
    ]
    assert [face.characters for face in faces] == [{ord("b")}, {ord("a")}, {ord("a")}]
