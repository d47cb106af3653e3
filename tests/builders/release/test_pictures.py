"""Pictures in releases: made, verified, published on their terms, loaded, and run on."""

import io
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import build as called
from forged import forge, holding, parquet, rewrite
from tiny_features import ABOUT, write_pictured_release

from benchmark_spec.errors import FSLBenchError, OutputError, SourceError, SpecError
from benchmark_spec.manifest import CARD_FILE
from builders.release.build import build_release
from builders.release.contact_sheet import contact_sheet
from builders.release.pictures import passed_on
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.verify import verify
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.release.pictures import stored_pictures
from fslbench_data.release.release import load_release

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


def _spec(pictures, **about):
    options = ABOUT | {"redistribution": "images"} | about
    how = {"suites": ("open",), "protocols": ("2w1s1q",), "pictures": pictures}
    tiny = DatasetSpec("tiny", source="image_folder", folder="tiny", options=options, **how)
    return ReleaseSpec("p", "1.0.0", "d", (tiny,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release with image files as they are, PNG and JPEG, and tasks made with attributes."""
    return write_pictured_release(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def raw(folder):
    return folder.parent / "raw"


@pytest.fixture
def release(folder, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return load_release(folder)


def test_files_are_as_they_are(raw, folder, release):
    assert "This release holds the pictures of tiny." in (folder / CARD_FILE).read_text()
    paths = release.images("tiny").column("path").to_pylist()
    stored = stored_pictures(release, "tiny")
    assert len(stored) == 48
    for path, copy in zip(paths, stored, strict=True):
        assert copy.read_bytes() == (raw / "tiny" / path).read_bytes()
        assert copy.suffix == Path(path).suffix
    found = verify(folder)
    assert (found.problems, found.drawn_again) == ((), 6)
    again = stored_pictures(release, "tiny")
    assert [path.stat().st_ino for path in again] == [path.stat().st_ino for path in stored]


def test_thumbnails_have_the_stated_size_and_the_same_bytes(raw, tmp_path):
    digests = []
    for name in ("a", "b"):
        manifest = build_release(_spec(16), tmp_path / name, raw=raw)
        (entry,) = (t for t in manifest.tables if t.kind == "pictures")
        digests.append(entry.digest)
        assert entry.provenance["longest"] == 16
    assert digests[0] == digests[1]
    rows = pq.read_table(tmp_path / "a" / entry.path).column("image").to_pylist()
    sizes = [Image.open(io.BytesIO(row["bytes"])).size for row in rows]
    assert max(max(size) for size in sizes) == 16
    assert verify(tmp_path / "a").problems == ()


def test_a_method_runs_on_them_with_no_raw_data(release):
    seen = []

    def method(support, query, rng):
        seen.extend(path.stat().st_size for path in query)
        return [0 for _ in query]

    submission = evaluate(method, release, images=True, name="zero", task_sets="closed-2w1s2q")
    assert len(submission.table) == 5
    assert min(seen) > 0


def test_images_that_have_none(raw, tmp_path, monkeypatch):
    """Of emoji, one vendor's are share-alike; here all are, as each image says."""
    assert not any(map(passed_on, ("LGPL-3.0", "CC-BY-SA-4.0", "CC BY-NC 4.0", "GPL-3.0", "")))
    assert all(map(passed_on, ("CC-BY-4.0", "MIT License", "cc0-1.0", "Apache 2.0")))
    spec = _spec("files", licence="CC BY-SA 4.0")
    with pytest.raises(SpecError, match=r"its licence, CC BY-SA 4\.0, does not let each of them"):
        build_release(spec, tmp_path / "r", raw=raw)
    monkeypatch.setattr("builders.release.preflight.passed_on", lambda licence: True)
    manifest = build_release(spec, tmp_path / "r", raw=raw)
    (entry,) = (t for t in manifest.tables if t.kind == "pictures")
    assert entry.provenance["without"] == {"CC BY-SA 4.0": 48}
    assert verify(tmp_path / "r").problems == ()
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    with pytest.raises(SourceError, match=r"no picture of image 0 (.|\n)*--pictures DIR"):
        stored_pictures(load_release(tmp_path / "r"), "tiny")
    assert not list((tmp_path / "assets").rglob("*.png"))


@pytest.mark.parametrize(
    ("column", "values", "what"),
    [
        ("label", [0] * 48, "labels that are not the class ids"),
        ("image_id", [*range(47, -1, -1)], "not one row for each image"),
        ("image", [{"bytes": b"x", "path": "0.png"}] * 48, "holds no pictures of images 0"),
    ],
)
def test_verify_looks_at_them(folder, tmp_path, column, values, what):
    made = shutil.copytree(folder, tmp_path / "r")
    (path,) = made.glob("pictures/*")
    rewrite(made, path.relative_to(made).as_posix(), holding(column, values))
    assert any(what in problem.what for problem in verify(made).problems)


def test_pictures_of_strangers_are_in_order_and_not_empty(folder, tmp_path):
    release = load_release(folder)
    (entry,) = (t for t in release.manifest.tables if t.kind == "pictures")
    table = pq.read_table(folder / entry.path, partitioning=None)
    empty = [{**row, "image": {**row["image"], "bytes": b""}} for row in table.to_pylist()]
    turned = table.to_pylist()[::-1]
    for rows, said in ((turned, "has not image 0"), (empty, "has no picture of image 0")):
        data = parquet(pa.Table.from_pylist(rows, table.schema))
        forged = load_release(forge(release, tmp_path / said, entry.path, data))
        with pytest.raises(FSLBenchError, match=said):
            stored_pictures(forged, entry.dataset)


@pytest.mark.parametrize("dangling", [False, True])
def test_links_are_not_kept_pictures(release, tmp_path, dangling):
    """Neither a folder that is a link, which is replaced, nor a file that is one."""
    stored = stored_pictures(release, "tiny")
    folder, elsewhere = stored[0].parent, tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(tmp_path / "nowhere" if dangling else elsewhere)
    assert stored_pictures(release, "tiny") == stored
    assert not folder.is_symlink()
    assert len(list(elsewhere.iterdir())) == 48
    stored[3].unlink()
    stored[3].symlink_to(elsewhere / stored[3].name)
    with pytest.raises(OutputError, match="every picture"):
        stored_pictures(release, "tiny")


@pytest.mark.parametrize("task_set", ["closed-2w1s2q", "biased_pixels-2w1s2q"])
def test_each_image_stands_where_its_part_in_the_task_says(release, task_set):
    info = release.task_set_info("tiny", task_set)
    paths = stored_pictures(release, "tiny")
    sheet = np.asarray(contact_sheet(release, info, 2, paths, cell=40)).astype(int)
    row = release.task_table(info).to_pylist()[2]
    line = 15 if "attributes" in row else 0
    for k in range(2):
        asked = [i for i, label in zip(row["query"], row["query_label"], strict=True) if label == k]
        images = [row["support"][k], *asked]
        for place, image_id in enumerate(images):
            x = 2 * 12 + 190 + place * 44 + (12 if place else 0)
            y = 2 * 12 + 2 * 15 + k * (40 + line + 12)
            picture = Image.open(paths[image_id]).convert("RGB")
            picture.thumbnail((40, 40), Image.Resampling.LANCZOS)
            top, left = (40 - picture.height) // 2, (40 - picture.width) // 2
            inner = np.asarray(picture).astype(int)[2:-2, 2:-2]
            drawn = sheet[y + top : y + top + picture.height, x + left : x + left + picture.width]
            assert np.abs(drawn[2:-2, 2:-2] - inner).max() <= 1


def test_the_command(release, folder, tmp_path):
    out = tmp_path / "task.png"
    common = ["picture", "--dataset", "tiny", "--task-set", "closed-2w1s2q", "--release"]
    called(0, *common, folder, "--task", 4, "-o", out)
    assert Image.open(out).mode == "RGB"
    for beyond in ("5", "-1"):
        said = called(2, *common, folder, "--task", beyond, "-o", f"{out}2.png")
        assert f"has no task {beyond}" in said.output
    assert "does not end in .png" in called(2, *common, folder, "-o", tmp_path / "task.jpg").output
