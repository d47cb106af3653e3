"""Contents of files: regular ones in memory, LFS objects on disk under their SHA-256."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 18


@dataclass(frozen=True)
class Blob:
    """One version of a file, as a tree names it."""

    oid: str  # Git's SHA-1 of the file, or of the pointer that stands for an LFS file
    size: int
    sha256: str | None = None  # set for LFS files
    pointer_size: int = 0

    @property
    def etag(self) -> str:
        return self.sha256 or self.oid


@dataclass(frozen=True)
class FilePart:
    """Bytes `start` to `start + length` of a file on disk."""

    path: Path
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    def chunks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            file.seek(self.start)
            left = self.length
            while left and (data := file.read(min(CHUNK, left))):
                left -= len(data)
                yield data


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def pointer(sha256: str, size: int) -> bytes:
    """The text that stands in Git for an LFS file."""
    head = "version https://git-lfs.github.com/spec/v1"
    return f"{head}\noid sha256:{sha256}\nsize {size}\n".encode()


class ObjectStore:
    """All contents of a server, below one folder.

    Parameters
    ----------
    folder
        Where LFS objects are kept; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._regular: dict[str, bytes] = {}
        self.clear()

    def clear(self) -> None:
        self._regular.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def add_regular(self, data: bytes) -> Blob:
        blob = Blob(git_sha1(data), len(data))
        self._regular.setdefault(blob.oid, data)
        return blob

    def add_lfs(self, data: bytes) -> Blob:
        sha256 = hashlib.sha256(data).hexdigest()
        if not self.has(sha256):
            self.receive(sha256, [data])
        return self.lfs_blob(sha256)

    def receive(self, sha256: str, chunks: Iterable[bytes]) -> None:
        """Keep an LFS object, unless its bytes have another SHA-256."""
        temporary = self.folder / f"{uuid.uuid4().hex}.part"
        digest = hashlib.sha256()
        try:
            with temporary.open("wb") as file:
                for chunk in chunks:
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != sha256:
                raise ValueError(f"SHA-256 is {digest.hexdigest()}, not {sha256}")
            temporary.replace(self.folder / sha256)
        finally:
            temporary.unlink(missing_ok=True)

    def has(self, sha256: str) -> bool:
        return (self.folder / sha256).is_file()

    def lfs_blob(self, sha256: str) -> Blob:
        size = (self.folder / sha256).stat().st_size
        text = pointer(sha256, size)
        return Blob(git_sha1(text), size, sha256, len(text))

    def content(self, blob: Blob) -> bytes | FilePart:
        if blob.sha256 is None:
            return self._regular[blob.oid]
        path = self.folder / blob.sha256
        return FilePart(path, 0, path.stat().st_size)

    def read(self, blob: Blob) -> bytes:
        found = self.content(blob)
        return found if isinstance(found, bytes) else b"".join(found.chunks())

    def tamper(self, blob: Blob) -> None:
        """Flip a byte of an LFS object, under the same name and ETag."""
        data = bytearray(self.read(blob))
        data[len(data) // 2] ^= 0xFF
        (self.folder / str(blob.sha256)).write_bytes(data)
