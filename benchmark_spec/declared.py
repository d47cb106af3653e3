"""Read values of files into declared types, with errors that name the place.

A type is a `msgspec.Struct` or a dataclass.  Its ``Meta(description=...)`` is the text of what is
expected in an error, where the type alone is not clear.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmark_spec.errors import FSLBenchError, SpecError, UnknownNameError, listing, quoted

T = TypeVar("T")

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_PLACE = re.compile(rf" - at `\$((?:{_STEP.pattern})*)`$")
_FIELD = re.compile(r"Object (contains unknown|missing required) field `(.*)`")
_WORDS = {
    "array": "a list", "bool": "true or false", "float": "a number", "int": "a whole number",
    "null": "nothing", "object": "a table", "str": "a text",
}  # fmt: skip
"""The words of messages for msgspec's names of types."""

MISSING = "missing"


class MisfitError(ValueError):
    """A value that does not fit its declaration; the text names its place.

    `places` are the fields that lead to it, outermost first; `known` are the valid fields, where a
    field is unknown.
    """

    def __init__(
        self, places: list[str], value: str, expected: str, known: tuple[str, ...] = ()
    ) -> None:
        self.places, self.value, self.expected, self.known = places, value, expected, known
        text = f"{'.'.join(places) or 'it'} is {value}"
        if known:
            text = f"{'.'.join(places) or 'it'} has an unknown field {quoted(value)}"
        elif value != MISSING and expected:
            text += f", not {expected}"
        super().__init__(text)

    def at(self, where: str) -> FSLBenchError:
        """Return the error about a file that people write: a SpecError or an UnknownNameError."""
        if self.known:
            inside = ", ".join([where, *self.places])
            return UnknownNameError("field", self.value, self.known, where=inside)
        *outer, name = self.places or ["it"]
        what = f"{name} is {self.value}"
        return SpecError(what, where=", ".join([where, *outer]), expected=self.expected)


def declared(raw: Any, kind: type[T]) -> T:
    """Convert plain values to a declared type; raises a MisfitError if they do not fit.

    Values that do not fit are changed: keys are dropped from them to find the wrong one.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _misfit(raw, kind, str(error)) from None


def declared_in(raw: Any, kind: type[T], where: str) -> T:
    """Convert values of a file that people write; raises the error of :meth:`MisfitError.at`.

    `where` is the file, and perhaps a part of it.
    """
    try:
        return declared(raw, kind)
    except MisfitError as error:
        raise error.at(where) from None


def _misfit(raw: Any, kind: Any, text: str) -> MisfitError:
    """Make the error of msgspec's message `text`: its place, value and what is expected."""
    message, place, steps = text, _PLACE.search(text), list[tuple[str, str, str]]()
    if place:
        message, steps = text[: place.start()], _STEP.findall(place[1])
    try:
        return _misfit_at(steps, raw, kind, text, message)
    except (LookupError, TypeError, StopIteration):  # a name of the file looks like a place
        return MisfitError([], quoted(raw, 60), text)


def _misfit_at(
    steps: list[tuple[str, str, str]], raw: Any, kind: Any, text: str, message: str
) -> MisfitError:
    from msgspec import inspect  # only where something is wrong

    value, places = raw, list[str]()
    words, info = _described(inspect.type_info(kind))
    for name, index, _ in steps:
        step = name or (int(index) if index else _refused_key(value, raw, kind, text))
        value, (words, info) = value[step], _described(_inside(info, step))
        if name:
            places.append(name)
        else:
            places[-1:] = ["".join([*places[-1:], f"[{step}]" if index else f".{step}"]).strip(".")]
    if found := _FIELD.fullmatch(message):
        fields = {field.encode_name: field.type for field in info.fields}
        if found[1] == "contains unknown":
            return MisfitError(places, found[2], "", tuple(fields))
        return MisfitError([*places, found[2]], MISSING, _described(fields[found[2]])[0])
    if isinstance(info, inspect.LiteralType):
        words = words or f"one of {listing([repr(value) for value in info.values], 20)}"
    return MisfitError(places, quoted(value), words or _in_words(message))


def _in_words(message: str) -> str:
    """Translate what msgspec expected, such as ``Expected `int | null` >= 1, got `str```."""
    expected = re.sub("^Expected |, got .*$", "", message)
    names = re.compile("`(.*?)`")
    return names.sub(lambda m: " or ".join(_WORDS.get(t, t) for t in m[1].split(" | ")), expected)


def _described(info: Any) -> tuple[str, Any]:
    """Return the description of a type, and the type itself: of a union the member with fields."""
    words = ""
    if type(info).__name__ == "Metadata":
        words, info = (info.extra_json_schema or {}).get("description", ""), info.type
    if type(info).__name__ == "UnionType":
        info = next((member for member in info.types if hasattr(member, "fields")), info)
    return words, info


def _inside(info: Any, step: str | int) -> Any:
    """Return the type of a field or an item of a type."""
    if hasattr(info, "fields"):
        return next(field.type for field in info.fields if field.encode_name == step)
    if isinstance(step, str):
        return info.value_type
    return info.item_types[step] if hasattr(info, "item_types") else info.item_type


def _refused_key(table: dict[str, Any], raw: Any, kind: type, text: str) -> str:
    """Find the key whose value msgspec refuses without naming it; other keys are dropped."""
    for key, value in dict(table).items():
        table.clear()
        table[key] = value
        try:
            msgspec.convert(raw, kind)
        except msgspec.ValidationError as error:
            if str(error) == text:
                return key
    raise LookupError(text)


def parsed_json(text: str | bytes, kind: Any = Any) -> Any:
    """Parse a JSON text, of a declared type or any.

    Raises a ValueError if it is not JSON, is nested too deep for the parser, or has a number that
    is not finite, or too large; a MisfitError if it is not of the type.
    """
    try:
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.ValidationError:  # convert again, to find its value and place
            return declared(msgspec.json.decode(text), kind)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None  # in older versions it is not a ValueError


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file that people write; SpecError if it cannot be read, or is not TOML."""
    try:
        return parsed_toml(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}", where=str(path)) from None
    except ValueError as error:
        raise SpecError(f"{path} is not TOML: {error}", where=str(path)) from None


def parsed_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text.

    Raises a ValueError if it is not TOML, is nested too deep for the parser, or has a number of
    thousands of digits.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
