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


def stopping_at_new(seen: list[str], but: str = "\n") -> Callable[[str], None]:
    """Return what stops at a step that was not seen, and from then on is, but those with a text."""

    def is_new(step: str) -> bool:
        new = step not in seen and but not in step
        seen.extend([step] * new)
        return new

    return stopping(is_new)


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
