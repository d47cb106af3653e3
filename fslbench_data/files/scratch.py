"""Folders for a moment: removed after it, or by the next run if the process is killed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from fslbench_data.files import held, locked, unlock


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
