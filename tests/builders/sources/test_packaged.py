"""Sources that come in packages, as if fetched: emoji, groceries, clip art, grey images."""

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark_spec.errors import BackboneError, SourceError, UnknownNameError
from builders.release.pictures import picture_tables
from builders.sources import pictures
from builders.sources.image_set import Text
from builders.sources.lists import group_of, linked
from builders.sources.packaged import canaries, emoji, grey, groceries, openclipart
from builders.sources.packaged.canaries import CANARY_IMAGES, FAMILIES, digest
from builders.sources.packaged.canaries import pictures as canary_pictures
from builders.sources.packaged.openclipart import read_text, sort_into_classes
from builders.sources.source import source_of
from fslbench_data.pictures import decode

pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")


def _refused(source, folder, said, **how):
    with pytest.raises(SourceError, match=said):
        _read(source, folder, **how)


def _read(source, folder, **how):
    name = source.__name__.rpartition(".")[2]
    return source_of(name).read(folder, **{"expected": EXPECTED[name], **how})


EXPECTED = {
    "emoji": {"role": 9, "sky": 3},
    "groceries": {"Anjou": 2, "Satsumas": 1},
    "openclipart": {"animals/birds": 20},
}


SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">'
    '<rect x="4" width="4" height="8" fill="#f00"/><!-- {} --></svg>'
)
ENTITY = (
    b'<!DOCTYPE svg [<!ENTITY e SYSTEM "/etc/hostname">]>\n'
    b'<svg xmlns="http://www.w3.org/2000/svg">&e;</svg>'
)


def _entry(code, name, subgroup, **other):
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
def drawings(fetched, tmp_path, monkeypatch):
    """Two subgroups, of three emoji and of one; the orca is too new for two vendors."""
    roots, raw = [fetched(package) for package in source_of("emoji").packages], tmp_path / "raw"
    for place in (emoji.OPENMOJI, emoji.GOOGLE, emoji.TWITTER, emoji.FLUENT):
        (raw / place).mkdir(parents=True)
    (roots[0] / "package/data").mkdir()
    (roots[0] / "package/data/openmoji.json").write_text(json.dumps(ENTRIES))
    for code in (entry["hexcode"] for entry in ENTRIES):
        (raw / emoji.OPENMOJI / f"{code}.svg").write_text(SVG.format(code))
    vendors = ("google", emoji.GOOGLE), ("twitter", emoji.TWITTER)
    for root, (style, place) in zip(roots[1:3], vendors, strict=True):
        listed = []
        for code in ("1F9D1-200D-1F373", "1F468-200D-1F373", "2602-FE0F"):
            drawn = (style, code) != ("twitter", "2602-FE0F")
            image = f"{code.lower()}.png"
            listed.append({"unified": code, "image": image, f"has_img_{style}": drawn})
            if drawn:
                pil.new("RGBA", (64, 64), (0, len(listed), 255, 255)).save(raw / place / image)
        (root / "package/emoji.json").write_text(json.dumps(listed))
    for word in ("cook-default", "cook-dark", "man-cook", "umbrella-wet", "orcas"):
        (raw / emoji.FLUENT / f"{word}.svg").write_text(SVG.format(word))
    monkeypatch.setattr(emoji, "MIN_EMOJI", 1)
    return raw


def test_every_emoji_in_the_styles_that_have_it(drawings):
    found = _read(emoji, drawings)
    paths = found.images["path"].to_pylist()
    shown = [f"{emoji.style_of(path)} {Path(path).stem.lower()}" for path in paths]
    vendors = ("openmoji", "noto", "twemoji")
    assert shown == [
        *(f"{vendor} 1f9d1-200d-1f373" for vendor in vendors), "fluent cook-default",
        *(f"{vendor} 1f468-200d-1f373" for vendor in vendors), "fluent man-cook",
        "openmoji 1facd", "openmoji 2602-fe0f", "noto 2602-fe0f", "fluent umbrella-wet",
    ]  # fmt: skip
    assert found.images["group"].to_pylist() == [0] * 8 + [1] + [2] * 3
    assert found.superclasses == ("people-body", "travel-places")
    makers = ("Ann (OpenMoji)", "Google (Noto Emoji)", "Twitter (Twemoji)")
    assert {*found.images["creator"].to_pylist()} == {*makers, "Microsoft (Fluent Emoji)"}
    assert found.texts[paths[11]] == "umbrella: “wet”"


