"""What was trained: the task sets that it answers, and ``trained:FOLDER`` as a backbone."""

import json
import shutil
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark_spec.errors import BackboneError, SourceError, SpecError
from benchmark_spec.protocol import Protocol
from builders.features import precomputed
from builders.features.backbones import check_weights, load_backbone
from builders.features.extraction import Settings
from builders.sources.read import read_source
from builders.training.building import build_method
from builders.training.folder import ABOUT, WEIGHTS
from builders.training.images import Inputs, TrainingImages, levels_in
from builders.training.methods import METHODS
from builders.training.run import train
from builders.training.settings import (
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)
from builders.training.trained import Trained, answer, fits_ways, levels_for, load_trained

NETWORK = NetworkSettings(channels=4, pools=(True, True, False, False))


def _trained(name, episode="5w5s15q", side=8, **settings):
    training, data = TrainingSettings(episode), DataSettings("digits", side)
    run = RunSettings(name, data, network=NETWORK, training=training, settings=settings)
    return Trained(build_method(run, 6).eval(), run, {})


@pytest.mark.parametrize("name", [*METHODS, "BOIL nil"])
def test_a_method_answers_tasks_of_the_ways_that_it_says(name):
    """Of all methods: who says that it fits answers, and who does not refuses."""
    trained = _trained("BOIL", side=12, nil=True) if name == "BOIL nil" else _trained(name, side=12)
    generator = torch.Generator().manual_seed(0)
    support = torch.rand(4, 2, 1, 12, 12, generator=generator)
    query = torch.rand(3, 1, 12, 12, generator=generator)
    four, five = (SimpleNamespace(protocol=Protocol(way, 2, 3)) for way in (4, 5))
    assert fits_ways(trained, five)
    if fits_ways(trained, four):
        with torch.no_grad():
            assert trained.method.scores(support, query).shape == (3, 4)
    else:
        assert name in ("ANIL", "BOIL")
        with pytest.raises(SpecError, match="5 ways and a task has 4"):
            trained.method.scores(support, query)


def test_task_sets_that_do_not_fit(embedded):
    ask = partial(answer, release=embedded, levels=pytest.fail, datasets=["digits"])
    said = r"ANIL-conv4-7w1s answers no task set of digits(.|\n)*of 7 ways"
    with pytest.raises(SpecError, match=said):
        ask(_trained("ANIL", "7w1s1q"))
    with pytest.raises(SpecError, match="one size, and those of episodes-10w100s10q differ"):
        ask(_trained("ProtoNet"), task_sets=["open-5w5s5q", "episodes-10w100s10q"])


def test_pictures_of_a_release_are_read_as_in_training(embedded, tmp_path, monkeypatch):
    """Those that it holds, or those of the source if they are the same images."""
    levels = np.random.default_rng(0).integers(0, 256, (2, 12, 20, 3), np.uint8)
    paths = [tmp_path / f"{number}.png" for number in range(2)]
    for path, picture in zip(paths, levels, strict=True):
        Image.fromarray(picture).save(path)
    monkeypatch.setattr("builders.training.trained.stored_pictures", lambda *_: paths)
    data = DataSettings("none", 9, channels=3, fit="squeeze")
    found = levels_for(embedded, "pots", data)
    expected = [Image.fromarray(one).resize((9, 9), Image.Resampling.BILINEAR) for one in levels]
    np.testing.assert_array_equal(found, np.stack(expected).transpose(0, 3, 1, 2))
    with pytest.raises(SpecError, match=r"pots: image 0 has 20 x 12 pixels(.|\n)*fix: say fit"):
        levels_for(embedded, "pots", DataSettings("none", 9, channels=3))
    digits, canaries = (read_source(name, None) for name in ("digits", "canaries"))
    for images, said in (
        (canaries.images, "1797 images are not those of release"),
        (digits.images.take([*range(1797), 0]), "digits: images .*: in order, groups"),
        (digits.images.slice(0, 1796), r"1 images are not those of release .*: digits\.csv\.gz#"),
    ):
        with pytest.raises(SourceError, match=said):
            levels_for(embedded, "digits", data, replace(digits, images=images))


