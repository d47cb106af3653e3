"""Files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from benchmark_spec.errors import OutputError

_UMASK = Lock()


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path`.

    Raises
    ------
    OutputError
        If the file cannot be written there; nothing is left behind, and what stood at `path`
        before still stands.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        if target.is_dir():
            raise OutputError(f"{target} is a folder", fix="name a file to write")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        with _UMASK:  # which can only be read by setting it, for the whole process
            mask = os.umask(0)
            os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"cannot write {target}: {error.strerror or error}",
            fix="name a file in a folder that exists and may be written",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_whole(path: Path | str, text: str) -> None:
    """Write a text file (UTF-8) that appears whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def file_state(path: Path) -> str:
    """Size, time and inode of the file behind a path, symbolic links followed.

    They are others as soon as somebody writes to the file or puts another in its place.
    """
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
