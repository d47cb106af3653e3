"""Pictures in releases: made, verified, published on their terms, loaded, and run on."""

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forged import rewrite
from tiny_features import ABOUT, write_pictures

from benchmark_spec.errors import (
    CorruptReleaseError,
    LicenceError,
    OutputError,
    SourceError,
    SpecError,
    UnknownNameError,
)
from benchmark_spec.manifest import CARD_FILE
from builders.hub.publish import check_licences
from builders.release.build import build_release
from builders.release.pictures import passed_on
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.release.pictures import stored_pictures
from fslbench_data.release.release import Release, load_release

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


def _spec(folder: Path, pictures: str, **about: str) -> ReleaseSpec:
    options = ABOUT | {"redistribution": "images"} | about
    lines = "\n".join(f'{key} = "{value}"' for key, value in options.items())
    path = folder / "spec.toml"
    path.write_text(
        'name = "p"\nversion = "1.0.0"\ndescription = "d"\nprotocols = ["2w1s1q"]\n[[dataset]]\n'
        f'name = "tiny"\nsource = "image_folder"\nsuites = ["open"]\npictures = {pictures}\n'
        f"[dataset.options]\n{lines}\n"
    )
    return read_spec(path)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of raw folders; `tiny` has PNG and JPEG files."""
    folder = tmp_path_factory.mktemp("raw")
    write_pictures(folder / "tiny", 6)
    return folder


@pytest.fixture(scope="module")
def folder(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with image files as they are."""
    made = tmp_path_factory.mktemp("release")
    build_release(_spec(made, '"files"'), made / "r", raw=raw)
    return made / "r"


