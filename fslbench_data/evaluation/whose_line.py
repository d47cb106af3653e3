"""Which lines an error comes from: the library's, where it was raised, and the user's own."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from traceback import FrameSummary

_OWN = str(Path(__file__).parents[1])
_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple(
    _PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
)


def lines_of(error: BaseException) -> str:
    """Name the line that raised an error, and before it the user's last one, if that is another.

    The user's line is what called the library: in the method, or where an adapter of a library is
    handed to :func:`fslbench_data.evaluate`, which then is the line that called that.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    raised = frames[-1]
    if not _is_of_a_library(raised):
        return _text(raised)
    user = _last_of_user(frames) or _last_of_user(_callers(error))
    library = _text(raised)
    return f"{_text(user)}; raised at {library}" if user is not None else library


def _callers(error: BaseException) -> Iterable[FrameSummary]:
    """Give what had called the function that caught the error, the outermost first."""
    assert error.__traceback__ is not None  # noqa: S101
    return traceback.extract_stack(error.__traceback__.tb_frame)


def _last_of_user(frames: Iterable[FrameSummary]) -> FrameSummary | None:
    own = [frame for frame in frames if not _is_of_a_library(frame)]
    return own[-1] if own else None


def _is_of_a_library(frame: FrameSummary) -> bool:
    name = frame.filename
    parts = Path(name).parts
    return (
        name.startswith((_OWN, "<frozen ", "<__array_function__"))
        or "site-packages" in parts
        or "dist-packages" in parts
        or name.startswith(_LIBRARIES)
    )


def _text(frame: FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno}, in {frame.name}"
