"""Run several trainings with any engine, each in its own folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from glob import escape
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmark_spec.errors import FSLBenchError, SpecError
from builders.execution.engine import Engine, LocalEngine, Work, check_device, reproducible
from builders.training.building import check_method
from builders.training.folder import ABOUT, CHECKPOINT, begun, check_same, finished
from builders.training.images import data_digest, keep_images, kept_digests, load_images
from builders.training.run import train
from builders.training.settings import RunSettings, read_settings, settings_in
from builders.training.trained import check_start, read_finished, start_name
from fslbench_data.files import is_kept

IMAGES = ".images"
"""The folder, next to those of the trainings, that keeps their images."""


@dataclass(frozen=True)
class Planned:
    """A planned training; `images` is the file that keeps its images."""

    name: str
    settings: RunSettings
    folder: Path
    images: Path

    def __str__(self) -> str:  # in errors of engines
        return self.name


@dataclass(frozen=True)
class Trainings:
    """A job whose blocks are trainings and whose results are the digests of their weights."""

    threads: int
    device: str
    report: Callable[[str], None]

    def start(self) -> Work[Planned, str]:
        """Check the device; images are loaded with the first training that needs them."""
        check_device(self.device)
        load = lru_cache(maxsize=1)(load_images)

        def work(trainings: Iterable[Planned]) -> Iterator[str]:
            for training in trainings:
                images, report = load(training.images), partial(self._report, training.name)
                with reproducible(self.threads):
                    yield train(training.settings, *images, training.folder, report, self.device)

        return work

    def _report(self, name: str, text: str) -> None:
        self.report(f"{name}: {text}")


def plan(files: Sequence[Path], seeds: Sequence[int], folder: Path) -> list[Planned]:
    """Plan a training for each file and seed, in the folder ``<file's stem>-<seed>`` of `folder`.

    Without seeds, each file's own seed is used.  Only the files and `folder` are read.
    """
    for file_name in (ABOUT, CHECKPOINT):
        if (folder / file_name).exists():
            raise SpecError(
                f"{folder} is the folder of one training",
                where=str(folder / file_name),
                expected="a folder that holds those of trainings, each named FILE-SEED",
                fix="name the folder above it, or move it into a new one under such a name",
            )
    planned: dict[str, Planned] = {}
    for file in files:
        settings = read_settings(file)
        check_method(settings)
        for seed in seeds or [settings.seed]:
            name = f"{file.stem}-{seed}"
            if name in planned:
                raise SpecError(
                    f"two trainings would be {name}",
                    where=str(file),
                    expected="files of different names, and each seed once",
                    fix="rename a file, or leave one out",
                )
            seeded = replace(settings, seed=seed)
            images = folder / IMAGES / f"{data_digest(settings.data)}.npz"
            planned[name] = Planned(name, seeded, folder / name, images)
    for training in planned.values():
        if before := begun(training.folder):
            check_same(before, {"settings": training.settings.describe()}, training.folder)
        elif start_name(training.settings) not in planned:
            check_start(training.settings, folder)
    list(_waves(planned.values()))  # refuses a circle
    return list(planned.values())


def _waves(planned: Collection[Planned]) -> Iterator[list[Planned]]:
    """Yield trainings in waves, each after the one that it starts from; SpecError for a circle."""
    while planned:
        starts = {training.name: start_name(training.settings) for training in planned}
        ready = [training for training in planned if starts[training.name] not in starts]
        if not ready:
            raise SpecError(
                f"trainings start from each other: {', '.join(sorted(starts))}",
                where="[network], start",
                expected="a first one without start",
            )
        yield ready
        planned = [training for training in planned if starts[training.name] in starts]


def _whole(training: Planned, report: Callable[[str], None]) -> dict[str, Any] | None:
    """Return the description of a finished training; None, to train again, without its weights."""
    about = finished(training.folder)
    if about is None:
        return None
    try:
        read_finished(training.folder)
    except FSLBenchError:
        report(f"{training.name}: its weights are gone or damaged, and it is trained again")
        (training.folder / ABOUT).unlink()
        return None
    return about


def _file_of(training: Planned) -> str:
    """Return the name of a training's file, which all of its seeds share."""
    return training.name.rpartition("-")[0]


def _check_images(training: Planned) -> None:
    """Refuse kept images on which seeds of the same file did not train."""
    images = kept_digests(training.images)
    for folder in sorted(training.folder.parent.glob(f"{escape(_file_of(training))}-*")):
        about = begun(folder)
        if about is not None and settings_in(about["settings"]).data == training.settings.data:
            check_same(about, {"images": images}, folder)


def train_all(
    planned: Sequence[Planned],
    raw: Path | None,
    *,
    engine: Engine,
    threads: int = 1,
    device: str = "cpu",
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[str, str]]:
    """Run the planned trainings, or continue them; yields names and digests of weights.

    Finished trainings come first, and each training after the one that it starts from.
    `threads` and `device` are those of each process that trains.
    """
    if isinstance(engine, LocalEngine):
        check_device(device)  # before images are read
    done = {training.name: about for training in planned if (about := _whole(training, report))}
    unfinished = [training for training in planned if training.name not in done]
    data_of_file = {
        training.images: training.settings.data
        for training in planned
        if training in unfinished or is_kept(training.images)
    }
    for path, data in data_of_file.items():
        keep_images(data, raw, path, report)
    for training in {_file_of(training): training for training in planned}.values():
        if training.images in data_of_file:
            _check_images(training)
    for name, about in done.items():
        report(f"{name}: finished before")
        yield name, str(about["weights_sha256"])
    for wave in _waves(unfinished):
        for training, digest in engine.run(Trainings(threads, device, report), wave):
            yield training.name, digest