def test_a_drawing_that_is_missing_or_a_list_that_is(drawings):
    (drawings / emoji.OPENMOJI / "1FACD.svg").unlink()
    _refused(emoji, drawings, r"1FACD\.svg is missing")
    left_out = _read(emoji, drawings, allow_missing=True).provenance["left_out"]
    assert left_out["images"] == [f"{emoji.OPENMOJI}/1FACD.svg"]
    (drawings / "openmoji/package/data/openmoji.json").write_text("[")
    _refused(emoji, drawings, r"openmoji\.json cannot be read")


def test_a_damaged_svg(drawings):
    for content, problem in (
        (b"<svg xmlns='http://www.w3.org/2000/svg'><rect", "no XML"),
        (b"", "no XML"),
        (b"<html/>", "no SVG drawing, but 'html'"),
        (ENTITY, "no XML: undefined entity"),
        (b"<?xml version='1.0' encoding='klingon'?><svg/>", "no XML"),
    ):
        (drawings / f"{emoji.OPENMOJI}/1FACD.svg").write_bytes(content)
        _refused(emoji, drawings, rf"1FACD\.svg is damaged: {problem}")


def test_drawings_of_both_kinds_have_one_size(drawings):
    """A release has them as they are shown, where the licence allows it."""
    found = _read(emoji, drawings)
    svg, png = found.open(0), found.open(1)
    assert svg.size == png.size == (64, 64)
    assert svg.getpixel((10, 32)) == (255, 255, 255)
    assert svg.getpixel((50, 32)) == (255, 0, 0)
    assert png.getpixel((10, 32))[::2] == (0, 255)
    (table,) = picture_tables(found)
    licences = found.images["licence"].to_pylist()
    for image_id, row in enumerate(table["image"].to_pylist()):
        if licences[image_id] == "CC BY-SA 4.0":
            assert row is None
        else:
            assert decode(row["bytes"]).tobytes() == found.open(image_id).tobytes()


# ---- groceries: names from the lists, doubles, and which photos show one scene -------------------
NAMES = {
    "train": ["train/Pear/Anjou/Anjou_002.jpg", "train/Kiwi/Kiwi_001.jpg"],
    "test": ["test/Satsumas/Satsumas_001.jpg"],
    "val": ["val/Pear/Anjou/Anjou_001.jpg"],
}
ROWS = [
    ("0", "train", "Pear", "Anjou", b"pear 2"),
    ("2", "test", "Satsumas", "Satsumas", b"satsuma"),
    ("3", "test", "Satsumas", "Satsumas", b"satsuma"),
    ("4", "val", "Pear", "Anjou", b"pear 1"),
]


def _write(folder, rows):
    data = folder / groceries.DATA
    data.mkdir(parents=True, exist_ok=True)
    lists = NAMES | {"train": NAMES["train"] + NAMES["test"]}  # as in the wheel
    for part, names in lists.items():
        (data / f"{part}_list.txt").write_text("".join(f"{name}\n" for name in names) + "\n")
    names = ["__index_level_0__", "dataset", "coarse_cat", "finegrained_cat", "image_data"]
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    pq.write_table(table, data / "images2.parquet")
    return data


def test_each_photo_is_there_once_under_its_name(fetched, tmp_path, monkeypatch):
    _write(fetched(source_of("groceries").packages[0]), ROWS)
    monkeypatch.setattr(groceries, "frozen_groups", lambda: [[NAMES["train"][0], NAMES["val"][0]]])
    found = _read(groceries, tmp_path / "raw")
    assert found.images["path"].to_pylist() == [NAMES["train"][0], *NAMES["val"], *NAMES["test"]]
    assert found.images["group"].to_pylist() == [0, 0, 1]
    assert [found.encoded(image) for image in range(3)] == [b"pear 2", b"pear 1", b"satsuma"]
    assert found.superclasses == ("Pear", "Satsumas")
    assert found.provenance["left_out_by_rule"] == {"doubles": 1}


