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


def open_regular(path: Path, flags: int = 0) -> BinaryIO:
    """Open a regular file to read it; raises an OSError if there is none, whatever the path is.

    `flags` are more of those that :func:`os.open` takes.
    """
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except ValueError as error:  # a path with a null character
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(handle, "rb")


def read_regular(path: Path, most: int) -> bytes:
    """Read a regular file of at most so many bytes; raises an OSError if there is none."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes", str(path))
    return content


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
    file = open_regular(path, getattr(os, "O_NOFOLLOW", 0))
    if not _is_own(os.fstat(file.fileno())):
        file.close()
        raise OSError(errno.EPERM, "not a file of one's own", str(path))
    return file


def read_kept(path: Path) -> bytes:
    """Read a kept file; raises an OSError if there is none."""
    with open_kept(path) as file:
        return file.read()


def _is_own(state: os.stat_result) -> bool:
    """Whether it belongs to this user, or to root, who may prepare a cache for others."""
    return not hasattr(os, "geteuid") or state.st_uid in (os.geteuid(), 0)
