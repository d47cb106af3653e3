"""Pages as a reader follows them: files written and commands run, from top to bottom."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """A block of code, and the comment right above it, such as ``file: ridge.py``; else empty."""

    above: str
    language: str
    content: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"(?:<!-- ([^>]*) -->\n)?```(\w*)\n(.*?)```", text, flags=re.DOTALL)
    return [Block(*parts) for parts in found]


def follow(page: Path, folder: Path, path: str) -> dict[str, str]:
    """Write a page's files into a folder and run its commands there; return what each printed.

    Lines that make an environment, or enter it, are left out; programs are looked for in `path`.
    """
    printed = {}
    for above, language, content in blocks(page):
        if above.startswith("file: "):
            (folder / above.removeprefix("file: ")).write_text(content, encoding="utf-8")
        if language != "sh":
            continue
        for line in content.splitlines():
            if line.startswith(("python3 -m venv ", ". .venv/")):
                continue
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", line],
                cwd=folder,
                env={"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise RuntimeError(f"{page.name}: {line}\n{done.stdout}{done.stderr}")
            printed[line] = done.stdout
    return printed


if __name__ == "__main__":
    page, folder, path = sys.argv[1:]
    print(*follow(Path(page), Path(folder), path), sep="\n")
