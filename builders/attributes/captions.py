"""Write captions by blocks of ids; an interrupted run continues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.attributes.captioners import (
    COCA,
    Captioner,
    check_captioner,
    check_folder,
    load_captioner,
)
from builders.attributes.coca import check_coca, load_coca
from builders.features.block_job import BlockJob, BlockNetwork, Settings, computed
from builders.features.decoding import Batches
from builders.sources.image_set import ImageSet, silent
from fslbench_data.evaluation.progress import Progress


@dataclass(frozen=True)
class CaptionerName(BlockNetwork):
    """The name of a captioner, which writes the captions of blocks, texts (n,)."""

    too_large = "captions of {} pictures at a time do not fit"
    most = 128  # captions take a hundred times as long as features

    def check(self) -> None:
        """Refuse a captioner with a missing package, folder or file; the Hub is not queried."""
        family, rest = check_captioner(self.name)
        if family == COCA:
            check_coca(rest, self.weights)
        else:
            check_folder(family, rest, self.weights)

    def load(self) -> Captioner:
        """Load the captioner."""
        family, rest = check_captioner(self.name)
        if family == COCA:
            return load_coca(rest, self.weights, self.device)
        return load_captioner(family, rest, self.weights, self.device)

    def batch_for(self, network: Captioner) -> int:
        """Choose how many pictures to take at a time."""
        return 32 if self.device == "cuda" else 8

    def results(
        self, job: BlockJob, blocks: list[int], network: Captioner, batches: Batches
    ) -> Iterator[NDArray[np.str_]]:
        """Write the captions of blocks."""
        last_ids = {job.ids_of(block)[-1] for block in blocks}
        texts: list[str] = []
        for batch in job.read(blocks, batches):
            texts += network.captions(batch.data)
            if batch.ids[-1] in last_ids:
                yield np.array(texts, dtype=np.str_)
                texts = []


def write_captions(
    images: ImageSet,
    name: str,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> tuple[list[str], dict[str, Any]]:
    """Write a caption for each of N images; returns also their provenance.

    Folder, progress and errors are those of :func:`builders.features.block_job.computed`.
    """
    settings = settings or Settings()
    network = CaptionerName(name, settings.weights, settings.device)
    with computed(network, images, folder, settings, progress) as (blocks, made):
        provenance = {k: value for k, value in made.items() if k not in ("dataset", "images")}
        return [str(text) for texts in blocks for text in texts], provenance
