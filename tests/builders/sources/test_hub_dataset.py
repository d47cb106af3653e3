"""Data sets that `datasets` reads, from small local folders, with no network."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hub_server import HubServer

from benchmark_spec import schemas
from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources import hub_dataset
from builders.sources.image_set import About

Draw = Callable[..., str]
Write = Callable[..., list[bytes]]
PETS: dict[str, Any] = {
    "name": "pets",
    "about": About("Pets", "https://example.org", "CC0", "@misc{pets}"),
    "split": "train",
}


@pytest.fixture(autouse=True)
def _cache_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes ``repo/<split>.parquet``: pictures of colours 0, 1, ... with the given labels."""
    pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    datasets = pytest.importorskip("datasets")

    def make(
        labels: list[Any],
        feature: Any,
        *,
        split: str = "train",
        damage: dict[int, bytes | None] | None = None,
    ) -> list[bytes]:
        encoded = []
        for colour in range(len(labels)):
            data = io.BytesIO()
            pil.new("RGB", (2, 3), (colour, 0, 7)).save(data, "PNG")
            encoded.append((damage or {}).get(colour, data.getvalue()))
        images = [None if data is None else {"bytes": data, "path": None} for data in encoded]
        features = datasets.Features({"image": datasets.Image(), "label": feature})
        table = datasets.Dataset.from_dict({"image": images, "label": labels}, features=features)
        (tmp_path / "repo").mkdir(exist_ok=True)
        table.to_parquet(tmp_path / f"repo/{split}.parquet")
        return encoded

    return make


def _classes(*names: str) -> Any:
    return pytest.importorskip("datasets").ClassLabel(names=list(names))


def _value(kind: str) -> Any:
    return pytest.importorskip("datasets").Value(kind)


def test_table_in_the_order_of_the_class_label(tmp_path: Path, write: Write) -> None:
    encoded = write([0, 1, 0, 1, 1], _classes("zebra", "ant"))
    write([0, 1], _classes("zebra", "ant"), split="test")
    found = hub_dataset.read(tmp_path / "repo", **PETS)
    schemas.check(found.images, schemas.IMAGES, "pets")
    order = [0, 2, 1, 3, 4]
    assert found.class_names == ("zebra", "ant")
    assert found.class_sizes == (2, 3)
    assert found.images.column("path").to_pylist() == [f"train#{row}" for row in order]
    assert found.images.column("sha256").to_pylist() == [
        hashlib.sha256(encoded[row]).hexdigest() for row in order
    ]
    assert np.asarray(found.open(1))[2, 1].tolist() == [2, 0, 7]
    about = {key: found.provenance[key] for key in ("repository", "revision", "split")}
    assert about == {"repository": "repo", "revision": None, "split": "train"}
    assert found.provenance["fingerprint"] is None
    assert found.encoded(1) == encoded[2]


def test_other_labels_are_sorted_as_text(tmp_path: Path, write: Write) -> None:
    write(["b", "a", "b"], _value("string"))
    assert hub_dataset.read(str(tmp_path / "repo"), **PETS).class_names == ("a", "b")
    write([10, 9, 10], _value("int64"), split="test")
    found = hub_dataset.read(tmp_path / "repo", **{**PETS, "split": "test"})
    assert found.class_names == ("10", "9")
    assert found.images.column("path").to_pylist() == ["test#0", "test#2", "test#1"]


def test_a_folder_of_pictures(tmp_path: Path, draw: Draw) -> None:
    digests = [
        draw(tmp_path / f"repo/train/{name}.png", mark=mark)
        for mark, name in enumerate(("cat/a", "dog/a"))
    ]
    found = hub_dataset.read(tmp_path / "repo", **PETS)
    assert found.class_names == ("cat", "dog")
    assert found.images.column("sha256").to_pylist() == digests
    assert np.asarray(found.open(0))[1, 2].tolist() == [20, 10, 0]


def test_unknown_names_and_columns_of_another_kind(tmp_path: Path, write: Write) -> None:
    write([0, 1], _classes("a", "b"))
    repo = tmp_path / "repo"
    with pytest.raises(UnknownNameError, match=r"unknown split 'val'(.|\n)*one of train"):
        hub_dataset.read(repo, **{**PETS, "split": "val"})
    with pytest.raises(UnknownNameError, match=r"unknown config 'big'(.|\n)*one of default"):
        hub_dataset.read(repo, **PETS, config="big")
    with pytest.raises(UnknownNameError, match=r"unknown column 'labels'; did you mean 'label'"):
        hub_dataset.read(repo, **PETS, label="labels")
    with pytest.raises(UnknownNameError, match=r"unknown column 'img'(.|\n)*image, label"):
        hub_dataset.read(repo, **PETS, image="img")
    with pytest.raises(SourceError, match="column 'label' holds no images"):
        hub_dataset.read(repo, **PETS, image="label")
    with pytest.raises(SourceError, match="column 'image' holds no labels"):
        hub_dataset.read(repo, **PETS, label="image")


def test_folders_that_will_not_do(tmp_path: Path, write: Write) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="empty cannot be read"):
        hub_dataset.read(tmp_path / "empty", **PETS)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/train.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"torn cannot be read: .*Parquet"):
        hub_dataset.read(tmp_path / "torn", **PETS)
    write([0, 0], _classes("a", "b"))
    with pytest.raises(SourceError, match="is a folder, which has no revision 'main'"):
        hub_dataset.read(tmp_path / "repo", **PETS, revision="main")
    with pytest.raises(SourceError, match="no images of b"):
        hub_dataset.read(tmp_path / "repo", **PETS)
    found = hub_dataset.read(tmp_path / "repo", **PETS, allow_missing=True)
    assert found.provenance["left_out"] == {"classes": ["b"]}


