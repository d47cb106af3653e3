"""Run jobs on a Ray cluster, each block as a task that may be retried."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import uuid4

from benchmark_spec.errors import EngineError, FSLBenchError
from benchmark_spec.extras import require
from builders.execution.engine import B, Job, R, Work

AHEAD = 2
"""Blocks that are handed out for each slot: one that runs and one that waits."""
_FLAGS = "fslbench-stopped"
"""The cluster's namespace for the flags of runs that ended early."""


@dataclass(frozen=True)
class RayEngine:
    """Runs every block as a task of Ray; a block whose process is lost is retried.

    All machines need this package, and the job's files at the same paths.  `address` is that of a
    running cluster, such as ``10.0.0.1:6379`` or ``auto``; None takes the cluster of this process
    or of RAY_ADDRESS, or else starts one on this machine.  No task is cancelled, because that can
    end this process without an error: tasks that wait when a run ends see a flag and do nothing.
    """

    address: str | None = None
    retries: int = 3

    def run(self, job: Job[B, R], blocks: Sequence[B]) -> Iterator[tuple[B, R]]:
        """Yield every block with its result, in order."""
        if not blocks:
            return
        ray = self._connected()
        slots = _slots(ray, job)
        task = ray.remote(_do).options(
            num_cpus=job.threads,
            num_gpus=int(job.device != "cpu"),
            max_retries=self.retries,
            retry_exceptions=False,  # the job would raise them again
            scheduling_strategy="SPREAD",
        )
        shared, run = ray.put(job), uuid4().hex
        waiting = iter(blocks)
        handed_out: deque[tuple[B, Any]] = deque()
        try:
            while True:
                for block in islice(waiting, AHEAD * slots - len(handed_out)):
                    handed_out.append((block, task.remote([shared], run, block)))
                if not handed_out:
                    return
                block, ref = handed_out[0]
                result = _get(ray, ref, block)
                handed_out.popleft()
                yield block, result
        finally:
            if handed_out and ray.is_initialized():
                _stop(run)

    def _connected(self) -> Any:

        ray = require("ray", "ray")
        if ray.is_initialized():
            return ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # without an address Ray joins the cluster last started here, even another user's
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        reachable = False
        try:
            reachable = _is_reachable(address)
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray raises many kinds for a failed start
            raise _unconnected(error, address, reachable=reachable) from None
        return ray


def _unconnected(error: Exception, address: str, *, reachable: bool) -> EngineError:
    """Return the error for a failed connection; `reachable` if the address accepts connections."""
    # Ray's own errors have the message alone, without advice, in an attribute
    reason = (str(getattr(error, "message", error)).splitlines() or [""])[0]
    reason = reason or type(error).__name__
    # with a wrong token a cluster does not even report an authentication error
    unknown = reachable and isinstance(error, ConnectionError)
    if unknown or type(error).__name__ == "AuthenticationError":
        return EngineError(
            f"the Ray cluster does not let this process in: {reason.rstrip('.')}",
            where=address,
            expected="its token, if it wants one, and its version of Ray",
            fix="set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to what `ray get-auth-token` gives "
            "on a machine of the cluster",
        )
    if address == "local":
        return EngineError(
            f"Ray did not start on this machine: {reason.rstrip('.')}",
            fix="if it took too long, try again when the machine has less to do and memory left; "
            "the logs are in session_latest/logs of Ray's temporary folder",
        )
    return EngineError(
        f"the Ray cluster cannot be reached: {reason}",
        where=address,
        expected="the address of a running cluster, such as 10.0.0.1:6379",
        fix="start it with `ray start --head`, or leave the address out to use this machine alone",
    )


def _is_reachable(address: str) -> bool:
    """Return whether the address names a server; OSError at once if it cannot be reached."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        return True
    return False


_started: dict[str, Work[Any, Any]] = {}
"""The job that this process of the cluster started last, by its run."""


def _do(shared: list[Any], run: str, block: Any) -> Any:
    """Compute one block in a process of the cluster; None if the run has ended."""
    from ray.experimental.internal_kv import _internal_kv_get

    if _internal_kv_get(run, namespace=_FLAGS) is not None:
        return None
    if run not in _started:
        ray = require("ray", "ray")
        _started.clear()
        _started[run] = ray.get(shared[0]).start()
    (result,) = _started[run]([block])
    return result


def _stop(run: str) -> None:
    """Set the flag that keeps a run's waiting tasks on all machines from starting."""
    from ray.experimental.internal_kv import _internal_kv_put

    _internal_kv_put(run, b"stopped", namespace=_FLAGS)


def _get(ray: Any, ref: Any, block: Any) -> Any:
    """Return the result of a task; the job's own error is raised again as it was."""
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
    """Return how many processes of the job the cluster can run at a time."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    needed = {"CPU": job.threads} if job.device == "cpu" else {"CPU": job.threads, "GPU": 1}
    slots = 0
    for machine in machines:
        slots += min(int(machine.get(unit, 0)) // number for unit, number in needed.items())
    if not slots:
        cpus, gpus = (max((m.get(u, 0) for m in machines), default=0) for u in ("CPU", "GPU"))
        and_gpu = " and 1 GPU" if "GPU" in needed else ""
        raise EngineError(
            f"no machine of the Ray cluster has {job.threads} processors{and_gpu} for a process",
            expected=f"at most {cpus:g} processors and {gpus:g} GPUs",
            fix="ask for fewer threads, or add such a machine",
        )
    return slots
