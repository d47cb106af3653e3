"""Sources that the catalogue lists, from small raw folders, and the split they are drawn from."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from benchmark_spec import schemas
from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SourceError
from builders.sources import CATALOGUED
from builders.sources.catalogued import crop, drawn_positions, held_out, text_order
from builders.sources.source import source_of

pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


aircraft, cub, dtd, fungi, mscoco, mscoco_boxes, omniglot, *others = map(source_of, CATALOGUED)
quickdraw, traffic_signs, vgg_flower = others


def _refused(source, folder, said, **how):
    with pytest.raises(SourceError, match=said):
        source.read(folder, **how)


def test_dtd_table(tmp_path, draw, class_lists):
    for texture in class_lists["dtd"]:
        (tmp_path / "images" / texture).mkdir(parents=True)
    draw(tmp_path / "images/waffled/waffled_0001.jpg")  # a class of the training split
    (tmp_path / "images/woven/.directory").write_text("left over")
    (tmp_path / "images/woven/readme.txt").write_text("no image")
    second = draw(tmp_path / "images/woven/woven_0002.jpg", mark=2)
    first = draw(tmp_path / "images/woven/woven_0001.jpg", mark=1)
    bumpy = draw(tmp_path / "images/bumpy/bumpy_0100.jpg", mark=3)
    found = dtd.read(tmp_path, expected={"bumpy": 1, "woven": 2})
    assert found.name == "dtd"
    assert found.class_names == ("bumpy", "woven")
    assert found.class_sizes == (1, 2)
    schemas.check(found.images, schemas.IMAGES, "dtd")
    names = ("bumpy/bumpy_0100", "woven/woven_0001", "woven/woven_0002")
    assert found.images.to_pydict() == {
        "image_id": [0, 1, 2],
        "class_id": [0, 1, 1],
        "class_name": ["bumpy", "woven", "woven"],
        "path": [f"images/{name}.jpg" for name in names],
        "sha256": [bumpy, first, second],
        **dict.fromkeys(("group", "creator", "licence"), [None] * 3),
    }
    assert found.open(2).mode == "RGB"
    assert np.asarray(found.open(2))[2, 3].tolist() == [30, 20, 2]
    assert found.provenance["split"]["seed"] == 22
    assert "left_out" not in found.provenance
    _refused(dtd, tmp_path, "5 of 7 classes are missing")  # of the catalogue's


def test_another_folder_is_refused(tmp_path):
    for source, missing in (
        (aircraft, "no data/images, data/variants.txt"),
        (cub, "no classes.txt, images"),
        (dtd, "no images"),
        (fungi, "no train.json, val.json"),
        (mscoco, "no train2017, annotations/instances_train2017.json"),
        (omniglot, "no images_evaluation"),
        (quickdraw, "no <class>.npy"),
        (traffic_signs, "no Final_Training/Images"),
        (vgg_flower, "no imagelabels.mat, jpg"),
    ):
        _refused(source, tmp_path, rf"not the raw folder of .*{missing}")


def test_cub(tmp_path, draw):
    """Its list of 200 classes with images of the first and the last test class."""
    known = {int(label[:3]): label for label in lookup("cub").class_names}
    labels = [known.get(i, f"{i:03d}.Bird_{i}") for i in range(1, 201)]
    listed, lines = tmp_path / "classes.txt", [f"{i} {label}" for i, label in enumerate(labels, 1)]
    listed.write_text("\n".join(lines))
    paths = ("008.Rhinoceros_Auklet/c", "194.Cactus_Wren/a_10", "194.Cactus_Wren/b_9")
    for mark, path in enumerate((*reversed(paths), "001.Bird_1/c")):
        draw(tmp_path / f"images/{path}.jpg", mark=mark)
    found = cub.read(tmp_path, expected={"008.Rhinoceros_Auklet": 1, "194.Cactus_Wren": 2})
    assert found.class_names == ("008.Rhinoceros_Auklet", "194.Cactus_Wren")
    assert found.images.column("path").to_pylist() == [f"images/{path}.jpg" for path in paths]
    assert len(found.provenance["lists"]["classes.txt"]) == 64
    listed.write_text("\n".join(lines[:150]))
    _refused(cub, tmp_path, "150 classes are listed")
    listed.write_text("1 001.a\n2\n")
    _refused(cub, tmp_path, r"classes.txt: line 2 has 1 fields, not 2")


def test_omniglot_is_inverted(tmp_path, draw):
    evaluation = tmp_path / "images_evaluation"
    path = evaluation / "Tengwar/character02/1234_01.png"
    path.parent.mkdir(parents=True)
    drawing = pil.new("1", (3, 3), 1)
    drawing.putpixel((1, 0), 0)  # a black stroke on white, one bit a pixel
    drawing.save(path)
    draw(evaluation / "Tengwar/character01/1.png")
    draw(evaluation / "Angelic/character03/1.png")
    draw(tmp_path / "images_background/Latin/character01/1.png")
    expected = {"Angelic-character03": 1, "Tengwar-character01": 1, "Tengwar-character02": 1}
    found = omniglot.read(tmp_path, expected=expected)
    assert found.images.column("class_name").to_pylist() == list(expected)
    assert found.images.column("path")[2].as_py() == str(path.relative_to(tmp_path).as_posix())
    shown = np.asarray(found.open(2))
    assert found.superclasses == ("Angelic", "Tengwar", "Tengwar")
    assert shown.shape == (3, 3, 3)
    assert shown[0, 1].tolist() == [255] * 3
    assert shown.sum() == 3 * 255
    assert np.asarray(found.open(1))[1, 2].tolist() == [255 - 20, 255 - 10, 255]
    draw(evaluation / "Klingon/character01/1.png")
    said = "unexpected classes: Klingon-character01"
    _refused(omniglot, tmp_path, said, allow_missing=True)


def test_traffic_signs_in_tracks(tmp_path, draw):
    images = tmp_path / "Final_Training/Images"
    frames = ("00001/00007_00001", "00001/00000_00000", "00001/00000_00029", "00000/00000_00000")
    for frame in frames:
        draw(images / f"{frame}.ppm")
    (images / "00001/GT-00001.csv").write_text("Filename;Width\n")
    expected = {"Speed limit (20km/h)": 1, "Speed limit (30km/h)": 3}
    found = traffic_signs.read(tmp_path, expected=expected)
    assert found.class_names == tuple(expected)
    assert found.superclasses == ("speed limit", "speed limit")
    paths = [f"Final_Training/Images/{frame}.ppm" for frame in sorted(frames)]
    assert found.images.column("path").to_pylist() == paths
    # track 00000 of class 1 is another one than track 00000 of class 0
    assert found.images.column("group").to_pylist() == [0, 1, 1, 2]


BY_NAME = {source.name: source for source in (aircraft, dtd, mscoco, quickdraw)}
# name: split, digits of the number that a class name begins with, number of the first class
BY_NUMBER = {
    "cub": (cub.split, 3, 1),
    "fungi": (fungi.split, 4, 0),
    "vgg_flower": (vgg_flower.split, 3, 1),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_of_the_names_of_all_classes(name, class_lists):
    tested = held_out(BY_NAME[name], class_lists[name], Path("list"))
    assert tested == list(lookup(name).class_names)


@pytest.mark.parametrize("name", BY_NUMBER)
def test_of_the_numbers_of_all_classes(name):
    split, digits, first = BY_NUMBER[name]
    numbers = [int(label[:digits]) for label in lookup(name).class_names]
    assert [first + position for position in drawn_positions(*split)] == numbers


# ---- lists of images: FGVC-Aircraft, FGVCx Fungi and VGG Flower ----------------------------------
PLANES = {"737-400": 2, "Spitfire": 1}


@pytest.fixture
def planes(tmp_path, draw, class_lists):
    """All 100 variants, in another order than sorted, with four images, one of training."""
    data = tmp_path / "data"
    for number in (2, 1, 3, 4):
        draw(data / f"images/000000{number}.jpg", (12, 9), number)
    (data / "variants.txt").write_text("\n".join(reversed(class_lists["aircraft"])))
    (data / "images_variant_trainval.txt").write_text("0000002 737-400\n0000004 F-16A/B\n")
    (data / "images_variant_test.txt").write_text("0000001 737-400\n0000003 Spitfire\n")
    boxes = "0000001 1 1 12 9\n0000002 2 1 7 6\n0000003 3 4 5 8\n0000004 1 1 2 2\n"
    (data / "images_box.txt").write_text(boxes)
    return tmp_path


def test_aircraft_and_crops(planes):
    found = aircraft.read(planes, expected=PLANES)
    assert found.images.column("class_name").to_pylist() == ["737-400", "737-400", "Spitfire"]
    boxes = ("1.jpg#xywh=1,1,11,8", "2.jpg#xywh=2,1,5,5", "3.jpg#xywh=3,4,2,4")
    assert found.images.column("path").to_pylist() == [f"data/images/000000{b}" for b in boxes]
    assert found.images.column("group").null_count == 3
    crop = np.asarray(found.open(1))
    assert crop.shape == (5, 5, 3)
    assert crop[0, 0].tolist() == [20, 10, 2]
    assert crop[-1, -1].tolist() == [60, 50, 2]
    lists = ("variants", "images_box", "images_variant_trainval", "images_variant_test")
    assert set(found.provenance["lists"]) == {f"data/{name}.txt" for name in lists}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("images_box.txt", "0000001 1 1 12 9\n", "no box of 0000002, 0000003"),
        ("images_box.txt", "0000001 1 1 12\n", "line 1 has 4 fields, not 5"),
        ("images_box.txt", "0000001 5 1 2 9\n", "line 1 has no box: 5 1 2 9"),
        ("images_box.txt", "0000001 a 1 2 9\n", "line 1 invalid literal"),
        ("images_variant_test.txt", "0000001 Graf Zeppelin\n", "is of 'Graf Zeppelin'"),
        ("images_variant_test.txt", "1 Spitfire\n1 Spitfire\n", "line 2 names 1 again"),
    ],
)
def test_damaged_lists_of_aircraft(planes, file, text, message):
    (planes / "data" / file).write_text(text)
    _refused(aircraft, planes, message, expected=PLANES)


SPECIES = {int(label[:4]): label[5:] for label in lookup("fungi").class_names}
CATEGORIES = [{"id": i, "name": SPECIES.get(i, f"fungus {i}")} for i in reversed(range(1394))]
FUNGI = {"0008.Agaricus campestris": 3, "0482.Hygrophorus hypothejus f. hypothejus ": 1}


def _write_fungi(path, images, categories=CATEGORIES):
    named = [
        {"id": i, "file_name": f"images/{c}/{i}.jpg", "rights_holder": f"person {i}"}
        for i, c in images.items()
    ]
    annotations = [{"image_id": i, "category_id": c} for i, c in images.items()]
    content = {"images": named, "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(content))


def test_fungi(tmp_path, draw):
    train, val = {7: 8, 3: 482, 5: 0, 2: 8}, tmp_path / "val.json"
    _write_fungi(tmp_path / "train.json", train)
    _write_fungi(val, {1: 8})
    for image, category in {**train, 1: 8}.items():
        draw(tmp_path / f"images/{category}/{image}.jpg")
    found = fungi.read(tmp_path, expected=FUNGI)
    assert found.class_names == tuple(FUNGI)
    # in the order of train.json, then of val.json
    paths = [f"images/{path}.jpg" for path in ("8/7", "8/2", "8/1", "482/3")]
    assert found.images.column("path").to_pylist() == paths
    assert found.images.column("creator")[0].as_py() == "person 7"
    assert found.superclasses == tuple(name[5:].split()[0] for name in FUNGI)
    assert set(found.provenance["lists"]) == {"train.json", "val.json"}
    _write_fungi(val, {7: 8})
    _refused(fungi, tmp_path, "image 7 has two annotations")
    _write_fungi(val, {1: 8}, [*CATEGORIES[:-1], {"id": 0, "name": "else"}])
    _refused(fungi, tmp_path, r"other categories: 0000\.else, 0000\.fungus 0")
    content = {"images": [{"id": 4, "file_name": "x.jpg"}], "annotations": []}
    _write_fungi(tmp_path / "train.json", {})
    for text, said in (
        (json.dumps({**content, "categories": CATEGORIES}), "image x.jpg has no annotation"),
        (json.dumps(content), "val.json has no list of categories"),
        (json.dumps({**content, "categories": [{"id": 0}]}), "an entry lacks 'name'"),
        ('{"images": [', "val.json is no JSON file"),
    ):
        val.write_text(text)
        _refused(fungi, tmp_path, said)


FLOWERS = {"005.english marigold": 2, "098.mexican petunia": 1}


def _labels(folder, labels, name="labels"):
    savemat(folder / "imagelabels.mat", {name: np.array([labels], np.uint8)})


def test_flowers(tmp_path, draw):
    _labels(tmp_path, [98, 5, 1, 5])
    for number in range(1, 5):
        draw(tmp_path / f"jpg/image_{number:05d}.jpg", mark=number)
    found = vgg_flower.read(tmp_path, expected=FLOWERS)
    assert found.class_names == tuple(FLOWERS)
    paths = [f"jpg/image_0000{number}.jpg" for number in (2, 4, 1)]
    assert found.images.column("path").to_pylist() == paths
    assert [np.asarray(found.open(i))[0, 0, 2] for i in range(3)] == [2, 4, 1]
    assert len(found.provenance["lists"]["imagelabels.mat"]) == 64
    _labels(tmp_path, [5, 103])
    _refused(vgg_flower, tmp_path, "categories 5 to 103")
    _labels(tmp_path, [5], name="names")
    _refused(vgg_flower, tmp_path, "no variable 'labels'")
    (tmp_path / "imagelabels.mat").write_bytes(b"not MATLAB")
    _refused(vgg_flower, tmp_path, r"imagelabels.mat cannot be read")


# ---- MS COCO: scaled boxes, one a pair or all, crowds, groups ------------------------------------
PHOTOS = {"000000000003.jpg": 3, "000000000009.jpg": 9}
ANNOTATIONS = [
    # photo, category, box x y w h, crowd
    (9, "bicycle", (5, 4, 5, 5), 0),
    (3, "bicycle", (2, 2, 3, 2), 0),
    (9, "bicycle", (0, 0, 20, 15), 1),  # the largest, but a crowd
    (9, "bicycle", (1, 1, 5, 5), 0),  # as large as the first
    (9, "bicycle", (2, 2, 4, 4), 0),
    (9, "person", (1, 1, 2, 2), 0),  # of the validation split
    (9, "cup", (3, 3, 10, 5), 1),  # a crowd alone
    (9, "cup", (40, 3, 5, 5), 0),  # outside of the photograph
]
PAIRS = {"bicycle": 2, "cup": 1}
BOXES = {"bicycle": 5, "cup": 1}


def _write_json(folder, place, content):
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text(json.dumps(content))


@pytest.fixture
def content(class_lists):
    """What the annotation file holds; category ids have gaps, as COCO's."""
    ids = {label: 2 * i + 1 for i, label in enumerate(class_lists["mscoco"])}
    return {
        "licenses": [{"id": 1, "name": "Attribution License"}],
        "categories": [{"id": i, "name": label} for label, i in ids.items()],
        "images": [
            {"id": i, "file_name": name, "width": 20, "height": 15, "license": 1}
            for name, i in PHOTOS.items()
        ],
        "annotations": [
            {"id": i, "image_id": photo, "category_id": ids[label], "bbox": box, "iscrowd": crowd}
            for i, (photo, label, box, crowd) in enumerate(ANNOTATIONS)
        ],
    }


