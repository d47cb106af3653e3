"""Folders for a moment: gone afterwards, and gone with the next run where a process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fslbench_data.files import _clear_abandoned, scratch_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no folders")

HOLD = """
import sys
from contextlib import suppress
from pathlib import Path
from fslbench_data.files import scratch_folder
with scratch_folder(sys.argv[1], Path(sys.argv[2])) as folder:
    (folder / "deeper").mkdir()
    (folder / "deeper" / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _a_new_process() -> None:
    _clear_abandoned.cache_clear()


def _holder(kind: str, where: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a folder, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, kind, str(where)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_empty_and_goes_with_its_content(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), scratch_folder("a", tmp_path) as folder:
        assert folder.parent == tmp_path
        assert not list(folder.iterdir())
        (folder / "file").write_text("x")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_a_killed_process_leaves_none_behind_for_long(tmp_path: Path) -> None:
    process, left = _holder("a", tmp_path)
    with process:
        process.send_signal(signal.SIGKILL)
    assert (left / "deeper" / "file").exists()
    with scratch_folder("b", tmp_path):
        assert left.exists()  # of another kind
    with scratch_folder("a", tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]


def test_what_a_living_process_uses_stays(tmp_path: Path) -> None:
    process, used = _holder("a", tmp_path)
    with process, scratch_folder("a", tmp_path) as folder:
        _clear_abandoned.cache_clear()
        with scratch_folder("a", tmp_path):
            assert (used / "deeper" / "file").exists()
            assert folder.exists()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0
    assert not list(tmp_path.iterdir())


def test_what_others_made_stays(tmp_path: Path) -> None:
    others = [tmp_path / "fslbench-a-notes", tmp_path / "fslbench-a-abcdefgh.txt"]
    for path in others:
        path.mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "fslbench-a-abcdefgh").symlink_to(target)
    (tmp_path / "fslbench-a-12345678").write_text("a file")
    before = sorted(tmp_path.iterdir())
    with scratch_folder("a", tmp_path):
        pass
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs another user")
def test_what_another_user_left_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "fslbench-a-abcdefgh"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    with scratch_folder("a", tmp_path):
        assert theirs.exists()
