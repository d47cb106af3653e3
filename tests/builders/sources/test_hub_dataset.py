"""Data sets that `datasets` reads, from small local folders, with no network."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from benchmark_spec import schemas
from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources.source import read_source

datasets = pytest.importorskip("datasets")
pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


@pytest.fixture(autouse=True)
def _cache_here(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def write(tmp_path):
    """Writes ``repo/<split>.parquet``: pictures of colours 0, 1, ... with the given labels."""

    def make(labels, of, split="train", **damage):
        encoded = []
        for colour in range(len(labels)):
            data = io.BytesIO()
            pil.new("RGB", (2, 3), (colour, 0, 7)).save(data, "PNG")
            encoded.append(damage.get(f"row_{colour}", data.getvalue()))
        images = [None if data is None else {"bytes": data, "path": None} for data in encoded]
        label = datasets.Value(of) if isinstance(of, str) else datasets.ClassLabel(names=[*of])
        features = datasets.Features({"image": datasets.Image(), "label": label})
        table = datasets.Dataset.from_dict({"image": images, "label": labels}, features=features)
        (tmp_path / "repo").mkdir(exist_ok=True)
        table.to_parquet(tmp_path / f"repo/{split}.parquet")
        return encoded

    return make


def read(folder, **how):
    """Read the split `train` of an address, or of the folder `repo` in a folder."""
    if isinstance(folder, Path) and (folder / "repo").exists():
        folder = folder / "repo"
    options = {"title": "Pets", "homepage": "h", "licence": "CC0", "citation": "@misc{pets}"}
    options |= {"repo": str(folder), "split": "train"} | how
    allow = {"allow_missing": options.pop("allow_missing", False)}
    return read_source("hub_dataset", None, name="pets", options=options, **allow)


def refused(at, said, error=SourceError, **how):
    with pytest.raises(error, match=said):
        read(at, **how)


def test_table_in_the_order_of_the_class_label(tmp_path, write):
    encoded = write([0, 1, 0, 1, 1], ("zebra", "ant"))
    write([0, 1], ("zebra", "ant"), split="test")
    found = read(tmp_path)
    schemas.check(found.images, schemas.IMAGES, "pets")
    order = [0, 2, 1, 3, 4]
    assert found.class_names == ("zebra", "ant")
    assert found.class_sizes == (2, 3)
    assert found.images.column("path").to_pylist() == [f"train#{row}" for row in order]
    digests = [hashlib.sha256(encoded[row]).hexdigest() for row in order]
    assert found.images.column("sha256").to_pylist() == digests
    assert np.asarray(found.open(1))[2, 1].tolist() == [2, 0, 7]
    about = {key: found.provenance[key] for key in ("repository", "revision", "split")}
    assert about == {"repository": "repo", "revision": None, "split": "train"}
    assert found.provenance["fingerprint"] is None
    assert found.encoded(1) == encoded[2]


def test_other_labels_are_sorted_as_text(tmp_path, write):
    write(["b", "a", "b"], "string")
    assert read(str(tmp_path / "repo")).class_names == ("a", "b")
    write([10, 9, 10], "int64", split="test")
    found = read(tmp_path, split="test")
    assert found.class_names == ("10", "9")
    assert found.images.column("path").to_pylist() == ["test#0", "test#2", "test#1"]


def test_a_folder_of_pictures(tmp_path, draw):
    train = tmp_path / "repo/train"
    digests = [draw(train / f"{label}/a.png", mark=i) for i, label in enumerate(("cat", "dog"))]
    found = read(tmp_path)
    assert found.class_names == ("cat", "dog")
    assert found.images.column("sha256").to_pylist() == digests
    assert np.asarray(found.open(0))[1, 2].tolist() == [20, 10, 0]


def test_unknown_names_and_columns_of_another_kind(tmp_path, write):
    write([0, 1], ("a", "b"))
    for how, said in (
        ({"split": "val"}, r"unknown split 'val'(.|\n)*one of train"),
        ({"config": "big"}, r"unknown config 'big'(.|\n)*one of default"),
        ({"label": "labels"}, r"unknown column 'labels'; did you mean 'label'"),
        ({"image": "img"}, r"unknown column 'img'(.|\n)*image, label"),
    ):
        refused(tmp_path, said, UnknownNameError, **how)
    refused(tmp_path, "column 'label' holds no images", image="label")
    refused(tmp_path, "column 'image' holds no labels", label="image")


def test_folders_that_will_not_do(tmp_path, write):
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "empty cannot be read")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/train.parquet").write_bytes(b"PAR1")
    refused(tmp_path / "torn", r"torn cannot be read: .*Parquet")
    write([0, 0], ("a", "b"))
    refused(tmp_path, "is a folder, which has no revision 'main'", revision="main")
    refused(tmp_path, "no images of b")
    assert read(tmp_path, allow_missing=True).provenance["left_out"] == {"classes": ["b"]}


@pytest.mark.parametrize(
    ("kind", "labels", "missing"),
    [
        ("string", ["a", None, "b", "", "  "], [1, 3, 4]),
        ("string", ["a", "nan", "b", "-1", "<NA>"], [1, 3, 4]),
        ("int64", [1, -1, 2, None, 0], [1, 3]),
        ("float64", [1.0, float("nan"), 2.0, -1.0, None], [1, 3, 4]),
    ],
)
def test_missing_labels_are_refused_or_recorded(tmp_path, write, kind, labels, missing):
    write(labels, kind)
    rows = ", ".join(f".*train#{row}" for row in missing)
    refused(tmp_path, rf"{len(missing)} entr.* train#1 has no label(.|\n)*{rows}\n")
    found = read(tmp_path, allow_missing=True)
    kept = [row for row in range(5) if row not in missing]
    assert sorted(found.images.column("path").to_pylist()) == [f"train#{row}" for row in kept]
    assert found.provenance["left_out"] == {"images": [f"train#{row}" for row in missing]}


def test_class_labels_that_name_no_class(tmp_path, write):
    write([None, None], "string", split="test")
    refused(tmp_path, "no classes", split="test", allow_missing=True)
    write([0, 1, 2, None], ("a", "", "nan"))
    refused(tmp_path, r"3 entries .* train#1 has no label, but(.|\n)*1, .*2, .*3")
    assert read(tmp_path, allow_missing=True).class_names == ("a",)


def test_labels_of_a_list_beside_pictures(tmp_path, draw):
    for mark, name in enumerate("abc"):
        draw(tmp_path / f"repo/train/{name}.png", mark=mark)
    lines = "file_name,label\na.png,1\nb.png,\nc.png,-1\n"
    (tmp_path / "repo/train/metadata.csv").write_text(lines)
    refused(tmp_path, r"2 entries .* train#1 has no label")


def test_pictures_that_datasets_would_pass_over(tmp_path, draw):
    for mark, name in enumerate(("cat/a.png", "dog/a.png", "cat/b.heic", "dog/b.avif", "dog/c")):
        draw(tmp_path / "repo/train" / name, mark=mark)
    refused(tmp_path, r"3 of 5 pictures .* over: train/cat/b\.heic, (.|\n)*image_folder")


def test_damaged_rows_are_named_or_recorded(tmp_path, write):
    write([0, 1, 0, -1, 1, 1], ("a", "b"), row_1=b"no image", row_2=None)
    refused(tmp_path, "3 entries .* cannot be used: train#1 is damaged")
    found = read(tmp_path, allow_missing=True)
    assert found.images.column("path").to_pylist() == ["train#0", "train#4", "train#5"]
    assert found.provenance["left_out"] == {"images": ["train#1", "train#2", "train#3"]}


def test_a_revision_of_the_hub_is_pinned(hub, tmp_path, write):
    for branch, classes in (("main", ("a", "b")), ("later", ("c", "d"))):
        write([0, 1], classes)
        file = {"data/train.parquet": (tmp_path / "repo/train.parquet").read_bytes()}
        if branch == "main":
            hub.create_repo("org/pets", files=file)
            sha = hub.tag("org/pets", "v1")
        else:
            hub.commit("org/pets", file)
    found = read("org/pets", revision="v1")
    assert found.class_names == ("a", "b")
    assert found.provenance["repository"] == "org/pets"
    assert found.provenance["revision"] == sha != hub.sha("org/pets")
    assert found.provenance["fingerprint"]
    assert read("org/pets").class_names == ("c", "d")
    refused("org/none", r"no data set of the Hub .*404 Client Error(.|\n)*fix")


def test_rows_that_repeat(tmp_path, write):
    """Row 3 is row 1 of the same class, and is left out; 0 and 4 disagree on theirs: both are."""
    encoded = write([0, 1, 0, 1, 1], ("zebra", "ant"))
    write([0, 1, 0, 1, 1], ("zebra", "ant"), row_3=encoded[1], row_4=encoded[0])
    refused(tmp_path, r"2 images .* train#0 = train#4, train#1 = train#3")
    found = read(tmp_path, allow_missing=True)
    assert found.images.column("path").to_pylist() == ["train#2", "train#1"]
    assert found.provenance["left_out"] == {"doubles": ["train#0", "train#3", "train#4"]}
