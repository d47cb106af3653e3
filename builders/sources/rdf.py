"""What an SVG drawing says of itself in RDF: title, description, tags, creator and licence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

LICENCES = {
    "http://web.resource.org/cc/PublicDomain": "public domain",
    "http://creativecommons.org/licenses/publicdomain/": "public domain",
    "Public Domain": "public domain",
    "http://creativecommons.org/licenses/GPL/2.0/": "GPL-2.0",
}
"""By what stands in the RDF; other licences keep their name."""


@dataclass(frozen=True)
class Text:
    """The words that came with a drawing; what it does not say is empty or None.

    A drawing is `complete` if it needs no picture of another file.
    """

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    creator: str | None = None
    licence: str | None = None
    complete: bool = True


def read_text(path: Path) -> Text:
    """Read the RDF of an SVG file; of several works the first, several licences joined.

    ValueError if the file is not well-formed XML.
    """
    try:
        root = ElementTree.parse(path).getroot()  # noqa: S314 - see the import
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: {error}") from None
    licences = [
        LICENCES.get(resource, resource)
        for element in root.iter()
        if _name(element) == "license"
        for name, value in element.attrib.items()
        if name.endswith("resource") and (resource := value.strip())
    ]
    licence = " and ".join(dict.fromkeys(licences)) or None
    complete = not any(
        name.endswith("href") and not value.startswith(("data:", "#"))
        for element in root.iter()
        if _name(element) == "image"
        for name, value in element.attrib.items()
    )
    work = next((element for element in root.iter() if _name(element) == "Work"), None)
    if work is None:
        return Text(licence=licence, complete=complete)
    return Text(
        title=_first(work, "title"),
        description=_first(work, "description"),
        tags=tuple(dict.fromkeys(filter(None, _all(work, "subject", "Bag", "li")))),
        creator=_first(work, "creator", "Agent", "title") or None,
        licence=licence,
        complete=complete,
    )


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(element: ElementTree.Element, *names: str) -> Iterator[str]:
    """Return the words in the elements down a path of names, whatever their name space."""
    if not names:
        yield " ".join("".join(element.itertext()).split())
        return
    for child in element:
        if isinstance(child.tag, str) and _name(child) == names[0]:
            yield from _all(child, *names[1:])


def _first(element: ElementTree.Element, *names: str) -> str:
    return next(filter(None, _all(element, *names)), "")
