"""Pages and texts made from Jinja templates, and free text in Markdown and YAML.

A comment on a pull request is Markdown, and what shows it turns ``@name`` into a message to
somebody, ``#1`` and addresses into links, and HTML into elements.  Markdown's own characters can be
escaped.  Mentions and links are found afterwards, in the rendered text, so there they are
broken by a character of no width.
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
    """Return a template by its path in a package; those of HTML escape what they are given."""
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
    own = Path(__file__).parents[1]  # style sheets and scripts are included as they are
    environment.globals["included"] = lambda name: own.joinpath(name).read_text(encoding="utf-8")
    environment.globals["font_faces"] = font_faces
    return environment.get_template(name)


def _breakable(text: str) -> Markup:
    """Escape a text, in which lines may break after a slash, and not between ± and its number."""
    from markupsafe import Markup, escape

    return escape(text).replace("/", Markup("/<wbr>")).replace("± ", "±\N{NO-BREAK SPACE}")


_CODE = re.compile(r"(`[A-Za-z0-9_./-]+`)")
_SPECIAL = re.compile(r"([\\`*\[\]<>|~$&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_LEADING = re.compile(r"^([#+=-]|\d+(?=[.)] ))")
_YAML_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_YAML_NOT_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def markdown(text: str) -> str:
    """Put free text in one line of Markdown that shows it as is; only `` `names` `` stay code."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
    parts = _CODE.split(line)
    parts[::2] = [_SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def paragraph(text: str) -> str:
    """Put free text in a paragraph of Markdown, which is no heading, list or rule."""
    return _LEADING.sub(lambda m: f"{m[1]}\\" if m[1].isdigit() else f"\\{m[1]}", markdown(text))


def _fence(text: str) -> str:
    """Return a fence that nothing in a block of code can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


def yaml_scalar(text: str) -> str:
    """Write text as a YAML scalar that is text: ``no``, ``null`` and ``1.0`` are quoted."""
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
"""A space of no width, which ends a name, number or address."""

_LINKED = re.compile(r"[@#$&!](?=\S)|:(?=[^\s:])|\bGH-(?=\d)|www(?=\.)", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~&$!])")


def neutral(text: str) -> str:
    """Return the text on one printable line, its mentions, references, links and emoji broken."""
    return _LINKED.sub(lambda match: match[0] + BREAK, one_line(text, most=1000))


def escaped(text: str) -> str:
    """Return the text as Markdown that shows it as it is, within a line or a cell of a table."""
    line = _MARKDOWN.sub(r"\\\1", neutral(text))
    return re.sub(r"^(\d*)([-+=.])", r"\1\\\2", line)  # no list, no heading


def neutral_table(table: Table) -> Table:
    """Return a table of strangers' texts; what writes it as Markdown does the escaping."""

    def column(of: Column) -> Column:
        return replace(of, cell=lambda row: neutral(of.text_of(of.cell(row))))

    columns, notes = tuple(map(column, table.columns)), tuple(map(neutral, table.notes))
    return replace(table, title=neutral(table.title), columns=columns, notes=notes)


def html(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    """Write tables as elements of HTML that need no style sheet; the signature is a comment."""
    return template("render/templates/tables.html.j2").render(
        tables=tables, signature=signature, notes=notes, comment=comment
    )
