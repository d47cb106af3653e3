"""Files, builds and publishing."""

from __future__ import annotations

import os
import threading

from fslbench_data.files import write_whole
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

QUERY = "SELECT 1 AS one"


@attempt("`-o` names a symbolic link")
def _(world: World) -> str:
    link = world.folder / "link.csv"
    link.symlink_to("far.csv")
    world.fslbench("sql", QUERY, "-o", link)
    still = "stays" if link.is_symlink() else "is gone"
    return f"the file that it names is written; the link {still}" if link.exists() else "nothing"


@attempt("`-o` names a FIFO")
def _(world: World) -> str:
    fifo = world.folder / "fifo.csv"
    found: list[str] = []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_text()), daemon=True)
    reader.start()
    world.fslbench("sql", QUERY, "-o", fifo)
    reader.join(timeout=60)
    still = "stays" if fifo.is_fifo() else "is gone"
    came = "it is written into" if found == ["one\n1\n"] else "nothing comes"
    return f"{came}; it {still}"


@attempt("`-o` names a folder")
def _(world: World) -> str:
    folder = world.folder / "folder"
    folder.mkdir()
    write_whole(folder, "x")
    return "it is replaced"
