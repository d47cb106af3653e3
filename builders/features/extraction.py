"""Extract the features of a data set by a backbone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.features.backbone import TRITON, Backbone, DType, resizes_with
from builders.features.backbones import load_backbone
from builders.features.block_job import BlockJob, BlockNetwork, Settings
from builders.features.decoding import Batch, Batches, inputs_on_gpu, problem_of
from builders.sources.image_set import ImageSet

AGREEMENT = {"float32": 0.9999, "bfloat16": 0.95}
"""The least cosine of each canary's features to those of another extraction, by dtype."""

LARGEST_BATCH = 256
"""The largest default batch: a larger one makes no GPU faster."""


@dataclass(frozen=True)
class Network(BlockNetwork):
    """A named backbone, which computes features, float16 (n, D), of blocks."""

    dtype: DType = "float32"

    too_large = "a batch of {} pictures does not fit"

    @classmethod
    def of(cls, name: str, settings: Settings) -> Network:
        """Name the backbone that settings are for."""
        return cls(name, settings.weights, settings.device, settings.dtype)

    def load(self) -> Backbone:
        """Load the backbone."""
        return load_backbone(self.name, self.weights, device=self.device, dtype=self.dtype)

    def batch_for(self, network: Backbone) -> int:
        """Choose how many pictures to take at a time: on a GPU, what half of its memory holds."""
        torch = require("torch")
        if network.device.type != "cuda":
            return 32
        tried = 8
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        network.features(torch.zeros(tried, 3, *network.preprocessing.crop, device="cuda"))
        bytes_each = max(1, (torch.cuda.max_memory_allocated() - before) // tried)
        torch.cuda.empty_cache()
        fitting = max(1, int(torch.cuda.mem_get_info()[0] // 2 // bytes_each))
        return int(min(LARGEST_BATCH, 2 ** (fitting.bit_length() - 1)))

    def depends_on(self) -> dict[str, Any]:
        """Return what decodes and resizes, and how features are stored and compared."""
        resized_by = resizes_with(self.device)
        return {
            "decoder": "nvJPEG, else Pillow" if resized_by == TRITON else "Pillow",
            "resized_by": resized_by,
            "stored": "float16",
            "agreement": AGREEMENT[self.dtype],
        }

    def results(
        self, job: BlockJob, blocks: list[int], network: Backbone, batches: Batches
    ) -> Iterator[NDArray[np.float16]]:
        """Yield the features of blocks; a GPU sends a block's while it computes the next batch."""
        parts: list[Any] = []
        pending: Callable[[], NDArray[np.float16]] | None = None
        read = job.read(blocks, batches)
        inputs: Iterator[tuple[Batch, Any]] = ((batch, batch.data) for batch in read)
        if job.on_gpu:
            inputs = inputs_on_gpu(read, network.preprocessing)
        for batch, pixels in inputs:
            parts.append(network.features(pixels))
            if pending is not None:
                yield pending()
                pending = None
            ids = job.ids_of(batch.ids[0] // job.surveyed["block"])
            if batch.ids[-1] == ids[-1]:
                pending = partial(self._finite, job.images, ids, _on_host(parts))
                parts = []
                if self.device == "cpu":  # on which nothing is gained by waiting
                    yield pending()
                    pending = None
        if pending is not None:
            yield pending()

    def _finite(
        self, images: ImageSet, ids: range, on_host: Callable[[], NDArray[np.float16]]
    ) -> NDArray[np.float16]:
        """Return the features of a block; SourceError if some are not finite."""
        features = on_host()
        infinite = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if infinite.size:
            raise SourceError(
                f"{self.name} gives values that are not finite in float16 for "
                f"{infinite.size} images of {images.name}",
                where=problem_of(images, ids[int(infinite[0])], "its features overflow"),
                fix="the backbone may not be made for this type of numbers: try --dtype fp32",
            )
        return features


def _on_host(parts: list[Any]) -> Callable[[], NDArray[np.float16]]:
    """Send batches of features from the device; returns a function that waits for them, (n, D)."""
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