def test_rows_that_the_lists_contradict(tmp_path):
    for row, message in (
        (("1", "train", "Pear", "Anjou", b"x"), r"row 4 .*Kiwi_001\.jpg"),
        (("0", "train", "Pear", "Kaiser", b"pear 2"), r"row 4 .*Anjou_002\.jpg"),
        (("99", "val", "Pear", "Anjou", b"x"), "name it not at all"),
        (("0", "train", "Pear", "Anjou", b"other"), "two different photos are named train/Pear"),
    ):
        with pytest.raises(SourceError, match=message):
            groceries.read_photos(_write(tmp_path, [*ROWS, row]))
        with pytest.raises(SourceError, match="cannot be read"):
            groceries.read_photos(tmp_path)


def test_what_pairs_link_is_one_group():
    groups = linked([("d", "c"), ("a", "b"), ("e", "f"), ("b", "c"), ("a", "d")])
    assert groups == [["a", "b", "c", "d"], ["e", "f"]]
    assert group_of(groups)["d"] == "a"
    assert linked([]) == []


def test_the_frozen_groups_are_groups():
    groups = groceries.frozen_groups()
    names = [name for members in groups for name in members]
    assert (len(groups), len(names), len(set(names))) == (284, 990, 990)
    for members in groups:
        assert len(members) > 1
        assert list(members) == sorted(members)
        assert len({(name.split("/")[0], groceries.fine_class(name)) for name in members}) == 1
    # 1393 - 990 photos stand for themselves: 687 groups
    assert sum(source_of("groceries").expected.values()) - len(names) + len(groups) == 687


# ---- open clip art: each step of the rule, on drawings that the test makes -----------------------
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


def _rdf(creator="Ann", licence=PUBLIC):
    return RDF.format(creator=creator, licence=licence)


BIRD = Text("A bird", "", ("bird", "animal"), "Ann", "public domain")
LICENCE = f'<cc:license rdf:resource="{PUBLIC}"/>'
BOTH = f'<cc:license rdf:resource="Public Domain"/>{LICENCE}'  # as seven drawings have it
IMAGE = '<svg xmlns:x="http://www.w3.org/1999/xlink"><image x:href="{}"/></svg>'


def test_words_of_a_drawing(tmp_path):
    for svg, expected in (
        (_rdf(), BIRD),
        (_rdf("", ""), replace(BIRD, creator=None, licence=None)),
        (_rdf(licence=GPL), replace(BIRD, licence="GPL-2.0")),
        (_rdf().replace(LICENCE, BOTH), BIRD),
        ("<svg/>", Text()),
        (IMAGE.format("data:image/png;base64,"), Text(complete=True)),
        (IMAGE.format("/home/ann/bird.png"), Text(complete=False)),
    ):
        (tmp_path / "x.svg").write_text(svg)
        assert read_text(tmp_path / "x.svg") == expected


def test_the_same_pixels_are_one_picture_filed_in_several_places():
    filed = {"a/x/1.png": ["a/x"], "a/x/2.png": ["a/x/deep"], "a/y/3.png": ["a/y"]}
    filed |= {f"a/{t}/more{i}.png": [f"a/{t}"] for t in "xy" for i in range(20)}
    pixels = {path: path for path in filed} | {"a/x/2.png": "a/x/1.png"}
    counts = {}
    classes = sort_into_classes(filed, pixels, counts)
    assert {label: len(paths) for label, paths in classes.items()} == {"a/x": 21, "a/y": 21}
    assert (counts["doubles"], counts["in two classes"]) == (1, 0)
    pixels["a/y/3.png"] = "a/x/1.png"
    classes = sort_into_classes(filed, pixels, counts)
    assert {label: len(paths) for label, paths in classes.items()} == {"a/x": 20, "a/y": 20}
    assert (counts["doubles"], counts["in two classes"]) == (2, 1)


def test_a_theme_is_a_class_as_a_whole_where_its_parts_are_small():
    filed = {f"office/{i}.png": ["office"] for i in range(15)}
    filed |= {f"office/telephone/{i}.png": ["office/telephone/old"] for i in range(19)}
    filed |= {f"food/{i}.png": ["food"] for i in range(30)}
    filed |= {f"food/fruit/{i}.png": ["food/fruit"] for i in range(20)}
    filed |= {f"food/dairy/{i}.png": ["food/dairy"] for i in range(19)}
    filed["food/30.png"] = ["food", "office"]  # too general there, so that it has one class
    counts = {}
    classes = sort_into_classes(filed, {path: path for path in filed}, counts)
    found = {label: len(paths) for label, paths in classes.items()}
    assert found == {"food/fruit": 20, "office": 35}
    assert counts == {"doubles": 0, "too general": 30, "in two classes": 0, "in small classes": 19}


