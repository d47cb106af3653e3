"""Markdown, YAML and TOML made from templates, in which free text stays what it is."""

from __future__ import annotations

import json
import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


@cache
def template(name: str, package: str = "fslbench_data") -> Template:
    """Return a template by its path in a package; none of them is HTML."""
    environment = Environment(  # noqa: S701
        loader=PackageLoader(package, ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": markdown, "paragraph": paragraph, "yaml": yaml_scalar}
    environment.filters |= {"fence": _fence, "quoted": _quoted}
    return environment.get_template(name)


def _quoted(text: str) -> str:
    """Write text as a string of JSON or TOML."""
    return json.dumps(text, ensure_ascii=False)


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