@pytest.mark.parametrize(
    ("kind", "labels", "missing"),
    [
        ("string", ["a", None, "b", "", "  "], [1, 3, 4]),
        ("string", ["a", "nan", "b", "-1", "<NA>"], [1, 3, 4]),
        ("int64", [1, -1, 2, None, 0], [1, 3]),
        ("float64", [1.0, float("nan"), 2.0, -1.0, None], [1, 3, 4]),
    ],
)
def test_missing_labels_are_refused_or_recorded(
    tmp_path: Path, write: Write, kind: str, labels: list[Any], missing: list[int]
) -> None:
    write(labels, _value(kind))
    rows = ", ".join(map(str, missing))
    with pytest.raises(
        SourceError, match=rf"{len(missing)} of 5 rows .* row 1 has no label(.|\n)*: {rows}\n"
    ):
        hub_dataset.read(tmp_path / "repo", **PETS)
    found = hub_dataset.read(tmp_path / "repo", **PETS, allow_missing=True)
    kept = [row for row in range(5) if row not in missing]
    assert sorted(found.images.column("path").to_pylist()) == [f"train#{row}" for row in kept]
    assert found.provenance["left_out"] == {"images": [f"train#{row}" for row in missing]}


def test_class_labels_that_name_no_class(tmp_path: Path, write: Write) -> None:
    write([None, None], _value("string"), split="test")
    with pytest.raises(SourceError, match="no rows with labels"):
        hub_dataset.read(tmp_path / "repo", **{**PETS, "split": "test"}, allow_missing=True)
    write([0, 1, 2, None], _classes("a", "", "nan"))
    with pytest.raises(SourceError, match=r"3 of 4 rows .* row 1 has no label, but(.|\n)*1, 2, 3"):
        hub_dataset.read(tmp_path / "repo", **PETS)
    found = hub_dataset.read(tmp_path / "repo", **PETS, allow_missing=True)
    assert found.class_names == ("a",)


def test_labels_of_a_list_beside_pictures(tmp_path: Path, draw: Draw) -> None:
    for mark, name in enumerate("abc"):
        draw(tmp_path / f"repo/train/{name}.png", mark=mark)
    lines = "file_name,label\na.png,1\nb.png,\nc.png,-1\n"
    (tmp_path / "repo/train/metadata.csv").write_text(lines)
    with pytest.raises(SourceError, match=r"2 of 3 rows .* row 1 has no label"):
        hub_dataset.read(tmp_path / "repo", **PETS)


def test_pictures_that_datasets_would_pass_over(tmp_path: Path, draw: Draw) -> None:
    for mark, name in enumerate(("cat/a.png", "dog/a.png", "cat/b.heic", "dog/b.avif", "dog/c")):
        draw(tmp_path / "repo/train" / name, mark=mark)
    with pytest.raises(
        SourceError, match=r"3 of 5 pictures .* passes over: train/cat/b\.heic, (.|\n)*image_folder"
    ):
        hub_dataset.read(tmp_path / "repo", **PETS)


def test_damaged_rows_are_named_or_recorded(tmp_path: Path, write: Write) -> None:
    write([0, 1, 0, -1, 1, 1], _classes("a", "b"), damage={1: b"no image", 2: None})
    with pytest.raises(SourceError, match="3 of 6 rows cannot be used: row 1 is damaged"):
        hub_dataset.read(tmp_path / "repo", **PETS)
    found = hub_dataset.read(tmp_path / "repo", **PETS, allow_missing=True)
    assert found.images.column("path").to_pylist() == ["train#0", "train#4", "train#5"]
    assert found.provenance["left_out"] == {"images": ["train#1", "train#2", "train#3"]}


def test_a_revision_of_the_hub_is_pinned(hub: HubServer, tmp_path: Path, write: Write) -> None:
    for branch, classes in (("main", "ab"), ("later", "cd")):
        write([0, 1], _classes(*classes))
        file = {"data/train.parquet": (tmp_path / "repo/train.parquet").read_bytes()}
        if branch == "main":
            hub.create_repo("org/pets", files=file)
            sha = hub.tag("org/pets", "v1")
        else:
            hub.commit("org/pets", file)
    found = hub_dataset.read("org/pets", **PETS, revision="v1")
    assert found.class_names == ("a", "b")
    assert found.provenance["repository"] == "org/pets"
    assert found.provenance["revision"] == sha != hub.sha("org/pets")
    assert found.provenance["fingerprint"]
    assert hub_dataset.read("org/pets", **PETS).class_names == ("c", "d")


def test_a_repository_that_is_not_there(hub: HubServer) -> None:
    with pytest.raises(SourceError, match=r"no data set of the Hub .*404 Client Error(.|\n)*fix"):
        hub_dataset.read("org/none", **PETS)


def test_rows_that_repeat(tmp_path: Path, write: Write) -> None:
    """Row 3 is row 1 of the same class, and is left out; 0 and 4 disagree on theirs: both are."""
    encoded = write([0, 1, 0, 1, 1], _classes("zebra", "ant"))
    write([0, 1, 0, 1, 1], _classes("zebra", "ant"), damage={3: encoded[1], 4: encoded[0]})
    with pytest.raises(SourceError, match=r"2 images .* train#0 = train#4, train#1 = train#3"):
        hub_dataset.read(tmp_path / "repo", **PETS)
    found = hub_dataset.read(tmp_path / "repo", **PETS, allow_missing=True)
    assert found.images.column("path").to_pylist() == ["train#2", "train#1"]
    assert found.provenance["left_out"] == {"doubles": ["train#0", "train#3", "train#4"]}
