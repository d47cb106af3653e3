"""Locks on folders in which only one process may work."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO
from weakref import WeakSet

_held: WeakSet[IO[bytes]] = WeakSet()


def locked(path: Path) -> IO[bytes] | None:
    """A lock on a file, until what is returned is closed; None where another process holds it.

    The system takes it back when this process ends, however it ends: processes that are forked
    from it do not keep it.
    """
    lock = path.open("ab")  # which changes nothing, whatever file this is
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    _held.add(lock)
    return lock


def _let_go() -> None:
    for lock in list(_held):
        lock.close()


os.register_at_fork(after_in_child=_let_go)
