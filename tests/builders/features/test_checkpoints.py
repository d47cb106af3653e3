"""Small models of open_clip and timm with random weights, saved, loaded by path and from a Hub."""

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_features import features_of_pictures

from benchmark_spec.errors import BackboneError, UnknownNameError
from builders.features.backbones import PAPER, load_backbone
from fslbench_data.files import sha256_of

timm = pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
open_clip = pytest.importorskip("open_clip", reason="needs open_clip, of the extra `builders`")
VISION = {"image_size": 32, "layers": 1, "width": 32, "patch_size": 8, "head_width": 16}
POOLED = {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True}
TEXT = {"context_length": 4, "vocab_size": 20, "width": 16, "heads": 1, "layers": 1}
CLIP = {"embed_dim": 24, "vision_cfg": VISION, "text_cfg": TEXT}
CONFIGS = {
    "little-clip": CLIP,
    "little-custom": {**CLIP, "custom_text": True},
    "little-resnet": {
        **CLIP,
        "vision_cfg": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None},
    },
    "little-timm": {
        **CLIP,
        "vision_cfg": {
            "timm_model_name": "test_vit",
            "timm_model_pretrained": False,
            "timm_pool": "",
            "timm_proj": "linear",
            "image_size": 64,
        },
    },
    "little-coca": {
        **CLIP,
        "vision_cfg": {**VISION, **POOLED},
        "text_cfg": {**TEXT, "embed_cls": True, "output_tokens": True},
        "multimodal_cfg": {**TEXT, "attn_pooler_heads": 2},
        "custom_text": True,
    },
}


@pytest.fixture(scope="module", autouse=True)
def _configs(tmp_path_factory: pytest.TempPathFactory) -> None:
    for name, config in CONFIGS.items():
        path = tmp_path_factory.mktemp("configs") / f"{name}.json"
        path.write_text(json.dumps(config))
        open_clip.add_model_config(path)


def _write(state: Any, path: Path, torch: Any) -> None:
    if path.suffix == ".safetensors":
        pytest.importorskip("safetensors.torch").save_file(state, path)
    else:
        torch.save({"state_dict": state}, path)


@pytest.fixture
def saved_clip(tmp_path: Path, torch: Any) -> Any:
    """Saves a model with random weights; gives it and the file."""

    def save(name: str, file: str = "model.pt", **options: Any) -> tuple[Any, Path]:
        torch.manual_seed(2)
        model = open_clip.create_model(name, **options).eval()
        path = tmp_path / file
        _write(model.state_dict(), path, torch)
        return model, path

    return save


def _expected_open_clip(model: Any, torch: Any, pictures: list[Any]) -> Any:
    """What open_clip itself makes of the pictures."""
    pil = pytest.importorskip("PIL.Image")
    transform = pytest.importorskip("open_clip.transform")
    config = transform.PreprocessCfg(**model.visual.preprocess_cfg)
    how = transform.image_transform_v2(config, is_train=False)
    with torch.no_grad():
        batch = torch.stack([how(pil.fromarray(picture)) for picture in pictures])
        return model.encode_image(batch, normalize=False)


@pytest.mark.parametrize("name", CONFIGS)
def test_features_are_open_clips(
    name: str, saved_clip: Any, torch: Any, photographs: list[Any]
) -> None:
    model, path = saved_clip(name)
    backbone = load_backbone(f"open_clip:{name}/{path}")  # with two slashes
    expected = _expected_open_clip(model, torch, photographs)
    found = features_of_pictures(backbone, photographs)
    if name == "little-coca":  # whose encode_image always normalises
        found = torch.nn.functional.normalize(found, dim=-1)
        expected = torch.nn.functional.normalize(expected, dim=-1)
    torch.testing.assert_close(found, expected)
    assert backbone.dimensions == expected.shape[1]
    assert backbone.name == f"open_clip:{name}/model.pt"
    assert backbone.weights_sha256 == sha256_of(path)
    assert backbone.parameters == sum(p.numel() for p in model.visual.parameters())
    assert str(path.parent) not in str(backbone.describe())
    half = load_backbone(f"open_clip:{name}/model.pt", path.parent, dtype="bfloat16")
    cosine = torch.nn.functional.cosine_similarity(features_of_pictures(half, photographs), found)
    assert cosine.min() > 0.99


