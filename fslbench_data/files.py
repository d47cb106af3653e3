"""Write files whole or not at all, read files of caches, and make scratch folders.

A cache keeps regular files of this user, which are no links; anything else under such a name counts
as missing, and is neither opened nor written to.
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
"""The name of a temporary file, which contains that of the final file."""


@contextmanager
def whole_file(path: Path | str, *, clear: bool = True, follow: bool = True) -> Iterator[Path]:
    """Yield a temporary path; on success its content is that of `path`.

    The temporary file lies beside `path`, and replaces a regular file, or none, at once; through a
    symbolic link, the file that it names.  A device, a FIFO and an open file such as
    ``/dev/stdout`` are written to in place.  Raises an OutputError if the file cannot be written;
    `path` is then unchanged.

    Without `follow`, as in a cache, a link, a FIFO or a device is itself replaced.  With `clear`,
    temporary files of killed writers of the same file are removed; to write many files into one
    folder, call :func:`clear_temporary` once instead.
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
                number = _descriptor(name)  # an open file continues at its position
                handle = os.open(name, os.O_WRONLY) if number is None else os.dup(number)
                with os.fdopen(handle, "wb") as sink, temporary.open("rb") as written:
                    shutil.copyfileobj(written, sink)
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
    """Write a text file (UTF-8) by :func:`whole_file`."""
    with whole_file(path, follow=follow) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def is_taken(path: Path) -> bool:
    """Return whether writing to `path` would replace a file.

    Writing into a device, a FIFO or an open file replaces nothing.  Raises an OutputError for what
    cannot be written into, such as a folder.
    """
    try:
        target = _replaced(path)
        return target is not None and target.exists()
    except OSError:
        return False  # the writer raises the error


def clear_temporary(folder: Path, name: str | None = None, *, deep: bool = False) -> None:
    """Remove temporary files of killed writers of :func:`whole_file`, or of the file `name` only.

    With `deep`, subfolders are searched too.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            final = temporary_of(entry.name)
            if deep and entry.is_dir(follow_symlinks=False):
                clear_temporary(Path(entry.path), name, deep=True)
            elif final and name in (None, final) and entry.is_file(follow_symlinks=False):
                handle = locked(Path(entry.path))
                if handle is not None:
                    Path(entry.path).unlink(missing_ok=True)
                    unlock(handle)


def temporary_of(name: str) -> str | None:
    """Return the name of a temporary file's final file; None for any other name."""
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match else None


def _replaced(name: Path, follow: bool = True) -> Path | None:
    """Return the path of the regular file, which may not exist, to replace; None to write in place.

    Without `follow` it is `name` itself.  Raises an OutputError for a folder or a socket.
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
    """Return the number of the open file that a name such as ``/dev/stdout`` links to, if any."""
    descriptors = Path(f"/proc/{os.getpid()}/fd")
    for _ in range(40):  # the system follows as many links
        if not name.is_symlink():
            break
        folder = Path(os.path.realpath(name.parent))
        if folder == descriptors:
            return int(name.name)
        name = folder / name.readlink()
    return None


def _temporary(target: Path | None) -> Path:
    """Make an empty file beside `target`, or in the system's temporary folder."""
    folder = Path(tempfile.gettempdir()) if target is None else target.parent
    name = "fslbench" if target is None else target.name
    path = folder / f".{name}.{token_hex(4)}{_ENDING}"
    path.touch(0o600 if target is None else 0o666, exist_ok=False)
    return path


@contextmanager
def held(make: Callable[[], Path]) -> Iterator[Path]:
    """Yield the file or folder that `make` makes, locked, so that nobody removes it as abandoned.

    Windows has no such locks; there killed writers' files stay.
    """
    while True:
        path = make()
        handle = locked(path, wait=True)
        if path.exists():  # else removed as abandoned before it was locked
            break
        unlock(handle)
    try:
        yield path
    finally:
        unlock(handle)


def locked(path: Path, *, wait: bool = False) -> int | None:
    """Lock a file or folder and return a handle; None if it is locked, or there are no locks."""
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
    """Release the lock of :func:`locked`."""
    if handle is not None:
        os.close(handle)


def file_state(path: Path) -> str:
    """Return the size, time and inode of a file, which change when it is written or replaced.

    Symbolic links are followed.
    """
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_numbers(path: Path) -> NDArray[Any]:
    """Read the numbers of a .npy file, in no more memory than the file has bytes.

    Raises a ValueError if it is no such file, holds no numbers, or fewer than its header claims.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # a size that overflows is refused as too large
            mapped = np.lib.format.open_memmap(path, "r")
    except (SyntaxError, OverflowError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"its header is damaged ({type(error).__name__})") from None
    if mapped.dtype.kind not in "biuf":
        raise ValueError(f"it holds {mapped.dtype}, not numbers")
    return np.array(mapped)


def open_regular(path: Path, *, kept: bool = False) -> BinaryIO:
    """Open a regular file, with `kept` one of a cache; raise an OSError if there is none."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) if kept else 0
    try:
        handle = os.open(path, flags)
    except ValueError as error:  # the path has a null character
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    state = os.fstat(handle)
    if stat.S_ISREG(state.st_mode) and (not kept or _is_own(state)):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "not a regular file" + " of one's own" * kept, str(path))


def is_own_folder(path: Path) -> bool:
    """Return whether a path is a folder of this user, and no link to one."""
    return is_kept(path, stat.S_ISDIR)


def is_kept(path: Path, is_kind: Callable[[int], bool] = stat.S_ISREG) -> bool:
    """Return whether a path is a file of a cache, or with `is_kind` of another kind by its mode."""
    try:
        state = path.lstat()
    except (OSError, ValueError):
        return False
    return is_kind(state.st_mode) and _is_own(state)


def read_kept(path: Path) -> bytes:
    """Read a file of a cache; raise an OSError if there is none."""
    with open_regular(path, kept=True) as file:
        return file.read()


def _is_own(state: os.stat_result) -> bool:
    """Return whether a file belongs to this user, or to root, who may prepare a cache."""
    return not hasattr(os, "geteuid") or state.st_uid in (os.geteuid(), 0)


POINTER = "a pointer of Git LFS, not the file itself"
EXPECTED = "the bytes that it points to"
FIX = "git lfs pull"
_BEGINNING = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1023
"""The longest pointer of Git LFS."""


def is_lfs_pointer(path: Path) -> bool:
    """Return whether a regular file is a pointer; raise an OSError if it cannot be read."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode) or state.st_size > _MOST_BYTES:
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

    It lies in `where`, by default the system's temporary folder, and is locked while it is used.
    The first of a process removes unlocked ones of the same kind, which killed processes of this
    user left.  Windows has no such locks; there they stay.
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
    """Remove unlocked folders of a kind, once for each parent."""
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
