"""Names."""

from pathlib import Path

import pytest

from benchmark_spec.errors import BackboneError, MissingPackageError, SourceError, UnknownNameError
from builders.features import features_of
from builders.features.backbones import BACKBONES, load_backbone


def test_unknown_ones_are_told_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'efficientnet_lite0'") as caught:
        load_backbone("efficientnet_lit0")
    for name in (*BACKBONES, "open_clip:ARCH/TAG_OR_FILE", "timm:MODEL[@FILE]"):
        assert name in caught.value.expected
    for name in ("pixels", "clip:ViT-B-16", "timm", ""):
        with pytest.raises(UnknownNameError, match="unknown backbone"):
            load_backbone(name)
    with pytest.raises(UnknownNameError, match="unknown backbone") as caught:
        load_backbone("mobilenet_v2+paper")
    assert "+paper goes with" in caught.value.fix


@pytest.mark.parametrize("name", BACKBONES)
def test_weights_that_were_not_fetched(name: str, tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=f"fslbench-build fetch {name} -o DIR"):
        load_backbone(name)
    with pytest.raises(SourceError, match=f"fslbench-build fetch {name} -o {tmp_path}"):
        load_backbone(name, tmp_path)


@pytest.mark.parametrize("family", ["timm", "open_clip"])
def test_a_library_that_is_not_installed(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, family, None)
    with pytest.raises(MissingPackageError, match=rf"{family}(.|\n)*\[builders\]"):
        load_backbone(f"{family}:x/y")


def test_pixels_are_still_extracted(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    from builders.sources.read import read_source

    digits = read_source("digits", None)
    with features_of("pixels", digits, tmp_path) as (pieces, provenance):
        assert sum(len(piece) for piece in pieces) == 1797
        assert provenance["backbone"] == "pixels"
    with (
        pytest.raises(UnknownNameError, match="did you mean 'pixels'"),
        features_of("pixel", digits, tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())
