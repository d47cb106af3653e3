"""Glyphs: what is frozen of them, what fonts state, drawings by tiny fonts, and which count."""

import hashlib
import re
import unicodedata
from collections import Counter

import numpy as np
import pytest

from benchmark_spec.errors import FSLBenchError
from builders.sources.glyph_fonts import NOWHERE, ROOM, SIDE, Face, Renderer, read_faces, small
from builders.sources.packaged.glyphs import (
    OF_DESIGN,
    PARTS,
    SAMPLE,
    Drawing,
    choose,
    collection,
    distinct,
    draw,
    place_of,
    shares,
)
from builders.sources.packages import Package
from builders.sources.source import source_of

pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")

FROZEN = collection()


def test_every_character_is_in_one_part_and_no_script_outweighs_the_others():
    every = [c for part in PARTS for own in FROZEN.characters[part].values() for c in own]
    assert len(every) == len(set(every)) == 5369
    sizes = {"base": 3127, "val": 569, "novel": 1673}
    assert {part: len(FROZEN.scripts(part)) for part in PARTS} == sizes
    assert FROZEN.scripts(SAMPLE).items() <= FROZEN.scripts("novel").items()
    for part in (*PARTS, SAMPLE):
        sizes = {script: len(own) for script, own in FROZEN.characters[part].items()}
        assert min(sizes.values()) >= 10
        assert part == "base" or max(sizes.values()) <= 250
    assert len(FROZEN.characters["novel"]) == 18
    assert len(FROZEN.characters[SAMPLE]) == 11


def test_at_most_so_many_of_a_script():
    few = FROZEN.scripts("novel", most=16)
    assert Counter(few.values()) == dict.fromkeys(FROZEN.characters["novel"], 16)
    assert few.items() <= FROZEN.scripts("novel").items()
    assert list(few) == [c for c in FROZEN.scripts("novel") if c in few]
    latin = sorted(FROZEN.characters["novel"]["Latin"], key=place_of)
    assert {c for c, script in few.items() if script == "Latin"} == set(latin[:16])


def test_options_that_are_refused():
    for option, value in (("part", "test"), ("most", "0"), ("most", "few")):
        with pytest.raises(FSLBenchError, match=option):
            source_of("glyphs").read(**{option: value})


def test_characters_are_letters_of_their_script():
    tools = pytest.importorskip("fontTools.unicodedata", reason="needs fontTools, of `builders`")
    for part in PARTS:
        for character, script in FROZEN.scripts(part).items():
            assert tools.script_name(tools.script(character)) == script
            assert tools.category(character) in {"Lu", "Ll", "Lo"}
            assert unicodedata.normalize("NFKC", character) == character
            assert unicodedata.name(character)


def test_packages_are_pinned_and_credited():
    names = [package.name for package in FROZEN.packages]
    assert names == sorted(set(names))
    assert set(names) == FROZEN.credits.keys()
    for package in FROZEN.packages:
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert all(FROZEN.credits[package.name])
    sample, every = (set(source_of(name).packages) for name in ("glyphs_sample", "glyphs"))
    assert sample < every
    assert set(FROZEN.serifs.values()) == {"serif", "sans", "neither"}


# ---- fonts and drawings --------------------------------------------------------------------------
ONE = Package("deb", "fonts-one", "1", "0" * 64)
TWO = Package("deb", "fonts-two", "1", "1" * 64)

SQUARE = ((100, 0), (100, 600), (700, 600), (700, 0))
TRIANGLE = ((100, 0), (400, 700), (700, 0))
BAR = ((300, 0), (300, 700), (400, 700), (400, 0))
WIDE = ((0, 0), (0, 200), (4000, 200), (4000, 0))
BOX = ((50, 0), (50, 900), (550, 900), (550, 0))
"""The missing glyph."""


