"""Run a network on a data set's images in blocks of ids, for features or captions.

Work streams, continues where it was stopped, and has the same result with every engine: a block is
computed in one process, in batches of one size from its first image on.
"""

from __future__ import annotations

import io
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import EngineError, SourceError, SpecError
from benchmark_spec.extras import require
from benchmark_spec.naming import slug
from builders.execution.engine import Engine, LocalEngine, Work, reproducible
from builders.execution.steps import Journal, Made, Step
from builders.features.backbone import TRITON, DType
from builders.features.decoding import Batch, Batches, Reader, problem_of
from builders.features.processor import Device, check_facts, default_threads, facts
from builders.sources.image_set import ImageSet, sha256_of_bytes
from fslbench_data.evaluation.progress import Progress
from fslbench_data.files import whole_file

JOURNAL_FILE = "extraction.json"
LOCK_FILE = ".lock"

BLOCKS: dict[Device, int] = {"cuda": 1024, "cpu": 128}
"""Images of a block, the most that a killed run loses; block b has the ids from their number·b."""


class DeviceMemoryError(EngineError):
    """A batch that does not fit the GPU's memory."""


@dataclass(frozen=True)
class Settings:
    """How to extract.

    Attributes
    ----------
    weights
        The folder that ``fslbench-build fetch`` has filled, and of other checkpoints.
    batch
        Pictures at a time, at most a block; by default 32, on a GPU what half of its memory holds.
    workers
        Processes that decode, for each that computes; by default one for four threads, for a GPU
        one for each.
    threads
        Processor threads for each process that computes; by default all, for a GPU 16.
    block
        Images of a block; by default 1024 on a GPU and 128 elsewhere.
    """

    weights: Path | None = None
    device: Device = "cpu"
    dtype: DType = "float32"
    batch: int | None = None
    workers: int | None = None
    threads: int | None = None
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
        """Return how many processes decode for a network with this number of threads."""
        if self.workers is not None:
            return self.workers
        return threads if self.device == "cuda" else max(1, threads // 4)


@dataclass(frozen=True)
class BlockNetwork(ABC):
    """A named network that any process can load, and what it computes from blocks of images.

    The name begins with that of its family; `weights` is a folder of checkpoints.
    """

    name: str
    weights: Path | None = None
    device: Device = "cpu"

    too_large: ClassVar[str]
    """The start of the error for a batch (``{}`` pictures) that does not fit into memory."""
    most: ClassVar[int] = 2**20
    """The most images of a block."""

    @abstractmethod
    def load(self) -> Any:
        """Load the network."""

    @abstractmethod
    def batch_for(self, network: Any) -> int:
        """Choose how many pictures the load_once network takes at a time."""

    def depends_on(self) -> dict[str, Any]:
        """Return what its results depend on besides network, machine, threads and batches."""
        return {"decoder": "Pillow"}

    @abstractmethod
    def results(
        self, job: BlockJob, blocks: list[int], network: Any, batches: Batches
    ) -> Iterator[NDArray[Any]]:
        """Yield the values of each block's images, while the next pictures are read."""


@lru_cache(maxsize=1)
def load_once(network: BlockNetwork) -> Any:
    """Load a network; a process keeps the last one."""
    return network.load()


@dataclass(frozen=True)
class Survey:
    """A job that returns the provenance of results, found on the machines of the work."""

    network: BlockNetwork
    threads: int
    batch: int | None
    block: int

    @property
    def device(self) -> Device:
        """Where the network computes."""
        return self.network.device

    def start(self) -> Work[int, dict[str, Any]]:
        """Return what surveys the machine; its one block has no meaning."""
        return lambda blocks: (self._provenance() for _ in blocks)

    def _provenance(self) -> dict[str, Any]:
        machine = facts(self.device, self.network.name)
        with reproducible(self.threads):
            network = load_once(self.network)
            batch = min(self.batch or self.network.batch_for(network), self.block)
        sizes = {"threads": self.threads, "batch": batch, "block": self.block}
        return {**network.describe(), **machine, **sizes, **self.network.depends_on()}


def survey(
    network: BlockNetwork, images: ImageSet, settings: Settings, batch: int | None
) -> dict[str, Any]:
    """Return the provenance of a network's results, with a `batch` where settings have none."""
    threads = settings.threads or default_threads(settings.device)
    block = min(settings.block, network.most)
    job = Survey(network, threads, settings.batch or batch, block)
    ((_, provenance),) = settings.engine.run(job, [0])
    return {**provenance, "dataset": images.name, "images": content_digest(images.images)}


@dataclass(frozen=True)
class BlockJob:
    """The job that computes blocks; block b has the ids from ``block``·b on.

    A machine that differs from the provenance that was `surveyed` is refused; `workers` is the
    number of processes that decode.
    """

    network: BlockNetwork
    images: ImageSet = field(repr=False)
    surveyed: dict[str, Any]
    workers: int

    @property
    def threads(self) -> int:
        """Threads of a process."""
        return int(self.surveyed["threads"])

    @property
    def device(self) -> Device:
        """Where the network computes."""
        return self.network.device

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU decodes and resizes pictures."""
        return self.surveyed.get("resized_by") == TRITON

    def start(self) -> Work[int, NDArray[Any]]:
        """Load the network, and start the processes that decode."""
        check_facts(self.surveyed, self.network.name)
        network = load_once(self.network)
        reader = Reader(self.images, network.preprocessing, for_gpu=self.on_gpu)
        batches = Batches(reader, self.workers, pinned=self.device == "cuda")

        def work(blocks: Iterable[int]) -> Iterator[NDArray[Any]]:
            with reproducible(self.threads):
                try:
                    yield from self.network.results(self, list(blocks), network, batches)
                except require("torch").OutOfMemoryError:
                    too_large = self.network.too_large.format(self.surveyed["batch"])
                    raise DeviceMemoryError(
                        f"{too_large} the memory of the GPU",
                        fix="give a smaller --batch, or end what else uses the GPU",
                    ) from None

        return work

    def ids_of(self, block: int) -> range:
        """Return the ids of a block's images."""
        size = int(self.surveyed["block"])
        return range(block * size, min((block + 1) * size, len(self.images.images)))

    def batches_of(self, blocks: Sequence[int]) -> Iterator[range]:
        """Cut the ids of blocks into batches of one size, from the first id of each block."""
        size = int(self.surveyed["batch"])
        for ids in map(self.ids_of, blocks):
            for first in range(0, len(ids), size):
                yield ids[first : first + size]

    def read(self, blocks: Sequence[int], batches: Batches) -> Iterator[Batch]:
        """Read the batches of blocks; an image that cannot be read is a SourceError."""
        for batch in batches(self.batches_of(blocks)):
            if batch.problem is not None:
                what = problem_of(self.images, *batch.problem)
                raise SourceError(what, expected="a whole image", fix="get the file again")
            yield batch

    def compute(self, work: WorkFolder, engine: Engine, progress: Progress) -> range:
        """Compute the blocks that a folder does not have yet; returns the numbers of all blocks."""
        blocks = range(-(-len(self.images.images) // int(self.surveyed["block"])))
        missing = [block for block in blocks if work.kept(work.step(block)) is None]
        kept = sum(len(self.ids_of(block)) for block in blocks if block not in missing)
        progress(kept, resumed=True)
        for block, values in engine.run(self, missing):
            work.make(work.step(block, values))
            progress(len(self.ids_of(block)))
        return blocks


class WorkFolder(Journal):
    """The blocks of features or captions in a folder, each a step with one file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, JOURNAL_FILE, LOCK_FILE, "extraction")

    def step(self, block: int, *values: NDArray[Any]) -> Step:
        """Return the step that writes the values of a block."""
        name = f"{block:08d}.npy"
        return Step(name, [self.made_of], partial(self._write, name, *values))

    def _write(self, name: str, values: NDArray[Any]) -> Made:
        file = io.BytesIO()
        np.save(file, np.ascontiguousarray(values), allow_pickle=False)
        with whole_file(self.folder / name, clear=False, follow=False) as temporary:
            temporary.write_bytes(file.getvalue())
        return Made({name: sha256_of_bytes(file.getvalue())})

    def values(self, block: int) -> NDArray[Any]:
        """Return a finished block: float16 (n, D), or texts (n,)."""
        values: NDArray[Any] = np.load(self.folder / f"{block:08d}.npy", allow_pickle=False)
        return values

    def check_unchanged(self, images: ImageSet) -> None:
        """Remove all blocks if the raw folder changed while they were made.

        An image that is a file of its own was compared with its hash when it was decoded.
        """
        paths, file = images.images.column("path").to_pylist(), images.file
        if file is not None and all(map(file, paths)):
            return
        try:
            images.check_unchanged()
        except SourceError:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the folder, and those above it that are left empty."""
        shutil.rmtree(self.folder)
        self.close()
        for folder in (self.folder.parent, self.folder.parent.parent):
            with suppress(OSError):  # another extraction is in it
                folder.rmdir()


@contextmanager
def computed(
    network: BlockNetwork, images: ImageSet, folder: Path, settings: Settings, progress: Progress
) -> Iterator[tuple[Iterable[NDArray[Any]], dict[str, Any]]]:
    """Compute the values of all images, block by block, and their provenance.

    Finished blocks lie below `folder`, in a folder for the network and the data set, which is
    removed at the end unless the context is left by an exception.  SourceError if an image cannot
    be read, OutputError if the folder holds an unfinished run of something else, EngineError if
    there is no such device or machines differ.
    """
    work, anew = WorkFolder(folder / slug(network.name)[-80:] / images.name), False
    try:
        provenance = survey(network, images, settings, (work.made_of or {}).get("batch"))
        while True:
            expected = "the same images, backbone and settings as when it was begun"
            work.begin(provenance, anew=anew, expected=expected)
            workers = settings.workers_for(provenance["threads"])
            try:
                job = BlockJob(network, images, provenance, workers)
                blocks = job.compute(work, settings.engine, progress)
                break
            except DeviceMemoryError:
                if provenance["batch"] == 1:
                    raise
                provenance = {**provenance, "batch": provenance["batch"] // 2}
                anew = True
        work.check_unchanged(images)
        yield map(work.values, blocks), provenance
    except BaseException:
        work.close()
        raise
    finally:
        load_once.cache_clear()
    work.remove()
