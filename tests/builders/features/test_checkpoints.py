"""Small models of open_clip and timm, saved and loaded; preprocessing beside the libraries'."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tiny_features import features_of_pictures

from benchmark_spec.errors import BackboneError, UnknownNameError
from builders.features import checkpoints
from builders.features.backbone import Preprocessing
from builders.features.backbones import PAPER, load_backbone
from builders.features.packaged import MOBILENET_V2, efficientnet_lite
from fslbench_data.files import sha256_of

for package in ("torch", "PIL", "safetensors", "open_clip", "timm", "torchvision"):
    pytest.importorskip(package, reason=f"needs {package}, of the extra `builders`")
import open_clip  # noqa: E402
import timm  # noqa: E402
import torch  # noqa: E402
from open_clip import transform  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from torchvision import models, transforms  # noqa: E402

VISION = {"image_size": 32, "layers": 1, "width": 32, "patch_size": 8, "head_width": 16}
RESNET = {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None}
TIMM = {"timm_model_name": "test_vit", "timm_model_pretrained": False, "image_size": 64}
POOLED = {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True}
TEXT = {"context_length": 4, "vocab_size": 20, "width": 16, "heads": 1, "layers": 1}
CLIP = {"embed_dim": 24, "vision_cfg": VISION, "text_cfg": TEXT}
CONFIGS = {
    "little-clip": CLIP,
    "little-custom": {**CLIP, "custom_text": True},
    "little-resnet": {**CLIP, "vision_cfg": RESNET},
    "little-timm": {**CLIP, "vision_cfg": {**TIMM, "timm_pool": "", "timm_proj": "linear"}},
    "little-coca": {
        **CLIP,
        "vision_cfg": {**VISION, **POOLED},
        "text_cfg": {**TEXT, "embed_cls": True, "output_tokens": True},
        "multimodal_cfg": {**TEXT, "attn_pooler_heads": 2},
        "custom_text": True,
    },
}
MODELS = ["test_vit", "test_resnet", "test_convnext", "test_efficientnet"]


@pytest.fixture(scope="module", autouse=True)
def _configs(tmp_path_factory):
    for name, config in CONFIGS.items():
        path = tmp_path_factory.mktemp("configs") / f"{name}.json"
        path.write_text(json.dumps(config))
        open_clip.add_model_config(path)


@pytest.fixture
def saved(tmp_path):
    """Saves a model with random weights; gives it and the file."""

    def save(name, file="model.safetensors", **options):
        torch.manual_seed(1)
        library = open_clip if name in CONFIGS else timm
        model = library.create_model(name, **options).eval()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.uniform_(-1, 1)
        path = tmp_path / file
        if path.suffix == ".safetensors":
            save_file(model.state_dict(), path)
        else:
            torch.save({"state_dict": model.state_dict()}, path)
        return model, path

    return save


@pytest.fixture
def serve(hub):
    def put(repo, name, path):
        hub.create_repo(repo, "model")
        hub.commit(repo, {name: path.read_bytes()}, kind="model")

    return put


@torch.no_grad()
def _by_library(model, batch):
    if hasattr(model, "visual"):
        return model.encode_image(batch, normalize=False)
    return model.forward_head(model.forward_features(batch), pre_logits=True)


def _expected(model, pictures):
    if hasattr(model, "visual"):
        config = transform.PreprocessCfg(**model.visual.preprocess_cfg)
        how = transform.image_transform_v2(config, is_train=False)
    else:
        how = timm.data.create_transform(**timm.data.resolve_data_config(model=model))
    return _by_library(model, torch.stack([how(Image.fromarray(picture)) for picture in pictures]))


@pytest.mark.parametrize(
    ("name", "file", "options"),
    [
        *((name, "model.pt", {}) for name in CONFIGS),
        *((name, "model.safetensors", {}) for name in MODELS),
        *(("test_vit", "mine.pth", {"num_classes": classes}) for classes in (0, 7)),
    ],
)
def test_features_are_the_librarys(name, file, options, saved, photographs):
    model, path = saved(name, file, **options)
    start = f"open_clip:{name}/" if name in CONFIGS else f"timm:{name}@"
    backbone = load_backbone(f"{start}{path}")  # of open_clip with two slashes
    expected = _expected(model, photographs)
    found = features_of_pictures(backbone, photographs)
    if name == "little-coca":  # whose encode_image always normalises
        found = torch.nn.functional.normalize(found, dim=-1)
        expected = torch.nn.functional.normalize(expected, dim=-1)
    torch.testing.assert_close(found, expected)
    assert backbone.dimensions == expected.shape[1]
    assert backbone.name == f"{start}{file}"  # where it lies is nobody's business
    assert str(path.parent) not in str(backbone.describe())
    assert backbone.weights == {"file": file}
    assert backbone.weights_sha256 == sha256_of(path)
    network, left = (model.visual, 0) if name in CONFIGS else (model, model.get_classifier())
    heads = sum(p.numel() for p in left.parameters()) if left else 0
    assert backbone.parameters == sum(p.numel() for p in network.parameters()) - heads
    half = load_backbone(f"{start}{file}", path.parent, dtype="bfloat16")
    assert half.describe()["dtype"] == "bfloat16"
    cosine = torch.nn.functional.cosine_similarity(features_of_pictures(half, photographs), found)
    assert cosine.min() > 0.99


def test_a_tag_brings_its_preprocessing_and_its_activation(saved, serve, hub, monkeypatch):
    """Weights trained with QuickGELU must get it: `ViT-B-16/openai` are of that kind."""
    model, path = saved("little-clip", "open_clip_model.safetensors", force_quick_gelu=True)
    serve("org/little", path.name, path)
    mean, std = (0.5, 0.25, 0.125), (0.25, 0.5, 1.0)
    tag = {"hf_hub": "org/little/", "mean": mean, "std": std, "quick_gelu": True}
    tag |= {"interpolation": "bilinear", "resize_mode": "squash"}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "little-clip", {"best": tag})
    backbone = load_backbone("open_clip:little-clip/best")
    how = backbone.preprocessing
    assert (how.mean, how.std, how.interpolation, how.side) == (mean, std, "bilinear", "both")
    batch = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(backbone.features(batch), _by_library(model, batch))
    revision = hub.sha("org/little", kind="model")
    assert backbone.weights == {"hub": "org/little", "file": path.name, "revision": revision}
    assert backbone.weights_sha256 == sha256_of(path)
    # a tag of one file, whose safe twin is preferred
    tag["hf_hub"] = "org/little/open_clip_pytorch_model.bin"
    assert load_backbone("open_clip:little-clip/best").weights_sha256 == sha256_of(path)
    tag["hf_hub"] = "org/little/pytorch_model.bin"
    with pytest.raises(BackboneError, match="no such file") as caught:
        load_backbone("open_clip:little-clip/best")
    assert caught.value.expected == "pytorch_model.safetensors or pytorch_model.bin"


def test_the_papers_preprocessing(saved):
    """It is of 224 pixels, which a transformer of another size has to be made for."""
    paths = {name: saved(name, f"{name}.safetensors")[1] for name in ("little-clip", *MODELS[:2])}
    file, overlay = str(paths["little-clip"]), {"file": str(paths["test_vit"])}
    clip = open_clip.create_model("little-clip", pretrained=file, force_image_size=224).eval()
    vit = timm.create_model("test_vit", True, pretrained_cfg_overlay=overlay, img_size=224).eval()
    batch = torch.rand(2, 3, 224, 224)
    for start, name, resized in (
        ("open_clip:little-clip/", "little-clip", clip),
        ("timm:test_vit@", "test_vit", vit),
        ("timm:test_resnet@", "test_resnet", None),
    ):
        backbone = load_backbone(f"{start}{paths[name]}+paper")
        assert backbone.preprocessing is PAPER
        assert backbone.name == f"{start}{name}.safetensors+paper"
        features = backbone.features(batch)
        if resized is not None:
            torch.testing.assert_close(features, _by_library(resized, batch))


def test_what_is_no_checkpoint(saved, tmp_path):
    saved("little-resnet", "little.pt")
    saved("test_resnet", "resnet.safetensors")
    (tmp_path / "broken.pth").write_bytes(b"no checkpoint")
    for name, said in (
        ("open_clip:little-clip/little.pt", r"cannot be made of little\.pt.*Missing key"),
        ("timm:test_vit@resnet.safetensors", r"cannot be made of resnet\.safet.*Missing key"),
        ("timm:test_vit@broken.pth", r"cannot be made of broken\.pth"),
        ("timm:test_vit@none.pth", r"there is no file none\.pth"),
    ):
        with pytest.raises(BackboneError, match=said):
            load_backbone(name, tmp_path)


TAGS = r"one of openai, laion400m_e31(.|\n)*open_clip:ViT-B-16/FILE"


def test_names_that_are_none(hub):
    for name, said, error in (
        ("open_clip:ViT-B-17/openai", "open_clip architecture 'ViT-B-17'; did", UnknownNameError),
        ("open_clip:ViT-B-16/opnai", TAGS, UnknownNameError),
        ("open_clip:ViT-B-16/", TAGS, UnknownNameError),
        ("open_clip:ViT-B-16//no/such/file.pt", TAGS, UnknownNameError),
        ("timm:resnet19", "unknown timm model 'resnet19'; did you mean", UnknownNameError),
        ("timm:resnet18.a1_in2k", "weights of timm's resnet18 'a1_in2k'; did", UnknownNameError),
        (
            "timm:coatnet_0_224",
            r"timm has no weights of coatnet_0_224(.|\n)*timm:coatnet_0_224@FILE",
            BackboneError,
        ),
        ("timm:vit_base_patch16_224.dino", "there is no such repository", BackboneError),
    ):
        with pytest.raises(error, match=said):
            load_backbone(name)


def test_every_tag_is_on_the_hub():
    for arch, tag in open_clip.list_pretrained():
        assert open_clip.get_pretrained_cfg(arch, tag)["hf_hub"].count("/") == 2


@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
def test_weights_of_the_hub(file, saved, serve, hub, photographs):
    model, path = saved("test_vit", file)
    repo, tag = "timm/test_vit.r160_in1k", "r160_in1k"
    serve(repo, file, path)
    weights = {"hub": repo, "file": file, "revision": hub.sha(repo, kind="model"), "tag": tag}
    for name in ("timm:test_vit", "timm:test_vit.r160_in1k"):
        backbone = load_backbone(name)
        assert backbone.name == name
        assert backbone.weights_sha256 == sha256_of(path)
        assert backbone.weights == {**weights, "licence": "apache-2.0"}
    expected = _expected(model, photographs)
    torch.testing.assert_close(features_of_pictures(backbone, photographs), expected)
    hub.requests.clear()
    with hub.offline():
        assert load_backbone("timm:test_vit").weights_sha256 == sha256_of(path)
    assert not hub.requests


def test_without_a_connection_the_file_of_timm_is_named(hub):
    repo = "timm/vit_base_patch14_reg4_dinov2.lvd142m"
    with hub.offline(), pytest.raises(BackboneError, match="HF_HUB_OFFLINE") as caught:
        load_backbone("timm:vit_base_patch14_reg4_dinov2.lvd142m")
    assert repo in caught.value.where
    assert caught.value.expected == "model.safetensors or pytorch_model.bin"
    assert f"hf download {repo} model.safetensors" in caught.value.fix
    assert "timm:vit_base_patch14_reg4_dinov2.lvd142m@FILE" in caught.value.fix


@pytest.fixture(scope="module")
def pictures(photographs):
    """Real ones, larger and smaller than what is wanted, tall and wide, and noise."""
    palace, dahlia = photographs
    noise = np.random.default_rng(0).integers(0, 2, (300, 500, 3), dtype=np.uint8) * np.uint8(255)
    crops = [palace[:, 100:300], dahlia[200:280, 200:290], palace[300:341], dahlia[:256, :256]]
    return [palace, dahlia, *(np.ascontiguousarray(crop) for crop in crops), noise]


@pytest.mark.parametrize("side", ["short", "long", "both"])
@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (7, 9), (200, 20)])
def test_crops_and_borders(side, shape):
    little = (0.5, 0.25, 0.125)
    how = Preprocessing((20, 24), (22, 17), "bilinear", little, little, side, fill=(9, 8, 7))
    picture = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    expected = how.reference(Image.fromarray(picture))
    assert expected.shape == (3, 22, 17)
    assert_array_equal(how.batch([torch.from_numpy(picture).permute(2, 0, 1)])[0], expected)
    border = (np.array([9, 8, 7]) / 255 - little) / little
    if side == "long":
        np.testing.assert_allclose(expected[:, 0, 0], border, rtol=1e-6)


def test_efficientnet_lite_takes_grey_levels_less_127_over_128():
    found = efficientnet_lite(224).reference(Image.new("RGB", (300, 300), (127, 255, 0)))
    assert found[:, 0, 0].tolist() == [0.0, 1.0, -127 / 128]


def test_it_is_torchvisions(pictures):
    theirs = models.MobileNet_V2_Weights.IMAGENET1K_V1.transforms(antialias=True)
    steps = [transforms.Resize([256, 256]), transforms.CenterCrop(224), transforms.ToTensor()]
    paper = transforms.Compose([*steps, transforms.Normalize(PAPER.mean, PAPER.std)])
    for picture in map(Image.fromarray, pictures):
        assert_array_equal(MOBILENET_V2.reference(picture), theirs(picture).numpy())
        assert_array_equal(PAPER.reference(picture), paper(picture).numpy())


def test_it_is_timms_for_every_way_in_which_timm_resizes(pictures):
    data = timm.data
    ways = {}
    for name in timm.list_models(pretrained=True):
        config = data.resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(name).to_dict())
        _, tall, wide = config["input_size"]
        way = (config["crop_mode"], config["interpolation"], tall == wide, config["crop_pct"] == 1)
        if way not in ways or tall < ways[way]["input_size"][1]:
            ways[way] = config
    assert {way[0] for way in ways} == {"center", "border", "squash"}
    for config in ways.values():
        theirs, ours = data.create_transform(**config), checkpoints.timm_preprocessing(config)
        for picture in map(Image.fromarray, pictures[2:5]):
            assert_array_equal(ours.reference(picture), theirs(picture).numpy(), str(config))


def test_it_is_open_clips_for_every_tag(pictures):
    keys = ("mean", "std", "interpolation", "resize_mode")
    configs = {json.dumps({"size": 32, "fill_color": 5, "resize_mode": "longest"})}
    for arch, tag in open_clip.list_pretrained():
        config = open_clip.get_pretrained_cfg(arch, tag)
        size = open_clip.get_model_config(arch)["vision_cfg"]["image_size"]
        configs.add(json.dumps({"size": min(size, 240)} | {key: config[key] for key in keys}))
    for text in configs:
        config = transform.merge_preprocess_dict(transform.PreprocessCfg(), json.loads(text))
        theirs = transform.image_transform_v2(transform.PreprocessCfg(**config), is_train=False)
        ours = checkpoints.open_clip_preprocessing(config)
        for picture in map(Image.fromarray, pictures[2:5]):
            assert_array_equal(ours.reference(picture), theirs(picture).numpy(), text)


KERNELS = """
import numpy as np, torch
from PIL import Image
from builders.features.backbone import Preprocessing
from builders.features.resizing import resize
chance = np.random.default_rng(0)
sizes = [(21, 30), (9, 40), (7, 9), (20, 24), (33, 21)]
arrays = [chance.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes]
pictures = [torch.from_numpy(array).permute(2, 0, 1) for array in arrays]
for kind in ("nearest", "bilinear", "bicubic"):
    for shape, crop, side in (((12, 12), (10, 9), "short"), ((12, 14), (13, 15), "long")):
        how = Preprocessing(shape, crop, kind, (0, 0, 0), (1, 1, 1), side, 255, (9, 8, 7))
        shown = list(zip(arrays, pictures))
        if kind == "nearest":  # only ever of pictures of the right size, which it leaves alone
            shown = shown[3:4]
            how = Preprocessing((20, 24), crop, kind, (0, 0, 0), (1, 1, 1), "both", 255, (9, 8, 7))
        shown_arrays, tensors = zip(*shown)
        resized = [how.resized(*picture.shape[1:]) for picture in tensors]
        corners = [how._corner(*size) for size in resized]
        found = resize(tensors, resized, corners, how.crop, kind, how.fill)
        pillow = np.stack([how.reference(Image.fromarray(array)) for array in shown_arrays])
        off = np.abs(found.numpy() - pillow)
        print(kind, side, off.max(), (off > 0).mean())
"""
"""Triton's, run by its interpreter on the CPU, which is chosen where Triton is imported."""


@pytest.mark.slow
def test_the_kernels_of_a_gpu_resize_as_pillow_does():
    pytest.importorskip("triton", reason="needs Triton, which comes with PyTorch for GPUs")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-c", KERNELS]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        kind, _, most, share = line.split()
        assert float(most) <= (0 if kind == "nearest" else 1), line
        assert float(share) < 0.03, line
    assert len(run.stdout.splitlines()) == 6