@pytest.fixture
def release(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Release:
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return load_release(folder)


def test_files_are_as_they_are(raw: Path, release: Release) -> None:
    paths = release.images("tiny").column("path").to_pylist()
    stored = stored_pictures(release, "tiny")
    assert len(stored) == 24
    for path, copy in zip(paths, stored, strict=True):
        assert copy.read_bytes() == (raw / "tiny" / path).read_bytes()
        assert copy.suffix == Path(path).suffix
    again = stored_pictures(release, "tiny")
    assert [path.stat().st_ino for path in again] == [path.stat().st_ino for path in stored]


def test_datasets_gives_pictures_with_the_names_of_classes(release: Release) -> None:
    from PIL import Image

    loaded = release.load_dataset("pictures-tiny", "tiny")
    label = loaded.features["label"]
    assert isinstance(loaded[7]["image"], Image.Image)
    assert label.int2str(loaded[7]["label"]) == "class_1"
    assert len(loaded) == 24


def test_thumbnails_have_the_stated_size_and_the_same_bytes(raw: Path, tmp_path: Path) -> None:
    from PIL import Image

    digests = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        manifest = build_release(_spec(tmp_path / name, "16"), tmp_path / name / "r", raw=raw)
        (entry,) = (t for t in manifest.tables if t.kind == "pictures")
        digests.append(entry.digest)
        assert entry.provenance["longest"] == 16
    assert digests[0] == digests[1]
    rows = pq.read_table(tmp_path / "a/r" / entry.path).column("image").to_pylist()
    sizes = [Image.open(io.BytesIO(row["bytes"])).size for row in rows]
    assert max(max(size) for size in sizes) == 16
    assert verify(tmp_path / "a/r").problems == ()


def test_a_method_runs_on_them_with_no_raw_data(release: Release) -> None:
    seen: list[int] = []

    def method(support: Any, query: list[Path], rng: np.random.Generator) -> list[int]:
        seen.extend(path.stat().st_size for path in query)
        return [0 for _ in query]

    submission = evaluate(method, release, images=True, name="zero")
    assert len(submission.table) == release.task_set_info("tiny", "open-2w1s1q").n_tasks
    assert min(seen) > 0


def test_what_has_no_pictures(embedded: Release, release: Release) -> None:
    with pytest.raises(UnknownNameError, match="pictures"):
        stored_pictures(embedded, "digits")
    with pytest.raises(SpecError, match="the release holds no pictures"):
        evaluate(lambda s, q, r: [0], embedded, images=True)


def test_an_image_whose_licence_forbids_it_has_none(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of emoji, one vendor's are share-alike; here all are, as each image says."""
    monkeypatch.setattr("builders.release.preflight.passed_on", lambda licence: True)
    spec = _spec(tmp_path, '"files"', licence="CC BY-SA 4.0")
    manifest = build_release(spec, tmp_path / "r", raw=raw)
    (entry,) = (t for t in manifest.tables if t.kind == "pictures")
    assert entry.provenance["without"] == {"CC BY-SA 4.0": 24}
    assert verify(tmp_path / "r").problems == ()
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    with pytest.raises(SourceError, match=r"no picture of image 0 (.|\n)*--pictures DIR"):
        stored_pictures(load_release(tmp_path / "r"), "tiny")
    assert not list((tmp_path / "assets").rglob("*.png"))


def test_a_data_set_that_says_features_has_no_pictures(raw: Path, tmp_path: Path) -> None:
    spec = _spec(tmp_path, '"files"', redistribution="features")
    with pytest.raises(SpecError, match="its licence does not let them be passed on"):
        build_release(spec, tmp_path / "r", raw=raw)


@pytest.mark.parametrize("licence", ["LGPL-3.0", "CC BY-SA 4.0", "CC BY-NC 4.0"])
def test_own_pictures_whose_licence_forbids_it_are_refused(
    raw: Path, tmp_path: Path, licence: str
) -> None:
    spec = _spec(tmp_path, '"files"', licence=licence)
    with pytest.raises(SpecError, match=f"its licence, {licence}, does not let each of them"):
        build_release(spec, tmp_path / "r", raw=raw)
    assert not (tmp_path / "r").exists()


def test_licences_are_read_as_spdx_writes_them() -> None:
    for licence in ("CC-BY-4.0", "MIT License", "cc0-1.0", "Apache 2.0"):
        assert passed_on(licence)
    assert not any(map(passed_on, ("CC-BY-SA-4.0", "CC BY-NC 4.0", "GPL-3.0", "")))


def test_publishing_looks_at_the_terms(folder: Path, tmp_path: Path) -> None:
    manifest = load_release(folder).manifest
    check_licences(manifest)
    text = manifest.to_json().replace('"redistribution": "images"', '"redistribution": "features"')
    other = type(manifest).from_json(text, "test")
    with pytest.raises(LicenceError, match="the pictures of tiny may not be published"):
        check_licences(other)


def test_the_card_says_so(folder: Path) -> None:
    assert "This release holds the pictures of tiny." in (folder / CARD_FILE).read_text()


@pytest.mark.parametrize("change", ["label", "order", "bytes"])
def test_verify_looks_at_them(folder: Path, tmp_path: Path, change: str) -> None:
    """A release whose manifest fits wrong pictures."""
    made = shutil.copytree(folder, tmp_path / "r")
    (entry,) = (t for t in load_release(made).manifest.tables if t.kind == "pictures")

    def edit(table: pa.Table) -> pa.Table:
        if change == "label":
            return table.set_column(2, "label", pa.array([0] * 24, pa.int64()))
        if change == "order":
            return table.take(list(range(23, -1, -1)))
        rows = [{"bytes": b"no picture", "path": "0.png"}] * 24
        return table.set_column(1, "image", pa.array(rows, table.schema.field("image").type))

    rewrite(made, entry.path, edit)
    said = " ".join(problem.what for problem in verify(made).problems)
    expected = {
        "label": "labels that are not the class ids",
        "order": "not one row for each image",
        "bytes": "holds no pictures of images 0",
    }
    assert expected[change] in said


def test_files_that_vanish_are_missed(release: Release) -> None:
    stored_pictures(release, "tiny")[3].unlink()
    with pytest.raises(OutputError, match="every picture"):
        stored_pictures(release, "tiny")


@pytest.mark.parametrize("dangling", [False, True])
def test_links_are_not_taken_for_kept_pictures(
    release: Release, tmp_path: Path, dangling: bool
) -> None:
    """Neither a folder that is a link, which is replaced, nor a file that is one."""
    stored = stored_pictures(release, "tiny")
    folder, elsewhere = stored[0].parent, tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(tmp_path / "nowhere" if dangling else elsewhere)
    assert stored_pictures(release, "tiny") == stored
    assert not folder.is_symlink()
    assert len(list(elsewhere.iterdir())) == 24
    stored[3].unlink()
    stored[3].symlink_to(elsewhere / stored[3].name)
    with pytest.raises(OutputError, match="every picture"):
        stored_pictures(release, "tiny")


def test_tables_of_other_images_are_refused(folder: Path, tmp_path: Path) -> None:
    made = shutil.copytree(folder, tmp_path / "r")
    (path,) = made.glob("pictures/*")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorruptReleaseError):
        stored_pictures(load_release(made), "tiny")
