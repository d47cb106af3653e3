"""Draw the figures that ``figures.md`` shows: ``python docs/draw_gallery.py [FOLDER]``.

Runs the page's commands ``fslbench plot ... -o NAME.png`` and writes the pictures into ``pictures``
beside this file, or into a folder.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from fslbench_data.cli import main

DOCS = Path(__file__).resolve().parent


def commands() -> dict[str, list[str]]:
    """Return the arguments of each figure's command, by the name of its picture."""
    page = (DOCS / "figures.md").read_text(encoding="utf-8")
    found = re.findall(r"^`fslbench (plot .+ -o (\w+)\.png)`$", page, re.MULTILINE)
    return {name: command.split() for command, name in found}


def draw(name: str, folder: Path) -> Path:
    """Draw one of them, and return its path."""
    *arguments, _ = commands()[name]
    path = folder / f"{name}.png"
    example = "examples/my_results.parquet"
    given = [str(DOCS.parent / example) if a == example else a for a in arguments]
    main([*given, str(path), "--overwrite"], standalone_mode=False)
    for caption in folder.glob(f"{name}.caption.*"):
        caption.unlink()
    return path


if __name__ == "__main__":
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures"
    for each in commands():
        draw(each, to)
