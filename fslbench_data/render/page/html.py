"""The page as one file of HTML, with everything it needs inside."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmark_spec.errors import OutputError
from fslbench_data.files import whole_file
from fslbench_data.render.figures.canvas import Canvas
from fslbench_data.render.figures.charts import CHARTS
from fslbench_data.render.figures.style import SCREEN
from fslbench_data.render.fonts import font_faces, renderer
from fslbench_data.render.page.words import PLACES, words_html

INDEX = "index.html"
_PARTS = ("page.js",)
_OF_PICTURES = ("pictures.css", "pictures.js")
"""What only a page with pictures needs."""

_AS_HTML = ("answer", "pictures")
"""Parts of the content that are HTML already."""


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
    """The page's text.

    Raises a MissingPackageError without the extra ``report``.
    """
    convert = renderer()
    here = files("fslbench_data.render.page")
    fill = {name: here.joinpath(name).read_text(encoding="utf-8") for name in _PARTS}
    for name in _OF_PICTURES:
        fill[name] = here.joinpath(name).read_text(encoding="utf-8") if content["pictures"] else ""
    fill["fonts.css"] = font_faces()
    fill["page.css"] = here.joinpath("templates/page.css").read_text(encoding="utf-8")
    fill["charts.json"] = _json(charts())
    fill |= {f"{name}.html": content[name] for name in _AS_HTML}
    fill |= {f"words.{place}": words_html(place) for place in PLACES}
    fill["content.json"] = _json({key: content[key] for key in content if key not in _AS_HTML})
    fill["vega.js"] = convert.javascript_bundle().replace("</script", "<\\/script")
    return filled(here.joinpath("page.html").read_text(encoding="utf-8"), fill)


def filled(template: str, fill: Mapping[str, str]) -> str:
    """Put texts where a template has their names between ``@@``; what they hold is left alone."""
    parts = re.split(r"@@([a-z.]+)@@", template)
    return "".join(fill[part] if i % 2 else part for i, part in enumerate(parts))


def charts() -> dict[str, Any]:
    """The charts as Vega-Lite, without rows and titles."""
    canvas = Canvas(SCREEN, None)
    return {name: chart(canvas, None).to_dict() for name, chart in CHARTS.items()}


def _json(content: Any) -> str:
    """JSON that can stand inside ``<script>``."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")
