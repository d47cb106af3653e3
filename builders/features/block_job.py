"""Jobs on a data set's images by a network, in blocks of ids: what features and captions share."""

from __future__ import annotations

import hashlib
import io
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import EngineError, SourceError
from benchmark_spec.extras import require
from benchmark_spec.naming import slug
from builders.execution.engine import Engine, Work, reproducible
from builders.execution.steps import Journal, Made, Step
from builders.features.decoding import Batches, Gives, Reader, problem_of
from builders.features.processor import Device, check_facts
from builders.sources.image_set import ImageSet
from fslbench_data.evaluation.progress import Progress
from fslbench_data.files import whole_file

JOURNAL_FILE = "extraction.json"
LOCK_FILE = ".lock"


class DeviceMemoryError(EngineError):
    """A batch that does not fit the GPU's memory."""


@dataclass(frozen=True)
class Loader(ABC):
    """A named network that any process can load; `weights` is a folder of checkpoints.

    The name begins with that of its family; `device` is where the network computes.
    """

    name: str
    weights: Path | None = None
    device: Device = "cpu"

    @abstractmethod
    def load(self) -> Any:
        """Load the network."""

    @abstractmethod
    def survey(self, threads: int, batch: int | None, block: int) -> dict[str, Any]:
        """Return what the results will depend on, on this machine."""


@lru_cache(maxsize=1)
def loaded(network: Loader) -> Any:
    """Load a network; a process keeps the last one."""
    return network.load()


@dataclass(frozen=True)
class Survey:
    """The job that returns what the results will depend on, on the machines of the work."""

    network: Loader
    threads: int
    batch: int | None
    block: int

    @property
    def device(self) -> Device:
        """Where the network computes."""
        return self.network.device

    def start(self) -> Work[int, dict[str, Any]]:
        """Load the network."""
        return lambda blocks: (
            self.network.survey(self.threads, self.batch, self.block) for _ in blocks
        )


BlockResult = tuple[NDArray[Any], Mapping[int, str]]
"""The values of a block's images, and what was wrong with images that are zeros."""


