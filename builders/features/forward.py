"""The job of an extraction: from blocks of image ids to blocks of features, in any process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import EngineError, SourceError
from benchmark_spec.extras import require
from builders.execution.engine import Work, job_name
from builders.features.backbone import Backbone, DType
from builders.features.backbones import load_backbone
from builders.features.decoding import Batch, Batches, Gives, Reader, problem_of
from builders.features.doctor import AGREEMENT
from builders.features.processor import (
    Device,
    check_facts,
    default_batch,
    facts,
    reproducible,
)
from builders.sources.image_set import ImageSet

NVJPEG = "nvJPEG"
BLOCK = 1024
"""Images of a block; block b is the ids from 1024·b."""


class DeviceMemoryError(EngineError):
    """A batch that does not fit the GPU's memory."""


@dataclass(frozen=True)
class Network:
    """What loads a backbone, in whichever process."""

    name: str
    weights: Path | None = None
    device: Device = "cpu"
    dtype: DType = "float32"

    def load(self) -> Backbone:
        """The backbone; a process keeps the last one."""
        return _loaded(self.name, self.weights, self.device, self.dtype)


_loaded = lru_cache(maxsize=1)(
    lambda name, weights, device, dtype: load_backbone(name, weights, device=device, dtype=dtype)
)
forget_network = _loaded.cache_clear
"""Give the last backbone's memory back."""


@dataclass(frozen=True)
class BlockFeatures:
    """Features of a block, float16 (n, D), and what was wrong with images that are zeros."""

    features: NDArray[np.float16]
    problems: dict[int, str]


@dataclass(frozen=True)
class Survey:
    """The job that finds out, where the work will be done, what the features will depend on.

    Its one result is the provenance as far as it is the same for all images.
    """

    network: Network
    threads: int
    batch: int | None
    block: int = BLOCK

    @property
    def name(self) -> str:
        """Tells it from every other job."""
        return f"survey of {self!r}"

    @property
    def gpus(self) -> int:
        """GPUs of a process."""
        return int(self.network.device == "cuda")

    def start(self) -> Work[int, dict[str, Any]]:
        """Load the backbone."""

        def work(blocks: Iterable[int]) -> Iterator[dict[str, Any]]:
            for _ in blocks:
                machine = facts(self.network.device, self.network.name)
                with reproducible(self.threads):
                    backbone = self.network.load()
                    batch = self.batch or default_batch(backbone)
                on_gpu = self.gpus > 0
                jpeg_on_gpu = on_gpu and hasattr(require("torchvision.io"), "decode_jpeg")
                yield {
                    **backbone.describe(),
                    **machine,
                    "threads": self.threads,
                    "batch": batch,
                    "block": self.block,
                    "decoder": f"{NVJPEG}, else Pillow" if jpeg_on_gpu else "Pillow",
                    "resized_by": "torch" if on_gpu else "Pillow, the reference",
                    "stored": "float16",
                    "agreement": AGREEMENT[self.network.dtype],
                }

        return work


@dataclass(frozen=True)
class Extraction:
    """The job that extracts blocks of features.

    Attributes
    ----------
    survey
        What :class:`Survey` has found; a machine that differs from it is refused.
    workers
        Processes that decode, beside each that computes.
    skip_corrupt
        Give an image that cannot be shown zeros as its features, rather than an error.
    """

    network: Network
    images: ImageSet = field(repr=False)
    survey: dict[str, Any]
    workers: int
    skip_corrupt: bool = False
    name: str = field(default_factory=job_name)

    @property
    def threads(self) -> int:
        """Threads of a process."""
        return int(self.survey["threads"])

    @property
    def gpus(self) -> int:
        """GPUs of a process."""
        return int(self.network.device == "cuda")

    def start(self) -> Work[int, BlockFeatures]:
        """Load the backbone, and start the processes that decode.

        Raises
        ------
        EngineError
            If this machine is of another kind than the one that was surveyed.
        BackboneError, SourceError
            If the backbone cannot be loaded.
        """
        check_facts(self.survey, self.network.name)
        backbone = self.network.load()
        on_gpu: Gives = "files" if self.survey["decoder"].startswith(NVJPEG) else "pixels"
        gives = on_gpu if self.gpus else "inputs"
        reader = Reader.of(self.images, backbone.preprocessing, gives)
        batches = Batches(reader, self.workers, pinned=self.gpus > 0)

        def work(blocks: Iterable[int]) -> Iterator[BlockFeatures]:
            with reproducible(self.threads):
                try:
                    yield from self._blocks(list(blocks), backbone, batches)
                except require("torch").OutOfMemoryError:
                    raise DeviceMemoryError(
                        f"a batch of {self.survey['batch']} pictures does not fit the memory of "
                        "the GPU",
                        fix="give a smaller --batch, or end what else uses the GPU",
                    ) from None

        return work

    def _blocks(
        self, blocks: list[int], backbone: Backbone, batches: Batches
    ) -> Iterator[BlockFeatures]:
        """Features of blocks; the pictures of the next are on their way meanwhile."""
        size, block, total = self.survey["batch"], self.survey["block"], len(self.images.images)
        ranges = {b: range(b * block, min((b + 1) * block, total)) for b in blocks}
        wanted = (
            list(of_block[first : first + size])
            for of_block in ranges.values()
            for first in range(0, len(of_block), size)
        )
        parts: list[Any] = []
        problems: dict[int, str] = {}
        last: Callable[[], BlockFeatures] | None = None
        for batch, pixels in self._inputs(batches(wanted), backbone):
            self._look_at(batch.problems)
            problems |= batch.problems
            parts.append(backbone.features(pixels))
            if last is not None:
                yield last()
                last = None
            ids = ranges[batch.ids[0] // block]
            if batch.ids[-1] == ids[-1]:
                last = partial(self._finished, ids, _on_host(parts), problems)
                parts, problems = [], {}
                if not self.gpus:  # which else would wait until the next batch is under way
                    yield last()
                    last = None
        if last is not None:
            yield last()

    def _inputs(self, batches: Iterator[Batch], backbone: Backbone) -> Iterator[tuple[Batch, Any]]:
        if self.gpus:
            from builders.features import on_gpu

            return on_gpu.inputs(batches, backbone.preprocessing)
        return ((batch, batch.data) for batch in batches)

    def _look_at(self, problems: dict[int, str]) -> None:
        """Refuse images that cannot be shown, unless they are to be skipped."""
        if problems and not self.skip_corrupt:
            image_id, problem = next(iter(problems.items()))
            raise SourceError(
                problem_of(self.images, image_id, problem),
                expected="a whole image",
                fix="get the file again; or, for a feature set that is in no release, leave its "
                "features zero with --skip-corrupt, which records it",
            )

    def _finished(
        self, ids: range, on_host: Callable[[], NDArray[np.float16]], problems: dict[int, str]
    ) -> BlockFeatures:
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
        return BlockFeatures(features, problems)


def _on_host(parts: list[Any]) -> Callable[[], NDArray[np.float16]]:
    """Batches of features on their way from the device; gives them, float16 (n, D), once there."""
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
        found: NDArray[np.float16] = host.numpy()
        return found

    return wait
