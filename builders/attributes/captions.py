"""Captions of a data set's images: by blocks of ids, resumable, on this machine or a cluster.

As with features (:mod:`builders.features.extraction`), who computes a block changes nothing, and
what the captions depend on is fixed for a run and recorded: two of them differ in a word where the
last bits of the sums decide which is likeliest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.digest import content_digest
from builders.attributes.captioner import Captioner
from builders.attributes.captioners import CaptionerName, forget_captioner
from builders.features.block_job import BlockJob, BlockResult, Survey, WorkFolder, work_folder
from builders.features.decoding import Batches
from builders.features.extraction import SAME, Settings, nobody
from builders.features.processor import default_threads
from builders.sources.image_set import ImageSet
from fslbench_data.evaluation.progress import Progress

BLOCK = 128
"""Images of a block: captions take a hundred times as long as features."""

BATCH = {"cpu": 8, "cuda": 32}
"""Pictures at a time, unless the settings say otherwise."""


@dataclass(frozen=True)
class Captioning(BlockJob):
    """The job that writes the captions of blocks, texts (n,)."""

    too_large = "captions of {} pictures at a time do not fit"

    def results(self, blocks: list[int], network: Any, batches: Batches) -> Iterator[BlockResult]:
        """Write the captions of blocks."""
        captioner: Captioner = network
        lasts, texts = {self.ids_of(block)[-1] for block in blocks}, list[str]()
        for batch in batches(self.batches_of(blocks)):
            self.refuse(batch.problems)
            texts += captioner.captions(batch.data)
            if batch.ids[-1] in lasts:
                yield BlockResult(np.array(texts, dtype=np.str_))
                texts = []


def write_captions(
    images: ImageSet,
    name: str,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = nobody,
) -> tuple[list[str], dict[str, Any]]:
    """Write a caption for each of N images, and return how they were written, too.

    Folder, progress and errors are those of :func:`builders.features.extraction.extracted`, the
    name that of :class:`CaptionerName`.  Of the settings weights, device, batch (of at most a
    block), workers, threads and engine count.
    """
    settings = settings or Settings()
    with work_folder(folder, name, images) as work:
        try:
            return _run(images, name, work, settings, progress)
        finally:
            forget_captioner()


def _run(
    images: ImageSet, name: str, work: WorkFolder, settings: Settings, progress: Progress
) -> tuple[list[str], dict[str, Any]]:
    captioner = CaptionerName(name, settings.weights, settings.device)
    threads = settings.threads or default_threads(settings.device)
    block = min(settings.block, BLOCK)
    batch = settings.batch or (work.of or {}).get("batch") or BATCH[settings.device]
    survey = Survey(captioner, threads, min(int(batch), block), block)
    ((_, surveyed),) = settings.engine.run(survey, [0])
    of = {**surveyed, "dataset": images.name, "images": content_digest(images.images)}
    work.begin(of, expected=SAME)
    job = Captioning(captioner, images, surveyed, settings.workers_for(threads))
    blocks = job.compute(work, settings.engine, progress)
    work.check_unchanged(images)
    return [str(text) for b in blocks for text in work.values(b)], surveyed
