"""Which drawings count, and which do not, by the reasons."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_fonts import BAR, BOX, SQUARE, TRIANGLE, make_font

from builders.sources.glyph_fonts import Face, read_faces
from builders.sources.packaged.glyphs import (
    OF_CHARACTER,
    OF_DESIGN,
    Drawing,
    choose,
    distinct,
    draw,
    shares,
)
from builders.sources.packages import Package

ONE = Package.deb("fonts-one", "1", "0" * 64)


def test_each_reason(fetched: Callable[[Package], Path], tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    fonts = fetched(ONE)
    make_font(fonts / "1.ttf", "One", {"a": SQUARE, "b": TRIANGLE})
    make_font(fonts / "2.ttf", "Two", {"a": SQUARE, "b": BAR})  # an `a` like that of One
    make_font(fonts / "3.ttf", "Three", {"a": BAR, "b": ()})  # an `a` like the `b` of Two
    make_font(fonts / "4.ttf", "Four", {"a": BOX, "b": TRIANGLE})  # the missing glyph, a double
    make_font(fonts / "5.ttf", "Five", {"a": TRIANGLE}, panose=(0, 0))
    drawings, left_out = _drawn(tmp_path, dict.fromkeys("ab", "Latin"))
    kept = distinct(drawings, left_out)
    paths = {chr(code): [drawing.path for drawing in own] for code, own in kept.items()}
    assert paths == {"a": ["fonts-one/1.ttf#0,U+0061"], "b": ["fonts-one/1.ttf#0,U+0062"]}
    assert +left_out == {
        "blank": 1,
        "missing glyph": 1,
        "serifs not stated": 1,
        "like another of its character": 2,
        "like one of another character": 2,
    }


def test_a_damaged_font(fetched: Callable[[Package], Path], tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    make_font(fetched(ONE) / "1.ttf", "One", {"a": SQUARE, "b": BAR})
    (face,) = read_faces(tmp_path / "raw", [ONE], map(ord, "ab"), {}, "glyphs")
    (tmp_path / "raw" / face.path).write_bytes(b"no font")
    left_out: Counter[str] = Counter()
    assert not list(draw(tmp_path / "raw", [face], [[97, 98]], left_out))
    assert left_out == {"damaged": 2}


def test_serifs_matter_only_where_letters_may_have_them(
    fetched: Callable[[Package], Path], tmp_path: Path
) -> None:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    make_font(fetched(ONE) / "1.ttf", "One", {"ก": SQUARE, "a": BAR}, panose=(0, 0))
    drawings, _ = _drawn(tmp_path, {"ก": "Thai", "a": "Latin"})
    assert [chr(drawing.character) for drawing in drawings] == ["ก"]


def _drawn(folder: Path, scripts: dict[str, str]) -> tuple[list[Drawing], Counter[str]]:
    script_of = {ord(character): script for character, script in scripts.items()}
    left_out: Counter[str] = Counter()
    faces = list(read_faces(folder / "raw", [ONE], script_of, {}, "glyphs"))
    asked = shares(faces, script_of, {}, left_out)
    return list(draw(folder / "raw", faces, asked, left_out)), left_out


def _order(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()


def test_few_faces_of_a_design_take_part_in_an_order_that_no_picture_decides() -> None:
    faces = [
        Face(f"{family}{i:02}.ttf", 0, "p", family, (), True, frozenset({97, 98}))
        for family in ("one", "copy")
        for i in range(9)
    ]
    left_out: Counter[str] = Counter()
    designs = {"Latin": {"one": "one", "copy": "one"}}
    asked = shares(faces, {97: "Latin", 98: "Greek"}, designs, left_out)
    paths = sorted((f"{face.path}#0,U+0061" for face in faces), key=_order)
    drawn = {f"{face.path}#0,U+0061" for face, own in zip(faces, asked, strict=True) if 97 in own}
    assert drawn == set(paths[:OF_DESIGN])
    assert sum(98 in own for own in asked) == 2 * OF_DESIGN  # in Greek they are two designs
    assert left_out["more of the design"] == 10 + 1 + 1


def _drawings(**of_family: int) -> list[Drawing]:
    return [
        Drawing(Face(f"{family}{i}.ttf", 0, "p", family, (), True, frozenset()), 97, f"{family}{i}")
        for family, number in of_family.items()
        for i in range(number)
    ]


def test_designs_take_turns() -> None:
    chosen = choose(_drawings(one=8, two=2, three=1), "Latin", {})
    designs = [drawing.face.family for drawing in chosen]
    assert sorted(designs[:3]) == ["one", "three", "two"]
    assert sorted(designs[3:5]) == ["one", "two"]
    assert Counter(designs) == {"one": 8, "two": 2, "three": 1}


def test_no_more_than_are_wanted_in_the_same_order_always() -> None:
    many = _drawings(**{f"family{i}": 3 for i in range(30)})
    chosen = choose(many, "Latin", {})
    assert len(chosen) == OF_CHARACTER
    assert {d.face.family for d in chosen} == {f"family{i}" for i in range(30)}
    assert chosen == choose(reversed(many), "Latin", {})
    firsts = [
        min((d.path for d in many if d.face.family == f"family{i}"), key=_order) for i in range(30)
    ]
    assert [drawing.path for drawing in chosen[:30]] == sorted(firsts, key=_order)
