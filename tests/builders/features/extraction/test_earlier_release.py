"""What a next release takes over where a data set is added: all that is of the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_features import ABOUT, TINY

from builders.features import Settings
from builders.release import features
from builders.release.build import build_release
from builders.release.spec_file import read_spec
from fslbench_data.release.release import load_release

pytestmark = pytest.mark.slow

SPEC = """
name = "small"
version = "1.0.0"
description = "d"
protocols = ["3w2s"]
queries = { head = "NCC", seeds = 3 }
"""
BLOCK = """
[[dataset]]
name = "{name}"
source = "image_folder"
folder = "{folder}"
suites = ["open"]
backbones = ["{backbone}"]
heads = ["NCC"]
[dataset.options]
{about}
"""


def test_a_data_set_more_computes_nothing_of_the_others(
    pictures: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Choices of Q and results of the others are the earlier release's, the whole is the same."""
    settings = Settings(weights=weights, block=16, batch=8, threads=1, workers=0)

    options = "\n".join(f'{key} = "{value}"' for key, value in ABOUT.items())

    def spec(*names: str) -> Any:
        blocks = [
            BLOCK.format(name=name, folder=pictures.name, backbone=TINY, about=options)
            for name in names
        ]
        path = tmp_path / f"{len(names)}.toml"
        path.write_text(SPEC + "".join(blocks))
        return read_spec(path)

    common = {"raw": pictures.parent, "settings": settings}
    build_release(spec("old", "older"), tmp_path / "old", **common)
    build_release(spec("old", "older", "new"), tmp_path / "nothing", **common)

    extracted: list[str] = []
    write = features.write_precomputed

    def counting(images: Any, *rest: Any) -> Any:
        extracted.append(images.name)
        return write(images, *rest)

    monkeypatch.setattr(features, "write_precomputed", counting)
    earlier = load_release(tmp_path / "old")
    build_release(spec("old", "older", "new"), tmp_path / "over", earlier=earlier, **common)
    assert extracted == ["new"]
    assert _files(tmp_path / "over") == _files(tmp_path / "nothing")

    common["settings"] = replace(settings, block=8)  # extracted otherwise: nothing is taken over
    build_release(spec("old", "older", "new"), tmp_path / "other", earlier=earlier, **common)
    assert extracted == ["new", "old", "older", "new"]


def _files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