@pytest.fixture
def photos(tmp_path, draw, content):
    for name, mark in PHOTOS.items():
        draw(tmp_path / "train2017" / name, (20, 15), mark)
    _write_json(tmp_path, "annotations/instances_train2017.json", content)
    return tmp_path


def test_crops_by_hand():
    # 10 x 10 at (20, 30), by 1.2: x from 19 to 31, y from 29 to 41; less half a pixel and rounded
    # to the even: columns 18 (18.5) to 30 (30.5), which end at 31
    assert crop((20.0, 30.0, 10.0, 10.0), 100, 100) == "18,28,13,13"
    assert crop((0.0, 0.0, 10.0, 10.0), 8, 100) == "0,0,8,11"  # cut at the edges
    assert crop((3.0, 3.0, 0.0, 0.0), 9, 9) == "2,2,1,1"  # a box of no size is one pixel
    assert crop((50.0, 3.0, 5.0, 5.0), 9, 9) == ""


def test_one_crop_of_each_pair(photos, draw):
    found = mscoco.read(photos, expected=PAIRS)
    assert found.class_names == ("bicycle", "cup")
    assert found.images.column("path").to_pylist() == [
        # x 1.7 to 5.3, y 1.8 to 4.2; less half: 1.2 to 4.8, 1.3 to 3.7
        "train2017/000000000003.jpg#xywh=1,1,5,4",
        # of the two largest that are no crowd the first: 4.5 to 10.5, 3.5 to 9.5; less half
        "train2017/000000000009.jpg#xywh=4,3,7,7",
        "train2017/000000000009.jpg#xywh=2,2,13,7",
    ]
    assert found.images.column("group").to_pylist() == [0, 1, 1]
    assert set(found.images.column("licence").to_pylist()) == {"Attribution License"}
    sha = draw(photos / "train2017/000000000009.jpg", (20, 15), 9)
    assert found.images.column("sha256").to_pylist()[1:] == [sha, sha]
    shown = np.asarray(found.open(1))
    assert shown.shape == (7, 7, 3)
    assert shown[0, 0].tolist() == [40, 30, 9]
    assert found.provenance["split"]["classes"] == {"train": 0, "valid": 40, "test": 40}