@dataclass(frozen=True)
class BlockJob(ABC):
    """A job that follows a :class:`Survey`; block b is the ids from ``block``·b on.

    A machine that differs from what was `surveyed` is refused; `workers` are processes that decode.
    """

    network: Loader
    images: ImageSet = field(repr=False)
    surveyed: dict[str, Any]
    workers: int

    too_large: ClassVar[str]
    """The error for so many pictures at a time (``{}``) that they do not fit."""
    mend: ClassVar[str] = "get the file again"
    """What to do about an image that cannot be read."""

    @property
    def threads(self) -> int:
        """Threads of a process."""
        return int(self.surveyed["threads"])

    @property
    def device(self) -> Device:
        """Where the network computes."""
        return self.network.device

    @property
    def gives(self) -> Gives:
        """The form in which decoding processes return pictures."""
        return "inputs"

    def start(self) -> Work[int, BlockResult]:
        """Load the network, and start the processes that decode."""
        check_facts(self.surveyed, self.network.name)
        network = loaded(self.network)
        reader = Reader(self.images, network.preprocessing, self.gives)
        batches = Batches(reader, self.workers, pinned=self.device == "cuda")

        def work(blocks: Iterable[int]) -> Iterator[BlockResult]:
            with reproducible(self.threads):
                try:
                    yield from self.results(list(blocks), network, batches)
                except require("torch").OutOfMemoryError:
                    raise DeviceMemoryError(
                        f"{self.too_large.format(self.surveyed['batch'])} the memory of the GPU",
                        fix="give a smaller --batch, or end what else uses the GPU",
                    ) from None

        return work

    @abstractmethod
    def results(self, blocks: list[int], network: Any, batches: Batches) -> Iterator[BlockResult]:
        """Compute blocks; the pictures of the next are on their way meanwhile."""

    def ids_of(self, block: int) -> range:
        """Return the ids of a block's images."""
        size = int(self.surveyed["block"])
        return range(block * size, min((block + 1) * size, len(self.images.images)))

    def batches_of(self, blocks: Sequence[int]) -> Iterator[range]:
        """Cut the ids of blocks into batches of one size, from the first id of each block on."""
        size = int(self.surveyed["batch"])
        for ids in map(self.ids_of, blocks):
            for first in range(0, len(ids), size):
                yield ids[first : first + size]

    def refuse(self, problems: Mapping[int, str]) -> None:
        """Refuse images that cannot be read."""
        for image_id, problem in problems.items():
            raise SourceError(
                problem_of(self.images, image_id, problem), expected="a whole image", fix=self.mend
            )

    def compute(
        self, work: WorkFolder, engine: Engine, progress: Progress, *, whole: bool = False
    ) -> range:
        """Compute the blocks that are not made yet into a folder; gives the numbers of all.

        With `whole`, blocks with zeros in place of an image are made again.
        """
        blocks = range(-(-len(self.images.images) // int(self.surveyed["block"])))
        kept = {block: work.kept(work.step(block)) for block in blocks}
        missing = [b for b, made in kept.items() if made is None or (whole and made.result)]
        progress(sum(len(self.ids_of(b)) for b in blocks if b not in missing), resumed=True)
        results = engine.run(self, missing)
        for block in missing:
            work.make(work.step(block, results))
            progress(len(self.ids_of(block)))
        return blocks


class WorkFolder(Journal):
    """The blocks of one extraction, or of captions, each a step that is one file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, JOURNAL_FILE, LOCK_FILE, "extraction")

    def step(self, block: int, results: Iterable[tuple[int, BlockResult]] = ()) -> Step:
        """Return the step that writes a block, which is the next of the results."""
        name = f"{block:08d}.npy"
        return Step(name, [self.of], partial(self._write, name, iter(results)))

    def _write(self, name: str, results: Iterator[tuple[int, BlockResult]]) -> Made:
        _, (values, wrong) = next(results)
        file = io.BytesIO()
        np.save(file, np.ascontiguousarray(values), allow_pickle=False)
        with whole_file(self.folder / name, clear=False, follow=False) as temporary:
            temporary.write_bytes(file.getvalue())
        problems = {str(image): problem for image, problem in wrong.items()}
        return Made({name: hashlib.sha256(file.getvalue()).hexdigest()}, problems)

    def values(self, block: int) -> NDArray[Any]:
        """Return a finished block: float16 (n, D), or texts (n,)."""
        values: NDArray[Any] = np.load(self.folder / f"{block:08d}.npy", allow_pickle=False)
        return values

    def problems(self, blocks: Iterable[int]) -> dict[str, str]:
        """Return the problems of images of finished blocks that are zeros, by id."""
        results = (self.result(self.step(block)) for block in blocks)
        return {image: problem for result in results for image, problem in result.items()}

    def check_unchanged(self, images: ImageSet) -> None:
        """Throw all blocks away if the raw folder changed while they were made.

        Where each image is a file of its own it was compared with its hash when it was decoded.
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
        """End the extraction: its features lie elsewhere.  Folders left empty go too."""
        shutil.rmtree(self.folder)
        self.close()
        for folder in (self.folder.parent, self.folder.parent.parent):
            with suppress(OSError):  # another extraction is in it
                folder.rmdir()


@contextmanager
def work_folder(folder: Path, network: str, images: ImageSet) -> Iterator[WorkFolder]:
    """Open the folder of unfinished work by a network on a data set, which lies in `folder`.

    It is removed at the end, unless the context is left by an exception.
    """
    work = WorkFolder(folder / slug(network)[-80:] / images.name)
    try:
        yield work
    except BaseException:
        work.close()
        raise
    finally:
        loaded.cache_clear()
    work.remove()
