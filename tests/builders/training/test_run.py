"""Trainings: repeatable, gone on with, never begun as something else; what answers with them."""

import json
import shutil
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from msgspec import structs
from PIL import Image
from small_runs import stopped_at

from benchmark_spec.errors import (
    BackboneError,
    MethodFailedError,
    SourceError,
    SpecError,
    UnknownNameError,
)
from benchmark_spec.protocol import Protocol
from builders.features import Settings, precomputed
from builders.features.backbones import check_weights, load_backbone
from builders.sources.source import read_source
from builders.training import run
from builders.training.building import build_method
from builders.training.folder import ABOUT, CHECKPOINT, CURVE, WEIGHTS
from builders.training.images import Inputs, TrainingImages, levels_in
from builders.training.methods import METHODS
from builders.training.settings import (
    AugmentationSettings,
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)
from builders.training.trained import Trained, answer, fits_ways, levels_for, load_trained

SIDE = 12
TASK = Protocol(3, 1, 4)
SETTINGS = RunSettings(
    "ProtoNet",
    DataSettings("none", SIDE),
    network=NetworkSettings(channels=4, pools=(True, True, False, False)),
    training=TrainingSettings(str(TASK), steps=12),
    validation=ValidationSettings(str(TASK), tasks=5, every=4),
)


def _trained_by(**changes):
    return structs.replace(SETTINGS, training=structs.replace(SETTINGS.training, **changes))


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    sizes = np.array([6, 7, 5, 9, 6, 6, 8, 5])
    centres = rng.integers(0, 256, (8, SIDE, SIDE))
    noisy = np.repeat(centres, sizes, axis=0) + rng.normal(0, 60, (sizes.sum(), SIDE, SIDE))
    return TrainingImages(np.clip(noisy, 0, 255).astype(np.uint8)[:, None], sizes, "digest")


@pytest.fixture(scope="module")
def finished(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("training") / "run"
    run.train(SETTINGS, images, images, folder)
    return folder


def _files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name[0] != "."}


def _digest(folder):
    return str(json.loads((folder / ABOUT).read_text())["weights_sha256"])


def test_the_same_again(finished, images, tmp_path):
    assert run.train(SETTINGS, images, images, tmp_path / "again") == _digest(finished)
    assert _files(tmp_path / "again") == _files(finished)
    rows = (finished / CURVE).read_text().splitlines()
    assert [line.split(",")[0] for line in rows] == ["step", "4", "8", "12"]
    other = structs.replace(SETTINGS, seed=1)
    assert run.train(other, images, images, tmp_path / "other") != _digest(finished)
    assert run.train(SETTINGS, images, images, tmp_path / "again") == _digest(finished)
    with pytest.raises(SpecError, match="begun with other images"):
        run.train(SETTINGS, replace(images, digest="other"), images, tmp_path / "again")
    assert _files(tmp_path / "again") == _files(finished)


@pytest.mark.parametrize("killed_at", [1, 4, 7, 11])
def test_killed_and_gone_on_with(killed_at, finished, images, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "SECONDS", 0)
    with pytest.raises(KeyboardInterrupt), stopped_at(killed_at):
        run.train(SETTINGS, images, images, tmp_path)
    with pytest.raises(BackboneError, match="no finished training"):
        load_trained(tmp_path)
    told = []
    assert run.train(SETTINGS, images, images, tmp_path, told.append) == _digest(finished)
    assert told[0] == f"goes on after step {killed_at}"
    assert _files(tmp_path) == _files(finished)
    assert CHECKPOINT not in _files(tmp_path)


def test_the_weights_kept_are_the_best_and_answer_as_validated(finished, images):
    """Those of the first of the highest accuracies, which validation finds again."""
    about = json.loads((finished / ABOUT).read_text())
    rows = [line.split(",") for line in (finished / CURVE).read_text().splitlines()[1:]]
    best = max(rows, key=lambda row: float(row[2]))
    assert (about["step"], f"{about['accuracy']:.4f}") == (int(best[0]), best[2])
    trained = load_trained(finished)
    assert run.accuracy(trained.method, SETTINGS, images, 5) == pytest.approx(about["accuracy"])
    assert trained.settings == SETTINGS
    chosen = images.pixels[images.starts[:3, None] + np.arange(5)]
    support, query = (part.astype(np.float32) for part in (chosen[:, :1], chosen[:, 1:]))
    answers = trained(support, query.reshape(12, 1, SIDE, SIDE), np.random.default_rng(1))
    loaded = torch.from_numpy(chosen.astype(np.float32) / np.float32(255))
    with torch.no_grad():
        scores = trained.method.scores(loaded[:, :1], loaded[:, 1:].flatten(0, 1))
    assert answers.tolist() == scores.argmax(dim=1).tolist()