def test_a_crop_of_every_annotation(photos, content):
    (photos / "annotations/instances_train2017.json").unlink()
    _write_json(photos, "instances_train2017.json", content)  # where Meta-Dataset has it
    found = mscoco_boxes.read(photos, expected=BOXES)
    assert found.class_sizes == (5, 1)
    boxes = ["1,1,5,4", "4,3,7,7", "0,0,20,15", "0,0,7,7", "1,1,6,6", "2,2,13,7"]
    assert [path.partition("xywh=")[2] for path in found.images.column("path").to_pylist()] == boxes
    assert found.images.column("group").to_pylist() == [0, 1, 1, 1, 1, 1]
    assert set(found.provenance["lists"]) == {"instances_train2017.json"}


def test_expected_counts():
    assert sum(mscoco.expected.values()) == 151_545
    assert sum(mscoco_boxes.expected.values()) == 346_980
    assert list(mscoco_boxes.expected) == list(lookup("mscoco").class_names)
    assert all(mscoco_boxes.expected[label] >= n for label, n in mscoco.expected.items())
    assert "346,980" in mscoco_boxes.about.note


def test_annotations_that_will_not_do(photos, content):
    place = "annotations/instances_train2017.json"
    first, *others = content["annotations"]
    _write_json(photos, place, {**content, "annotations": [{**first, "image_id": 4}, *others]})
    _refused(mscoco, photos, "annotation 0 is of image 4")
    _write_json(photos, place, {**content, "annotations": [{**first, "bbox": [1, 2, 3]}]})
    _refused(mscoco, photos, "an entry is malformed")
    (photos / place).write_text("{}")
    _refused(mscoco, photos, "no list of images, annotations, categories")