@pytest.fixture
def clip_art(fetched, tmp_path):
    """20 birds and what the rule leaves out, in two packages."""
    png, svg = map(fetched, source_of("openclipart").packages)
    png, svg = png / openclipart.PNG, svg / openclipart.SVG

    def draw(path, colour=(0, 0, 0), **words):
        for root in (png, svg):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        (svg / f"{path}.svg").write_text(_rdf(**words))
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
    sign = _rdf().replace("<metadata>", '<image href="bird.png"/><metadata>')
    (svg / "animals/birds/sign.svg").write_text(sign)
    draw("animals/general", (1, 1, 1))
    draw("computer/icons/blue/apps/bird", (2, 2, 2))
    (png / "unsorted").mkdir()
    (png / "unsorted/link.png").symlink_to("../animals/birds/00.png")
    return tmp_path / "raw"


def test_the_whole_rule(clip_art):
    found = _read(openclipart, clip_art)
    prefix = "openclipart-png/usr/share/openclipart/png/animals/birds"
    assert found.images["path"].to_pylist() == [f"{prefix}/{i:02}.png" for i in range(20)]
    assert found.images["creator"][:4].to_pylist() == ["Ann", "Ann", "Ann", None]
    assert set(found.images["licence"].to_pylist()) == {"public domain"}
    assert found.superclasses == ("animals",)
    ones = ("in no subject", "incomplete", "licence: GPL-2.0", "licence: none", "doubles")
    none = ("too large", "in two classes", "in small classes")
    left_out = dict.fromkeys(none, 0) | dict.fromkeys((*ones, "too general"), 1) | {"blank": 2}
    assert found.provenance["left_out_by_rule"] == left_out
    assert found.open(4).size == (3, 1)  # the drawing without the white around it
    assert found.encoded(4) is None
    assert found.texts[f"{prefix}/03.png"] == "A bird. bird, animal"
    more = {"animals/birds": 21}
    _refused(openclipart, clip_art, "birds has 20 images, not 21", expected=more)


def test_damage_is_refused_or_recorded(clip_art):
    text = clip_art / "openclipart-svg" / openclipart.SVG / "animals/birds/05.svg"
    whole = text.read_text()
    for damage in (lambda: text.write_text("<svg>"), text.unlink):
        damage()
        _refused(openclipart, clip_art, r"text of animals/birds/05\.png cannot be read: .*05")
    text.write_text(whole)
    path = clip_art / "openclipart-png" / openclipart.PNG / "animals/birds/05.png"
    path.write_bytes(path.read_bytes()[:60])
    _refused(openclipart, clip_art, "1 file of the raw folder cannot be read")
    assert _read(openclipart, clip_art, allow_missing=True).class_sizes == (19,)
    path.unlink()
    path.symlink_to("nowhere.png")
    _refused(openclipart, clip_art, "leads to no picture")


def test_look_sees_pixels_alone(tmp_path, monkeypatch):
    """Grey on white at opacity 128: (100·128 + 255·127 + 127) // 255 = 177."""
    pil.new("RGBA", (40, 30), (100, 100, 100, 128)).save(tmp_path / "a.png")
    pil.new("L", (40, 30), 177).save(tmp_path / "b.png", compress_level=0)
    pil.new("L", (30, 40), 177).save(tmp_path / "c.png")
    pil.new("RGB", (40, 30), "white").convert("P").save(tmp_path / "white.png")
    a, b, c, white = (pictures.look(tmp_path / f"{name}.png") for name in ("a", "b", "c", "white"))
    assert a.pixels == b.pixels != c.pixels
    assert a.sha256 != b.sha256
    assert (a.blank, white.blank) == (False, True)
    monkeypatch.setattr("fslbench_data.pictures.MOST_PIXELS", 1199)
    assert pictures.look(tmp_path / "a.png") == pictures.Look(a.sha256, None)
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(SourceError, match="no image of a known format"):
        pictures.look(tmp_path / "a.png")


# ---- arrays of grey images: order, pixels and pictures -------------------------------------------
def test_a_picture_is_scaled_to_white():
    levels, source = np.array([[0, 1, 2, 4]], np.uint8), source_of("fashion_mnist")
    found = grey.grey_images(source, Path(), ["f#0"], np.array([0]), levels, 4, {"a": 1}, {})
    assert np.asarray(found.picture("f#0"))[..., 0].tolist() == [[0, 64], [128, 255]]


