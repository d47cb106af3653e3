"""Code that is run in a process of its own."""

import subprocess
import sys
from typing import Any


def python(code: str, *arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run code in another process; `options` are those of :func:`subprocess.run`."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)