def test_it_learns(images, tmp_path):
    validation = ValidationSettings(str(TASK), 20, 20)
    settings = structs.replace(_trained_by(steps=60, rate=0.01), validation=validation)
    run.train(settings, images, images, tmp_path / "r")
    new = run.accuracy(build_method(settings, 8), settings, images, 50)
    assert run.accuracy(load_trained(tmp_path / "r").method, settings, images, 50) > new + 10


def test_classes_that_are_too_small(images, tmp_path):
    with pytest.raises(SpecError, match=r"1 of \d classes have at least 9 images"):
        run.train(_trained_by(episode="3w3s6q"), images, images, tmp_path)


def test_a_training_that_diverges_ends(images, tmp_path):
    diverging = _trained_by(optimizer="sgd", rate=1e30)
    with pytest.raises(
        MethodFailedError, match=r"the loss of \w+ is (nan|inf), not a number\n.*step"
    ):
        run.train(diverging, images, images, tmp_path / "r")


def test_a_step_s_gradient_is_clipped(images, tmp_path):
    """SGD without momentum moves weights by rate times the gradient, so by rate times clip."""
    moved = {}
    for clip in (0.0, 1e9, 0.01):
        settings = _trained_by(steps=1, optimizer="sgd", rate=0.5, momentum=0.0, clip=clip)
        run.train(settings, images, images, tmp_path / str(clip))
        new, trained = build_method(settings, 8), load_trained(tmp_path / str(clip)).method
        pairs = zip(trained.parameters(), new.parameters(), strict=True)
        moved[clip] = sum(float((a - b).detach().square().sum()) for a, b in pairs) ** 0.5
    assert moved[0.0] == moved[1e9] > 0.005
    assert moved[0.01] == pytest.approx(0.5 * 0.01, rel=1e-3)


