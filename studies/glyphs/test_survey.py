"""The survey of glyphs: parts, designs and characters follow from its rules."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from builders.sources.glyph_fonts import Face
from builders.sources.packaged import glyphs
from builders.sources.packaged.glyphs import PARTS, Drawing, collection
from studies.glyphs import survey

FROZEN = collection()


def test_splits_are_those_of_the_rule() -> None:
    scripts: dict[str, str] = {}
    for part in PARTS:
        for script, own in FROZEN.characters[part].items():
            scripts[script] = scripts.get(script, "") + own
    for script, own in scripts.items():
        for part, codes in survey.split(script, map(ord, own)).items():
            assert FROZEN.characters[part][script] == "".join(map(chr, codes)), (script, part)


def test_alike_families_share_a_design() -> None:
    def drawing(family: str, code: int, digest: str) -> Drawing:
        face = Face(f"{family}.ttf", 0, "p", family, (), True, frozenset())
        return Drawing(face, code, digest)

    drawings = [drawing("one", code, f"one{code}") for code in range(15)]
    drawings += [
        drawing("copy", code, f"{'one' if code < 3 else 'own'}{code}") for code in range(15)
    ]
    drawings += [
        drawing("two", code, f"{'own' if code < 2 else 'two'}{code}") for code in range(15)
    ]
    drawings += [drawing("far", code, f"{'two' if code < 2 else 'far'}{code}") for code in range(9)]
    script_of = dict.fromkeys(range(15), "Latin")
    assert survey.shared_designs(drawings, script_of) == {"Latin": [["copy", "one"]]}
    script_of |= {0: "Greek"}  # two of fourteen common characters are not enough
    assert survey.shared_designs(drawings, script_of) == {}


def test_one_stays_of_characters_that_look_alike() -> None:
    confusables = {
        "A": [{"c": "Α"}, {"c": "А"}],
        "А": [{"c": "A"}],
        "B": [{"c": "rn"}],
        "l": [{"c": "I"}],
        "I": [{"c": "ӏ"}],
    }
    ways = {
        ord(character): number
        for character, number in zip("AΑАBlIӏ", (3, 3, 2, 1, 1, 4, 9), strict=True)
    }
    assert "".join(map(chr, survey.without_confusables(ways, confusables))) == "ABӏ"


def test_candidates_are_letters_that_enough_faces_have() -> None:
    pytest.importorskip("fontTools.unicodedata", reason="needs fontTools, of `builders`")
    counts = Counter({ord(c): 20 for c in "aא1ªﬁ̈ªʰ"} | {ord("b"): 19})
    assert survey.candidates(counts) == {ord("א"): "Hebrew", ord("a"): "Latin"}


def test_the_file_is_written_as_the_survey_writes_it() -> None:
    file = Path(glyphs.__file__).with_suffix(".json")
    text = file.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
