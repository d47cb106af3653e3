"""Work that is stopped and gone on with, and what then lies in its folder."""

from collections.abc import Callable
from pathlib import Path


class Stop(Exception):
    """What an interruption at a step looks like."""


def stopping(at: Callable[[str], bool]) -> Callable[[str], None]:
    """Return what is told of steps and stops at the first of these."""

    def stop(step: str) -> None:
        if at(step):
            raise Stop

    return stop


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
