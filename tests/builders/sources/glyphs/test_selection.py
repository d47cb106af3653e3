"""Which drawings count, and which do not, by the reasons."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_fonts import BAR, BOX, SQUARE, TRIANGLE, make_font

from builders.sources.glyphs.faces import Face, read_faces
from builders.sources.glyphs.selection import (
    OF_CHARACTER,
    OF_DESIGN,
    Drawing,
    choose,
    distinct,
    draw,
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
    make_font(fonts / "5.ttf", "Five", {"a": TRIANGLE[:2] + ((9, 9),)}, panose=(0, 0))
    script_of = dict.fromkeys(map(ord, "ab"), "Latin")
    left_out: Counter[str] = Counter()
    faces = read_faces(tmp_path / "raw", [ONE], script_of, {}, "glyphs")
    kept = distinct(draw(tmp_path / "raw", faces, script_of, left_out), left_out)
    paths = {chr(code): [drawing.path for drawing in own] for code, own in kept.items()}
    assert paths == {"a": ["fonts-one/1.ttf#0,U+0061"], "b": ["fonts-one/1.ttf#0,U+0062"]}
    assert +left_out == {
        "blank": 1,
        "missing glyph": 1,
        "serifs not stated": 1,
        "like another of its character": 2,
        "like one of another character": 2,
    }


def test_serifs_matter_only_where_letters_may_have_them(
    fetched: Callable[[Package], Path], tmp_path: Path
) -> None:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    make_font(fetched(ONE) / "1.ttf", "One", {"ก": SQUARE, "a": BAR}, panose=(0, 0))
    script_of = {ord("ก"): "Thai", ord("a"): "Latin"}
    faces = read_faces(tmp_path / "raw", [ONE], script_of, {}, "glyphs")
    drawings = list(draw(tmp_path / "raw", faces, script_of, Counter()))
    assert [chr(drawing.character) for drawing in drawings] == ["ก"]


def _drawings(**of_family: int) -> list[Drawing]:
    return [
        Drawing(Face(f"{family}{i}.ttf", 0, "p", family, (), True, frozenset()), 97, f"{family}{i}")
        for family, number in of_family.items()
        for i in range(number)
    ]


def test_designs_take_turns() -> None:
    chosen = choose(_drawings(one=10, two=2, three=1), {})
    designs = [drawing.face.family for drawing in chosen]
    assert sorted(designs[:3]) == ["one", "three", "two"]
    assert sorted(designs[3:5]) == ["one", "two"]
    assert Counter(designs) == {"one": OF_DESIGN, "two": 2, "three": 1}


def test_families_of_one_design_count_as_one() -> None:
    chosen = choose(_drawings(one=6, two=6), {"one": "one", "two": "one"})
    assert len(chosen) == OF_DESIGN


def test_no_more_than_are_wanted_in_an_order_that_no_picture_decides() -> None:
    many = _drawings(**{f"family{i}": 3 for i in range(30)})
    chosen = choose(many, {})
    assert len(chosen) == OF_CHARACTER
    assert {d.face.family for d in chosen} == {f"family{i}" for i in range(30)}
    assert chosen == choose(reversed(many), {})

    def shuffled(drawing: Drawing) -> str:
        return hashlib.sha256(drawing.path.encode()).hexdigest()

    firsts = [
        min((d for d in many if d.face.family == f"family{i}"), key=shuffled) for i in range(30)
    ]
    assert chosen[:30] == sorted(firsts, key=shuffled)
