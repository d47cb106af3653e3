"""The reference against torchvision, timm and open_clip; the torch path against the reference."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from builders.features import checkpoints
from builders.features.backbone import TOLERANCE, Preprocessing
from builders.features.backbones import PAPER
from builders.features.packaged import MOBILENET_V2, efficientnet_lite

OURS = {
    "mobilenet_v2": MOBILENET_V2,
    "efficientnet_lite0": efficientnet_lite(224),
    "efficientnet_lite2": efficientnet_lite(260),
    "paper": PAPER,
}
LITTLE = (0.5, 0.25, 0.125)


def _pictures(photographs: list[Any]) -> list[Any]:
    """Real ones, larger and smaller than what is wanted, tall and wide, and noise."""
    palace, dahlia = photographs
    noise = np.random.default_rng(0).integers(0, 2, (300, 500, 3), dtype=np.uint8) * np.uint8(255)
    crops = [palace[:, 100:300], dahlia[200:280, 200:290], palace[300:341], dahlia[:256, :256]]
    return [palace, dahlia, *(np.ascontiguousarray(crop) for crop in crops), noise]


def _planes(torch: Any, picture: Any) -> Any:
    return torch.from_numpy(picture).permute(2, 0, 1)


@pytest.mark.parametrize("name", OURS)
def test_the_torch_path_is_within_its_tolerance_of_the_reference(
    name: str, photographs: list[Any], torch: Any
) -> None:
    pil = pytest.importorskip("PIL.Image")
    how = OURS[name]
    pictures = _pictures(photographs)
    expected = np.stack([how.reference(pil.fromarray(picture)) for picture in pictures])
    found = how.batch([_planes(torch, picture) for picture in pictures]).numpy()
    assert found.shape == expected.shape == (len(pictures), 3, *how.crop)
    assert found.dtype == expected.dtype == np.float32
    level = how.white / 255 / np.array(how.std).reshape(3, 1, 1)
    apart = np.abs(found - expected) / level
    assert apart.max() < TOLERANCE + 1e-3
    assert apart[:-1].max() < 1 + 1e-3  # without the noise
    assert (apart[:-1] > 0.5).mean() < 0.002
    together = how.batch(torch.stack([_planes(torch, p) for p in photographs]))
    assert_array_equal(together.numpy(), found[:2])


@pytest.mark.parametrize("side", ["short", "long", "both"])
@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (7, 9), (200, 20)])
def test_crops_and_borders(side: Any, shape: tuple[int, int], torch: Any) -> None:
    pil = pytest.importorskip("PIL.Image")
    how = Preprocessing((20, 24), (22, 17), "bilinear", LITTLE, LITTLE, side, fill=(9, 8, 7))
    picture = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    expected = how.reference(pil.fromarray(picture))
    found = how.batch([_planes(torch, picture)])[0].numpy()
    assert expected.shape == (3, 22, 17)
    assert np.abs(found - expected).max() < 1.01 / 255 / 0.125
    border = (np.array([9, 8, 7]) / 255 - LITTLE) / LITTLE
    if side == "long":
        np.testing.assert_allclose(expected[:, 0, 0], border, rtol=1e-6)


def test_efficientnet_lite_takes_grey_levels_less_127_over_128() -> None:
    pil = pytest.importorskip("PIL.Image")
    found = efficientnet_lite(224).reference(pil.new("RGB", (300, 300), (127, 255, 0)))
    assert found[:, 0, 0].tolist() == [0.0, 1.0, -127 / 128]


def test_it_is_torchvisions(photographs: list[Any]) -> None:
    pil = pytest.importorskip("PIL.Image")
    models = pytest.importorskip("torchvision.models", reason="needs torchvision")
    transforms = pytest.importorskip("torchvision.transforms")
    theirs = models.MobileNet_V2_Weights.IMAGENET1K_V1.transforms(antialias=True)
    paper = transforms.Compose(
        [
            transforms.Resize([256, 256]),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(PAPER.mean, PAPER.std),
        ]
    )
    for pixels in _pictures(photographs):
        picture = pil.fromarray(pixels)
        assert_array_equal(MOBILENET_V2.reference(picture), theirs(picture).numpy())
        assert_array_equal(PAPER.reference(picture), paper(picture).numpy())


def test_it_is_timms_for_every_way_in_which_timm_resizes(photographs: list[Any]) -> None:
    timm = pytest.importorskip("timm", reason="needs timm")
    data = pytest.importorskip("timm.data")
    pil = pytest.importorskip("PIL.Image")
    ways: dict[Any, Any] = {}
    for name in timm.list_models(pretrained=True):
        config = data.resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(name).to_dict())
        _, tall, wide = config["input_size"]
        way = (config["crop_mode"], config["interpolation"], tall == wide, config["crop_pct"] == 1)
        if way not in ways or tall < ways[way]["input_size"][1]:
            ways[way] = config
    assert {way[0] for way in ways} == {"center", "border", "squash"}
    pictures = [pil.fromarray(pixels) for pixels in _pictures(photographs)[2:5]]
    for config in ways.values():
        theirs, ours = data.create_transform(**config), checkpoints.timm_preprocessing(config)
        for picture in pictures:
            assert_array_equal(ours.reference(picture), theirs(picture).numpy(), str(config))


def test_it_is_open_clips_for_every_tag(photographs: list[Any]) -> None:
    open_clip = pytest.importorskip("open_clip", reason="needs open_clip")
    transform = pytest.importorskip("open_clip.transform")
    pil = pytest.importorskip("PIL.Image")
    keys = ("mean", "std", "interpolation", "resize_mode")
    configs = {json.dumps({"size": 32, "fill_color": 5, "resize_mode": "longest"})}
    for arch, tag in open_clip.list_pretrained():
        config = open_clip.get_pretrained_cfg(arch, tag)
        size = open_clip.get_model_config(arch)["vision_cfg"]["image_size"]
        configs.add(json.dumps({"size": min(size, 240)} | {key: config[key] for key in keys}))
    pictures = [pil.fromarray(pixels) for pixels in _pictures(photographs)[2:5]]
    for text in configs:
        config = transform.merge_preprocess_dict(transform.PreprocessCfg(), json.loads(text))
        theirs = transform.image_transform_v2(transform.PreprocessCfg(**config), is_train=False)
        ours = checkpoints.open_clip_preprocessing(config)
        for picture in pictures:
            assert_array_equal(ours.reference(picture), theirs(picture).numpy(), text)
