"""What the site does with pages that are written for the repository.

The front page is README.md, and links to files outside of docs/ become their names.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")  # not of pictures


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the page's text for the site."""
    if page.file.src_uri == "index.md":
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        markdown = text.replace("](docs/", "](")
        return _LINK.sub(lambda found: _outside(found, inside=_is_page), markdown)
    return _LINK.sub(lambda found: _outside(found, inside=_stays), markdown)


def _is_page(target: str) -> bool:
    return (ROOT / "docs" / target.partition("#")[0]).is_file() or _stays(target)


def _stays(target: str) -> bool:
    return not target.startswith("../") and (
        "://" in target
        or target.startswith("#")
        or target.partition("#")[0].endswith((".md", ".ipynb"))
    )


def _outside(found: re.Match[str], inside: Any) -> str:
    text, target = found.groups()
    if inside(target) and not (ROOT / target).is_file():
        return found.group(0)
    path = target.partition("#")[0].removeprefix("../")
    name = text.strip("`")
    return f"`{path}`" if name in (path, f"{path}/") else f"{text} (`{path}`)"
