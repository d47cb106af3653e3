"""Reference methods as submissions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.testing import assert_array_equal
from tiny_features import build_pictures

from benchmark_spec.errors import MethodFailedError
from builders.baselines import HEADS, run_ft, run_head
from builders.baselines.fine_tuning import FineTuner
from builders.release.results import with_right_queries
from fslbench_data import score
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.columns import canonical
from fslbench_data.validation.validate import validate

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


def test_which_queries_are_right_stands_in_place_of_predictions(embedded: Release) -> None:
    names = ["closed-5w1s1q", "pooled-5w1s1q", "allway-10w16s1637q", "episodes-10w100s10q"]
    found = run_head(embedded, "NCC", "pixels", ["digits"], task_sets=names)
    method = found.methods["pixels/NCC"]
    assert (method.backbone, method.description) == ("pixels", HEADS["NCC"].description)
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
            assert len(old["second"]) == len(predicted)  # the second-best class of each query
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


@dataclass
class Tiny:
    """A backbone such as run_ft takes, of pictures made 8 by 8."""

    name: str
    module: Any

    @property
    def preprocessing(self) -> Tiny:
        return self

    def reference(self, picture: Any) -> Any:
        return np.asarray(picture.resize((8, 8)), np.float32).transpose(2, 0, 1) / 255


@pytest.fixture(scope="module")
def tiny() -> Tiny:
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    return Tiny("tiny", torch.nn.Sequential(*layers, torch.nn.Linear(144, 8)))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A release of 4 classes with 8 pictures each, and the folder that they lie in."""
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    base = tmp_path_factory.mktemp("pictures")
    task_sets = ("open-2w2s1q", "open-3w1s1q")
    return load_release(build_pictures(base, 8, task_sets=task_sets)), base / "raw/tiny"


@pytest.mark.slow
def test_ft_of_pictures(pictures: tuple[Release, Path], tiny: Tiny) -> None:
    release, folder = pictures
    found = run_ft(release, tiny, folder, "tiny")
    assert found.methods["tiny/FT"].backbone == "tiny"
    assert {row["task_set"] for row in found.table.to_pylist()} == {"open-2w2s1q", "open-3w1s1q"}
    assert score(found, release)
    from PIL import Image

    tune, paths = FineTuner(tiny.module), release.images("tiny")["path"].to_pylist()
    for row in found.table.to_pylist():
        task = release.task_set("tiny", row["task_set"])[row["task_id"]]
        support, query = (
            torch.from_numpy(
                np.stack([tiny.reference(Image.open(folder / paths[i])) for i in ids.reshape(-1)])
            )
            for ids in (task.support, task.query)
        )
        expected = tune(support.view(*task.support.shape, 3, 8, 8), query)
        assert_array_equal(row["predictions"], expected)
        right = task.query_label[expected == task.query_label]
        ways = len(task.class_ids)
        assert row["class_correct"] == np.bincount(right, minlength=ways).tolist()


def test_ft_of_the_first_tasks_goes_on_where_it_stopped(
    pictures: tuple[Release, Path], tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, folder = pictures
    journal = tmp_path / "journal"
    whole = run_ft(release, tiny, folder, "tiny", "open-2w2s1q")
    some = run_ft(release, tiny, folder, "tiny", "open-2w2s1q", max_tasks=2, journal=journal)
    assert some.table.equals(whole.table.slice(0, 2))
    assert [binding.tasks for binding in some.bindings.values()] == [2]
    assert score(some, release)

    calls: list[int] = []
    answer = FineTuner.__call__

    def breaks(self: Any, *task: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("power cut")
        return answer(self, *task)

    monkeypatch.setattr(FineTuner, "__call__", breaks)
    with pytest.raises(MethodFailedError, match=r"power cut(.|\n)*task 3"):
        run_ft(release, tiny, folder, "tiny", "open-2w2s1q", journal=journal)
    resumed = run_ft(release, tiny, folder, "tiny", "open-2w2s1q", journal=journal)
    assert len(calls) == len(whole.table) - 2 + 1
    resumed.write(tmp_path / "resumed.parquet")
    whole.write(tmp_path / "whole.parquet")
    made = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("resumed", "whole")]
    assert made[0] == made[1]
