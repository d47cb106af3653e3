"""Reference methods as submissions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from benchmark_spec import schemas
from benchmark_spec.errors import MethodFailedError, UnknownNameError
from benchmark_spec.protocol import TaskSetName
from builders.baselines import HEADS, run_ft, run_head
from builders.baselines.fine_tuning import FineTuner, PictureFineTuner
from builders.release.results import with_right_queries
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data import score
from fslbench_data.release.pictures import picture_name
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


@pytest.mark.parametrize("head", HEADS)
def test_a_head_gives_a_whole_submission(head: str, embedded: Release) -> None:
    names = ["open-5w5s5q", "closed-5w1s1q"]
    sets = {name: embedded.task_set("digits", name).info for name in names}
    found = run_head(embedded, head, "pixels", ["digits"], task_sets=[*sets])
    assert found.table.num_rows == sum(info.n_tasks for info in sets.values())
    assert set(found.table.column_names) >= {"predictions", "class_correct"}
    method = found.methods[f"pixels/{head}"]
    assert (method.backbone, method.description) == ("pixels", HEADS[head].description)
    assert all(binding.tasks is None for binding in found.bindings.values())
    assert validate(found, embedded, taken=()).methods == (f"pixels/{head}",)
    rows = found.table.to_pylist()
    row = [row for row in rows if row["predictions"]][-1]
    label = embedded.task_set("digits", row["task_set"])[row["task_id"]].query_label
    right = label[np.array(row["predictions"]) == label]
    assert np.bincount(right, minlength=5).tolist() == row["class_correct"]
    assert len(right) == row["n_correct"]


def test_unknown_heads_and_features(embedded: Release) -> None:
    with pytest.raises(UnknownNameError, match="head 'FT'"):
        run_head(embedded, "FT", "pixels", ["digits"])
    with pytest.raises(UnknownNameError, match="features 'pixel'"):
        run_head(embedded, "NCC", "pixel", ["digits"])


def test_which_queries_are_right_stands_in_place_of_predictions(embedded: Release) -> None:
    names = ["closed-5w1s1q", "pooled-5w1s1q", "allway-10w16s1637q", "episodes-10w100s10q"]
    found = run_head(embedded, "NCC", "pixels", ["digits"], task_sets=names)
    order = np.random.default_rng(0).permutation(len(found.table))
    found = replace(found, table=found.table.take(order))
    kept = with_right_queries(found, embedded)
    assert kept.table.equals(canonical(kept.table, "x"))
    before, after = found.table.to_pylist(), kept.table.to_pylist()
    sets = {name: embedded.task_set("digits", name) for name in names}
    for old, new in zip(before, after, strict=True):
        predicted, by_class = old.pop("predictions"), old.pop("class_correct")
        is_pooled = old["task_set"].startswith("pooled")
        assert new.pop("class_correct") == (None if is_pooled else by_class)
        if old["task_set"].startswith("allway"):
            assert (new.pop("predictions"), new.pop("correct")) == (predicted, None)
        else:
            label = sets[old["task_set"]][old["task_id"]].query_label
            assert new.pop("predictions") is None
            assert new.pop("correct") == (label == predicted).astype(int).tolist()
        assert new == old
    told = []
    for one in (found, kept):
        methods = {"pixels/NCC": replace(one.methods["pixels/NCC"], inductive=True)}
        checked = validate(replace(one, methods=methods), embedded, taken=())
        told.append({str(g.info): g.right and g.right.counts.tolist() for g in checked.groups})
    assert told[0] == told[1]
    assert all(told[0].values())


# ---- fine-tuning --------------------------------------------------------------------------------


class Scaling:
    """Preprocessing of pictures that are 8 by 8 already."""

    def reference(self, picture: Any) -> Any:
        return np.asarray(picture, np.float32).transpose(2, 0, 1) / 255


@dataclass
class Tiny:
    """A backbone such as run_ft takes."""

    name: str
    module: Any
    preprocessing: Scaling


@pytest.fixture(scope="module")
def tiny() -> Tiny:
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    return Tiny("tiny", torch.nn.Sequential(*layers, torch.nn.Linear(144, 8)), Scaling())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A release of 4 classes with 8 pictures each, and the folder that they lie in."""
    pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    base = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    (base / "pictures").mkdir()
    for i in range(32):
        grey = 40 * (i // 8) + rng.integers(0, 60, (8, 8, 3))
        pil.fromarray(grey.astype(np.uint8)).save(base / "pictures" / picture_name(i))
    columns: dict[str, list[Any]] = {
        "image_id": list(range(32)),
        "class_id": [i // 8 for i in range(32)],
        "class_name": [f"class {i // 8}" for i in range(32)],
        **{name: [None] * 32 for name in ("path", "sha256", "group", "creator", "licence")},
    }
    images = pa.table({f.name: pa.array(columns[f.name], f.type) for f in schemas.IMAGES})
    writer = ReleaseWriter(base / "release", "pictures", "1.0.0", "x")
    writer.add_dataset(
        "greys", About("t", "h", "l", "c"), images=images,
        class_names=[f"class {c}" for c in range(4)], class_sizes=[8] * 4,
    )  # fmt: skip
    for text in ("open-2w2s1q", "open-3w1s1q"):
        name = TaskSetName.parse(text)
        writer.add_tasks("greys", name, *draw_task_set("greys", name, [8] * 4))
    writer.finish()
    return load_release(base / "release"), base / "pictures"


@pytest.mark.slow
def test_ft_of_pictures(pictures: tuple[Release, Path], tiny: Tiny) -> None:
    release, folder = pictures
    found = run_ft(release, tiny, folder, "greys")
    assert found.methods["tiny/FT"].backbone == "tiny"
    assert {row["task_set"] for row in found.table.to_pylist()} == {"open-2w2s1q", "open-3w1s1q"}
    assert score(found, release)
    from PIL import Image

    tune = FineTuner(tiny.module)
    for row in found.table.to_pylist():
        task = release.task_set("greys", row["task_set"])[row["task_id"]]
        support, query = (
            torch.tensor(
                np.array(
                    [np.asarray(Image.open(folder / picture_name(i))) for i in ids.reshape(-1)]
                )
            )
            .permute(0, 3, 1, 2)
            .float()
            .div(255)
            for ids in (task.support, task.query)
        )
        expected = tune(support.view(*task.support.shape, 3, 8, 8), query)
        assert_array_equal(row["predictions"], expected)
        right = task.query_label[expected == task.query_label]
        ways = len(task.class_ids)
        assert row["class_correct"] == np.bincount(right, minlength=ways).tolist()


def _bytes(submission: Submission, folder: Path) -> bytes:
    submission.write(folder / "it.parquet")
    return (folder / "it.parquet").read_bytes()


def test_ft_of_the_first_tasks_goes_on_where_it_stopped(
    pictures: tuple[Release, Path], tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, folder = pictures
    journal = tmp_path / "journal"
    whole = run_ft(release, tiny, folder, "greys", "open-2w2s1q")
    some = run_ft(release, tiny, folder, "greys", "open-2w2s1q", max_tasks=2, journal=journal)
    assert some.table.equals(whole.table.slice(0, 2))
    assert [binding.tasks for binding in some.bindings.values()] == [2]
    assert score(some, release)

    calls: list[int] = []
    answer = PictureFineTuner.__call__

    def breaks(self: Any, *task: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("power cut")
        return answer(self, *task)

    monkeypatch.setattr(PictureFineTuner, "__call__", breaks)
    with pytest.raises(MethodFailedError, match=r"power cut(.|\n)*task 3"):
        run_ft(release, tiny, folder, "greys", "open-2w2s1q", journal=journal)
    resumed = run_ft(release, tiny, folder, "greys", "open-2w2s1q", journal=journal)
    assert len(calls) == len(whole.table) - 2 + 1
    assert _bytes(resumed, tmp_path) == _bytes(whole, tmp_path)