def test_fields_of_other_versions(finished, images, tmp_path):
    """A folder of before a field is as unless given; one of a later version is refused."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    about = json.loads((tmp_path / ABOUT).read_text())
    del about["settings"]["training"]["clip"]
    (tmp_path / ABOUT).write_text(json.dumps(about))
    assert run.train(SETTINGS, images, images, tmp_path) == about["weights_sha256"]
    with pytest.raises(SpecError, match=r"training.clip 0.0, now 1.0"):
        run.train(_trained_by(clip=1.0), images, images, tmp_path)
    about["settings"]["training"]["a_field"] = 5
    (tmp_path / ABOUT).write_text(json.dumps(about))
    for later in (load_trained, lambda at: run.train(SETTINGS, images, images, at)):
        with pytest.raises(UnknownNameError, match="unknown field 'a_field'"):
            later(tmp_path)


LEVELS = np.random.default_rng(0).integers(0, 256, (12, 20, 3), np.uint8)


def test_a_random_crop_is_a_part_of_the_padded_picture():
    data = DataSettings("none", 12, channels=3)
    levels = np.repeat(LEVELS[None, :, :12].transpose(0, 3, 1, 2), 8, axis=0)
    how = AugmentationSettings(crop="random", padding=2, flip=0.5)
    state = torch.get_rng_state()
    made = Inputs(data, how).changed(levels, np.random.default_rng(3)).numpy()
    assert torch.equal(state, torch.get_rng_state())  # which methods draw from
    assert (made == Inputs(data, how).changed(levels, np.random.default_rng(3)).numpy()).all()
    padded = np.pad(levels[0], ((0, 0), (2, 2), (2, 2))) / np.float32(255)
    windows = [padded[:, y : y + 12, x : x + 12] for y in range(5) for x in range(5)]
    parts = [*windows, *(window[..., ::-1] for window in windows)]
    places = [[i for i, part in enumerate(parts) if (part == one).all()] for one in made]
    assert all(len(place) == 1 for place in places)
    assert {place[0] >= 25 for place in places} == {True, False}
    assert len({place[0] for place in places}) > 3


def test_other_changes():
    data = DataSettings("none", 10, channels=3, resize=12)
    levels = np.repeat(LEVELS[None, :, :12].transpose(0, 3, 1, 2), 3, axis=0)
    plain = Inputs(data).plain(levels)
    jitter = AugmentationSettings(jitter=(0.4, 0.0, 0.0, 0.0))
    factors = Inputs(data, jitter).changed(levels, np.random.default_rng(0)) / plain
    dark = (plain > 0.1) & (plain < 0.7)  # where rounding and white do not matter
    for factor, chosen in zip(factors, dark, strict=True):
        assert 0.55 < factor[chosen].min() <= factor[chosen].max() < 1.45
        assert factor[chosen].std() < 0.02
    assert factors[0].median() != factors[1].median()
    resized = AugmentationSettings(crop="resized", scale=(0.2, 0.5))
    assert Inputs(data, resized).changed(levels, np.random.default_rng(0)).shape == plain.shape
    none = Inputs(data, AugmentationSettings()).changed(levels, np.random.default_rng(0))
    assert torch.equal(none, plain)


def test_rates_of_steps():
    for how, expected in (
        ({"rate": 2.0}, [2, 1 + 0.5**0.5, 1, 1 - 0.5**0.5]),
        ({"rate": 2.0, "schedule": "constant"}, [2, 2, 2]),
        ({"schedule": "step", "step_size": 2, "gamma": 0.5}, [1, 1, 0.5, 0.5, 0.25]),
        (
            {"schedule": "multistep", "milestones": (1, 3), "gamma": 0.1, "warmup": 2},
            [1 / 3, 2 / 3, 1, 0.1, 0.1, 0.01],
        ),
    ):
        settings = TrainingSettings(**{"steps": len(expected), "rate": 1.0, **how})
        np.testing.assert_allclose(list(run._rates(settings)), expected, atol=1e-12)


NETWORK = NetworkSettings(channels=4, pools=(True, True, False, False))


def _trained(name, episode="5w5s15q", side=8, **settings):
    training, data = TrainingSettings(episode), DataSettings("digits", side)
    how = RunSettings(name, data, network=NETWORK, training=training, settings=settings)
    return Trained(build_method(how, 6).eval(), how, {})


@pytest.mark.parametrize("name", [*METHODS, "BOIL nil"])
def test_a_method_answers_tasks_of_the_ways_that_it_says(name):
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
    with pytest.raises(SpecError, match="pots: image 0 has colours"):
        levels_for(embedded, "pots", DataSettings("none", 9, fit="squeeze"))
    digits, canaries = (read_source(name, None) for name in ("digits", "canaries"))
    for images, said in (
        (canaries.images, "1797 images are not those of release"),
        (digits.images.take([*range(1797), 0]), "digits: images .*: in order, groups"),
        (digits.images.slice(0, 1796), r"1 images are not those of release .*: digits\.csv\.gz#"),
    ):
        with pytest.raises(SourceError, match=said) as caught:
            levels_for(embedded, "digits", data, replace(digits, images=images))
        assert not caught.value.where


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
    rng = np.random.default_rng(0)
    for name in "abc":
        (folder / name).mkdir(parents=True)
        for number in range(4):
            levels = rng.integers(0, 256, (*size[::-1], *([3] if mode == "RGB" else [])), np.uint8)
            Image.fromarray(levels).save(folder / name / f"{number}.png")
    return read_source("image_folder", folder, name="noise", options=ABOUT_PICTURES)


def _levels_trained_on(images, data, folder):
    if data.kept == 8 and data.channels is None:  # as glyphs: means of 3 x 3 pixels
        shown = [np.asarray(images.open(i).convert("L"), np.float32) for i in range(12)]
        means = np.stack(shown).reshape(12, 1, 8, 3, 8, 3).mean(axis=(3, 5))
        levels = np.floor(means + 0.5).astype(np.uint8)
    else:
        levels = levels_in(images, data)
    small = TrainingImages(levels, np.array([4, 4, 4]), "digest")
    run.train(RunSettings("ProtoNet", data, **SMALL), small, small, folder)
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
