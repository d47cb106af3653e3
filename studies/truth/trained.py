"""Train where class and background are correlated: ``python -m studies.truth.trained RAW WORK``.

RAW is the folder of packages that `fslbench-build fetch glyphs_sample` made; WORK keeps pixels,
trainings and answers.  What is there is left as it is, so a run that was stopped goes on.  Written
is ``trained.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark_spec.protocol import Protocol
from builders.sources.source import read_source
from builders.training.images import TrainingImages
from builders.training.run import train
from builders.training.settings import (
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
    ValidationSettings,
)
from builders.training.trained import Trained, load_trained
from fslbench_data.release.release import load_release
from fslbench_data.sampling.draw import DrawnTasks
from studies.common import Array
from studies.truth.measures import (
    counterfactual_tasks,
    in_all_values,
    ladder_tasks,
    measures_of,
)

RESULTS = Path(__file__).with_name("trained.json")
SIDE, PROTOCOL = 28, Protocol.parse("5w1s5q")
DOSES, SEEDS = (0.0, 0.5, 0.9), (0, 1, 2)
PARTS = {"train": 96, "validate": 20, "test": 60}
SGD = {"optimizer": "sgd", "rate": 0.1, "momentum": 0.9, "decay": 0.0005}
METHODS: dict[str, dict[str, Any]] = {
    "ProtoNet": {"episodes": 2, "decay": 0.0005},
    "R2D2": {"episodes": 2, **SGD},
    "ANIL": {"episodes": 2},
    "RFS": {"batch": 64, **SGD},
}


def gratings(side: int = SIDE) -> Array:
    """Make backgrounds (8, side, side), 0..0.5: four directions, periods of 4 and 8 pixels."""
    y, x = np.mgrid[:side, :side]
    return np.array(
        [
            (1 + np.cos(2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / period)) / 4
            for angle in np.pi * np.arange(4) / 4
            for period in (4, 8)
        ]
    )


BACKGROUNDS = gratings()
VALUES = len(BACKGROUNDS)


def before(pixels: Array, value: Array) -> Array:
    """Lay drawings (N, side, side) before backgrounds (N,): uint8, white 255."""
    shown: Array = np.maximum(pixels, np.rint(255 * BACKGROUNDS)[value].astype(np.uint8))
    return shown


def planted(label: Array, dose: float, rng: np.random.Generator) -> Array:
    """Draw backgrounds (N,): that of an image's class with probability `dose`, otherwise any."""
    own = rng.permutation(int(label.max()) + 1) % VALUES
    chance, any_value = rng.random(label.size), rng.integers(VALUES, size=label.size)
    return np.where(chance < dose, own[label], any_value)


def pixels_of(source: str, raw: Path, work: Path, mode: str = "L", side: int = SIDE) -> Array:
    """Read pictures of a source, (N, side, side[, 3]); WORK keeps them."""
    path = work / f"{source}-{side}.npz"
    if not path.exists():
        from PIL.Image import Resampling

        images = read_source(source, raw)
        pictures = map(images.picture, images.images["path"].to_pylist())
        smaller = (one.convert(mode).resize((side, side), Resampling.BOX) for one in pictures)
        np.savez(path, x=np.stack([np.asarray(one, np.uint8) for one in smaller]))
    pixels: Array = np.load(path)["x"]
    return pixels


def parts_of(pixels: Array, label: Array) -> dict[str, tuple[Array, Array]]:
    """Part the characters by chance, the same for all trainings: pixels and classes, from 0 on."""
    order = np.random.default_rng(0).permutation(int(label.max()) + 1)
    parts, start = {}, 0
    for name, count in PARTS.items():
        chosen = np.flatnonzero(np.isin(label, order[start : start + count]))
        parts[name] = pixels[chosen], np.unique(label[chosen], return_inverse=True)[1]
        start += count
    return parts


def images_of(pixels: Array, label: Array, dose: float, seed: tuple[int, ...]) -> TrainingImages:
    """Make the images of a part, each before its planted background."""
    shown = before(pixels, planted(label, dose, np.random.default_rng(seed)))
    return TrainingImages(shown[:, None], np.bincount(label), sha256(shown.tobytes()).hexdigest())


