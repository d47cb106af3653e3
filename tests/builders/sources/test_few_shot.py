"""Data sets of the few-shot literature: their real layouts are read, and wrong folders refused."""

import re
from functools import partial

import numpy as np
import pytest
from few_shot_folders import all_classes, shrink, write_cifar, write_few_shot, write_listed

from benchmark_spec import schemas
from benchmark_spec.catalogue import catalogue, few_shot_datasets
from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources import CATALOGUED, FEW_SHOT
from builders.sources.source import class_sizes_from_lists, read_source

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


def _refused(name, folder, said, error=SourceError, **how):
    with pytest.raises(error, match=said):
        read_source(name, folder, **how)


WITH_PARTS = [name for name in FEW_SHOT if len(few_shot_datasets()[name].parts) == 3]


def test_the_names_are_those_of_the_catalogues():
    assert tuple(few_shot_datasets()) == FEW_SHOT
    assert tuple(sorted((*catalogue(), "mscoco_boxes"))) == CATALOGUED


def test_sizes_of_the_parts():
    for name, classes, images in (
        ("miniimagenet", (64, 16, 20), (38_400, 9_600, 12_000)),
        ("tieredimagenet", (351, 97, 160), (448_695, 124_261, 206_209)),  # Ren et al., Table 1
        ("ilsvrc_2012", (712, 158, 130), (915_249, 199_833, 165_682)),
        ("cub_100_50_50", (100, 50, 50), (5_885, 2_950, 2_953)),
        ("cub_130_20_50", (130, 20, 50), (7_648, 1_182, 2_958)),
        ("cub_140_30_30", (140, 30, 30), (8_239, 1_779, 1_770)),
        ("cifar_fs", (64, 16, 20), (38_400, 9_600, 12_000)),
        ("fc100", (60, 20, 20), (36_000, 12_000, 12_000)),
    ):
        parts = few_shot_datasets()[name].parts
        assert list(parts) == ["base", "val", "novel"]
        assert tuple(map(len, parts.values())) == classes
        assert tuple(sum(of.values()) for of in parts.values()) == images
        labels = [label for of in parts.values() for label in of]
        assert len(set(labels)) == len(labels)
        assert all(list(of) == sorted(of) for of in parts.values())


def test_superclasses_lie_within_a_part():
    for name, numbers in (("tieredimagenet", (20, 6, 8)), ("fc100", (12, 4, 4))):
        dataset = few_shot_datasets()[name]
        above = dataset.superclass_of
        of_part = [{above[label] for label in classes} for classes in dataset.parts.values()]
        assert tuple(map(len, of_part)) == numbers
        assert len(set.union(*of_part)) == sum(numbers) == len(dataset.superclasses)
    assert len(few_shot_datasets()["cifar_fs"].superclasses) == 20


@pytest.mark.parametrize("name", FEW_SHOT)
def test_real_layouts_are_read(name, tmp_path, monkeypatch):
    dataset = shrink(monkeypatch)[name]
    folder = write_few_shot(name, tmp_path / name, all_classes(name))
    above = dataset.superclass_of
    for part, classes in dataset.parts.items():
        found = read_source(name, folder, options={"part": part})
        schemas.check(found.images, schemas.IMAGES, name)
        assert found.class_names == tuple(classes)
        assert set(found.class_sizes) == {2}
        assert found.open(0).mode == "RGB"
        assert found.superclasses == (tuple(above[c] for c in classes) if above else None)
        assert found.about.licence == dataset.licence
        assert found.about.title == f"{dataset.title}: {part} classes"
        assert found.provenance["part"] == part
        assert "left_out" not in found.provenance
    assert read_source(name, folder).class_names == tuple(dataset.parts["novel"])
    assert class_sizes_from_lists(name, folder, name, {}) == (2,) * len(dataset.parts["novel"])


@pytest.mark.parametrize("name", FEW_SHOT)
@pytest.mark.parametrize("number", [0, 1, 3])
def test_numbers_of_images_that_are_wrong(name, number, tmp_path, monkeypatch):
    shrink(monkeypatch)
    parts = all_classes(name)
    label, n = list(parts["novel"])[-1], len(parts["novel"])
    said = f"1 of {n} classes are missing: {label}"
    if number:
        said = f"{label} has {number} images, not 2"
        parts["novel"][label] = number
    else:
        del parts["novel"][label]
    folder = write_few_shot(name, tmp_path / name, parts)
    if name == "cropdisease" and number:  # whose numbers of images are not known
        assert read_source(name, folder).class_sizes[-1] == number
        return
    if name == "isic" and not number:  # whose table has a column a class
        _refused(name, folder, f"'{label}' in include_columns does not exist")
        return
    whole = partial(read_source, allow_missing=number == 3)  # too many are always refused
    for check in (whole, lambda *a: class_sizes_from_lists(*a, name, {})):
        with pytest.raises(SourceError, match=re.escape(said)):
            check(name, folder)
    if number == 1:
        found = read_source(name, folder, allow_missing=True)
        assert found.provenance["left_out"]["counts"] == [said]


