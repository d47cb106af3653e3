"""Pages and texts made from the package's Jinja templates."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup, escape

from fslbench_data.render.fonts import font_faces


@cache
def template(name: str) -> Template:
    """Return a template by its path in the package; those of HTML escape what they are given."""
    environment = Environment(
        loader=PackageLoader("fslbench_data", ""),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["breakable"] = _breakable
    environment.globals.update(included=_included, font_faces=font_faces)
    return environment.get_template(name)


def _breakable(text: str) -> Markup:
    """Escape a text, in which lines may break after a slash."""
    return escape(text).replace("/", Markup("/<wbr>"))


def _included(name: str) -> str:
    """Return a style sheet or script of the package, as it is."""
    return files("fslbench_data").joinpath(name).read_text(encoding="utf-8")
