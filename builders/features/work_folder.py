"""Blocks of features, or of captions, that are finished, so that a stopped run can go on.

In the folder lie a journal, which says what the blocks are of, and a file a block.  The name of a
block's file holds the SHA-256 of its content; so a file is whole and what was written, or it is
made again.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import OutputError, SourceError
from builders.execution.folder_lock import lock_folder, make_folder
from builders.sources.image_set import ImageSet
from fslbench_data.files import whole_file, write_whole
from fslbench_data.files.kept import is_kept, read_kept

JOURNAL_FILE = "extraction.json"
LOCK_FILE = ".lock"
_OURS = re.compile(r"\.?\d{8}\.|\.extraction\.json\.")
_BLOCK_FILE = re.compile(r"(\d{8})\.([0-9a-f]{64})\.npy")


class WorkFolder:
    """The blocks of one extraction, begun or continued.

    Parameters
    ----------
    folder
        New, or left by an unfinished extraction.

    Attributes
    ----------
    recorded
        What the blocks of an unfinished extraction are of; None where there was none.

    Raises
    ------
    OutputError
        If the folder cannot be made, another process works in it, or its journal is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._journal = folder, folder / JOURNAL_FILE
        self._blocks: dict[int, Path] = {}
        make_folder(folder)
        self._lock = lock_folder(folder, LOCK_FILE, "extraction")
        self.recorded = self._read()

    def begin(self, of: Mapping[str, Any], *, anew: bool = False) -> set[int]:
        """Say what the blocks are of; gives the numbers of those that are there already.

        `of` is compared, as JSON, with what was recorded; blocks of something else are refused, or
        with `anew` thrown away.
        """
        wanted: dict[str, Any] = json.loads(json.dumps(of))
        if anew or self.recorded is None:
            for path in self._files():
                path.unlink()
            write_whole(self._journal, json.dumps(wanted, indent=1) + "\n", follow=False)
            self.recorded = wanted
        elif self.recorded != wanted:
            raise OutputError(
                f"{self.folder} holds an unfinished extraction of something else: "
                f"they differ in {', '.join(_differences(self.recorded, wanted))}",
                where=str(self._journal),
                expected="the same images, backbone and settings as when it was begun",
                fix="ask for the same, or name another folder",
            )
        self._blocks = {}
        for path in self._files():
            match = _BLOCK_FILE.fullmatch(path.name)
            if match and is_kept(path) and _sha256(read_kept(path)) == match[2]:
                self._blocks[int(match[1])] = path
            elif not path.name.endswith(".json"):
                path.unlink()
        return set(self._blocks)

    def add(
        self, block: int, values: NDArray[Any], problems: Mapping[int, str] | None = None
    ) -> None:
        """Keep a block, float16 (n, D) or texts (n,), and what was wrong with images of zeros."""
        if problems:
            write_whole(self._problems(block), json.dumps(dict(problems)) + "\n", follow=False)
        else:
            self._problems(block).unlink(missing_ok=True)
        data = _npy(values)
        path = self.folder / f"{block:08d}.{_sha256(data)}.npy"
        with whole_file(path, clear=False, follow=False) as temporary:
            temporary.write_bytes(data)
        self._blocks[block] = path

    def values(self, block: int) -> NDArray[Any]:
        """Return a finished block."""
        values: NDArray[Any] = np.load(self._blocks[block], allow_pickle=False)
        return values

    def problems(self) -> dict[int, dict[str, str]]:
        """Tell what was wrong with images that are zeros, by id, of each block that has any."""
        paths = {block: self._problems(block) for block in sorted(self._blocks)}
        return {block: _problems_of(path) for block, path in paths.items() if path.exists()}

    def check_unchanged(self, images: ImageSet) -> None:
        """Throw all blocks away if the raw folder changed while they were made.

        Where each image is a file of its own this is not needed: a file was compared with its hash
        when it was decoded.
        """
        paths, file = images.images.column("path").to_pylist(), images.file
        if file is not None and all(map(file, paths)):
            return
        try:
            images.check_unchanged()
        except SourceError:
            self.remove()
            raise

    def close(self) -> None:
        """Let others work in the folder."""
        self._lock.close()

    def remove(self) -> None:
        """End the extraction: its features lie elsewhere.  Folders left empty go too."""
        shutil.rmtree(self.folder)
        self.close()
        for folder in (self.folder.parent, self.folder.parent.parent):
            with suppress(OSError):  # another extraction is in it
                folder.rmdir()

    def _problems(self, block: int) -> Path:
        return self.folder / f"{block:08d}.problems.json"

    def _files(self) -> list[Path]:
        """List files of blocks, and what a killed run has left half-written."""
        return sorted(path for path in self.folder.iterdir() if _OURS.match(path.name))

    def _read(self) -> dict[str, Any] | None:
        if not self._journal.exists():
            return None
        try:
            content = parsed_json(read_kept(self._journal))
        except (OSError, ValueError) as error:
            content = error
        if not isinstance(content, dict):
            raise OutputError(
                f"the journal of the unfinished extraction in {self.folder} cannot be read",
                where=str(self._journal),
                fix="remove the folder and extract again",
            )
        return content


def _problems_of(path: Path) -> dict[str, str]:
    """Tell what a file of problems holds: texts by image id."""
    try:
        problems = parsed_json(read_kept(path))
        if all(key.isdecimal() and isinstance(text, str) for key, text in problems.items()):
            return dict(problems)
        problem = "it holds other things than texts by image id"
    except (OSError, ValueError, AttributeError) as error:
        problem = str(error)
    raise OutputError(
        f"{path.name} of the unfinished extraction cannot be read: {problem}",
        where=str(path),
        fix="remove the folder and extract again",
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the keys of two nested mappings that differ, such as `preprocessing.crop`."""
    keys = []
    for key in sorted({*a, *b}):
        one, other = a.get(key), b.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            keys += [f"{key}.{inner}" for inner in _differences(one, other)]
        elif one != other:
            keys.append(key)
    return keys