ABOUT_PICTURES = {"title": "t", "homepage": "h", "licence": "l", "citation": "c"}
COLOURS = {"channels": 3, "resize": 24, "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
CASES = {
    "grey, three times the side": (DataSettings("none", 8), (24, 24), "L"),
    "grey as they are": (DataSettings("none", 24), (24, 24), "L"),
    "colours, the middle": (DataSettings("none", 16, **COLOURS), (24, 24), "RGB"),
    "squeezed, made grey": (DataSettings("none", 8, channels=1, fit="squeeze"), (25, 20), "RGB"),
    "cropped": (DataSettings("none", 9, channels=3, resize=12, fit="crop"), (29, 20), "RGB"),
}
SMALL = {
    "network": NETWORK,
    "training": TrainingSettings("2w1s2q", steps=2),
    "validation": ValidationSettings("2w1s2q", tasks=2, every=2),
}


def _images(folder, size, mode):
    """Three classes of four pictures of noise."""
    rng = np.random.default_rng(0)
    for name in "abc":
        (folder / name).mkdir(parents=True)
        for number in range(4):
            levels = rng.integers(0, 256, (*size[::-1], *([3] if mode == "RGB" else [])), np.uint8)
            Image.fromarray(levels).save(folder / name / f"{number}.png")
    return read_source("image_folder", folder, name="noise", options=ABOUT_PICTURES)


def _levels_trained_on(images, data, folder):
    """The levels that a training in the folder was trained on."""
    if data.kept == 8 and data.channels is None:  # as glyphs: means of 3 x 3 pixels
        shown = [np.asarray(images.open(i).convert("L"), np.float32) for i in range(12)]
        means = np.stack(shown).reshape(12, 1, 8, 3, 8, 3).mean(axis=(3, 5))
        levels = np.floor(means + 0.5).astype(np.uint8)
    else:
        levels = levels_in(images, data)
    small = TrainingImages(levels, np.array([4, 4, 4]), "digest")
    train(RunSettings("ProtoNet", data, **SMALL), small, small, folder)
    return levels


def _extract(images, trained, folder):
    settings = Settings(threads=1, workers=0)
    return precomputed.write_precomputed(images, f"trained:{trained}", folder, settings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    images = _images(folder / "raw", (24, 24), "L")
    _levels_trained_on(images, DataSettings("none", 24), folder / "proto-0")
    return folder / "proto-0"


@pytest.mark.parametrize(("data", "size", "mode"), CASES.values(), ids=CASES)
def test_features_are_the_maps_of_the_network(data, size, mode, tmp_path):
    images, folder = _images(tmp_path / "raw", size, mode), tmp_path / "proto-0"
    levels = _levels_trained_on(images, data, folder)
    features = _extract(images, folder, tmp_path / "f").features("noise")
    with torch.no_grad():
        maps = load_trained(folder).method.network(Inputs(data).plain(levels)).flatten(1).numpy()
    assert maps.std() > 0.01
    np.testing.assert_allclose(np.asarray(features, np.float32), maps, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("channels", "size", "mode", "words"),
    [
        (None, (24, 24), "RGB", "has colours"),
        (None, (30, 24), "L", "0.png. cannot be shown: 30 x 24 pixels, not 24 x 24 or 72 x 72"),
        (3, (72, 72), "RGB", "72 x 72 pixels, not 24 x 24"),
    ],
)
def test_pictures_that_no_setting_is_for(channels, size, mode, words, tmp_path):
    fitting = _images(tmp_path / "fitting", (24, 24), "L")
    _levels_trained_on(fitting, DataSettings("none", 24, channels=channels), tmp_path / "proto-0")
    images = _images(tmp_path / "raw", size, mode)
    with pytest.raises(SourceError, match=words):
        _extract(images, tmp_path / "proto-0", tmp_path / "f")


def test_it_says_which_weights_they_are_and_refuses_others(trained, tmp_path):
    about = json.loads((trained / ABOUT).read_text())
    for name, weights in ((f"trained:{trained}", None), ("trained:proto-0", trained.parent)):
        described = load_backbone(name, weights).describe()
        assert described["backbone"] == "trained:proto-0"
        assert described["weights"]["sha256"] == about["weights_sha256"]
        assert described["weights"]["method"] == "ProtoNet-conv4-2w1s"

    with pytest.raises(BackboneError, match="no finished training"):
        check_weights(f"trained:{tmp_path}")
    with pytest.raises(BackboneError, match="its own preprocessing"):
        load_backbone(f"trained:{trained}+paper")
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    state = torch.load(tmp_path / WEIGHTS, weights_only=True)
    state["network.blocks.0.weight"].view(-1)[0] += 1e-6
    torch.save(state, tmp_path / WEIGHTS)
    with pytest.raises(BackboneError, match="not those that its"):
        load_backbone(f"trained:{tmp_path}")
