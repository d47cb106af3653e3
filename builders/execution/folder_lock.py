"""Folders in which only one process may work at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO
from weakref import WeakSet

from benchmark_spec.errors import OutputError

_held: WeakSet[IO[bytes]] = WeakSet()


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, if they are not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from None


def lock_folder(folder: Path, file: str, work: str) -> IO[bytes]:
    """Lock a folder by a file in it, until what is returned is closed.

    Parameters
    ----------
    work
        What locks it, such as ``build``, for the message.

    The system takes it back when this process ends, however it ends: processes that are forked
    from it do not keep it.
    """
    try:  # which changes nothing, whatever file this is
        lock = open(folder / file, "ab", opener=_itself)  # noqa: SIM115
    except OSError as error:  # a link or a FIFO among them
        raise OutputError(
            f"cannot lock {folder}: {error.strerror}",
            where=str(folder / file),
            expected="a regular file that may be written, or none",
            fix=f"remove {file}",
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise OutputError(
            f"another {work} is running in {folder}", fix="wait until it has ended"
        ) from None
    _held.add(lock)
    return lock


def _itself(path: str, flags: int) -> int:
    """Open a file, not what a link leads to; without waiting for who reads a FIFO."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def _let_go() -> None:
    for lock in list(_held):
        lock.close()


os.register_at_fork(after_in_child=_let_go)
