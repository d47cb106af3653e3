"""Files that a cache keeps to save work: regular ones of this user, which no link leads to.

Whatever else lies under such a name counts as not there.  It is neither opened, as a FIFO would be
for ever, nor written to: :func:`fslbench_data.files.whole_file` with ``follow=False`` puts the file
in its place.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def is_kept(path: Path) -> bool:
    """Tell whether a kept file lies there."""
    try:
        state = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(state.st_mode) and _is_own(state)


def is_own_folder(path: Path) -> bool:
    """Tell whether a folder of this user lies there, and no link to one."""
    try:
        state = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(state.st_mode) and _is_own(state)


def open_kept(path: Path) -> BinaryIO:
    """Open a kept file to read it; raises an OSError if there is none."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    state = os.fstat(handle)
    if not (stat.S_ISREG(state.st_mode) and _is_own(state)):
        os.close(handle)
        raise OSError(errno.EPERM, "not a regular file of one's own", str(path))
    return os.fdopen(handle, "rb")


def read_kept(path: Path) -> bytes:
    """Read a kept file; raises an OSError if there is none."""
    with open_kept(path) as file:
        return file.read()


def _is_own(state: os.stat_result) -> bool:
    """Whether it belongs to this user, or to root, who may prepare a cache for others."""
    return not hasattr(os, "geteuid") or state.st_uid in (os.geteuid(), 0)
