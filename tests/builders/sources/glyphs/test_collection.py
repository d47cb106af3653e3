"""What is frozen of glyphs holds together."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from benchmark_spec.errors import FSLBenchError
from builders.sources.packaged import glyphs, glyphs_sample
from builders.sources.packaged.glyphs import PARTS, SAMPLE, collection, place_of

FROZEN = collection()


def test_every_character_is_in_one_part_and_no_script_outweighs_the_others() -> None:
    every = [c for part in PARTS for own in FROZEN.characters[part].values() for c in own]
    assert len(every) == len(set(every)) == 5369
    assert {part: len(FROZEN.scripts(part)) for part in PARTS} == {
        "base": 3127,
        "val": 569,
        "novel": 1673,
    }
    assert FROZEN.scripts(SAMPLE).items() <= FROZEN.scripts("novel").items()
    for part in (*PARTS, SAMPLE):
        sizes = {script: len(own) for script, own in FROZEN.characters[part].items()}
        assert min(sizes.values()) >= 10
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


def test_packages_are_pinned_and_credited() -> None:
    names = [package.name for package in FROZEN.packages]
    assert names == sorted(set(names))
    assert set(names) == FROZEN.credits.keys()
    for package in FROZEN.packages:
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert all(FROZEN.credits[package.name])
    assert set(glyphs_sample.PACKAGES) < set(glyphs.PACKAGES)
    assert set(FROZEN.serifs.values()) == {"serif", "sans", "neither"}
