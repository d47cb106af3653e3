"""What is frozen of glyphs holds together, and follows from its rules."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from benchmark_spec.errors import FSLBenchError
from builders.sources.glyphs import survey
from builders.sources.glyphs.collection import PARTS, SAMPLE, collection, place_of
from builders.sources.glyphs.faces import Face
from builders.sources.glyphs.selection import Drawing
from builders.sources.packaged import glyphs, glyphs_sample

FROZEN = collection()


def test_every_character_is_in_one_part() -> None:
    every = [c for part in PARTS for own in FROZEN.characters[part].values() for c in own]
    assert len(every) == len(set(every)) == 5369
    assert {part: len(FROZEN.scripts(part)) for part in PARTS} == {
        "base": 3127,
        "val": 569,
        "novel": 1673,
    }
    assert FROZEN.scripts(SAMPLE).items() <= FROZEN.scripts("novel").items()


def test_scripts_are_large_enough_and_none_outweighs_the_others() -> None:
    for part in (*PARTS, SAMPLE):
        sizes = {script: len(own) for script, own in FROZEN.characters[part].items()}
        assert min(sizes.values()) >= survey.FEWEST
        assert part == "base" or max(sizes.values()) <= 250
    assert len(FROZEN.characters["novel"]) == 18
    assert len(FROZEN.characters[SAMPLE]) == 11


def test_at_most_so_many_of_a_script() -> None:
    few = FROZEN.scripts("novel", most=16)
    assert Counter(few.values()) == dict.fromkeys(FROZEN.characters["novel"], 16)
    assert few.items() <= FROZEN.scripts("novel").items()
    assert list(few) == [c for c in FROZEN.scripts("novel") if c in few]
    latin = sorted(FROZEN.characters["novel"]["Latin"], key=place_of)
    assert {c for c, script in few.items() if script == "Latin"} == set(latin[:16])


@pytest.mark.parametrize(
    ("options", "what"),
    [({"part": "test"}, "part"), ({"most": "0"}, "most"), ({"most": "few"}, "most")],
)
def test_options_that_are_refused(options: dict[str, str], what: str) -> None:
    with pytest.raises(FSLBenchError, match=what):
        glyphs.read(Path(), **options)


def test_characters_are_letters_of_their_script() -> None:
    tools = pytest.importorskip("fontTools.unicodedata", reason="needs fontTools, of `builders`")
    for part in PARTS:
        for character, script in FROZEN.scripts(part).items():
            assert tools.script_name(tools.script(character)) == script
            assert tools.category(character) in {"Lu", "Ll", "Lo"}
            assert unicodedata.normalize("NFKC", character) == character
            assert unicodedata.name(character)


def test_splits_are_those_of_the_rule() -> None:
    scripts: dict[str, str] = {}
    for part in PARTS:
        for script, own in FROZEN.characters[part].items():
            scripts[script] = scripts.get(script, "") + own
    for script, own in scripts.items():
        for part, codes in survey.split(script, map(ord, own)).items():
            assert FROZEN.characters[part][script] == "".join(map(chr, codes)), (script, part)


def test_packages_are_pinned_and_credited() -> None:
    names = [package.name for package in FROZEN.packages]
    assert names == sorted(set(names))
    assert set(names) == FROZEN.credits.keys()
    for package in FROZEN.packages:
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert FROZEN.credits[package.name].creator
        assert FROZEN.credits[package.name].licence
    assert FROZEN.packages == glyphs.PACKAGES
    assert set(glyphs_sample.PACKAGES) < set(glyphs.PACKAGES)
    assert set(FROZEN.serifs.values()) == {"serif", "sans", "neither"}


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
    file = Path(survey.__file__).with_name("collection.json")
    text = file.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
