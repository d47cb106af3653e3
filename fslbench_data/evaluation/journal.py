"""Keep every finished task of an evaluation on disk, so that a run can resume.

A journal is a text file of one JSON value a line: first what the run is, then one line a finished
task.  Lines are appended; a line cut off by a crash is dropped.  The journal is removed once the
submission is written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import OutputError
from benchmark_spec.protocol import MAX_WAY, LoggedProtocol, Protocol


class _Line(Struct, array_like=True, forbid_unknown_fields=True):
    """A finished task: for each query the position of a class, and perhaps of the second-best."""

    task_set: str
    task_id: int
    predictions: list[int]
    second: list[int] | None = None


_SYNC_SECONDS = 1.0
"""Least time between two writes to the disk itself."""


class Journal:
    """Finished tasks of one run, kept in a file if there is a path.

    `answers` maps a task set (``dataset/task_set``) and task id to predictions, and perhaps the
    second-best classes.  An equal `run` resumes a journal.  Predictions must fit the protocols;
    those of other task sets are kept as they are.  Raises an OutputError if the file is of another
    run, or cannot be written.
    """

    def __init__(
        self, path: Path | None, run: Mapping[str, Any], protocols: Mapping[str, Protocol]
    ) -> None:
        self.path, self._run, self._protocols = path, dict(run), protocols
        self.answers: dict[tuple[str, int], Sequence[list[int]]] = {}
        self._file = None
        if path is None:
            return
        if path.is_symlink() or (path.exists() and not path.is_file()):
            what = "a link" if path.is_symlink() else "no file"
            raise OutputError(f"{path} is {what}", fix="name another output, or remove it")
        with _written(path):
            kept = self._read(path) if path.exists() else 0
            self._file = path.open("r+b" if kept else "wb")
            self._file.truncate(kept)
            self._file.seek(kept)
            self._sync(b"" if kept else _line(self._run))

    def close(self) -> None:
        """Write what is left to the disk; raises an OutputError if that fails."""
        if self._file is not None:
            with _written(self.path), self._file:
                self._sync()

    def add(self, task_set: str, task_id: int, *answer: list[int]) -> None:
        """Keep the answer to a task; raises an OutputError if that fails."""
        self.answers[task_set, task_id] = answer
        if self._file is not None:
            with _written(self.path):
                self._file.write(_line([task_set, task_id, *answer]))
                self._file.flush()
                if time.monotonic() - self._synced > _SYNC_SECONDS:
                    self._sync()

    def _sync(self, line: bytes = b"") -> None:
        if self._file is not None:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def _read(self, path: Path) -> int:
        """Read the answers of a journal; return how many of its bytes are valid."""
        whole = path.read_bytes().rpartition(b"\n")[0]
        if not whole:
            return 0
        head, *lines = whole.split(b"\n")
        try:
            previous = parsed_json(head, dict[str, Any])
        except ValueError:
            previous = {}
        if previous and not lines:
            return 0  # no finished task is lost by beginning anew
        if previous != self._run:
            differs = [
                f"{key}: {previous.get(key)!r:.60}, now {self._run.get(key)!r:.60}"
                for key in ({**self._run, **previous} if previous else {})
                if previous.get(key) != self._run.get(key)
            ]
            raise OutputError(
                f"{path} is of another run",
                where="; ".join(differs) or "it is no journal of an evaluation",
                fix="run it as before, or remove that file to start anew",
            )
        kept = len(head) + 1
        for line in lines:
            try:
                entry = parsed_json(line, _Line)
            except ValueError:
                break  # damaged: what follows is run again
            answer = [entry.predictions, *([entry.second] if entry.second else [])]
            if not _fits(answer, self._protocols.get(entry.task_set)):
                break
            self.answers[entry.task_set, entry.task_id] = answer
            kept += len(line) + 1
        return kept


def _fits(answer: Sequence[list[int]], protocol: Protocol | None) -> bool:
    """Return whether an answer can be of a task of this protocol, or of an unknown one."""
    way = MAX_WAY if protocol is None else protocol.way
    if not all(0 <= position < way for positions in answer for position in positions):
        return False
    if protocol is None or isinstance(protocol, LoggedProtocol):
        return True
    return all(len(positions) == protocol.n_query for positions in answer)


@contextmanager
def _written(path: Path | None) -> Iterator[None]:
    """Raise an OutputError that names the file where writing it raises an OSError."""
    try:
        yield
    except OSError as error:
        fix = "make room and run it again, which goes on where it stopped; or name another file"
        if isinstance(error, FileNotFoundError):
            fix = "make the folder first"
        raise OutputError(f"cannot write {path}: {error.strerror or error}", fix=fix) from None


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n"
