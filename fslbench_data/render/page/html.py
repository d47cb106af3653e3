"""The page as one file of HTML, with everything it needs inside."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from benchmark_spec.errors import OutputError
from fslbench_data.files import whole_file
from fslbench_data.render.page.words import PLACES, WORDS
from fslbench_data.render.templating import template

INDEX = "index.html"


@dataclass(frozen=True, repr=False)
class Page:
    """The report page, one file of HTML; a notebook shows it in a frame of its own."""

    text: str

    def __repr__(self) -> str:
        return f"<Page of {len(self.text) / 1e6:.1f} MB; .write(folder)>"

    def _repr_html_(self) -> str:
        return (
            '<iframe title="fslbench report" sandbox="allow-scripts" width="100%" height="800" '
            f'srcdoc="{escape(self.text)}"></iframe>'
        )

    def write(self, folder: str | Path) -> Path:
        """Write ``index.html`` into a folder, which is made if it is not there; gives its path.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        check_folder(Path(folder))
        path = Path(folder) / INDEX
        with whole_file(path) as temporary:
            temporary.write_text(self.text, encoding="utf-8")
        return path


def check_folder(folder: Path) -> None:
    """Make the folder if it is not there.

    Raises
    ------
    OutputError
        If it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be a folder: {error.strerror}", fix="name another folder"
        ) from None


def html(content: dict[str, Any]) -> str:
    """The page's text: answers and pictures as elements, all else packed for the page's script."""
    shown = {name: content[name] for name in ("answers", "pictures", "level", "unbound")}
    held = {key: content[key] for key in content if key not in ("answers", "pictures")}
    text = json.dumps(held, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode("ascii")
    places = {place: {term: WORDS[term] for term in terms} for place, terms in PLACES.items()}
    return template("render/page/templates/page.html.j2").render(
        **shown, packed=packed, places=places
    )
