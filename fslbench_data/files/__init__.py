"""Files that appear whole or not at all, those that caches keep, and folders for a moment.

What a cache keeps are regular files of this user, which no link leads to; whatever else lies under
such a name counts as not there, and is neither opened nor written to.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO

from benchmark_spec.errors import OutputError, UnreadableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

if sys.platform != "win32":
    import fcntl

_ENDING = ".writing"
_TEMPORARY = re.compile(r"\.(.+)\.[a-z0-9_]{8}" + re.escape(_ENDING))
"""The name of a temporary file, with that of the file which it is to become."""


@contextmanager
def whole_file(path: Path | str, *, clear: bool = True, follow: bool = True) -> Iterator[Path]:
    """Yield a temporary path; on success `path` holds what was written there.

    A regular file, or none, is replaced at once by the temporary file, which lies beside it.
    Through a symbolic link that is the file that the link names.  A device, a FIFO and an open file
    such as ``/dev/stdout`` are written to in place.  Nothing else is.  Raises an OutputError if the
    file cannot be written; what stood at `path` before still stands.

    Without `follow`, as in a cache, a link, a FIFO or a device is itself replaced.

    With `clear`, temporary files that killed writers of the same file left are removed. To write
    many files into one folder, call :func:`clear_temporary` once instead.
    """
    name = Path(path)
    temporary: Path | None = None
    try:
        target = _replaced(name, follow)
        if target is not None and clear:
            clear_temporary(target.parent, target.name)
        with held(partial(_temporary, target)) as temporary:
            yield temporary
            with temporary.open("r+b") as written:
                os.fsync(written.fileno())
            if target is None:
                number = _descriptor(name)  # an open file goes on where it is
                handle = os.open(name, os.O_WRONLY) if number is None else os.dup(number)
                with os.fdopen(handle, "wb") as there, temporary.open("rb") as written:
                    shutil.copyfileobj(written, there)
                return
            if _replaced(name, follow) != target:
                raise OutputError(
                    f"{name} became something else while it was written",
                    fix="write it again, or name another file",
                )
            temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"cannot write {name}: {error.strerror or error}",
            fix="make room on its disk"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "name a file in a folder that exists and may be written",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_whole(path: Path | str, text: str, *, follow: bool = True) -> None:
    """Write a text file (UTF-8) that appears whole or not at all, as :func:`whole_file` does."""
    with whole_file(path, follow=follow) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def is_taken(path: Path) -> bool:
    """Return whether writing to `path` would replace a file.

    A device, a FIFO or an open file is written into, and nothing there is replaced.  Raises an
    OutputError for what cannot be written into, such as a folder.
    """
    try:
        target = _replaced(path)
        return target is not None and target.exists()
    except OSError:
        return False  # the writer raises the error


def clear_temporary(folder: Path, name: str | None = None, *, deep: bool = False) -> None:
    """Remove temporary files that killed writers of :func:`whole_file` left, perhaps of one name.

    With `deep`, in the folders of the folder, too.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            of = temporary_of(entry.name)
            if deep and entry.is_dir(follow_symlinks=False):
                clear_temporary(Path(entry.path), name, deep=True)
            elif of is not None and name in (None, of) and entry.is_file(follow_symlinks=False):
                handle = locked(Path(entry.path))
                if handle is not None:
                    Path(entry.path).unlink(missing_ok=True)
                    unlock(handle)


def temporary_of(name: str) -> str | None:
    """Return the name of the file that a temporary one is to become; None for any other name."""
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match else None


def _replaced(name: Path, follow: bool = True) -> Path | None:
    """Find the regular file, or the free place, that a name leads to; None to write in place.

    Without `follow` it is the name itself.  Raises an OutputError for a folder, a socket, or
    whatever else cannot be written into.
    """
    if not follow:
        if name.is_dir() and not name.is_symlink():
            raise OutputError(f"{name} is a folder", fix="remove it")
        return Path(os.path.realpath(name.parent), name.name)
    if _descriptor(name) is not None:
        return None
    try:
        mode = name.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISREG(mode):
        return Path(os.path.realpath(name))
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode):
        return None
    raise OutputError(
        f"{name} is a {'folder' if stat.S_ISDIR(mode) else 'socket'}", fix="name a file to write"
    )


def _descriptor(name: Path) -> int | None:
    """Return the number of the open file that a name such as ``/dev/stdout`` leads to."""
    own = Path(f"/proc/{os.getpid()}/fd")
    for _ in range(40):  # links, as many as the system follows
        if not name.is_symlink():
            break
        folder = Path(os.path.realpath(name.parent))
        if folder == own:
            return int(name.name)
        name = folder / name.readlink()
    return None


