"""Jobs whose process is killed in the middle, for tests of engines."""

import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Killed:
    """A job that kills the process in which it is to work on a block: the first time, or always.

    Where it was killed, and which processes worked on what, it writes into `folder`.
    """

    job: Any
    block: Any
    folder: Path
    always: bool = False

    @property
    def threads(self) -> int:
        return int(self.job.threads)

    @property
    def device(self) -> str:
        return str(self.job.device)

    def start(self) -> Any:
        work = self.job.start()

        def killed(blocks: Iterable[Any]) -> Iterator[Any]:
            for block in blocks:
                mark = self.folder / "killed"
                if block == self.block and (self.always or not mark.exists()):
                    mark.write_text(str(os.getpid()))
                    os.kill(os.getpid(), signal.SIGKILL)
                (self.folder / f"done {block}").write_text(_node())
                yield from work([block])

        return killed


@dataclass(frozen=True)
class KillingEngine:
    """An engine that runs another's jobs, and has the process of one block killed once."""

    engine: Any
    block: Any
    folder: Path
    of: str = "BlockJob"

    def run(self, job: Any, blocks: Sequence[Any]) -> Iterator[Any]:
        if type(job).__name__ == self.of:
            job = Killed(job, self.block, self.folder)
        return iter(self.engine.run(job, blocks))


@dataclass(frozen=True)
class Squares:
    """Squares whole numbers, a millisecond each; of 13 it raises an error."""

    threads: int = 1
    device: str = "cpu"

    def start(self) -> Any:
        from benchmark_spec.errors import UnknownNameError

        def work(blocks: Iterable[int]) -> Iterator[int]:
            for block in blocks:
                if block == 13:
                    raise UnknownNameError("number", "13", ["12", "14"])
                time.sleep(0.001)
                yield block**2

        return work


def _node() -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())