def _idx(path, values):
    sizes = np.array(values.shape, dtype=">i4").tobytes()
    head = bytes([0, 0, 8, values.ndim])
    path.write_bytes(gzip.compress(head + sizes + values.astype(np.uint8).tobytes()))


def test_fashion_mnist_is_training_part_then_test_part(fetched, tmp_path):
    data = fetched(source_of("fashion_mnist").packages[0]) / grey.FASHION
    data.mkdir(parents=True)
    for part, labels in (("train", [1, 0, 1]), ("t10k", [0])):
        images = np.arange(len(labels) * 4).reshape(-1, 2, 2) + (100 if part == "t10k" else 0)
        _idx(data / f"{part}-images-idx3-ubyte.gz", images)
        _idx(data / f"{part}-labels-idx1-ubyte.gz", np.array(labels))
    source, expected = source_of("fashion_mnist"), {"T-shirt/top": 2, "Trouser": 2}
    found = source.read(tmp_path / "raw", expected=expected)
    shown = ("train", 1), ("t10k", 0), ("train", 0), ("train", 2)
    paths = [f"{part}-images-idx3-ubyte.gz#{row}" for part, row in shown]
    assert found.images["path"].to_pylist() == paths
    assert found.pixels[:, 0].tolist() == [4, 100, 0, 8]
    assert found.white == 255
    test = source.read(tmp_path / "raw", part="test", expected={"T-shirt/top": 1})
    assert test.images["path"].to_pylist() == ["t10k-images-idx3-ubyte.gz#0"]
    assert test.provenance["part"] == "test"
    with pytest.raises(UnknownNameError, match="unknown part 'tset'; did you mean 'test'"):
        source.read(tmp_path / "raw", part="tset")


def test_a_damaged_idx_file_says_what_to_remove(tmp_path):
    path = tmp_path / "dataset-fashion-mnist/usr/share/datasets/fashion-mnist/x.gz"
    path.parent.mkdir(parents=True)
    for data in (b"no gzip", gzip.compress(b"\0\0"), gzip.compress(b"\0\0\x08\1\0\0\0\1\7")[:-9]):
        path.write_bytes(data)
        with pytest.raises(SourceError, match=r"x\.gz cannot be read") as caught:
            grey.read_idx(path)
        assert f"remove {tmp_path / 'dataset-fashion-mnist'} and" in caught.value.fix


# ---- the canaries stay what they are -------------------------------------------------------------
ALL_SHA256 = "f85f4105ba780b00b6d16597b69683d1d4e0ff5dfb7e56890a485728974a6907"
"""Of the 32 digests, one after the other: change it, and published feature sets no longer fit."""


def test_names_and_families():
    assert len({canary.name for canary in CANARY_IMAGES}) == 32
    assert len({canary.sha256 for canary in CANARY_IMAGES}) == 32
    assert [canary.family for canary in CANARY_IMAGES] == [f for f in FAMILIES for _ in range(4)]
    assert all("CC BY 2.0" in c.credit or "Apache-2.0" in c.credit for c in CANARY_IMAGES)
    together = "".join(canary.sha256 for canary in CANARY_IMAGES)
    assert hashlib.sha256(together.encode("ascii")).hexdigest() == ALL_SHA256


def test_the_photographs_are_cut_out_of_scikit_learns():
    load = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn").load_sample_image
    found = canary_pictures()
    assert len(found) == 32
    assert [(c.height, c.width, 3) for c in CANARY_IMAGES] == [pixels.shape for pixels in found]
    np.testing.assert_array_equal(found[3], load("china.jpg"))
    np.testing.assert_array_equal(found[10], load("flower.jpg"))
    np.testing.assert_array_equal(found[7], load("china.jpg")[335:399, 20:84])
    found[3][:] = 0  # which spoils nothing
    assert digest(canary_pictures(CANARY_IMAGES[3:4])[0]) == CANARY_IMAGES[3].sha256


def test_another_decoder_is_noticed(monkeypatch):
    monkeypatch.setattr(canaries, "_photograph", lambda name: np.zeros((427, 640, 3), np.uint8))
    with pytest.raises(BackboneError, match="palace-0 is not what it was") as caught:
        canary_pictures()
    assert CANARY_IMAGES[0].sha256 in caught.value.expected