def _temporary(target: Path | None) -> Path:
    """Make an empty file beside `target`, or where temporary files lie."""
    folder = Path(tempfile.gettempdir()) if target is None else target.parent
    name = "fslbench" if target is None else target.name
    path = folder / f".{name}.{token_hex(4)}{_ENDING}"
    path.touch(0o600 if target is None else 0o666, exist_ok=False)
    return path


@contextmanager
def held(make: Callable[[], Path]) -> Iterator[Path]:
    """Yield the file or folder that `make` makes, locked, so that nobody takes it for abandoned.

    Windows has no such locks, and renames no file that is open: there killed writers leave theirs.
    """
    while True:
        path = make()
        handle = locked(path, wait=True)
        if path.exists():  # else taken for abandoned before it was locked
            break
        unlock(handle)
    try:
        yield path
    finally:
        unlock(handle)


def locked(path: Path, *, wait: bool = False) -> int | None:
    """Lock a file or folder; None if another process holds it, or there are no locks."""
    if sys.platform == "win32":
        return None
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        return None
    return handle


def unlock(handle: int | None) -> None:
    """Give back what :func:`locked` gave."""
    if handle is not None:
        os.close(handle)


def file_state(path: Path) -> str:
    """Return the size, time and inode of the file behind a path, symbolic links followed.

    They are others as soon as somebody writes to the file or puts another in its place.
    """
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_numbers(path: Path) -> NDArray[Any]:
    """Read the numbers of a .npy file; no more memory is taken than the file has bytes.

    Raises a ValueError if it is no such file, holds no numbers, or fewer than its header claims.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # a size beyond counting is beyond the file's end too
            mapped = np.lib.format.open_memmap(path, "r")
    except (SyntaxError, OverflowError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"its header is damaged ({type(error).__name__})") from None
    if mapped.dtype.kind not in "biuf":
        raise ValueError(f"it holds {mapped.dtype}, not numbers")
    return np.array(mapped)


def open_regular(path: Path, *, kept: bool = False) -> BinaryIO:
    """Open a regular file, with `kept` only a kept one; raises an OSError if there is none."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) if kept else 0
    try:
        handle = os.open(path, flags)
    except ValueError as error:  # a path with a null character
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    state = os.fstat(handle)
    if stat.S_ISREG(state.st_mode) and (not kept or _is_own(state)):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "not a regular file" + " of one's own" * kept, str(path))


def is_own_folder(path: Path) -> bool:
    """Return whether a folder of this user lies there, and no link to one."""
    return is_kept(path, stat.S_ISDIR)


def is_kept(path: Path, is_kind: Callable[[int], bool] = stat.S_ISREG) -> bool:
    """Return whether a kept file lies there, or something of another kind by its mode."""
    try:
        state = path.lstat()
    except (OSError, ValueError):
        return False
    return is_kind(state.st_mode) and _is_own(state)


def read_kept(path: Path) -> bytes:
    """Read a kept file; raises an OSError if there is none."""
    with open_regular(path, kept=True) as file:
        return file.read()


def _is_own(state: os.stat_result) -> bool:
    """Return whether it belongs to this user, or to root, who may prepare a cache for others."""
    return not hasattr(os, "geteuid") or state.st_uid in (os.geteuid(), 0)


POINTER = "a pointer of Git LFS, not the file itself"
EXPECTED = "the bytes that it points to"
FIX = "git lfs pull"
_BEGINNING = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1023
"""A longer file is no pointer, as Git LFS has it."""


def is_lfs_pointer(path: Path) -> bool:
    """Return whether a regular file is a pointer; raises an OSError if it cannot be read."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def refuse_lfs_pointer(path: Path) -> None:
    """Raise an UnreadableError if a file is a pointer, or cannot be read."""
    try:
        pointer = is_lfs_pointer(path)
    except OSError as error:
        raise UnreadableError(f"{path} cannot be opened: {error.strerror or error}") from None
    if pointer:
        raise UnreadableError(f"{path} is {POINTER}", expected=EXPECTED, fix=FIX)


@contextmanager
def scratch_folder(kind: str, where: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder, ``fslbench-KIND-…``, which is removed with its content afterwards.

    It lies in `where`, or where temporary files do.  The first of a process removes those of the
    same kind there that killed processes of this user left: a folder is locked while it is used.
    Windows has no such locks; there killed processes leave theirs.
    """
    parent = Path(where or tempfile.gettempdir())
    _clear_abandoned(kind, parent)
    with held(lambda: Path(tempfile.mkdtemp(prefix=f"fslbench-{kind}-", dir=parent))) as folder:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=64)
def _clear_abandoned(kind: str, parent: Path) -> None:
    """Remove folders of a kind that nobody uses, once for each place."""
    if sys.platform == "win32":
        return
    name = re.compile(rf"fslbench-{re.escape(kind)}-[a-z0-9_]{{8}}")
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not name.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                    continue
                handle = locked(Path(entry.path))
                if handle is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    unlock(handle)
