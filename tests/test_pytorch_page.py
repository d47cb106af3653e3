"""docs/evaluate.md: its loops run, and give what it says they give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import write_pictures

import fslbench_data as fb

pytest.importorskip("torch", reason="needs PyTorch, of the extra `torch`")
pytest.importorskip("torchvision", reason="needs torchvision, of the extra `builders`")
pytest.importorskip("easyfsl", reason="needs easyfsl, of the extra `test`")

TEXT = (Path(__file__).parents[1] / "docs/evaluate.md").read_text(encoding="utf-8")
PAGE = TEXT.partition("\n## PyTorch\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def _birds(folder: Path, raw: Path) -> Any:
    from builders.release.build import build_release
    from builders.release.spec import DatasetSpec, ReleaseSpec

    about = {"title": "t", "homepage": "h", "licence": "l", "citation": "c"}
    birds = DatasetSpec(
        name="birds",
        source="image_folder",
        folder=raw.name,
        suites=("closed",),
        protocols=("3w2s2q",),
        tasks={"closed": 20},
        options=about,
    )
    build_release(ReleaseSpec("birds", "1.0.0", "t", (birds,)), folder, raw=raw.parent)
    return fb.load_release(folder)


@pytest.mark.slow
def test_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    birds = _birds(tmp_path / "release", write_pictures(tmp_path / "BIRDS", 6))
    names: dict[str, Any] = {"birds": birds}
    for block in BLOCKS:
        exec(block, names)

    own = fb.score("mine.parquet", names["release"])
    assert own.scores[0].accuracy.mean > 80
    (written,) = re.findall(r"([+-][\d.]+) ± ([\d.]+) for new images", PAGE)
    (printed,) = re.findall(r"([+-][\d.]+) ± ([\d.]+) for new images", capsys.readouterr().out)
    assert np.allclose(np.array(printed, float), np.array(written, float), atol=0.3)

    looped = names["evaluated"](names["network"].cpu(), "drawings/prototypes").table
    whole = fb.evaluate(
        names["method"],
        names["release"],
        name="drawings/prototypes",
        datasets="groceries",
        task_sets="closed-5w5s5q",
        features=names["BACKBONE"],
        device="cpu",
        batch=64,
    ).table
    assert looped.equals(whole)
    assert names["features"].shape == (4, 3, 2, 3 * 32 * 32)
    assert list(names["submission"].methods) == ["easyfsl/PrototypicalNetworks"]
