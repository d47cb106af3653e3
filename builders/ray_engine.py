"""Jobs on a Ray cluster: one machine or many, each block a task that may be tried again."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from benchmark_spec.errors import EngineError, FSLBenchError
from benchmark_spec.extras import require
from builders.engine import B, Job, R, Work

AHEAD = 4
"""Blocks handed out for each that can be at work at a time."""


@dataclass(frozen=True)
class RayEngine:
    """Runs every block as a task of Ray.

    A task whose process is killed, or whose machine is lost, is given to another process.  All
    machines need this package and what the job reads, such as the raw folder, at the same paths.

    Attributes
    ----------
    address
        Of a running cluster, such as ``10.0.0.1:6379`` or ``auto``; None takes the one that
        this process is in or that RAY_ADDRESS names, and else starts one on this machine.
    retries
        How often a block is tried again after its process was lost.
    """

    address: str | None = None
    retries: int = 3

    def run(self, job: Job[B, R], blocks: Sequence[B]) -> Iterator[tuple[B, R]]:
        """Every block with its result, in order.

        Raises
        ------
        EngineError
            If the cluster cannot be reached, has no machine with as many processors or GPUs as
            the job wants, or loses a block's process more often than it is tried again.
        FSLBenchError
            What the job itself raises.
        """
        if not blocks:
            return
        ray = self._connected()
        slots = _slots(ray, job)
        task = ray.remote(_do).options(
            num_cpus=job.threads,
            num_gpus=job.gpus,
            max_retries=self.retries,
            retry_exceptions=False,  # what the job raises, it would raise again
            scheduling_strategy="SPREAD",
        )
        shared, name = ray.put(job), job.name
        waiting = iter(blocks)
        handed_out: deque[tuple[B, Any]] = deque()
        try:
            while True:
                for block in islice(waiting, AHEAD * slots - len(handed_out)):
                    handed_out.append((block, task.remote([shared], name, block)))
                if not handed_out:
                    return
                block, ref = handed_out[0]
                result = _get(ray, ref, block)
                handed_out.popleft()
                yield block, result
        finally:
            for _, ref in handed_out:
                ray.cancel(ref, force=True)

    def _connected(self) -> Any:
        """Ray, connected to the cluster."""
        ray = require("ray", "ray")
        if ray.is_initialized():
            return ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            _call(self.address)
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError) as error:
            raise EngineError(
                f"the Ray cluster cannot be reached: {str(error).splitlines()[0]}",
                where=self.address or "",
                expected="the address of a running cluster, such as 10.0.0.1:6379",
                fix="start it with `ray start --head`, or leave the address out to use this "
                "machine alone",
            ) from None
        return ray


def _call(address: str | None) -> None:
    """Knock where a cluster should answer: Ray itself would wait for minutes.

    Raises
    ------
    OSError
        If nobody answers.
    """
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


_started: dict[str, Work[Any, Any]] = {}
"""The job that this process of the cluster has started last, by its name."""


def _do(shared: list[Any], name: str, block: Any) -> Any:
    """The result of one block, in a process of the cluster."""
    if name not in _started:
        ray = require("ray", "ray")
        _started.clear()
        _started[name] = ray.get(shared[0]).start()
    (result,) = _started[name]([block])
    return result


def _get(ray: Any, ref: Any, block: Any) -> Any:
    """The result of a task; what the job raised is raised again as it was."""
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, FSLBenchError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        raise EngineError(
            f"block {block} cannot be computed: {str(error).strip().splitlines()[0]}",
            fix="see the cluster's log; a process that is killed again and again may lack memory",
        ) from None


def _slots(ray: Any, job: Job[Any, Any]) -> int:
    """How many processes the cluster can have at work on the job at a time."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    of_each = [
        min(
            int(has.get("CPU", 0)) // job.threads,
            int(has.get("GPU", 0)) // job.gpus if job.gpus else 2**31,
        )
        for has in machines
    ]
    if not sum(of_each):
        most = {k: max((has.get(k, 0) for has in machines), default=0) for k in ("CPU", "GPU")}
        gpus = f" and {job.gpus} GPU" if job.gpus else ""
        raise EngineError(
            f"no machine of the Ray cluster has {job.threads} processors{gpus} for a process",
            expected=f"at most {most['CPU']:g} processors and {most['GPU']:g} GPUs",
            fix="ask for fewer threads, or add such a machine",
        )
    return sum(of_each)
