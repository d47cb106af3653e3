"""Captions of a data set's images: by blocks of ids, resumable, on this machine or a cluster.

As with features (:mod:`builders.features.extraction`), who computes a block changes nothing, and
what the captions depend on is fixed for a run and recorded: two of them differ in a word where the
last bits of the sums decide which is likeliest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from benchmark_spec.naming import slug
from builders.attributes.captioner import Captioner, describe
from builders.attributes.captioners import CaptionerName, forget_captioner
from builders.execution.engine import Work, job_name
from builders.features.decoding import Batches, Reader, problem_of
from builders.features.extraction import Settings, nobody
from builders.features.forward import DeviceMemoryError
from builders.features.processor import check_facts, default_threads, facts, reproducible
from builders.features.work_folder import WorkFolder
from builders.sources.image_set import ImageSet
from fslbench_data.evaluation.progress import Progress

BLOCK = 128
"""Images of a block: captions take a hundred times as long as features."""

BATCH = {"cpu": 8, "cuda": 32}
"""Pictures at a time, unless the settings say otherwise."""

Texts = NDArray[np.str_]


@dataclass(frozen=True)
class CaptionSurvey:
    """The job that finds out, where the work will be done, what captions will depend on."""

    captioner: CaptionerName
    threads: int
    batch: int
    block: int

    @property
    def name(self) -> str:
        """Tells it from every other job."""
        return f"survey of {self!r}"

    @property
    def gpus(self) -> int:
        """GPUs of a process."""
        return int(self.captioner.device == "cuda")

    def start(self) -> Work[int, dict[str, Any]]:
        """Load the captioner."""

        def work(blocks: Iterable[int]) -> Iterator[dict[str, Any]]:
            for _ in blocks:
                yield {
                    **describe(self.captioner.load()),
                    **facts(self.captioner.device, self.captioner.family),
                    "threads": self.threads,
                    "batch": self.batch,
                    "block": self.block,
                    "decoder": "Pillow",
                }

        return work


@dataclass(frozen=True)
class Captioning:
    """The job that writes the captions of blocks; block b is the ids from ``block``·b.

    Attributes
    ----------
    survey
        What :class:`CaptionSurvey` has found; a machine that differs from it is refused.
    workers
        Processes that decode, beside each that computes.
    """

    captioner: CaptionerName
    images: ImageSet = field(repr=False)
    survey: dict[str, Any]
    workers: int
    name: str = field(default_factory=job_name)

    @property
    def threads(self) -> int:
        """Threads of a process."""
        return int(self.survey["threads"])

    @property
    def gpus(self) -> int:
        """GPUs of a process."""
        return int(self.captioner.device == "cuda")

    def start(self) -> Work[int, Texts]:
        """Load the captioner, and start the processes that decode.

        Raises
        ------
        EngineError
            If this machine is of another kind than the one that was surveyed.
        BackboneError
            If the captioner cannot be loaded.
        """
        check_facts(self.survey, self.captioner.family)
        captioner = self.captioner.load()
        reader = Reader.of(self.images, captioner.preprocessing, "inputs")
        batches = Batches(reader, self.workers, pinned=self.gpus > 0)

        def work(blocks: Iterable[int]) -> Iterator[Texts]:
            with reproducible(self.threads):
                try:
                    yield from self._blocks(list(blocks), captioner, batches)
                except require("torch").OutOfMemoryError:
                    raise DeviceMemoryError(
                        f"captions of {self.survey['batch']} pictures at a time do not fit the "
                        "memory of the GPU",
                        fix="give a smaller --batch, or end what else uses the GPU",
                    ) from None

        return work

    def _blocks(self, blocks: list[int], captioner: Captioner, batches: Batches) -> Iterator[Texts]:
        size, block, total = self.survey["batch"], self.survey["block"], len(self.images.images)
        ranges = [range(b * block, min((b + 1) * block, total)) for b in blocks]
        wanted = [
            list(ids[first : first + size]) for ids in ranges for first in range(0, len(ids), size)
        ]
        lasts, texts = {ids[-1] for ids in ranges}, list[str]()
        for batch in batches(wanted):
            for image_id, problem in batch.problems.items():
                raise SourceError(
                    problem_of(self.images, image_id, problem),
                    expected="a whole image",
                    fix="get the file again",
                )
            texts += captioner.captions(batch.data)
            if batch.ids[-1] in lasts:
                yield np.array(texts, dtype=np.str_)
                texts = []


def write_captions(
    images: ImageSet,
    name: str,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = nobody,
) -> tuple[list[str], dict[str, Any]]:
    """A caption for each of N images, and how they were written.

    Parameters
    ----------
    name
        ``vit_gpt2[@FOLDER]``, ``blip[@FOLDER]`` or ``coca[:ARCH/TAG_OR_FILE]``.
    folder
        Where finished blocks lie, in a folder for the captioner and the data set; what a run of
        the same that was stopped has left there is gone on with.  Removed once all are written.
    settings
        Its weights, device, batch (of at most a block), workers, threads and engine count.
    progress
        Is told of every finished block, as so many images.

    Raises
    ------
    SourceError
        If an image cannot be shown.
    OutputError
        If the folder holds an unfinished run of something else.
    BackboneError, UnknownNameError, MissingPackageError
        If the captioner cannot be loaded.
    EngineError
        If there is no such device, it lacks memory, or machines differ.
    """
    settings = settings or Settings()
    work = WorkFolder(folder / slug(name)[-80:] / images.name)
    try:
        texts, provenance = _run(images, name, work, settings, progress)
    except BaseException:
        work.close()
        raise
    finally:
        forget_captioner()
    work.remove()
    return texts, provenance


def _run(
    images: ImageSet, name: str, work: WorkFolder, settings: Settings, progress: Progress
) -> tuple[list[str], dict[str, Any]]:
    captioner = CaptionerName(name, settings.weights, settings.device)
    threads = settings.threads or default_threads(settings.device)
    block, total = min(settings.block, BLOCK), len(images.images)
    batch = settings.batch or (work.recorded or {}).get("batch") or BATCH[settings.device]
    survey = CaptionSurvey(captioner, threads, min(int(batch), block), block)
    ((_, found),) = settings.engine.run(survey, [0])
    done = work.begin({**found, "dataset": images.name, "images": content_digest(images.images)})
    sizes = {b: min(block, total - b * block) for b in range(-(-total // block))}
    progress(sum(sizes[b] for b in done), resumed=True)
    job = Captioning(captioner, images, found, settings.workers_for(threads))
    texts: Texts
    for b, texts in settings.engine.run(job, [b for b in sizes if b not in done]):
        work.add(b, texts)
        progress(sizes[b])
    work.check_unchanged(images)
    return [str(text) for b in sizes for text in work.values(b)], found
