"""A task as a picture."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tiny_features import write_pictured_release

from benchmark_spec.errors import SpecError
from builders.cli import main
from builders.release.contact_sheet import contact_sheet
from fslbench_data.release.pictures import stored_pictures
from fslbench_data.release.release import Release, load_release

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with pictures, and tasks with attributes of the pixels."""
    return write_pictured_release(tmp_path_factory.mktemp("sheet"))


@pytest.fixture
def release(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Release:
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return load_release(folder)


@pytest.mark.parametrize("task_set", ["closed-2w1s2q", "biased_pixels-2w1s2q"])
def test_every_image_stands_where_its_part_in_the_task_says(
    release: Release, task_set: str
) -> None:
    """The image in each cell is that of the table, fitted into it."""
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


def test_the_command(release: Release, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "task.png"
    common = ["picture", "--dataset", "tiny", "--task-set", "closed-2w1s2q", "--release"]
    said = CliRunner().invoke(main, [*common, str(folder), "--task", "4", "-o", str(out)])
    assert said.exit_code == 0, said.output
    assert Image.open(out).mode == "RGB"
    said = CliRunner().invoke(main, [*common, str(folder), "--task", "5", "-o", f"{out}2.png"])
    assert said.exit_code == 2
    assert "has no task 5" in said.output
    said = CliRunner().invoke(main, [*common, str(folder), "-o", str(tmp_path / "task.jpg")])
    assert said.exit_code == 2
    assert "does not end in .png" in said.output


def test_a_task_that_there_is_not(release: Release) -> None:
    info = release.task_set_info("tiny", "closed-2w1s2q")
    with pytest.raises(SpecError, match="0 to 4"):
        contact_sheet(release, info, -1, stored_pictures(release, "tiny"))