# ---- Quick, Draw!: the order of rows, digests, and damaged files ---------------------------------
DRAWINGS = {"angel": 12, "animal migration": 3}


@pytest.fixture
def drawings(tmp_path):
    """Files of two test classes, of both shapes, and of a training class."""
    generator = np.random.Generator(np.random.PCG64(0))
    found = {
        "angel": generator.integers(0, 256, (12, 784), dtype=np.uint8),
        "animal migration": generator.integers(0, 256, (3, 28, 28), dtype=np.uint8),
        "swan": np.zeros((2, 784), np.uint8),
    }
    for label, bitmaps in found.items():
        np.save(tmp_path / f"{label}.npy", bitmaps)
    return found


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 100, 1234])
def test_rows_come_as_their_file_names_sort(n):
    names = sorted(f"file_{i}.png" for i in range(1, n + 1))
    assert [f"file_{row + 1}.png" for row in text_order(n).to_pylist()] == names


def test_drawings(tmp_path, drawings):
    steps = []
    found = quickdraw.read(tmp_path, expected=DRAWINGS, progress=steps.append)
    assert found.class_names == tuple(DRAWINGS)
    assert found.class_sizes == (12, 3)
    schemas.check(found.images, schemas.IMAGES, "quickdraw")
    rows = [0, 9, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8]  # 1, 10, 11, 12, 2, ...
    ordered = [*drawings["angel"][rows], *drawings["animal migration"]]
    names = ["angel"] * 12 + ["animal migration"] * 3
    assert found.images.to_pydict() == {
        "image_id": list(range(15)),
        "class_id": [0] * 12 + [1] * 3,
        "class_name": names,
        "path": [f"{name}.npy#{row}" for name, row in zip(names, [*rows, 0, 1, 2], strict=True)],
        "sha256": [hashlib.sha256(drawing.tobytes()).hexdigest() for drawing in ordered],
        **dict.fromkeys(("group", "creator", "licence"), [None] * 15),
    }
    assert len(steps) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{label}.npy" for label in drawings]
    for image_id in (1, 13):
        shown = np.asarray(found.open(image_id))
        assert (shown == ordered[image_id].reshape(28, 28, 1)).all()
        assert shown.shape == (28, 28, 3)