def test_a_tag_brings_its_preprocessing_and_its_activation(
    saved_clip: Any,
    serve: Any,
    hub: Any,
    torch: Any,
    photographs: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights trained with QuickGELU must get it: `ViT-B-16/openai` are of that kind."""
    model, path = saved_clip("little-clip", "open_clip_model.safetensors", force_quick_gelu=True)
    serve("org/little", "open_clip_model.safetensors", path)
    tag = {
        "hf_hub": "org/little/",
        "mean": (0.5, 0.25, 0.125),
        "std": (0.25, 0.5, 1.0),
        "interpolation": "bilinear",
        "resize_mode": "squash",
        "quick_gelu": True,
    }
    pretrained = pytest.importorskip("open_clip.pretrained")
    monkeypatch.setitem(pretrained._PRETRAINED, "little-clip", {"best": tag})
    backbone = load_backbone("open_clip:little-clip/best")
    how = backbone.preprocessing
    assert (how.mean, how.std, how.interpolation, how.side) == (
        (0.5, 0.25, 0.125),
        (0.25, 0.5, 1.0),
        "bilinear",
        "both",
    )
    batch = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(backbone.features(batch), model.encode_image(batch))
    assert backbone.weights == {
        "hub": "org/little",
        "file": "open_clip_model.safetensors",
        "revision": hub.sha("org/little", kind="model"),
    }
    assert backbone.weights_sha256 == sha256_of(path)
    # a tag of one file, whose safe twin is preferred
    tag["hf_hub"] = "org/little/open_clip_pytorch_model.bin"
    assert load_backbone("open_clip:little-clip/best").weights_sha256 == sha256_of(path)
    tag["hf_hub"] = "org/little/pytorch_model.bin"
    with pytest.raises(BackboneError, match="no such file") as caught:
        load_backbone("open_clip:little-clip/best")
    assert caught.value.expected == "pytorch_model.safetensors or pytorch_model.bin"


def test_the_papers_preprocessing_by_open_clip(saved_clip: Any, torch: Any) -> None:
    _, path = saved_clip("little-clip")
    backbone = load_backbone(f"open_clip:little-clip/{path}+paper")
    assert backbone.preprocessing is PAPER
    assert backbone.name == "open_clip:little-clip/model.pt+paper"
    resized = open_clip.create_model(
        "little-clip", pretrained=str(path), force_image_size=224
    ).eval()
    batch = torch.rand(2, 3, 224, 224)
    with torch.no_grad():
        torch.testing.assert_close(backbone.features(batch), resized.encode_image(batch))


def test_what_is_no_checkpoint_of_open_clip(saved_clip: Any) -> None:
    _, path = saved_clip("little-resnet")
    with pytest.raises(BackboneError, match=r"cannot be made of model\.pt.*Missing key"):
        load_backbone(f"open_clip:little-clip/{path}")


def test_names_of_open_clip() -> None:
    with pytest.raises(UnknownNameError, match=r"open_clip architecture 'ViT-B-17'; did you"):
        load_backbone("open_clip:ViT-B-17/openai")
    for wanted in ("opnai", "", "/no/such/file.pt"):
        with pytest.raises(UnknownNameError, match=r"one of openai, laion400m_e31") as caught:
            load_backbone(f"open_clip:ViT-B-16/{wanted}")
        assert "open_clip:ViT-B-16/FILE" in caught.value.fix


def test_every_tag_is_on_the_hub() -> None:
    """So that no other way of getting one is needed."""
    for arch, tag in open_clip.list_pretrained():
        assert open_clip.get_pretrained_cfg(arch, tag)["hf_hub"].count("/") == 2


MODELS = ["test_vit", "test_resnet", "test_convnext", "test_efficientnet"]


@pytest.fixture
def saved_timm(tmp_path: Path, torch: Any) -> Any:
    """Saves a model with random weights; gives it and the file."""

    def save(name: str, file: str = "model.safetensors", **options: Any) -> tuple[Any, Path]:
        torch.manual_seed(1)
        model = timm.create_model(name, **options).eval()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.uniform_(-1, 1)
        path = tmp_path / file
        _write(model.state_dict(), path, torch)
        return model, path

    return save


def _expected_timm(model: Any, torch: Any, pictures: list[Any]) -> Any:
    """What timm itself makes of the pictures."""
    pil = pytest.importorskip("PIL.Image")
    data = pytest.importorskip("timm.data")
    transform = data.create_transform(**data.resolve_data_config(model=model))
    batch = torch.stack([transform(pil.fromarray(picture)) for picture in pictures])
    with torch.no_grad():
        return model.forward_head(model.forward_features(batch), pre_logits=True)


@pytest.mark.parametrize("name", MODELS)
def test_features_are_timms(name: str, saved_timm: Any, torch: Any, photographs: list[Any]) -> None:
    model, path = saved_timm(name)
    backbone = load_backbone(f"timm:{name}@{path}")
    expected = _expected_timm(model, torch, photographs)
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
    classes: int, saved_timm: Any, torch: Any, photographs: list[Any]
) -> None:
    model, path = saved_timm("test_vit", "mine.pth", num_classes=classes)
    backbone = load_backbone("timm:test_vit@mine.pth", path.parent, dtype="bfloat16")
    expected = _expected_timm(model, torch, photographs)
    found = features_of_pictures(backbone, photographs)
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0.05)
    assert backbone.describe()["dtype"] == "bfloat16"


def test_the_papers_preprocessing_by_timm(saved_timm: Any, torch: Any) -> None:
    """It is of 224 pixels, which a transformer of another size has to be made for."""
    model, path = saved_timm("test_vit")
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
    _, path = saved_timm("test_resnet")
    assert load_backbone(f"timm:test_resnet@{path}+paper").features(batch).shape[0] == 2


def test_what_is_no_checkpoint_of_timm(saved_timm: Any, tmp_path: Path) -> None:
    _, path = saved_timm("test_resnet")
    with pytest.raises(BackboneError, match=r"cannot be made of model\.safetensors.*Missing key"):
        load_backbone(f"timm:test_vit@{path}")
    (tmp_path / "broken.pth").write_bytes(b"no checkpoint")
    with pytest.raises(BackboneError, match=r"cannot be made of broken\.pth"):
        load_backbone("timm:test_vit@broken.pth", tmp_path)
    with pytest.raises(BackboneError, match=r"there is no file none\.pth"):
        load_backbone("timm:test_vit@none.pth", tmp_path)


def test_names_of_timm(hub: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown timm model 'resnet19'; did you mean"):
        load_backbone("timm:resnet19")
    with pytest.raises(UnknownNameError, match=r"weights of timm's resnet18 'a1_in2k'; did you"):
        load_backbone("timm:resnet18.a1_in2k")
    with pytest.raises(BackboneError, match="timm has no weights of coatnet_0_224") as caught:
        load_backbone("timm:coatnet_0_224")
    assert "timm:coatnet_0_224@FILE" in caught.value.fix


@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
def test_weights_of_the_hub(
    file: str, saved_timm: Any, serve: Any, hub: Any, torch: Any, photographs: list[Any]
) -> None:
    model, path = saved_timm("test_vit", file)
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
    expected = _expected_timm(model, torch, photographs)
    torch.testing.assert_close(features_of_pictures(backbone, photographs), expected)
    hub.requests.clear()
    with hub.offline():
        assert load_backbone("timm:test_vit").weights_sha256 == sha256_of(path)
    assert not hub.requests


def test_without_a_connection_the_file_of_timm_is_named(hub: Any) -> None:
    with hub.offline(), pytest.raises(BackboneError, match="HF_HUB_OFFLINE") as caught:
        load_backbone("timm:vit_base_patch14_reg4_dinov2.lvd142m")
    repo = "timm/vit_base_patch14_reg4_dinov2.lvd142m"
    assert repo in caught.value.where
    assert caught.value.expected == "model.safetensors or pytorch_model.bin"
    assert f"hf download {repo} model.safetensors" in caught.value.fix
    assert "timm:vit_base_patch14_reg4_dinov2.lvd142m@FILE" in caught.value.fix
    with pytest.raises(BackboneError, match="there is no such repository"):
        load_backbone("timm:vit_base_patch16_224.dino")
