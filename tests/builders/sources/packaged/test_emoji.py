"""Emoji: which there are, in which styles, and which drawings belong together."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import SourceError
from builders.release.pictures import picture_tables
from builders.sources.packaged import emoji
from fslbench_data.files.pictures import decode

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">'
    '<rect x="4" width="4" height="8" fill="#f00"/><!-- {} --></svg>'
)


def _entry(code: str, name: str, subgroup: str, **other: str) -> dict[str, str]:
    entry = {"hexcode": code, "annotation": name, "subgroups": subgroup, "group": "people-body"}
    return {**entry, "skintone": "", "openmoji_author": "Ann", **other}


ENTRIES = [
    _entry("1F9D1-200D-1F373", "cook", "role"),
    _entry("1F9D1-1F3FB-200D-1F373", "cook: light skin tone", "role", skintone="1"),
    _entry("1F468-200D-1F373", "man cook", "role"),
    _entry("2602-FE0F", "umbrella: “wet”", "sky", group="travel-places"),
    _entry("1FACD", "orca", "role"),
    _entry("1F3FB", "light skin tone", "role", group="component"),
    _entry("E000", "logo", "sky", group="extras-openmoji"),
]


@pytest.fixture
def raw(fetched: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two subgroups, of three emoji and of one; the orca is too new for two vendors."""
    pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    roots = [fetched(package) for package in emoji.PACKAGES]
    for place in (emoji.OPENMOJI, emoji.GOOGLE, emoji.TWITTER, emoji.FLUENT):
        (tmp_path / "raw" / place).mkdir(parents=True)
    (roots[0] / "package/data").mkdir()
    (roots[0] / "package/data/openmoji.json").write_text(json.dumps(ENTRIES))
    for entry in ENTRIES:
        (tmp_path / "raw" / emoji.OPENMOJI / f"{entry['hexcode']}.svg").write_text(
            SVG.format(entry["hexcode"])
        )
    for root, style, place in (
        (roots[1], "google", emoji.GOOGLE),
        (roots[2], "twitter", emoji.TWITTER),
    ):
        listed: list[dict[str, Any]] = []
        for code in ("1F9D1-200D-1F373", "1F468-200D-1F373", "2602-FE0F"):
            drawn = not (style == "twitter" and code == "2602-FE0F")
            image = f"{code.lower()}.png"
            listed.append({"unified": code, "image": image, f"has_img_{style}": drawn})
            if drawn:
                picture = pil.new("RGBA", (64, 64), (0, len(listed), 255, 255))
                picture.save(tmp_path / "raw" / place / image)
        (root / "package/emoji.json").write_text(json.dumps(listed))
    for word in ("cook-default", "cook-dark", "man-cook", "umbrella-wet", "orcas"):
        (tmp_path / "raw" / emoji.FLUENT / f"{word}.svg").write_text(SVG.format(word))
    monkeypatch.setattr(emoji, "MIN_EMOJI", 1)
    monkeypatch.setattr(emoji, "EXPECTED", {"role": 9, "sky": 3})
    return tmp_path / "raw"


def test_every_emoji_in_the_styles_that_have_it(raw: Path) -> None:
    found = emoji.read(raw)
    paths = found.images["path"].to_pylist()
    assert [f"{emoji.style_of(path)} {Path(path).stem.lower()}" for path in paths] == [
        "openmoji 1f9d1-200d-1f373",
        "noto 1f9d1-200d-1f373",
        "twemoji 1f9d1-200d-1f373",
        "fluent cook-default",
        "openmoji 1f468-200d-1f373",
        "noto 1f468-200d-1f373",
        "twemoji 1f468-200d-1f373",
        "fluent man-cook",
        "openmoji 1facd",
        "openmoji 2602-fe0f",
        "noto 2602-fe0f",
        "fluent umbrella-wet",
    ]
    assert found.images["group"].to_pylist() == [0] * 8 + [1] + [2] * 3
    assert found.superclasses == ("people-body", "travel-places")
    assert set(found.images["creator"].to_pylist()) == {
        "Ann (OpenMoji)",
        "Google (Noto Emoji)",
        "Twitter (Twemoji)",
        "Microsoft (Fluent Emoji)",
    }
    assert found.texts is not None
    assert found.texts[paths[11]] == "umbrella: “wet”"


def test_a_drawing_that_is_missing_or_a_list_that_is(raw: Path) -> None:
    (raw / emoji.OPENMOJI / "1FACD.svg").unlink()
    with pytest.raises(SourceError, match=r"1FACD\.svg is missing"):
        emoji.read(raw)
    found = emoji.read(raw, allow_missing=True)
    assert found.provenance["left_out"]["images"] == [f"{emoji.OPENMOJI}/1FACD.svg"]
    (raw / "openmoji/package/data/openmoji.json").write_text("[")
    with pytest.raises(SourceError, match=r"openmoji\.json cannot be read"):
        emoji.read(raw)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'><rect", "no XML"),
        (b"", "no XML"),
        (b"<html/>", "no SVG drawing, but 'html'"),
        (b'<!DOCTYPE svg [<!ENTITY e SYSTEM "/etc/hostname">]>\n'
         b'<svg xmlns="http://www.w3.org/2000/svg">&e;</svg>', "no XML: undefined entity"),
        (b"<?xml version='1.0' encoding='klingon'?><svg/>", "no XML"),
    ],
)  # fmt: skip
def test_a_damaged_svg(raw: Path, content: bytes, problem: str) -> None:
    (raw / f"{emoji.OPENMOJI}/1FACD.svg").write_bytes(content)
    with pytest.raises(SourceError, match=rf"1FACD\.svg is damaged: {problem}"):
        emoji.read(raw)


def test_drawings_of_both_kinds_have_one_size(raw: Path) -> None:
    pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")
    found = emoji.read(raw)
    svg, png = found.open(0), found.open(1)
    assert svg.size == png.size == (64, 64)
    assert svg.getpixel((10, 32)) == (255, 255, 255)
    assert svg.getpixel((50, 32)) == (255, 0, 0)
    assert png.getpixel((10, 32))[::2] == (0, 255)


def test_a_release_has_them_as_they_are_shown_where_the_licence_allows_it(raw: Path) -> None:
    pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")
    found = emoji.read(raw)
    (table,) = picture_tables(found)
    licences = found.images["licence"].to_pylist()
    for image_id, row in enumerate(table["image"].to_pylist()):
        if licences[image_id] == "CC BY-SA 4.0":
            assert row is None
        else:
            assert decode(row["bytes"]).tobytes() == found.open(image_id).tobytes()