@pytest.mark.parametrize("name", WITH_PARTS)
def test_classes_of_other_parts(name, tmp_path, monkeypatch):
    shrink(monkeypatch)
    parts = all_classes(name)
    if name == "fc100":  # whose file of names says which classes there are
        folder = write_cifar(tmp_path / name, {"novel": parts["base"]})
        _refused(name, folder, "20 of 20 classes are missing")
        return
    folder = write_few_shot(name, tmp_path / name, {"novel": parts["val"]})
    n = len(parts["val"])
    with pytest.raises(SourceError, match=rf"{n} of the {n} classes are of the part val") as no:
        read_source(name, folder, allow_missing=True)
    assert f"expected: the {len(parts['novel'])} classes of novel" in str(no.value)
    assert 'options = { part = "val" }' in str(no.value)


@pytest.mark.parametrize("name", FEW_SHOT)
def test_another_folder_is_refused(name, tmp_path):
    (tmp_path / "cat").mkdir()
    _refused(name, tmp_path, f"is not the raw folder of {name}")


def test_lists_of_images(tmp_path, monkeypatch):
    shrink(monkeypatch)
    folder = write_listed(tmp_path, all_classes("miniimagenet"))
    found = read_source("miniimagenet", folder)
    assert found.images.column("path")[0].as_py() == "images/n0193011200000000.jpg"
    assert list(found.provenance["lists"]) == ["test.csv"]
    (folder / "val.csv").replace(folder / "test.csv")
    _refused("miniimagenet", folder, "16 of the 16 classes are of the part val")


def test_one_folder_for_all_classes(tmp_path, monkeypatch):
    dataset = shrink(monkeypatch, 1)["tieredimagenet"]
    parts = all_classes("ilsvrc_2012", 1)
    write_few_shot("ilsvrc_2012", tmp_path, parts)
    assert dataset.parts["novel"].keys() <= {label for part in parts.values() for label in part}
    found = read_source("tieredimagenet", tmp_path / "train")
    assert found.class_names == tuple(dataset.parts["novel"])


def test_skipped_images_of_ilsvrc(tmp_path, monkeypatch):
    shrink(monkeypatch, 1)
    folder = write_few_shot("ilsvrc_2012", tmp_path, all_classes("ilsvrc_2012", 1))
    novel = few_shot_datasets()["ilsvrc_2012"].parts["novel"]
    skipped = next(file for file in few_shot_datasets()["ilsvrc_2012"].skipped if file[:9] in novel)
    first = next((folder / "train" / skipped[:9]).iterdir())
    (first.parent / f"{skipped}.JPEG").hardlink_to(first)
    assert len(read_source("ilsvrc_2012", folder).images) == len(novel)


def test_cifar_100_of_its_own_files(tmp_path, monkeypatch):
    shrink(monkeypatch)
    folder = write_cifar(tmp_path, all_classes("cifar_fs"))
    found = read_source("cifar_fs", folder)
    rows = np.fromfile(folder / "cifar-100-binary/train.bin", np.uint8).reshape(-1, 3074)
    path = found.images.column("path")[0].as_py()
    assert path.startswith("cifar-100-binary/train.bin#")
    shown = np.asarray(found.open(0))
    assert shown.shape == (32, 32, 3)
    row = rows[int(path.partition("#")[2])]
    assert shown[1, 2].tolist() == row[2 + 34 :: 1024].tolist()
    with (folder / "cifar-100-binary/test.bin").open("ab") as file:
        file.write(b"x")
    _refused("cifar_fs", folder, "no whole pictures")


def test_groups_of_lesions_and_patients(tmp_path, monkeypatch):
    shrink(monkeypatch)
    lesions = read_source("isic", write_few_shot("isic", tmp_path / "isic", all_classes("isic")))
    assert lesions.images.column("group").to_pylist() == np.repeat(range(7), 2).tolist()
    folder = write_few_shot("chestx", tmp_path / "chestx", all_classes("chestx"))
    assert read_source("chestx", folder).images.column("group").to_pylist() == [0, 1] * 7
    (folder / "images_002/images").rename(folder / "elsewhere")
    _refused("chestx", folder, r"images/0.*png is missing")


def test_no_such_part_and_an_image_of_two_diagnoses(tmp_path):
    _refused("miniimagenet", tmp_path, "test", UnknownNameError, options={"part": "test"})
    _refused("eurosat", tmp_path, "one of novel", UnknownNameError, options={"part": "base"})
    folder = write_few_shot("isic", tmp_path, all_classes("isic"))
    table = folder / "ISIC2018_Task3_Training_GroundTruth.csv"
    table.write_text(table.read_text().replace("1.0,0.0", "1.0,1.0", 1))
    _refused("isic", folder, "ISIC_MEL_0 has 2 labels")
