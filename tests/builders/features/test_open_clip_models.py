"""Small models of open_clip with random weights, saved, and loaded by path and from a Hub."""

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_features import features_of_pictures

from benchmark_spec.errors import BackboneError, UnknownNameError
from builders.features.backbones import PAPER, load_backbone
from fslbench_data.files import sha256_of

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


@pytest.fixture
def saved(tmp_path: Path, torch: Any) -> Any:
    """Saves a model with random weights; gives it and the file."""

    def save(name: str, file: str = "model.pt", **options: Any) -> tuple[Any, Path]:
        torch.manual_seed(2)
        model = open_clip.create_model(name, **options).eval()
        path = tmp_path / file
        if path.suffix == ".safetensors":
            pytest.importorskip("safetensors.torch").save_file(model.state_dict(), path)
        else:
            torch.save(model.state_dict(), path)
        return model, path

    return save


def _expected(model: Any, torch: Any, pictures: list[Any]) -> Any:
    """What open_clip itself makes of the pictures."""
    pil = pytest.importorskip("PIL.Image")
    transform = pytest.importorskip("open_clip.transform")
    config = transform.PreprocessCfg(**model.visual.preprocess_cfg)
    how = transform.image_transform_v2(config, is_train=False)
    with torch.no_grad():
        batch = torch.stack([how(pil.fromarray(picture)) for picture in pictures])
        return model.encode_image(batch, normalize=False)


@pytest.mark.parametrize("name", CONFIGS)
def test_features_are_open_clips(name: str, saved: Any, torch: Any, photographs: list[Any]) -> None:
    model, path = saved(name)
    backbone = load_backbone(f"open_clip:{name}/{path}")  # with two slashes
    expected = _expected(model, torch, photographs)
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
    saved: Any,
    serve: Any,
    hub: Any,
    torch: Any,
    photographs: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights trained with QuickGELU must get it: `ViT-B-16/openai` are of that kind."""
    model, path = saved("little-clip", "open_clip_model.safetensors", force_quick_gelu=True)
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


def test_the_papers_preprocessing(saved: Any, torch: Any) -> None:
    _, path = saved("little-clip")
    backbone = load_backbone(f"open_clip:little-clip/{path}+paper")
    assert backbone.preprocessing is PAPER
    assert backbone.name == "open_clip:little-clip/model.pt+paper"
    resized = open_clip.create_model(
        "little-clip", pretrained=str(path), force_image_size=224
    ).eval()
    batch = torch.rand(2, 3, 224, 224)
    with torch.no_grad():
        torch.testing.assert_close(backbone.features(batch), resized.encode_image(batch))


def test_what_is_no_checkpoint_of_the_architecture(saved: Any) -> None:
    _, path = saved("little-resnet")
    with pytest.raises(BackboneError, match=r"cannot be made of model\.pt.*Missing key"):
        load_backbone(f"open_clip:little-clip/{path}")


def test_names() -> None:
    with pytest.raises(UnknownNameError, match=r"open_clip architecture 'ViT-B-17'; did you"):
        load_backbone("open_clip:ViT-B-17/openai")
    for wanted in ("opnai", "", "/no/such/file.pt"):
        with pytest.raises(UnknownNameError, match=r"one of openai, laion400m_e31") as caught:
            load_backbone(f"open_clip:ViT-B-16/{wanted}")
        assert "open_clip:ViT-B-16/FILE" in caught.value.fix


def test_without_a_connection_the_file_to_provide_is_named(hub: Any) -> None:
    with hub.offline(), pytest.raises(BackboneError, match="HF_HUB_OFFLINE") as caught:
        load_backbone("open_clip:ViT-B-16/openai")
    assert caught.value.expected == "open_clip_model.safetensors or open_clip_pytorch_model.bin"
    assert "hf download timm/vit_base_patch16_clip_224.openai" in caught.value.fix
    assert "open_clip:ViT-B-16/FILE" in caught.value.fix


def test_every_tag_is_on_the_hub() -> None:
    """So that no other way of getting one is needed."""
    for arch, tag in open_clip.list_pretrained():
        assert open_clip.get_pretrained_cfg(arch, tag)["hf_hub"].count("/") == 2
