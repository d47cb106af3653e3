"""Extracting the features of a data set: streaming, resumable, the same whoever computes them.

The unit is a block of images by their ids; within it batches of one size, from its first image on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SpecError
from builders.execution.engine import Engine, LocalEngine
from builders.features.backbone import DType
from builders.features.block_job import DeviceMemoryError, Survey, WorkFolder, work_folder
from builders.features.forward import BLOCKS, Extraction, Network, forget_network
from builders.features.processor import Device, default_threads
from builders.features.shards import Pieces
from builders.sources.image_set import ImageSet
from fslbench_data.evaluation.progress import Progress

SAME = "the same images, backbone and settings as when it was begun"


@dataclass(frozen=True)
class Settings:
    """How to extract.

    Attributes
    ----------
    weights
        The folder that ``fslbench-build fetch`` has filled, and of other checkpoints.
    batch
        Pictures at a time, at most a block: 32 unless given, on a GPU what half of its memory
        holds.
    workers
        Processes that decode, for each that computes: one for four threads unless given, for a GPU
        as many as threads.
    threads
        Of the processor, for each process that computes: all unless given, for a GPU 16.
    skip_corrupt
        Give an image that cannot be shown zeros as its features, rather than an error.
    block
        Images of a block, 1024 on a GPU and 128 elsewhere unless given.
    engine
        What computes the blocks.
    """

    weights: Path | None = None
    device: Device = "cpu"
    dtype: DType = "float32"
    batch: int | None = None
    workers: int | None = None
    threads: int | None = None
    skip_corrupt: bool = False
    block: int = 0
    engine: Engine = field(default_factory=LocalEngine, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.block:
            object.__setattr__(self, "block", BLOCKS[self.device])
        for name, least, most in (
            ("batch", 1, self.block),
            ("workers", 0, 2**10),
            ("threads", 1, 2**10),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise SpecError(f"{name} is {value}", expected=f"{least} to {most}")

    def workers_for(self, threads: int) -> int:
        """Count the processes that decode, beside a network that has so many threads."""
        if self.workers is not None:
            return self.workers
        return threads if self.device == "cuda" else max(1, threads // 4)


def nobody(images: int, /, *, resumed: bool = False) -> None:
    """Tell nobody of progress."""


@contextmanager
def extracted(
    images: ImageSet,
    backbone: str,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = nobody,
) -> Iterator[tuple[Pieces, dict[str, Any]]]:
    """Extract features, in pieces by blocks, and tell how; they are kept while the context lasts.

    Finished blocks lie in `folder`, in one for the backbone and the data set, and are removed at
    the end, unless the context is left by an exception.  SourceError if an image cannot be shown or
    its features overflow, OutputError if the folder holds an unfinished run of something else,
    EngineError if there is no such device or machines differ.
    """
    settings = settings or Settings()
    with work_folder(folder, backbone, images) as work:
        try:
            yield _run(images, backbone, work, settings, progress)
        finally:
            forget_network()


def _run(
    images: ImageSet, backbone: str, work: WorkFolder, settings: Settings, progress: Progress
) -> tuple[Pieces, dict[str, Any]]:
    network, surveyed = _surveyed(backbone, settings, (work.of or {}).get("batch"))
    of = {"dataset": images.name, "images": content_digest(images.images)}
    anew = False
    while True:
        provenance = {**surveyed, **of}
        work.begin(provenance, anew=anew, expected=SAME)
        workers = settings.workers_for(surveyed["threads"])
        job = Extraction(network, images, surveyed, workers, skip_corrupt=settings.skip_corrupt)
        try:
            blocks = job.compute(work, settings.engine, progress, whole=not settings.skip_corrupt)
            break
        except DeviceMemoryError:
            if surveyed["batch"] == 1:
                raise
            surveyed, anew = {**surveyed, "batch": surveyed["batch"] // 2}, True
    work.check_unchanged(images)
    if left_out := work.problems(blocks):
        provenance["left_out"] = left_out
    return map(work.values, blocks), provenance


def described(
    images: ImageSet, backbone: str, settings: Settings, batch: int | None
) -> dict[str, Any]:
    """Tell how the features of a data set would be made now, as their provenance says it."""
    try:
        surveyed = _surveyed(backbone, settings, batch)[1]
    finally:
        forget_network()
    return {**surveyed, "dataset": images.name, "images": content_digest(images.images)}


def _surveyed(
    backbone: str, settings: Settings, batch: int | None
) -> tuple[Network, dict[str, Any]]:
    """Return a network, and what its features depend on where the work will be done."""
    network = Network(backbone, settings.weights, settings.device, settings.dtype)
    threads = settings.threads or default_threads(settings.device)
    survey = Survey(network, threads, settings.batch or batch, settings.block)
    ((_, surveyed),) = settings.engine.run(survey, [0])
    return network, surveyed
