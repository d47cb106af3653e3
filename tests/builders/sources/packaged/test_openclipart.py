"""Open clip art: each step of the rule, on drawings that the test makes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import CatalogueError, SourceError
from builders.sources import pictures
from builders.sources.image_set import Text
from builders.sources.packaged import openclipart
from builders.sources.packaged.openclipart import read_text, sort_into_classes

RDF = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:cc="http://web.resource.org/cc/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<!-- drawn by hand --><metadata><rdf:RDF><cc:Work rdf:about="">
<dc:title> A  bird </dc:title><dc:description/>
<dc:subject><rdf:Bag><rdf:li>bird</rdf:li><rdf:li/><rdf:li>animal</rdf:li><rdf:li>bird</rdf:li>
</rdf:Bag></dc:subject>
<dc:publisher><cc:Agent><dc:title>The library</dc:title></cc:Agent></dc:publisher>
<dc:creator><cc:Agent><dc:title>{creator}</dc:title></cc:Agent></dc:creator>
<cc:license rdf:resource="{licence}"/></cc:Work></rdf:RDF></metadata></svg>"""
PUBLIC = "http://web.resource.org/cc/PublicDomain"
GPL = "http://creativecommons.org/licenses/GPL/2.0/"


def _svg(creator: str = "Ann", licence: str = PUBLIC) -> str:
    return RDF.format(creator=creator, licence=licence)


BIRD = Text("A bird", "", ("bird", "animal"), "Ann", "public domain")
LICENCE = f'<cc:license rdf:resource="{PUBLIC}"/>'
BOTH = f'<cc:license rdf:resource="Public Domain"/>{LICENCE}'  # as seven drawings have it
IMAGE = '<svg xmlns:x="http://www.w3.org/1999/xlink"><image x:href="{}"/></svg>'


@pytest.mark.parametrize(
    ("svg", "expected"),
    [
        (_svg(), BIRD),
        (_svg("", ""), replace(BIRD, creator=None, licence=None)),
        (_svg(licence=GPL), replace(BIRD, licence="GPL-2.0")),
        (_svg().replace(LICENCE, BOTH), BIRD),
        ("<svg/>", Text()),
        (IMAGE.format("data:image/png;base64,"), Text(complete=True)),
        (IMAGE.format("/home/ann/bird.png"), Text(complete=False)),
    ],
)
def test_words_of_a_drawing(tmp_path: Path, svg: str, expected: Text) -> None:
    (tmp_path / "x.svg").write_text(svg)
    assert read_text(tmp_path / "x.svg") == expected


def test_the_same_pixels_are_one_picture_filed_in_several_places() -> None:
    filed = {"a/x/1.png": ["a/x"], "a/x/2.png": ["a/x/deep"], "a/y/3.png": ["a/y"]}
    filed |= {f"a/{t}/more{i}.png": [f"a/{t}"] for t in "xy" for i in range(20)}
    pixels = {path: path for path in filed} | {"a/x/2.png": "a/x/1.png"}
    counts: dict[str, int] = {}
    classes = sort_into_classes(filed, pixels, counts)
    assert {label: len(paths) for label, paths in classes.items()} == {"a/x": 21, "a/y": 21}
    assert (counts["doubles"], counts["in two classes"]) == (1, 0)
    pixels["a/y/3.png"] = "a/x/1.png"
    classes = sort_into_classes(filed, pixels, counts)
    assert {label: len(paths) for label, paths in classes.items()} == {"a/x": 20, "a/y": 20}
    assert (counts["doubles"], counts["in two classes"]) == (2, 1)


def test_a_theme_is_a_class_as_a_whole_where_its_parts_are_small() -> None:
    filed = {f"office/{i}.png": ["office"] for i in range(15)}
    filed |= {f"office/telephone/{i}.png": ["office/telephone/old"] for i in range(19)}
    filed |= {f"food/{i}.png": ["food"] for i in range(30)}
    filed |= {f"food/fruit/{i}.png": ["food/fruit"] for i in range(20)}
    filed |= {f"food/dairy/{i}.png": ["food/dairy"] for i in range(19)}
    filed["food/30.png"] = ["food", "office"]  # too general there, so that it has one class
    counts: dict[str, int] = {}
    classes = sort_into_classes(filed, {path: path for path in filed}, counts)
    found = {label: len(paths) for label, paths in classes.items()}
    assert found == {"food/fruit": 20, "office": 35}
    assert counts == {"doubles": 0, "too general": 30, "in two classes": 0, "in small classes": 19}


@pytest.fixture
def pil() -> Any:
    return pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


