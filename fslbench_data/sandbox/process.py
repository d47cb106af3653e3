"""A process of the sandbox from outside: starts it, asks it, ends it when its time is up.

What it is asked and what it answers is data alone: lines of JSON, and tables as Arrow streams
(:mod:`fslbench_data.sandbox.server` is the other side).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from io import BufferedReader, BufferedWriter
from typing import Any, Literal, cast

import pyarrow as pa

from benchmark_spec import errors
from benchmark_spec.errors import FSLBenchError
from fslbench_data.sandbox.limits import MIB
from fslbench_data.sandbox.server import stream_size, write_stream

_START_SECONDS = 120.0
_LONGEST_LINE = MIB
_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from fslbench_data.sandbox.server import serve; serve(sys.argv[2])"
)
_KEPT = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
"""Variables that the process gets: no token is among them."""
_SET = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve more address space than they use
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

Service = Literal["read", "query"]


class EndedError(Exception):
    """The process gave no whole answer and is no more.

    The cause is ``late``: it took too long; ``memory``: it ran out of it; ``large``: its answer is
    too large; or ``ended``: it ended by itself, with `code`.
    """

    def __init__(self, cause: Literal["late", "memory", "large", "ended"], code: int = 0) -> None:
        super().__init__(cause)
        self.cause, self.code = cause, code


class Process:
    """A process that does one service, until it is `stopped`; its first answer awaits its start."""

    def __init__(self, service: Service) -> None:
        self.stopped = self._late = self._greeted = False
        path = [entry for entry in sys.path if entry]  # never where we happen to stand
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", _CODE, json.dumps(path), service],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a crash may quote the file
            env=kept | _SET,
        )
        self._pipes = (
            cast(BufferedWriter, self._process.stdin),
            cast(BufferedReader, self._process.stdout),
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def greet(self) -> None:
        """Wait until it has started; raises EndedError if it cannot."""
        if not self._greeted:
            self._exchange(b"", {}, _START_SECONDS, 0)
            self._greeted = True

    def ask(
        self,
        request: Mapping[str, Any],
        seconds: float,
        *,
        tables: Mapping[str, pa.Table] | None = None,
        most_bytes: int = sys.maxsize,
    ) -> list[pa.Table]:
        """Ask for tables: `request` is what JSON can say, and `tables` go with it, by name.

        It may take so many seconds, besides its start; the answer so many bytes.  Raises the
        FSLBenchError that the process met; or, if it gave no answer and has been ended, an
        EndedError.
        """
        self.greet()
        sizes = {name: stream_size(table) for name, table in (tables or {}).items()}
        line = json.dumps({**request, "tables": sizes}).encode() + b"\n"
        return self._exchange(line, tables or {}, seconds, most_bytes)

    def _exchange(
        self, line: bytes, tables: Mapping[str, pa.Table], seconds: float, most_bytes: int
    ) -> list[pa.Table]:
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._expire)
        timer.daemon = True
        timer.start()
        try:
            return self._talk(line, tables, most_bytes)
        except FSLBenchError:
            raise
        except EndedError as ended:
            self.stop()
            if self._late:
                raise EndedError("late") from None
            raise EndedError(ended.cause, self._process.returncode) from None
        except BaseException:  # interrupted between question and answer
            self.stop()
            raise
        finally:
            timer.cancel()

    def _talk(self, line: bytes, tables: Mapping[str, pa.Table], most_bytes: int) -> list[pa.Table]:
        question, _ = self._pipes
        try:
            question.write(line)
            for table in tables.values():
                write_stream(question, table)
            question.flush()
        except (OSError, ValueError):  # it reads no more
            raise EndedError("ended") from None
        received: list[pa.Table] = []
        while "bytes" in (answer := self._line()):
            most_bytes -= answer["bytes"]
            if most_bytes < 0:
                raise EndedError("large")
            received.append(self._table(answer["bytes"]))
        if "memory" in answer:
            raise EndedError("memory")
        if "error" in answer:
            raise _as_error(answer["error"], answer["about"])
        return received

    def _line(self) -> dict[str, Any]:
        """The next line of its answer."""
        try:
            line = self._pipes[1].readline(_LONGEST_LINE)
            answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        except (OSError, ValueError):
            answer = {}
        if not answer:
            raise EndedError("ended")
        return answer

    def _table(self, size: int) -> pa.Table:
        """The table in the next bytes of its answer."""
        data = pa.allocate_buffer(size)
        try:
            if self._pipes[1].readinto(memoryview(data)) < size:
                raise EndedError("ended")
        except (OSError, ValueError):
            raise EndedError("ended") from None
        with pa.ipc.open_stream(data) as reader:
            return reader.read_all()

    def _expire(self) -> None:
        self._late = True
        self._process.kill()

    def stop(self) -> None:
        """End it, whatever it is at."""
        self.stopped = True
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes to it."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()


def _as_error(name: str, about: dict[str, str]) -> FSLBenchError:
    """The error that the process met, here."""
    kind = getattr(errors, name)
    error: FSLBenchError = kind.__new__(kind)
    FSLBenchError.__init__(error, about.pop("what"), **about)
    return error
