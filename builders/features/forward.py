"""The job of an extraction: from blocks of image ids to blocks of features, in any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.execution.reproducible import reproducible
from builders.features.backbone import Backbone, DType
from builders.features.backbones import load_backbone
from builders.features.block_job import BlockJob, BlockResult
from builders.features.decoding import Batch, Batches, Gives, inputs_on_gpu, problem_of
from builders.features.doctor import AGREEMENT
from builders.features.processor import Device, default_batch, facts

NVJPEG = "nvJPEG"
BLOCKS: dict[Device, int] = {"cuda": 1024, "cpu": 128}
"""Images of a block: what a killed run loses.  Block b is the ids from their number · b."""


@dataclass(frozen=True)
class Network:
    """What loads a backbone, in whichever process."""

    name: str
    weights: Path | None = None
    device: Device = "cpu"
    dtype: DType = "float32"

    @property
    def family(self) -> str:
        """Its name."""
        return self.name

    def load(self) -> Backbone:
        """Load the backbone; a process keeps the last one."""
        return _loaded(self.name, self.weights, self.device, self.dtype)

    def survey(self, threads: int, batch: int | None, block: int) -> dict[str, Any]:
        """Find out what features depend on here, with a batch for this device if none is given."""
        machine = facts(self.device, self.name)
        with reproducible(threads):
            backbone = self.load()
            batch = batch or default_batch(backbone)
        on_gpu = self.device == "cuda"
        jpeg_on_gpu = on_gpu and hasattr(require("torchvision.io"), "decode_jpeg")
        return {
            **backbone.describe(),
            **machine,
            "threads": threads,
            "batch": batch,
            "block": block,
            "decoder": f"{NVJPEG}, else Pillow" if jpeg_on_gpu else "Pillow",
            "resized_by": "torch" if on_gpu else "Pillow, the reference",
            "stored": "float16",
            "agreement": AGREEMENT[self.dtype],
        }


_loaded = lru_cache(maxsize=1)(
    lambda name, weights, device, dtype: load_backbone(name, weights, device=device, dtype=dtype)
)
forget_network = _loaded.cache_clear
"""Give the last backbone's memory back."""


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
        """Inputs of a network on the CPU; what a GPU makes them of."""
        if not self.gpus:
            return "inputs"
        return "files" if self.surveyed["decoder"].startswith(NVJPEG) else "pixels"

    def results(self, blocks: list[int], network: Any, batches: Batches) -> Iterator[BlockResult]:
        """Compute the features of blocks, the last one while its successor is under way."""
        backbone: Backbone = network
        parts: list[Any] = []
        problems: dict[int, str] = {}
        last: Callable[[], BlockResult] | None = None
        for batch, pixels in self._inputs(batches(self.batches_of(blocks)), backbone):
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
                if not self.gpus:  # which else would wait until the next batch is under way
                    yield last()
                    last = None
        if last is not None:
            yield last()

    def _inputs(self, batches: Iterator[Batch], backbone: Backbone) -> Iterator[tuple[Batch, Any]]:
        if self.gpus:
            return inputs_on_gpu(batches, backbone.preprocessing)
        return ((batch, batch.data) for batch in batches)

    def _finished(
        self, ids: range, on_host: Callable[[], NDArray[np.float16]], problems: dict[int, str]
    ) -> BlockResult:
        features = on_host()
        infinite = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if infinite.size:
            raise SourceError(
                f"{self.network.family} gives values that are not finite in float16 for "
                f"{infinite.size} images of {self.images.name}",
                where=problem_of(self.images, ids[int(infinite[0])], "its features overflow"),
                fix="the backbone may not be made for this type of numbers: try --dtype fp32",
            )
        for image_id in problems:
            features[image_id - ids[0]] = 0
        return BlockResult(features, problems)


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