@pytest.mark.usefixtures("drawings")
def test_missing_classes_and_other_counts(tmp_path):
    _refused(quickdraw, tmp_path, "50 of 52 classes are missing: axe")
    expected = {**DRAWINGS, "angel": 13, "axe": 1}
    found = quickdraw.read(tmp_path, expected=expected, allow_missing=True)
    left_out = {"classes": ["axe"], "counts": ["angel has 12 images, not 13"]}
    assert found.provenance["left_out"] == left_out
    for label in DRAWINGS:
        (tmp_path / f"{label}.npy").unlink()
    _refused(quickdraw, tmp_path, "no images are left", allow_missing=True)


@pytest.mark.usefixtures("drawings")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (np.zeros((2, 100), np.uint8), r"uint8 of shape \(2, 100\)"),
        (np.zeros((2, 784), np.float32), r"float32 of shape \(2, 784\)"),
        (b"", "is damaged"),
        (b"no array", "is damaged"),
        (None, "is damaged"),  # cut
    ],
)
def test_damaged_files(tmp_path, content, problem):
    path = tmp_path / "angel.npy"
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_bytes(path.read_bytes()[:1000] if content is None else content)
    said = rf"angel.npy is damaged: .*{problem}|{problem}"
    _refused(quickdraw, tmp_path, said, expected=DRAWINGS)
    found = quickdraw.read(tmp_path, expected=DRAWINGS, allow_missing=True)
    assert found.class_names == ("animal migration",)
    assert found.provenance["left_out"] == {"images": ["angel.npy"], "classes": ["angel"]}
