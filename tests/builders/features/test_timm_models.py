"""Timm's little test models with random weights, saved, and loaded by path and from a Hub."""

from pathlib import Path
from typing import Any

import pytest
from tiny_features import features_of_pictures

from benchmark_spec.errors import BackboneError, UnknownNameError
from builders.features.backbones import PAPER, load_backbone
from fslbench_data.files import sha256_of

timm = pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
MODELS = ["test_vit", "test_resnet", "test_convnext", "test_efficientnet"]


@pytest.fixture
def saved(tmp_path: Path, torch: Any) -> Any:
    """Saves a model with random weights; gives it and the file."""

    def save(name: str, file: str = "model.safetensors", **options: Any) -> tuple[Any, Path]:
        torch.manual_seed(1)
        model = timm.create_model(name, **options).eval()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.uniform_(-1, 1)
        path = tmp_path / file
        if path.suffix == ".safetensors":
            pytest.importorskip("safetensors.torch").save_file(model.state_dict(), path)
        else:
            torch.save({"state_dict": model.state_dict()}, path)
        return model, path

    return save


def _expected(model: Any, torch: Any, pictures: list[Any]) -> Any:
    """What timm itself makes of the pictures."""
    pil = pytest.importorskip("PIL.Image")
    data = pytest.importorskip("timm.data")
    transform = data.create_transform(**data.resolve_data_config(model=model))
    batch = torch.stack([transform(pil.fromarray(picture)) for picture in pictures])
    with torch.no_grad():
        return model.forward_head(model.forward_features(batch), pre_logits=True)


@pytest.mark.parametrize("name", MODELS)
def test_features_are_timms(name: str, saved: Any, torch: Any, photographs: list[Any]) -> None:
    model, path = saved(name)
    backbone = load_backbone(f"timm:{name}@{path}")
    expected = _expected(model, torch, photographs)
    torch.testing.assert_close(features_of_pictures(backbone, photographs), expected)
    assert backbone.dimensions == expected.shape[1]
    assert backbone.name == f"timm:{name}@model.safetensors"  # where it lies is nobody's business
    assert backbone.weights == {"file": "model.safetensors"}
    assert backbone.weights_sha256 == sha256_of(path)
    heads = sum(p.numel() for p in model.get_classifier().parameters())
    assert backbone.parameters == sum(p.numel() for p in model.parameters()) - heads
    assert str(path.parent) not in str(backbone.describe())


@pytest.mark.parametrize("classes", [0, 7])
def test_a_checkpoint_may_have_another_head_or_none(
    classes: int, saved: Any, torch: Any, photographs: list[Any]
) -> None:
    model, path = saved("test_vit", "mine.pth", num_classes=classes)
    backbone = load_backbone("timm:test_vit@mine.pth", path.parent, dtype="bfloat16")
    expected = _expected(model, torch, photographs)
    found = features_of_pictures(backbone, photographs)
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0.05)
    assert backbone.describe()["dtype"] == "bfloat16"


def test_the_papers_preprocessing(saved: Any, torch: Any) -> None:
    """It is of 224 pixels, which a transformer of another size has to be made for."""
    model, path = saved("test_vit")
    assert model.pretrained_cfg["input_size"] == (3, 160, 160)
    backbone = load_backbone(f"timm:test_vit@{path}+paper")
    assert backbone.name == "timm:test_vit@model.safetensors+paper"
    assert backbone.preprocessing is PAPER
    resized = timm.create_model(
        "test_vit", pretrained=True, pretrained_cfg_overlay={"file": str(path)}, img_size=224
    ).eval()
    batch = torch.rand(2, 3, 224, 224)
    with torch.no_grad():
        expected = resized.forward_head(resized.forward_features(batch), pre_logits=True)
    torch.testing.assert_close(backbone.features(batch), expected)
    _, path = saved("test_resnet")
    assert load_backbone(f"timm:test_resnet@{path}+paper").features(batch).shape[0] == 2


def test_what_is_no_checkpoint_of_the_model(saved: Any, tmp_path: Path) -> None:
    _, path = saved("test_resnet")
    with pytest.raises(BackboneError, match=r"cannot be made of model\.safetensors.*Missing key"):
        load_backbone(f"timm:test_vit@{path}")
    (tmp_path / "broken.pth").write_bytes(b"no checkpoint")
    with pytest.raises(BackboneError, match=r"cannot be made of broken\.pth"):
        load_backbone("timm:test_vit@broken.pth", tmp_path)
    with pytest.raises(BackboneError, match=r"there is no file none\.pth"):
        load_backbone("timm:test_vit@none.pth", tmp_path)


def test_names(hub: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown timm model 'resnet19'; did you mean"):
        load_backbone("timm:resnet19")
    with pytest.raises(UnknownNameError, match=r"weights of timm's resnet18 'a1_in2k'; did you"):
        load_backbone("timm:resnet18.a1_in2k")
    with pytest.raises(BackboneError, match="timm has no weights of coatnet_0_224") as caught:
        load_backbone("timm:coatnet_0_224")
    assert "timm:coatnet_0_224@FILE" in caught.value.fix


@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
def test_weights_of_the_hub(
    file: str, saved: Any, serve: Any, hub: Any, torch: Any, photographs: list[Any]
) -> None:
    model, path = saved("test_vit", file)
    serve("timm/test_vit.r160_in1k", file, path)
    for name in ("timm:test_vit", "timm:test_vit.r160_in1k"):
        backbone = load_backbone(name)
        assert backbone.name == name
        assert backbone.weights_sha256 == sha256_of(path)
        assert backbone.weights == {
            "hub": "timm/test_vit.r160_in1k",
            "file": file,
            "revision": hub.sha("timm/test_vit.r160_in1k", kind="model"),
            "tag": "r160_in1k",
            "licence": "apache-2.0",
        }
    expected = _expected(model, torch, photographs)
    torch.testing.assert_close(features_of_pictures(backbone, photographs), expected)
    hub.requests.clear()
    with hub.offline():
        assert load_backbone("timm:test_vit").weights_sha256 == sha256_of(path)
    assert not hub.requests


def test_without_a_connection_the_file_to_provide_is_named(hub: Any) -> None:
    with hub.offline(), pytest.raises(BackboneError, match="HF_HUB_OFFLINE") as caught:
        load_backbone("timm:vit_base_patch14_reg4_dinov2.lvd142m")
    repo = "timm/vit_base_patch14_reg4_dinov2.lvd142m"
    assert repo in caught.value.where
    assert caught.value.expected == "model.safetensors or pytorch_model.bin"
    assert f"hf download {repo} model.safetensors" in caught.value.fix
    assert "timm:vit_base_patch14_reg4_dinov2.lvd142m@FILE" in caught.value.fix
    with pytest.raises(BackboneError, match="there is no such repository"):
        load_backbone("timm:vit_base_patch16_224.dino")
