"""Engines that run a long job in fixed blocks, in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from benchmark_spec.errors import EngineError
from benchmark_spec.extras import require


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """Let torch compute with this number of threads, with the same bits in every run."""
    torch = require("torch")
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    threads_before = torch.get_num_threads()
    flags = matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark
    torch.set_num_threads(threads)
    matmul.allow_tf32 = cudnn.allow_tf32 = cudnn.benchmark = False
    cudnn.deterministic = True
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark = flags


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
"""Yields the result of each block, in order."""


class Job(Protocol[_B, _R]):
    """Work that can be done in any process; it is pickled to get there."""

    @property
    def threads(self) -> int:
        """The threads of each process that computes."""

    @property
    def device(self) -> str:
        """``cpu``, or ``cuda`` for a GPU of each process that computes."""

    def start(self) -> Work[_B, _R]:
        """Load what the job needs, once in each process."""


class Engine(Protocol):
    """An engine that runs a job."""

    def run(self, job: Job[B, R], blocks: Sequence[B]) -> Iterator[tuple[B, R]]:
        """Yield every block with its result, in order.

        EngineError if a block cannot be computed; the job's own errors are raised as they are.
        """


class LocalEngine:
    """Runs a job in this process; the job itself may start others."""

    def run(self, job: Job[B, R], blocks: Sequence[B]) -> Iterator[tuple[B, R]]:
        """Yield every block with its result, in order."""
        if blocks:
            yield from zip(blocks, job.start()(blocks), strict=True)
