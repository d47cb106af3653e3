"""A progress bar in a notebook's cell, without ipywidgets."""

import builtins
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest

from fslbench_data.evaluation import progress
from fslbench_data.evaluation.progress import progress_bar


class _Cell:
    """What `display` of IPython gives: keeps each picture of what it shows, as plain text."""

    def __init__(self, shown: Any) -> None:
        self.pictures = [_plain(shown)]

    def update(self, shown: Any) -> None:
        self.pictures.append(_plain(shown))


def _plain(shown: Any) -> str:
    bundle = shown._repr_mimebundle_([], [])
    assert bundle["text/html"].startswith("<pre")
    return str(bundle["text/plain"])


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[_Cell]:
    """The outputs of a notebook that this process takes itself to run in."""
    made: list[_Cell] = []

    def display(shown: Any, *, display_id: bool) -> _Cell:
        assert display_id
        made.append(_Cell(shown))
        return made[-1]

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    package.display = module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    return made


def test_a_bar_in_a_cell(
    cells: list[_Cell], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_bar(8, show=False) as advance:
        advance(8)
    assert not cells
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    with progress_bar(8, show=True) as advance:
        advance(2, resumed=True)
        advance(5)
    (cell,) = cells
    shown = [next(n for n in ("0/8", "2/8", "7/8") if n in each) for each in cell.pictures]
    assert shown == ["0/8", "2/8", "7/8", "7/8"]
    assert "tasks/s" in cell.pictures[-1]
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_drawn_now_and_then_and_at_the_end(cells: list[_Cell]) -> None:
    with suppress(ValueError), progress_bar(1000, show=True) as advance:
        for _ in range(600):
            advance(1)
        raise ValueError("no luck")
    (cell,) = cells
    assert "600/1000" in cell.pictures[-1]
    assert len(cell.pictures) < 300
