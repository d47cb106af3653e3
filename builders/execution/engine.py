"""Engines that run a long job, cut into fixed blocks: this process, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from benchmark_spec.errors import EngineError
from benchmark_spec.extras import require


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """Let torch compute with that many threads, with the same bits in every run."""
    torch = require("torch")
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = torch.get_num_threads(), matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic
    benchmark, cudnn.benchmark = cudnn.benchmark, False
    torch.set_num_threads(threads)
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    cudnn.deterministic = True
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        _, matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic = before
        cudnn.benchmark = benchmark


def check_device(device: str) -> None:
    """Raise EngineError where torch sees no GPU and one is requested."""
    if device == "cuda" and not require("torch").cuda.is_available():
        raise EngineError(
            "torch sees no GPU on this machine",
            fix="ask for --device cpu, or install a build of torch for the GPU",
        )


B = TypeVar("B")
R = TypeVar("R")
_B = TypeVar("_B", contravariant=True)
_R = TypeVar("_R", covariant=True)
Work = Callable[[Iterable[B]], Iterator[R]]
"""Gives the results of blocks, one each, in their order."""


class Job(Protocol[_B, _R]):
    """Work that can be done in any process; it is pickled to get there."""

    @property
    def threads(self) -> int:
        """Threads of a process that works on it."""

    @property
    def device(self) -> str:
        """Where it computes: ``cpu``, or a GPU of each process that works on it."""

    def start(self) -> Work[_B, _R]:
        """Load what the job needs, once in each process."""


class Engine(Protocol):
    """An engine that runs a job."""

    def run(self, job: Job[B, R], blocks: Sequence[B]) -> Iterator[tuple[B, R]]:
        """Give every block with its result, in the order of `blocks`.

        EngineError if a block cannot be computed, and what the job itself raises.
        """


class LocalEngine:
    """Only this process; the job itself may have others at work for it."""

    def run(self, job: Job[B, R], blocks: Sequence[B]) -> Iterator[tuple[B, R]]:
        """Give every block with its result, in order."""
        if blocks:
            yield from zip(blocks, job.start()(blocks), strict=True)
