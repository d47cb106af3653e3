"""Several trainings at once: each in a folder of its own, images read once, with any engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from msgspec.structs import replace

from benchmark_spec.errors import SpecError
from builders.execution.engine import Engine, LocalEngine, Work, check_device, reproducible
from builders.training.building import check_method
from builders.training.folder import ABOUT, CHECKPOINT, begun, check_same, finished
from builders.training.images import data_digest, keep_images, load_images
from builders.training.run import train
from builders.training.settings import RunSettings, read_settings
from builders.training.trained import check_start, start_name

IMAGES = ".images"
"""The folder of the images of trainings, next to theirs."""


@dataclass(frozen=True)
class Planned:
    """A planned training; `images` is the file that its images are kept in."""

    name: str
    settings: RunSettings
    folder: Path
    images: Path

    def __str__(self) -> str:  # in errors of engines
        return self.name


@dataclass(frozen=True)
class Trainings:
    """The job of trainings, one a block; its results are the digests of their weights."""

    threads: int
    device: str
    report: Callable[[str], None]

    def start(self) -> Work[Planned, str]:
        """Check the device; images are loaded with the first training that needs them."""
        check_device(self.device)
        load = lru_cache(maxsize=1)(load_images)

        def work(blocks: Iterable[Planned]) -> Iterator[str]:
            for one in blocks:
                images, report = load(one.images), partial(self._report, one)
                with reproducible(self.threads):
                    yield train(one.settings, *images, one.folder, report, self.device)

        return work

    def _report(self, one: Planned, text: str) -> None:
        self.report(f"{one.name}: {text}")


def plan(files: Sequence[Path], seeds: Sequence[int], folder: Path) -> list[Planned]:
    """Plan a training for each file and seed, in the folder ``<file's stem>-<seed>`` of `folder`.

    Without seeds, each file's own counts.  Nothing is read but the files and what is in `folder`.
    """
    for name in (ABOUT, CHECKPOINT):
        if (folder / name).exists():
            raise SpecError(
                f"{folder} is the folder of one training",
                where=str(folder / name),
                expected="a folder that holds those of trainings, each named FILE-SEED",
                fix="name the folder above it, or move it into a new one under such a name",
            )
    planned: dict[str, Planned] = {}
    for file in files:
        settings = read_settings(file)
        check_method(settings)
        for seed in seeds or [settings.seed]:
            one = f"{file.stem}-{seed}"
            if one in planned:
                raise SpecError(
                    f"two trainings would be {one}",
                    where=str(file),
                    expected="files of different names, and each seed once",
                    fix="rename a file, or leave one out",
                )
            seeded = replace(settings, seed=seed)
            images = folder / IMAGES / f"{data_digest(settings.data)}.npz"
            planned[one] = Planned(one, seeded, folder / one, images)
    for training in planned.values():
        if before := begun(training.folder):
            check_same(before, {"settings": training.settings.describe()}, training.folder)
        elif start_name(training.settings) not in planned:
            check_start(training.settings, folder)
    list(_waves(planned.values()))  # refuses a circle
    return list(planned.values())


def _waves(planned: Collection[Planned]) -> Iterator[list[Planned]]:
    """Put each training after the one that it starts from; SpecError for a circle."""
    while planned:
        ahead = {one.name: start_name(one.settings) for one in planned}
        ready = [one for one in planned if ahead[one.name] not in ahead]
        if not ready:
            raise SpecError(
                f"trainings start from each other: {', '.join(sorted(ahead))}",
                where="[network], start",
                expected="a first one without start",
            )
        yield ready
        planned = [one for one in planned if ahead[one.name] in ahead]


def train_all(
    planned: Sequence[Planned],
    raw: Path | None,
    *,
    engine: Engine,
    threads: int = 1,
    device: str = "cpu",
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[str, str]]:
    """Train what is planned, or go on with it; gives names and digests of weights.

    Those that are finished come first; a training comes after the one that it starts from.
    `threads` and `device` are of each process that trains.
    """
    if isinstance(engine, LocalEngine):
        check_device(device)  # before images are read
    done = {one.name: before for one in planned if (before := finished(one.folder))}
    ahead = [one for one in planned if one.name not in done]
    for one in {one.images: one for one in ahead}.values():
        keep_images(one.settings.data, raw, one.images, report)
    for name, before in done.items():
        report(f"{name}: finished before")
        yield name, str(before["weights_sha256"])
    for wave in _waves(ahead):
        for one, digest in engine.run(Trainings(threads, device, report), wave):
            yield one.name, digest
