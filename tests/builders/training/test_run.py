"""A training: repeatable, gone on with where it was killed, never begun as something else."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from benchmark_spec.errors import BackboneError, SpecError, UnknownNameError
from benchmark_spec.protocol import Protocol

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")

from builders.training import run  # noqa: E402
from builders.training.building import build_method  # noqa: E402
from builders.training.folder import ABOUT, CHECKPOINT, CURVE, WEIGHTS  # noqa: E402
from builders.training.images import TrainingImages  # noqa: E402
from builders.training.settings import (  # noqa: E402
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)
from builders.training.trained import load_trained  # noqa: E402

SIDE = 12
TASK = Protocol(3, 1, 4)
SETTINGS = RunSettings(
    "ProtoNet",
    DataSettings("none", SIDE),
    network=NetworkSettings(channels=4, pools=(True, True, False, False)),
    training=TrainingSettings(str(TASK), steps=12),
    validation=ValidationSettings(str(TASK), tasks=5, every=4),
)


@pytest.fixture(scope="module")
def images() -> TrainingImages:
    """Eight classes: noise about a picture of each."""
    rng = np.random.default_rng(0)
    sizes = np.array([6, 7, 5, 9, 6, 6, 8, 5])
    centres = rng.integers(0, 256, (8, SIDE, SIDE))
    noisy = np.repeat(centres, sizes, axis=0) + rng.normal(0, 60, (sizes.sum(), SIDE, SIDE))
    return TrainingImages(np.clip(noisy, 0, 255).astype(np.uint8)[:, None], sizes, "digest")


@pytest.fixture(scope="module")
def finished(images: TrainingImages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training") / "run"
    run.train(SETTINGS, images, images, folder)
    return folder


def _digest(folder: Path) -> str:
    return str(json.loads((folder / ABOUT).read_text())["weights_sha256"])


def test_the_same_again(finished: Path, images: TrainingImages, tmp_path: Path) -> None:
    assert run.train(SETTINGS, images, images, tmp_path / "again") == _digest(finished)
    curve = (finished / CURVE).read_text()
    assert (tmp_path / "again" / CURVE).read_text() == curve
    assert [line.split(",")[0] for line in curve.splitlines()] == ["step", "4", "8", "12"]
    other = structs.replace(SETTINGS, seed=1)
    assert run.train(other, images, images, tmp_path / "other") != _digest(finished)


@pytest.mark.parametrize("killed_at", [1, 4, 7, 11])
def test_killed_and_gone_on_with(
    killed_at: int,
    finished: Path,
    images: TrainingImages,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "SECONDS", 0)
    step = run._step

    def die(*arguments: object) -> float:
        if arguments[-1] == killed_at:
            raise KeyboardInterrupt
        return step(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(run, "_step", die)
        with pytest.raises(KeyboardInterrupt):
            run.train(SETTINGS, images, images, tmp_path / "r")
    with pytest.raises(BackboneError, match="no finished training"):
        load_trained(tmp_path / "r")
    told: list[str] = []
    assert run.train(SETTINGS, images, images, tmp_path / "r", told.append) == _digest(finished)
    assert told[0] == f"goes on after step {killed_at}"
    assert (tmp_path / "r" / CURVE).read_text() == (finished / CURVE).read_text()
    assert not (tmp_path / "r" / CHECKPOINT).exists()
    assert (tmp_path / "r" / WEIGHTS).read_bytes() == (finished / WEIGHTS).read_bytes()


def test_a_folder_is_one_training_s(finished: Path, images: TrainingImages, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in finished.iterdir()}
    assert run.train(SETTINGS, images, images, finished) == _digest(finished)
    with pytest.raises(SpecError, match="begun with other settings"):
        run.train(structs.replace(SETTINGS, seed=1), images, images, finished)
    with pytest.raises(SpecError, match="begun with other images"):
        run.train(SETTINGS, replace(images, digest="other"), images, finished)
    assert before == {file.name: file.read_bytes() for file in finished.iterdir()}


def test_the_weights_kept_are_the_best(finished: Path, images: TrainingImages) -> None:
    """Those of the first of the highest accuracies, which validation finds again."""
    about = json.loads((finished / ABOUT).read_text())
    rows = [line.split(",") for line in (finished / CURVE).read_text().splitlines()[1:]]
    best = max(rows, key=lambda row: float(row[2]))
    assert (about["step"], f"{about['accuracy']:.4f}") == (int(best[0]), best[2])
    trained = load_trained(finished)
    assert run.accuracy(trained.method, SETTINGS, images, 5) == pytest.approx(about["accuracy"])
    assert trained.settings == SETTINGS


def test_it_learns(images: TrainingImages, tmp_path: Path) -> None:
    longer = TrainingSettings(str(TASK), steps=60, rate=0.01)
    settings = structs.replace(
        SETTINGS, training=longer, validation=ValidationSettings(str(TASK), 20, 20)
    )
    run.train(settings, images, images, tmp_path / "r")
    new = run.accuracy(build_method(settings, 8), settings, images, 50)
    assert run.accuracy(load_trained(tmp_path / "r").method, settings, images, 50) > new + 10


def test_it_answers_as_it_was_validated(finished: Path, images: TrainingImages) -> None:
    trained = load_trained(finished)
    chosen = images.pixels[images.starts[:3, None] + np.arange(5)]
    support, query = (part.astype(np.float32) for part in (chosen[:, :1], chosen[:, 1:]))
    answers = trained(support, query.reshape(12, 1, SIDE, SIDE), np.random.default_rng(1))
    loaded = torch.from_numpy(chosen.astype(np.float32) / np.float32(255))
    with torch.no_grad():
        scores = trained.method.scores(loaded[:, :1], loaded[:, 1:].flatten(0, 1))
    assert answers.tolist() == scores.argmax(dim=1).tolist()


def test_what_is_refused(images: TrainingImages, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="setting of ProtoNet"):
        run.train(structs.replace(SETTINGS, settings={"rate": 1}), images, images, tmp_path / "b")
    small = structs.replace(SETTINGS, training=TrainingSettings("3w3s6q", steps=2))
    with pytest.raises(SpecError, match=r"1 of \d classes have at least 9 images"):
        run.train(small, images, images, tmp_path / "c")


def test_a_step_s_gradient_is_clipped(images: TrainingImages, tmp_path: Path) -> None:
    """SGD without momentum moves weights by rate times the gradient, so by rate times clip."""
    moved = {}
    for clip in (0.0, 1e9, 0.01):
        how = TrainingSettings(
            str(TASK), steps=1, optimizer="sgd", rate=0.5, momentum=0.0, clip=clip
        )
        settings = structs.replace(SETTINGS, training=how)
        run.train(settings, images, images, tmp_path / str(clip))
        new, trained = build_method(settings, 8), load_trained(tmp_path / str(clip)).method
        pairs = zip(trained.parameters(), new.parameters(), strict=True)
        moved[clip] = sum(float((a - b).detach().square().sum()) for a, b in pairs) ** 0.5
    assert moved[0.0] == moved[1e9] > 0.005
    assert moved[0.01] == pytest.approx(0.5 * 0.01, rel=1e-3)


def test_fields_of_other_versions(finished: Path, images: TrainingImages, tmp_path: Path) -> None:
    """A folder of before a field is as unless given; one of a later version is refused."""
    for file in finished.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    about = json.loads((tmp_path / ABOUT).read_text())
    del about["settings"]["training"]["clip"]
    (tmp_path / ABOUT).write_text(json.dumps(about))
    assert run.train(SETTINGS, images, images, tmp_path) == about["weights_sha256"]
    clipped = structs.replace(SETTINGS, training=structs.replace(SETTINGS.training, clip=1.0))
    with pytest.raises(SpecError, match=r"training.clip 0.0, now 1.0"):
        run.train(clipped, images, images, tmp_path)
    about["settings"]["training"]["a_field"] = 5
    (tmp_path / ABOUT).write_text(json.dumps(about))
    for later in (load_trained, lambda at: run.train(SETTINGS, images, images, at)):
        with pytest.raises(SpecError, match="knows no a_field"):
            later(tmp_path)
