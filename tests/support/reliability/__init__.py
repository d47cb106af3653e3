"""What was tried, and what came of it: the rows of studies/reliability/README.md.

Each module here is a section of the page, its docstring's first line the heading.  An attempt is a
function that does it for real and returns what came of it in one line; an error of the package
counts as its class and what it says.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import Release


@dataclass(frozen=True)
class World:
    """Where attempts are made: a folder of their own, the repository, the embedded release."""

    folder: Path
    root: Path
    embedded: Release

    def fslbench(self, *args: str | Path) -> str:
        """Run the command in this process; its last line of output, or of error."""
        from fslbench_data.cli import main

        return self._last(CliRunner().invoke(main, [str(arg) for arg in args]).output)

    def fslbench_build(self, *args: str | Path) -> str:
        """The same of the command that makes releases."""
        from builders.cli import main

        return self._last(CliRunner().invoke(main, [str(arg) for arg in args]).output)

    @staticmethod
    def _last(output: str) -> str:
        lines = [line for line in output.splitlines() if line.strip()]
        return lines[-1] if lines else "no output"


Act = Callable[[World], str]


@dataclass(frozen=True)
class Attempt:
    """One row: what was tried, and the doing of it."""

    tried: str
    act: Act
    slow: bool = False

    def outcome(self, world: World) -> str:
        """Do it; what came of it, without this machine's folders."""
        try:
            text = self.act(world)
        except FSLBenchError as error:
            text = f"`{type(error).__name__}`: {error.what}"
        text = text.replace(str(world.folder), "…").replace(str(world.root), "…")
        return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


class Section:
    """The attempts of one module, in their order."""

    def __init__(self, heading: str) -> None:
        self.heading = heading.splitlines()[0].rstrip(".")
        self.attempts: list[Attempt] = []

    def attempt(self, tried: str, *, slow: bool = False) -> Callable[[Act], Act]:
        """Add an attempt; `slow` ones run with the slow tests."""

        def add(act: Act) -> Act:
            self.attempts.append(Attempt(tried, act, slow))
            return act

        return add


def sections() -> list[Section]:
    """All sections, by the names of their modules, each of which has a ``SECTION``."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found: list[Section] = [importlib.import_module(f"{__name__}.{n}").SECTION for n in names]
    return found