@pytest.fixture
def raw(fetched: Callable[..., Path], pil: Any, tmp_path: Path) -> Path:
    """20 birds and what the rule leaves out, in two packages."""
    png = fetched(openclipart.PACKAGES[0]) / openclipart.PNG
    svg = fetched(openclipart.PACKAGES[1]) / openclipart.SVG

    def draw(path: str, colour: tuple[int, ...] = (0, 0, 0), **words: str) -> None:
        for root in (png, svg):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        (svg / f"{path}.svg").write_text(_svg(**words))
        picture = pil.new("RGBA", (9, 7), (0, 0, 0, 0))
        picture.paste((*colour, 255)[:4], (2, 3, 5, 4))
        picture.save(png / f"{path}.png")

    for i in range(20):
        draw(f"animals/birds/{i:02}", (i, 0, 0), creator="" if i == 3 else "Ann")
    draw("animals/birds/double", (7, 0, 0))
    draw("animals/birds/blank", (255, 255, 255))
    draw("animals/birds/clear", (0, 0, 0, 0))
    draw("animals/birds/mine", (9, 9, 9), licence="")
    draw("animals/birds/gpl", (8, 8, 8), licence=GPL)
    draw("animals/birds/sign", (6, 6, 6))
    (svg / "animals/birds/sign.svg").write_text(
        _svg().replace("<metadata>", '<image href="bird.png"/><metadata>')
    )
    draw("animals/general", (1, 1, 1))
    draw("computer/icons/blue/apps/bird", (2, 2, 2))
    (png / "unsorted").mkdir()
    (png / "unsorted/link.png").symlink_to("../animals/birds/00.png")
    return tmp_path / "raw"


def test_the_whole_rule(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclipart, "EXPECTED", {"animals/birds": 20})
    found = openclipart.read(raw)
    prefix = "openclipart-png/usr/share/openclipart/png/animals/birds"
    assert found.images["path"].to_pylist() == [f"{prefix}/{i:02}.png" for i in range(20)]
    assert found.images["creator"][:4].to_pylist() == ["Ann", "Ann", "Ann", None]
    assert set(found.images["licence"].to_pylist()) == {"public domain"}
    assert found.superclasses == ("animals",)
    assert found.provenance["left_out_by_rule"] == {
        "in no subject": 1,
        "incomplete": 1,
        "licence: GPL-2.0": 1,
        "licence: none": 1,
        "blank": 2,
        "too large": 0,
        "doubles": 1,
        "too general": 1,
        "in two classes": 0,
        "in small classes": 0,
    }
    assert found.open(4).size == (3, 1)  # the drawing without the white around it
    assert found.encoded(4) is None
    assert found.texts is not None
    assert found.texts[f"{prefix}/03.png"] == "A bird. bird, animal"

    monkeypatch.setattr(openclipart, "EXPECTED", {"animals/birds": 21})
    with pytest.raises(CatalogueError, match="animals/birds has 20 images, not 21"):
        openclipart.read(raw)


def test_damage_is_refused_or_recorded(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclipart, "EXPECTED", {"animals/birds": 20})
    path = raw / "openclipart-png" / openclipart.PNG / "animals/birds/05.png"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(SourceError, match="1 file of the raw folder cannot be read"):
        openclipart.read(raw)
    found = openclipart.read(raw, allow_missing=True)
    assert found.class_sizes == (19,)
    path.unlink()
    path.symlink_to("nowhere.png")
    with pytest.raises(SourceError, match="leads to no picture"):
        openclipart.read(raw)


def test_a_drawing_without_its_text_is_refused(raw: Path) -> None:
    text = raw / "openclipart-svg" / openclipart.SVG / "animals/birds/05.svg"
    text.write_text("<svg>")
    with pytest.raises(SourceError, match=r"text of animals/birds/05\.png cannot be read: .*05"):
        openclipart.read(raw)
    text.unlink()
    with pytest.raises(SourceError, match=r"text of animals/birds/05\.png cannot be read"):
        openclipart.read(raw)


def test_look_sees_pixels_whatever_the_file(
    pil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grey on white at opacity 128: (100·128 + 255·127 + 127) // 255 = 177."""
    pil.new("RGBA", (40, 30), (100, 100, 100, 128)).save(tmp_path / "a.png")
    pil.new("L", (40, 30), 177).save(tmp_path / "b.png", compress_level=0)
    pil.new("L", (30, 40), 177).save(tmp_path / "c.png")
    pil.new("RGB", (40, 30), "white").convert("P").save(tmp_path / "white.png")
    a, b, c, white = (pictures.look(tmp_path / f"{name}.png") for name in ("a", "b", "c", "white"))
    assert a.pixels == b.pixels != c.pixels
    assert a.sha256 != b.sha256
    assert (a.blank, white.blank) == (False, True)
    monkeypatch.setattr("fslbench_data.files.pictures.MOST_PIXELS", 1199)
    assert pictures.look(tmp_path / "a.png") == pictures.Look(a.sha256, None)
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(SourceError, match="no image of a known format"):
        pictures.look(tmp_path / "a.png")
