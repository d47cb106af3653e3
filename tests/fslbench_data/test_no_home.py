"""A user without a home: no HOME, and an id that the system has no entry of, as in containers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = """
import pwd

def getpwuid(number):
    raise KeyError(number)

pwd.getpwuid = getpwuid
import fslbench_data
from pathlib import Path
from huggingface_hub import constants
print(Path.home(), constants.HF_ASSETS_CACHE)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such users")
def test_a_user_without_a_home(tmp_path: Path, root: Path) -> None:
    """Altair asks for it when it is imported; huggingface_hub would make a folder called "~"."""
    own = ("HOME", "HF_HOME", "HF_ASSETS_CACHE", "XDG_CACHE_HOME")
    known = {name: value for name, value in os.environ.items() if name not in own}
    done = subprocess.run(
        [sys.executable, "-c", NOBODY],
        env={**known, "PYTHONPATH": str(root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["/nonexistent", "/nonexistent/.cache/huggingface/assets"]
