"""Pages and texts from Jinja templates, and free text in Markdown and YAML.

Sites that show Markdown, as in a comment on a pull request, turn ``@name`` into a message to
somebody, ``#1`` and addresses into links, and HTML into elements.  Markdown's own characters can be
escaped.  Mentions and links are found later, in the rendered text, so a zero-width space breaks
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from benchmark_spec.naming import one_line
from fslbench_data.render.fonts import font_faces
from fslbench_data.render.table import Column, Table, comment

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


@cache
def template(name: str, package: str = "fslbench_data") -> Template:
    """Return a template by its path in a package; HTML templates escape their values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader(package, ""),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"breakable": _breakable, "md": markdown, "paragraph": paragraph}
    environment.filters |= {"yaml": yaml_scalar, "fence": _fence}
    environment.filters["quoted"] = partial(json.dumps, ensure_ascii=False)  # JSON or TOML
    root = Path(__file__).parents[1]  # style sheets and scripts are included as they are
    environment.globals["included"] = lambda name: root.joinpath(name).read_text(encoding="utf-8")
    environment.globals["font_faces"] = font_faces
    return environment.get_template(name)


def _breakable(text: str) -> Markup:
    """Escape a text; lines may break after a slash, but not between ± and its number."""
    from markupsafe import Markup, escape

    return escape(text).replace("/", Markup("/<wbr>")).replace("± ", "±\N{NO-BREAK SPACE}")


_CODE = re.compile(r"(`[A-Za-z0-9_./-]+`)")
_SPECIAL = re.compile(r"([\\`*\[\]<>|~$&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_LEADING = re.compile(r"^([#+=-]|\d+(?=[.)] ))")
_YAML_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_YAML_NOT_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def markdown(text: str) -> str:
    """Escape free text as one line of Markdown; only `` `names` `` stay code."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
    parts = _CODE.split(line)
    parts[::2] = [_SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def paragraph(text: str) -> str:
    """Escape free text as a paragraph of Markdown, so that it is no heading, list or rule."""
    return _LEADING.sub(lambda m: f"{m[1]}\\" if m[1].isdigit() else f"\\{m[1]}", markdown(text))


def _fence(text: str) -> str:
    """Return a fence that no line in a block of code can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


def yaml_scalar(text: str) -> str:
    """Write text as a YAML string: ``no``, ``null`` and ``1.0`` are quoted."""
    if _YAML_WORD.fullmatch(text) and text.lower() not in _YAML_NOT_TEXT:
        return text
    return f'"{"".join(map(_in_quotes, text))}"'


def _in_quotes(character: str) -> str:
    """Write a character of a quoted YAML scalar in ASCII."""
    if " " <= character <= "~":
        return f"\\{character}" if character in '"\\' else character
    number = ord(character)
    return f"\\u{number:04X}" if number < 1 << 16 else f"\\U{number:08X}"


BREAK = "\u200b"
"""A zero-width space, which ends a name, number or address."""

_LINKED = re.compile(r"[@#$&!](?=\S)|:(?=[^\s:])|\bGH-(?=\d)|www(?=\.)", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~&$!])")


def neutral(text: str) -> str:
    """Return the text on one printable line without mentions, references, links and emoji."""
    return _LINKED.sub(lambda match: match[0] + BREAK, one_line(text, most=1000))


def escaped(text: str) -> str:
    """Return the text as Markdown that shows it unchanged, in a line or a cell of a table."""
    line = _MARKDOWN.sub(r"\\\1", neutral(text))
    return re.sub(r"^(\d*)([-+=.])", r"\1\\\2", line)  # no list, no heading


def neutral_table(table: Table) -> Table:
    """Make the untrusted texts of a table neutral; writing it as Markdown escapes them."""

    def neutralized(column: Column) -> Column:
        return replace(column, cell=lambda row: neutral(column.text_of(column.cell(row))))

    columns, notes = tuple(map(neutralized, table.columns)), tuple(map(neutral, table.notes))
    return replace(table, title=neutral(table.title), columns=columns, notes=notes)


def html(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    """Write tables as elements of HTML that need no style sheet; the signature is a comment."""
    return template("render/templates/tables.html.j2").render(
        tables=tables, signature=signature, notes=notes, comment=comment
    )