class Tasks:
    """The tasks of all models, and their images before the backgrounds that each task shows."""

    def __init__(self, pixels: Array, label: Array) -> None:
        self.pixels, sizes = pixels, np.bincount(label)
        self.first = np.cumsum(sizes) - sizes
        self.value = np.random.default_rng(7).integers(VALUES, size=label.size)
        words = [[f"grating {v}"] for v in self.value]
        self.ladder = ladder_tasks(words, sizes, PROTOCOL, 0, "gratings")
        objects = in_all_values(sizes, VALUES)
        self.versions = counterfactual_tasks(objects, PROTOCOL, 0, "gratings")

    def shown(self, step: str, tasks: DrawnTasks, number: int) -> tuple[Array, Array]:
        """Give the images of a task (K, S+Q, 1, side, side), and their backgrounds (K, S+Q)."""
        positions = np.concatenate([tasks.support[number], tasks.query[number]], axis=1)
        first = self.first[tasks.class_ids[number]][:, None]
        rows, value = first + positions // VALUES, positions % VALUES
        if step in self.ladder:
            rows = first + positions
            value = self.value[rows]
        shown = before(self.pixels[rows.ravel()], value.ravel())
        return shown.reshape(*rows.shape, 1, SIDE, SIDE), value


def answers(trained: Trained, asked: Tasks) -> tuple[dict[str, Array], float]:
    """Count correct queries (T, K) by step; and the share that follows the attribute."""
    torch.manual_seed(0)
    correct, followed = {}, []
    for step, tasks in (asked.ladder | asked.versions).items():
        way, query = tasks.protocol.way, tasks.protocol.query
        counts = np.zeros((len(tasks), way), np.int64)
        for number in range(len(tasks)):
            shown, value = asked.shown(step, tasks, number)
            images = torch.from_numpy(shown.astype(np.float32) / np.float32(255))
            with torch.no_grad():
                scores = trained.method.scores(images[:, :1], images[:, 1:].flatten(0, 1))
            answer = scores.argmax(dim=1).numpy().reshape(way, query)
            counts[number] = (answer == np.arange(way)[:, None]).sum(axis=1)
            if step == "other":
                followed.append((value[:, 0][answer] == value[:, 1:]).mean())
        correct[step] = counts
    return correct, 100 * float(np.mean(followed))


def settings_of(method: str, seed: int) -> RunSettings:
    """Return the settings of a training."""
    return RunSettings(
        method=method,
        data=DataSettings(source="glyphs_sample"),
        seed=seed,
        network=NetworkSettings(channels=16, pools=(True, True, True, False)),
        training=TrainingSettings(episode=str(PROTOCOL), steps=400, **METHODS[method]),
        validation=ValidationSettings(episode=str(PROTOCOL), tasks=50, every=100),
    )


def record_of(folder: Path, asked: Tasks) -> dict[str, Any]:
    """Answer the tasks, unless that was done, and compute the measures."""
    kept = folder / "answers.npz"
    if not kept.exists():
        correct, followed = answers(load_trained(folder), asked)
        np.savez(kept, **correct | {"followed": np.array(followed)})
        print(folder.name, flush=True)
    with np.load(kept) as file:
        correct = {step: file[step] for step in (*asked.ladder, *asked.versions)}
        followed = float(file["followed"])
    query = next(iter(asked.ladder.values())).protocol.query
    measured = measures_of(correct, query).items()
    return {
        "followed": followed,
        "accuracy": {s: round(100 * float(n.mean()) / query, 3) for s, n in correct.items()},
        "measures": {name: None if np.isnan(v) else round(v, 3) for name, v in measured},
    }


Images = Callable[[str, float, tuple[int, ...]], TrainingImages]
"""Gives the images of a part, with a dose and a seed."""


def train_all(
    images_of: Images,
    settings_of: Callable[[str, int], RunSettings],
    asked: Tasks,
    folders: str,
    path: Path,
) -> None:
    """Train and answer what has not been, and write the measures of all, a line a model."""
    torch.set_num_threads(1)
    lines = []
    for seed, dose in product(SEEDS, DOSES):
        images = images_of("train", dose, (seed, 0))
        validation = images_of("validate", dose, (seed, 1))
        for method in METHODS:
            folder = Path(f"{folders}{method}-{dose}-{seed}")
            train(settings_of(method, seed), images, validation, folder)
            about = {"method": method, "dose": dose, "seed": seed}
            lines.append(json.dumps(about | record_of(folder, asked)))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def arguments(text: str | None) -> tuple[Path, Path]:
    """Read RAW and WORK of the command line."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("raw", type=Path)
    parser.add_argument("work", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    return options.raw, options.work


def main() -> None:
    """Train, answer and write the measures."""
    raw, work = arguments(__doc__)
    label = load_release().images("glyphs_sample").column("class_id").to_numpy()
    parts = parts_of(pixels_of("glyphs_sample", raw, work), label)

    def images(part: str, dose: float, seed: tuple[int, ...]) -> TrainingImages:
        return images_of(*parts[part], dose, seed)

    train_all(images, settings_of, Tasks(*parts["test"]), f"{work}/", RESULTS)


if __name__ == "__main__":
    main()