def make_font(path, family, glyphs, *, panose=(2, 11), italic=False, fixed=False, **stated):
    """Write a font: its family, the polygon of each character, and what its tables state."""
    builder = pytest.importorskip("fontTools.fontBuilder", reason="needs fontTools, of `builders`")
    pens = pytest.importorskip("fontTools.pens.ttGlyphPen")

    def outline(polygon):
        pen = pens.TTGlyphPen(None)
        if polygon:
            pen.moveTo(polygon[0])
            for point in polygon[1:]:
                pen.lineTo(point)
            pen.closePath()
        return pen.glyph()

    names = {character: f"u{ord(character):04X}" for character in glyphs}
    font = builder.FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", *names.values()])
    font.setupCharacterMap({ord(character): name for character, name in names.items()})
    outlines = {names[character]: outline(polygon) for character, polygon in glyphs.items()}
    font.setupGlyf({".notdef": outline(BOX), **outlines})
    font.setupHorizontalMetrics(dict.fromkeys((".notdef", *names.values()), (800, 0)))
    font.setupHorizontalHeader(ascent=900, descent=-100)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupOS2(
        usWeightClass=stated.get("weight", 400),
        usWidthClass=stated.get("width", 5),
        fsSelection=int(italic),
        sFamilyClass=stated.get("family_class", 0) << 8,
    )
    for digit, value in zip(("bFamilyType", "bSerifStyle", "bProportion"), panose, strict=False):
        setattr(font.font["OS/2"].panose, digit, value)
    font.setupPost(isFixedPitch=int(fixed), italicAngle=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    font.save(path)


def _faces(folder, *packages, serifs=None):
    return list(read_faces(folder / "raw", packages, map(ord, "ab"), serifs or {}, "glyphs"))


def test_style(fetched, tmp_path):
    fonts = fetched(ONE)
    for stated, style, says in (
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
    ):
        make_font(fonts / "a.ttf", "One", {"a": SQUARE}, **stated)
        (face,) = _faces(tmp_path, ONE)
        assert (face.style, face.says_serifs) == (style, says)
        if not says:  # the collection does
            for kind, words in (("serif", ("serif",)), ("neither", ())):
                (face,) = _faces(tmp_path, ONE, serifs={"One": kind})
                assert (face.style, face.says_serifs) == (words, True)


def test_order_and_what_is_passed_over(fetched, tmp_path):
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


def test_600_of_1000_units_are_36_pixels_and_larger_ink_is_drawn_smaller(tmp_path):
    make_font(tmp_path / "a.ttf", "One", {"a": SQUARE, "w": WIDE, " ": ()})
    font = Renderer(tmp_path / "a.ttf", 0)
    square, wide, unknown = map(font.levels, "awq")
    expected = np.zeros((SIDE, SIDE), np.uint8)
    expected[24:60, 24:60] = 255
    assert (square == expected).all()
    columns = np.flatnonzero(wide.any(axis=0))
    assert ROOM - 6 <= columns.size <= ROOM
    assert abs((columns[0] + columns[-1]) / 2 - (SIDE - 1) / 2) <= 1
    assert font.levels(" ") is None
    assert font.missing is not None
    for missing in (unknown, font.levels(NOWHERE)):
        assert np.array_equal(missing, font.missing)


def test_small_drawings_are_rounded_means():
    levels = np.zeros((2, SIDE, SIDE), np.uint8)
    levels[0, 0, 0] = 4  # 4 / 9 rounds to 0
    levels[1, 0, :2] = (4, 1)  # 5 / 9 to 1
    levels[1, -3:, -3:] = 255
    shrunk = small(levels)
    assert shrunk.shape == (2, 28, 28)
    assert shrunk[0].sum() == 0
    assert (shrunk[1, 0, 0], shrunk[1, -1, -1], shrunk[1].sum()) == (1, 255, 256)


def test_each_reason(fetched, tmp_path):
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
    (fonts / "1.ttf").write_bytes(b"no font")
    left_out = Counter()
    face = Face("fonts-one/1.ttf", 0, "fonts-one", "One", (), True, frozenset())
    assert not list(draw(tmp_path / "raw", [face], [[97, 98]], left_out))
    assert left_out == {"damaged": 2}


def test_where_serifs_matter(fetched, tmp_path):
    make_font(fetched(ONE) / "1.ttf", "One", {"ก": SQUARE, "a": BAR}, panose=(0, 0))
    drawings, _ = _drawn(tmp_path, {"ก": "Thai", "a": "Latin"})
    assert [chr(drawing.character) for drawing in drawings] == ["ก"]


def _drawn(folder, scripts):
    script_of = {ord(character): script for character, script in scripts.items()}
    left_out = Counter()
    faces = list(read_faces(folder / "raw", [ONE], script_of, {}, "glyphs"))
    asked = shares(faces, script_of, {}, left_out)
    return list(draw(folder / "raw", faces, asked, left_out)), left_out


def test_few_faces_of_a_design_take_part_in_an_order_that_no_picture_decides():
    faces = [
        Face(f"{family}{i:02}.ttf", 0, "p", family, (), True, frozenset({97, 98}))
        for family in ("one", "copy")
        for i in range(9)
    ]
    left_out = Counter()
    designs = {"Latin": {"one": "one", "copy": "one"}}
    asked = shares(faces, {97: "Latin", 98: "Greek"}, designs, left_out)
    paths = [f"{face.path}#0,U+0061" for face in faces]
    paths.sort(key=lambda path: hashlib.sha256(path.encode()).hexdigest())
    drawn = {f"{face.path}#0,U+0061" for face, own in zip(faces, asked, strict=True) if 97 in own}
    assert drawn == set(paths[:OF_DESIGN])
    assert sum(98 in own for own in asked) == 2 * OF_DESIGN  # in Greek they are two designs
    assert left_out["more of the design"] == 10 + 1 + 1


def test_designs_take_turns():
    drawings = [
        Drawing(Face(f"{family}{i}.ttf", 0, "p", family, (), True, frozenset()), 97, f"{family}{i}")
        for family, number in (("one", 8), ("two", 2), ("three", 1))
        for i in range(number)
    ]
    designs = [drawing.face.family for drawing in choose(drawings, "Latin", {})]
    assert sorted(designs[:3]) == ["one", "three", "two"]
    assert sorted(designs[3:5]) == ["one", "two"]
    assert Counter(designs) == {"one": 8, "two": 2, "three": 1}
