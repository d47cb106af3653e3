"""The other side of :mod:`.serving`: starts the process that reads, asks it, ends it.

One process reads many files, one after another; a file that it does not survive, or whose reading
takes too much memory or time, costs a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from io import BufferedReader, BufferedWriter
from pathlib import Path
from threading import RLock, Timer
from typing import Any, cast

import pyarrow as pa

from benchmark_spec import errors
from benchmark_spec.errors import FSLBenchError, TooLargeError, UnreadableError
from fslbench_data.sandbox.limits import MIB, Limits

_START_SECONDS = 120.0
_LONGEST_LINE = MIB
_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from fslbench_data.sandbox.serving import serve; serve()"
)
_KEPT = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
"""Variables that the process gets: no token is among them."""
_SET = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve more address space than they use
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class _EndedError(Exception):
    """The process ended while it read, or ran out of memory; `error` says so of the file."""

    def __init__(self, error: FSLBenchError) -> None:
        super().__init__(error.what)
        self.error = error


class _Worker:
    """A process that reads submissions."""

    def __init__(self) -> None:
        self.used = self.stopped = False
        path = [entry for entry in sys.path if entry]  # never where we happen to stand
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", _CODE, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a crash may quote the file
            env=kept | _SET,
        )
        self._pipes = (
            cast(BufferedWriter, self._process.stdin),
            cast(BufferedReader, self._process.stdout),
        )
        if self._ask(b"", _START_SECONDS) is None:
            self.stop()
            raise UnreadableError(
                "no process could be started to read submissions",
                where=f"{sys.executable} ended with {self._process.returncode}",
            )

    def read(self, path: Path, where: str, limits: Limits) -> pa.Table:
        """The table of a file, or the error that it is to raise."""
        self.used = True
        request = {"path": str(path.absolute()), "where": where, "limits": asdict(limits)}
        answer = self._ask(json.dumps(request).encode() + b"\n", limits.seconds)
        if answer is None:
            self.stop()
            if self._late:
                raise _too_large(where, f"takes more than {limits.seconds:g} seconds to read")
            raise _EndedError(
                UnreadableError(
                    f"{where} ends the process that reads it ({self._process.returncode})",
                    expected="a Parquet file that is not damaged",
                    fix="write the submission again with Submission.write",
                )
            )
        if "memory" in answer:
            self.stop()
            most = f"takes more than {limits.memory_bytes // MIB} MiB of memory to read"
            raise _EndedError(_too_large(where, most))
        if "error" in answer:
            raise _as_error(answer["error"], answer["about"])
        with pa.ipc.open_stream(answer["data"]) as reader:
            return reader.read_all()

    def _ask(self, request: bytes, seconds: float) -> dict[str, Any] | None:
        """The process's answer; None if it ended, or was ended because it took too long."""
        question, reply = self._pipes
        self._late = False
        timer = Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            question.write(request)
            question.flush()
            line = reply.readline(_LONGEST_LINE)
            if not line.endswith(b"\n"):
                return None
            answer: dict[str, Any] = json.loads(line)
            if "bytes" in answer:
                answer["data"] = data = pa.allocate_buffer(answer["bytes"])
                if reply.readinto(memoryview(data)) < answer["bytes"]:
                    return None
        except (OSError, ValueError):
            return None
        except BaseException:  # interrupted between question and answer
            self.stop()
            raise
        else:
            return answer
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._late = True
        self._process.kill()

    def stop(self) -> None:
        """End the process, whatever it is at."""
        self.stopped = True
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes to it."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()


_lock = RLock()
_worker: _Worker | None = None


def read(path: Path, where: str, limits: Limits) -> pa.Table:
    """The table of a Parquet file of which nothing is known, read by another process.

    Raises
    ------
    FSLBenchError
        Whatever is wrong with the file, which messages call `where`.
    """
    global _worker
    with _lock:
        while True:
            worker = _worker = _worker or _Worker()
            first = not worker.used
            try:
                return worker.read(path, where, limits)
            except _EndedError as ended:
                if first:  # else what earlier files left behind may be to blame
                    raise ended.error from None
            finally:
                if worker.stopped:
                    _worker = None


@atexit.register
def stop() -> None:
    """End the process; the next file starts another."""
    global _worker
    with _lock:
        if _worker is not None:
            _worker.stop()
        _worker = None


def _forget() -> None:
    """In a forked process: the parent's reader is not ours."""
    global _worker, _lock
    _lock = RLock()
    if _worker is not None:
        _worker.forget()
    _worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _too_large(where: str, what: str) -> TooLargeError:
    return TooLargeError(
        f"{where} {what}",
        expected="a submission of the usual kind, which takes a second or two",
        fix="split it into several files; write it again with Submission.write",
    )


def _as_error(name: str, about: dict[str, str]) -> FSLBenchError:
    """The error that the process met, here."""
    kind = getattr(errors, name)
    error: FSLBenchError = kind.__new__(kind)
    FSLBenchError.__init__(error, about.pop("what"), **about)
    return error
