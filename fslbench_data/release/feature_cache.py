"""Raw copies of large features on this machine, which are memory-mapped instead of decoded.

They lie in ``fslbench/features`` below the assets folder of the Hub's cache (HF_HOME/assets) and
can be removed at any time.  A copy is named after the files that it was made of and what their
values stand for, so it never grows old.  The mark beside it holds its size, time and inode when it
was finished; a copy that does not fit its mark or the header of its shape, or is no regular file of
the user's own, is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from benchmark_spec.errors import OutputError
from fslbench_data.files import clear_temporary, file_state, whole_file, write_whole
from fslbench_data.files.kept import open_kept, read_kept

LEFT_FREE = 2**30
"""Bytes that a disk keeps free: where a copy would leave it less, none is made."""

_HEADER = 128
"""Bytes of such a header, for any shape of two dimensions."""

_VERSION = "fslbench-features-1"


def copies_folder() -> Path:
    """The folder of the copies."""
    from huggingface_hub import constants

    return Path(constants.HF_ASSETS_CACHE) / "fslbench" / "features"


@dataclass(frozen=True)
class FeatureCopy:
    """The copy of one feature set of N images, there or not: a file of numpy's own format."""

    path: Path
    rows: int
    dtype: DTypeLike

    @classmethod
    def of(cls, sha256s: Iterable[str], scale: float | None, rows: int) -> FeatureCopy:
        """Name the copy of files with these digests; float16 values, or with a scale float32."""
        content = json.dumps([_VERSION, list(sha256s), scale])
        name = hashlib.sha256(content.encode()).hexdigest()
        dtype = np.float16 if scale is None else np.float32
        return cls(copies_folder() / f"{name}.npy", rows, dtype)

    @property
    def mark(self) -> Path:
        """The file that says in which state the copy was when it was finished."""
        return self.path.with_suffix(".whole")

    def open(self) -> NDArray[Any] | None:
        """The features (N, D), memory-mapped and read-only; None if there is no whole copy."""
        try:
            with open_kept(self.path) as file:
                if read_kept(self.mark) != file_state(self.path).encode():
                    return None
                size = os.fstat(file.fileno()).st_size
                dimensions, rest = divmod(size - _HEADER, self._bytes_of(1))
                if rest or dimensions < 1 or file.read(_HEADER) != self._header(dimensions):
                    return None
                shape = (self.rows, dimensions)
                mapped = np.memmap(file, self.dtype, "r", _HEADER, shape)
        except (OSError, ValueError):
            return None
        return mapped.view(np.ndarray)

    def write(self, dimensions: int, parts: Iterable[NDArray[Any]]) -> bool:
        """Make the copy, whole or not at all, of `parts`: pieces (n, D), together N rows.

        Returns whether it could be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            clear_temporary(self.path.parent)
            if shutil.disk_usage(self.path.parent).free < self._bytes_of(dimensions) + LEFT_FREE:
                return False
            with whole_file(self.path, follow=False) as temporary:
                with temporary.open("wb") as file:
                    file.write(self._header(dimensions))
                    for part in parts:
                        np.ascontiguousarray(part).tofile(file)
                state = file_state(temporary)
            write_whole(self.mark, state, follow=False)
        except (OSError, OutputError):
            return False
        return True

    def _bytes_of(self, dimensions: int) -> int:
        return self.rows * dimensions * np.dtype(self.dtype).itemsize

    def _header(self, dimensions: int) -> bytes:
        """What numpy's format begins with."""
        header = {
            "descr": np.dtype(self.dtype).str,
            "fortran_order": False,
            "shape": (self.rows, dimensions),
        }
        buffer = BytesIO()
        np.lib.format.write_array_header_1_0(buffer, header)
        return buffer.getvalue()
