"""Extracting the features of a data set: streaming, resumable, the same with every engine.

The unit is a block of images by their ids; within it batches of one size, from its first image on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SourceError, SpecError
from benchmark_spec.extras import require
from builders.execution.engine import Engine, LocalEngine, reproducible
from builders.features.backbone import Backbone, DType, resizes_with
from builders.features.backbones import load_backbone
from builders.features.block_job import (
    BlockJob,
    BlockResult,
    DeviceMemoryError,
    Loader,
    Survey,
    loaded,
    work_folder,
)
from builders.features.decoding import Batch, Batches, Gives, inputs_on_gpu, problem_of
from builders.features.processor import Device, default_batch, default_threads, facts
from builders.features.shards import Pieces
from builders.sources.image_set import ImageSet, silent
from fslbench_data.evaluation.progress import Progress

NVJPEG = "nvJPEG"
AGREEMENT = {"float32": 0.9999, "bfloat16": 0.95}
"""The least cosine of each canary's features to another extraction's, by what was computed in."""

BLOCKS: dict[Device, int] = {"cuda": 1024, "cpu": 128}
"""Images of a block, which a killed run loses.  Block b is the ids from their number · b."""


@dataclass(frozen=True)
class Network(Loader):
    """A named backbone."""

    dtype: DType = "float32"

    def load(self) -> Backbone:
        """Load the backbone."""
        return load_backbone(self.name, self.weights, device=self.device, dtype=self.dtype)

    def survey(self, threads: int, batch: int | None, block: int) -> dict[str, Any]:
        """Return what features depend on here, with a batch for this device if none is given."""
        machine = facts(self.device, self.name)
        with reproducible(threads):
            backbone = loaded(self)
            batch = batch or default_batch(backbone)
        jpeg_on_gpu = self.device == "cuda" and hasattr(require("torchvision.io"), "decode_jpeg")
        return {
            **backbone.describe(),
            **machine,
            "threads": threads,
            "batch": batch,
            "block": block,
            "decoder": f"{NVJPEG}, else Pillow" if jpeg_on_gpu else "Pillow",
            "resized_by": resizes_with(self.device),
            "stored": "float16",
            "agreement": AGREEMENT[self.dtype],
        }


@dataclass(frozen=True)
class Extraction(BlockJob):
    """The job that extracts blocks of features, float16 (n, D).

    `skip_corrupt` is that of :class:`builders.features.extraction.Settings`.
    """

    skip_corrupt: bool = False

    too_large = "a batch of {} pictures does not fit"
    mend = (
        "get the file again; or, for a feature set that is in no release, leave its "
        "features zero with --skip-corrupt, which records it"
    )

    @property
    def gives(self) -> Gives:
        """Inputs of a network on the CPU; on a GPU pixels or files."""
        if self.device == "cpu":
            return "inputs"
        return "files" if self.surveyed["decoder"].startswith(NVJPEG) else "pixels"

    def results(self, blocks: list[int], network: Any, batches: Batches) -> Iterator[BlockResult]:
        """Compute the features of blocks, the last one while its successor is under way."""
        backbone: Backbone = network
        parts: list[Any] = []
        problems: dict[int, str] = {}
        last: Callable[[], BlockResult] | None = None
        made = batches(self.batches_of(blocks))
        inputs: Iterator[tuple[Batch, Any]] = ((batch, batch.data) for batch in made)
        if self.device == "cuda":
            inputs = inputs_on_gpu(made, backbone.preprocessing)
        for batch, pixels in inputs:
            if not self.skip_corrupt:
                self.refuse(batch.problems)
            problems |= batch.problems
            parts.append(backbone.features(pixels))
            if last is not None:
                yield last()
                last = None
            ids = self.ids_of(batch.ids[0] // self.surveyed["block"])
            if batch.ids[-1] == ids[-1]:
                last = partial(self._finished, ids, _on_host(parts), problems)
                parts, problems = [], {}
                if self.device == "cpu":  # which else would wait until the next batch is under way
                    yield last()
                    last = None
        if last is not None:
            yield last()

    def _finished(
        self, ids: range, on_host: Callable[[], NDArray[np.float16]], problems: dict[int, str]
    ) -> BlockResult:
        features = on_host()
        infinite = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if infinite.size:
            raise SourceError(
                f"{self.network.name} gives values that are not finite in float16 for "
                f"{infinite.size} images of {self.images.name}",
                where=problem_of(self.images, ids[int(infinite[0])], "its features overflow"),
                fix="the backbone may not be made for this type of numbers: try --dtype fp32",
            )
        for image_id in problems:
            features[image_id - ids[0]] = 0
        return features, problems


def _on_host(parts: list[Any]) -> Callable[[], NDArray[np.float16]]:
    """Send batches of features from the device; gives them, float16 (n, D), once there."""
    torch = require("torch")
    features = torch.cat(parts).to(torch.float16)
    if features.device.type == "cpu":
        return lambda: features.numpy()
    host = torch.empty(features.shape, dtype=features.dtype, pin_memory=True)
    host.copy_(features, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record()

    def wait() -> NDArray[np.float16]:
        arrived.synchronize()
        features: NDArray[np.float16] = host.numpy()
        return features

    return wait


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
        Give an image that cannot be read zeros as its features, rather than an error.
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
        """Return how many processes decode for a network with so many threads."""
        if self.workers is not None:
            return self.workers
        return threads if self.device == "cuda" else max(1, threads // 4)


@contextmanager
def extracted(
    images: ImageSet,
    backbone: str,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Iterator[tuple[Pieces, dict[str, Any]]]:
    """Extract features, in pieces by blocks, with provenance; they are kept during the context.

    Finished blocks lie in `folder`, in one for the backbone and the data set, and are removed at
    the end, unless the context is left by an exception.  SourceError if an image cannot be read or
    its features overflow, OutputError if the folder holds an unfinished run of something else,
    EngineError if there is no such device or machines differ.
    """
    settings = settings or Settings()
    skip, engine, anew = settings.skip_corrupt, settings.engine, False
    with work_folder(folder, backbone, images) as work:
        network, made = _surveyed(images, backbone, settings, (work.of or {}).get("batch"))
        workers = settings.workers_for(made["threads"])
        while True:
            work.begin(made, anew=anew, expected=SAME)
            job = Extraction(network, images, made, workers, skip_corrupt=skip)
            try:
                blocks = job.compute(work, engine, progress, whole=not skip)
                break
            except DeviceMemoryError:
                if made["batch"] == 1:
                    raise
                made, anew = {**made, "batch": made["batch"] // 2}, True
        work.check_unchanged(images)
        if left_out := work.problems(blocks):
            made = {**made, "left_out": left_out}
        yield map(work.values, blocks), made


def described(
    images: ImageSet, backbone: str, settings: Settings, batch: int | None
) -> dict[str, Any]:
    """Return the provenance of a data set's features if they were extracted now."""
    try:
        return _surveyed(images, backbone, settings, batch)[1]
    finally:
        loaded.cache_clear()


def _surveyed(
    images: ImageSet, backbone: str, settings: Settings, batch: int | None
) -> tuple[Network, dict[str, Any]]:
    """Return a network, and what features depend on, made where the work will be done."""
    network = Network(backbone, settings.weights, settings.device, settings.dtype)
    threads = settings.threads or default_threads(settings.device)
    survey = Survey(network, threads, settings.batch or batch, settings.block)
    ((_, surveyed),) = settings.engine.run(survey, [0])
    of = {"dataset": images.name, "images": content_digest(images.images)}
    return network, {**surveyed, **of}
