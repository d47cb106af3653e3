"""Draw the packages, their rooms and floors from the code: ``python docs/draw_house.py``.

Writes ``house.svg`` beside this file.  A room is a module or a folder directly in a package; it
stands above every room of its package that it imports.  The first line of its docstring is its job.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from fslbench_data.render.fonts import font_faces

ROOT = Path(__file__).parents[1]
PACKAGES = ("builders", "fslbench_data", "analysis_sql", "benchmark_spec")
"""From the top of the house to the ground."""

WIDTH, MARGIN, GAP, LINE = 1180, 16, 10, 15
ROOM_HEIGHT = 60

Rooms = Mapping[str, list[Path]]


def rooms_of(package: str) -> dict[str, list[Path]]:
    """Return the Python files of each room of a package, by the room's name."""
    rooms = {}
    for path in sorted((ROOT / package).iterdir()):
        if path.suffix == ".py" and path.stem != "__init__":
            rooms[path.stem] = [path]
        elif path.is_dir() and (files := sorted(path.rglob("*.py"))):
            rooms[path.name] = files
    return rooms


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports anywhere, and the names it takes from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def floors(package: str, rooms: Rooms) -> list[list[str]]:
    """Return the rooms floor by floor, the ground first.

    Raises
    ------
    ValueError
        If rooms import each other in a circle.
    """
    below = {
        room: {
            parts[1]
            for path in files
            for module in imported_modules(path)
            if (parts := module.split("."))[0] == package and len(parts) > 1 and parts[1] in rooms
        }
        - {room}
        for room, files in rooms.items()
    }
    found: list[list[str]] = []
    placed: set[str] = set()
    while len(placed) < len(rooms):
        floor = sorted(room for room in rooms if room not in placed and below[room] <= placed)
        if not floor:
            raise ValueError(f"a circle among {sorted(set(rooms) - placed)}")
        found.append(floor)
        placed |= set(floor)
    return found


def job(files: list[Path]) -> str:
    """Return the first sentence of a room's docstring."""
    face = next((path for path in files if path.stem == "__init__"), files[0])
    text = ast.get_docstring(ast.parse(face.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.sub(r":\w+:|`", "", first).rstrip(".")


def draw() -> str:
    """Return the picture as SVG."""
    shapes, y = [], MARGIN
    for package in PACKAGES:
        rooms = rooms_of(package)
        levels = floors(package, rooms)[::-1]
        height = len(levels) * (ROOM_HEIGHT + GAP) + GAP + 24
        shapes.append(
            f'<rect x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="{height}" rx="6" '
            f'class="package"/><text x="{MARGIN + GAP}" y="{y + 19}" class="name">{package}</text>'
        )
        top = y + 24 + GAP
        for level in levels:
            shapes += _floor(level, rooms, top)
            top += ROOM_HEIGHT + GAP
        y += height + GAP
    return _PAGE.format(
        fonts=font_faces(), width=WIDTH, height=y + MARGIN - GAP, shapes="\n".join(shapes)
    )


def _floor(level: list[str], rooms: Rooms, top: int) -> Iterator[str]:
    """Yield the boxes of one floor, side by side."""
    inside = WIDTH - 2 * MARGIN - GAP
    width = inside // len(level) - GAP
    for number, room in enumerate(level):
        x = MARGIN + GAP + number * (inside // len(level))
        size = f'width="{width}" height="{ROOM_HEIGHT}"'
        yield f'<rect x="{x}" y="{top}" {size} rx="3" class="room"/>'
        yield f'<text x="{x + 8}" y="{top + 18}" class="name">{room}</text>'
        lines = textwrap.wrap(job(rooms[room]), max(12, width // 6), max_lines=2, placeholder=" …")
        for i, line in enumerate(lines):
            yield f'<text x="{x + 8}" y="{top + 34 + i * LINE}">{escape(line)}</text>'


_PAGE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="Four packages and their rooms; each stands above what it imports">
<style>
{fonts}text {{ font: 11px FSLBench Sans, sans-serif; fill: #24292f }}
.name {{ font-weight: bold; font-size: 13px }}
.package {{ fill: #f3f4f6; stroke: #9aa1a9 }} .room {{ fill: #fff; stroke: #c3c9d0 }}
</style>
<rect width="100%" height="100%" fill="#fff"/>
{shapes}
</svg>
"""

if __name__ == "__main__":
    Path(__file__).with_name("house.svg").write_text(draw(), encoding="utf-8")
