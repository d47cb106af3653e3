"""Drawings of the Open Clip Art Library 0.18, from its Debian packages.

The PNG files come from openclipart-png; title, description, tags, creator and licence from the
RDF of the SVG file at the same path in openclipart-svg.  A picture is a regular file; its themes
are its folder and every folder with a symbolic link to it.

1. Themes that are no subject are left out.
2. So are pictures without a licence or with another than public domain, those with an SVG that
   refers to a missing file, blank ones, and those of more than 175 million pixels.
3. Pictures with the same pixels are one: the first path is kept, with the themes of all.
4. A class is a theme of two levels (`animals/birds`) with all pictures below it, or a first-level
   theme with no sub-theme of 20 pictures; other pictures directly in a theme are left out.
5. Pictures in two classes are left out, and then classes of fewer than 20 pictures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from xml.etree import ElementTree

from benchmark_spec.errors import SourceError
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress, Text, in_threads, silent
from builders.sources.packages import unpacked
from builders.sources.pictures import Look, crop_to_drawing, look
from builders.sources.source import Source, source_of

LICENCES = {
    "http://web.resource.org/cc/PublicDomain": "public domain",
    "http://creativecommons.org/licenses/publicdomain/": "public domain",
    "Public Domain": "public domain",
    "http://creativecommons.org/licenses/GPL/2.0/": "GPL-2.0",
}
"""Names of licences by their text in the RDF; other licences keep it as their name."""


def read_text(path: Path) -> Text:
    """Read the RDF of an SVG file: its first work, and all its licences.

    ValueError if the file is not well-formed XML.
    """
    try:
        root = ElementTree.parse(path).getroot()  # noqa: S314 - see the import
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: {error}") from None
    licences = [
        LICENCES.get(resource, resource)
        for element in root.iterfind(".//{*}license")
        for name, value in element.attrib.items()
        if name.endswith("resource") and (resource := value.strip())
    ]
    complete = not any(
        name.endswith("href") and not value.startswith(("data:", "#"))
        for element in root.iterfind(".//{*}image")
        for name, value in element.attrib.items()
    )
    work = root.find(".//{*}Work")

    def words(path: str) -> list[str]:
        """Return the words in the elements at a path below the work."""
        found = () if work is None else work.iterfind(path)
        texts = (" ".join("".join(element.itertext()).split()) for element in found)
        return [text for text in texts if text]

    return Text(
        title=[*words("{*}title"), ""][0],
        description=[*words("{*}description"), ""][0],
        tags=tuple(dict.fromkeys(words("{*}subject/{*}Bag/{*}li"))),
        creator=[*words("{*}creator/{*}Agent/{*}title"), None][0],
        licence=" and ".join(dict.fromkeys(licences)) or None,
        complete=complete,
    )


NO_SUBJECT = (
    "computer/icons",
    "transportation/aiga-symbols",
    "shapes/stars",
    "signs_and_symbols/led",
    "special/gradients",
    "unsorted",
)
MIN_IMAGES = 20


def sort_into_classes(
    filed: Mapping[str, list[str]], pixels: Mapping[str, str], left_out: dict[str, int]
) -> dict[str, list[str]]:
    """Return the pictures of each class, both sorted: steps 3 to 5 of the rule.

    `filed` has the folders of each picture, `pixels` a digest that duplicates share.
    """
    first_of_pixels: dict[str, str] = {}
    folders_of: dict[str, set[str]] = {}
    for path, folders in filed.items():
        first = first_of_pixels.setdefault(pixels[path], path)
        folders_of.setdefault(first, set()).update(folders)
    left_out["doubles"] = len(filed) - len(folders_of)

    paths_of: dict[str, set[str]] = {}
    for path, its_folders in folders_of.items():
        for folder in its_folders:
            paths_of.setdefault(_theme(folder), set()).add(path)
    divided = {
        theme.partition("/")[0]
        for theme, paths in paths_of.items()
        if "/" in theme and len(paths) >= MIN_IMAGES
    }
    classes: dict[str, list[str]] = {}
    counts = {"too general": 0, "in two classes": 0}
    for path, its_folders in folders_of.items():
        labels = set()
        for folder in its_folders:
            root = folder.partition("/")[0]
            if root not in divided:
                labels.add(root)
            elif folder != root:
                labels.add(_theme(folder))
        if len(labels) == 1:
            classes.setdefault(labels.pop(), []).append(path)
        else:
            counts["in two classes" if labels else "too general"] += 1
    large = {
        label: sorted(paths) for label, paths in sorted(classes.items()) if len(paths) >= MIN_IMAGES
    }
    left_out |= counts
    left_out["in small classes"] = sum(map(len, classes.values())) - sum(map(len, large.values()))
    return large


def _theme(folder: str) -> str:
    """Return the first two levels of a folder."""
    return "/".join(folder.split("/")[:2])


PNG, SVG = "usr/share/openclipart/png", "usr/share/openclipart/svg"
PUBLIC_DOMAIN = "public domain"


def find(source: Source, folder: Path, progress: Progress) -> Found:
    """Find the drawings in the folder that ``fslbench-build fetch`` has filled."""
    png, themes_of, text_of = _drawings(source, folder, progress)
    left_out = {"in no subject": len(themes_of) - len(text_of)}
    reasons = {path: _unfit(text) for path, text in text_of.items()}
    left_out |= sorted(Counter(reason for reason in reasons.values() if reason).items())
    fit = [path for path, reason in reasons.items() if not reason]
    looks = _look(png, fit, progress)
    left_out["blank"] = sum(look.blank for look in looks.values())
    left_out["too large"] = sum(look.pixels is None for look in looks.values())
    pixels = {path: look.pixels for path, look in looks.items() if look.pixels and not look.blank}
    filed = {path: themes_of[path] for path in sorted(pixels)}
    classes = sort_into_classes(filed, pixels, left_out)
    prefix = png.relative_to(folder).as_posix()

    def item(path: str) -> Item:
        text, sha256 = text_of[path], looks[path].sha256 or None
        return Item(f"{prefix}/{path}", None, text.creator, text.licence, sha256)

    return Found(
        {label: [item(path) for path in paths] for label, paths in classes.items()},
        folder,
        expected=source.expected,
        provenance={
            "packages": {package.file: package.sha256 for package in source.packages},
            "left_out_by_rule": left_out,
        },
        finish=crop_to_drawing,
        texts={f"{prefix}/{p}": text.sentences for p, text in text_of.items() if text.sentences},
        superclass_of={label: label.partition("/")[0] for label in classes},
    )


def texts(folder: Path) -> dict[str, Text]:
    """Read the words that came with every drawing of a subject, by its path in the images table."""
    png, _, text_of = _drawings(source_of("openclipart"), folder, silent)
    return {f"{png.relative_to(folder).as_posix()}/{path}": text for path, text in text_of.items()}


def filings(png: Path) -> dict[str, list[str]]:
    """List the themes of each picture that are subjects: its folder and those of its links."""
    root = png.resolve()
    filed: dict[str, list[str]] = {}
    for path in sorted(png.rglob("*.png")):
        theme = path.parent.relative_to(png).as_posix()
        picture = path.resolve()
        if not picture.is_file() or not picture.is_relative_to(root):
            raise SourceError(
                f"openclipart: {path.relative_to(png)} leads to no picture of the folder",
                where=str(path),
                fix="remove openclipart-png and run fslbench-build fetch openclipart again",
            )
        themes = filed.setdefault(picture.relative_to(root).as_posix(), [])
        if not f"{theme}/".startswith(tuple(f"{no_subject}/" for no_subject in NO_SUBJECT)):
            themes.append(theme)
    return filed


def _unfit(text: Text) -> str:
    """Return the reason in a drawing's text to leave it out; empty if there is none."""
    if text.licence != PUBLIC_DOMAIN:
        return f"licence: {text.licence or 'none'}"
    return "" if text.complete else "incomplete"


def _drawings(
    source: Source, folder: Path, progress: Progress
) -> tuple[Path, dict[str, list[str]], dict[str, Text]]:
    """Return the folder of pictures, the themes of each, and the texts of those with themes."""
    png, svg = (
        unpacked(package, folder, source.name) / subfolder
        for package, subfolder in zip(source.packages, (PNG, SVG), strict=True)
    )
    filed = filings(png)
    paths = [path for path, themes in filed.items() if themes]
    text_of = {}
    for done, path in enumerate(paths):
        if done % 100 == 0:
            progress(f"openclipart: {done} of {len(paths)} texts read")
        try:
            text_of[path] = read_text((svg / path).with_suffix(".svg"))
        except (OSError, ValueError) as error:
            raise SourceError(
                f"openclipart: the text of {path} cannot be read: {error}",
                where=str(svg),
                fix="remove openclipart-svg and run fslbench-build fetch openclipart again",
            ) from error
    return png, filed, text_of


def _look(png: Path, paths: Collection[str], progress: Progress) -> dict[str, Look]:
    """Look at each picture; a damaged one gets no SHA-256 and is like no other."""

    def look_or_damaged(path: str) -> Look:
        try:
            return look(png / path)
        except (OSError, SourceError):
            return Look("", f"damaged: {path}")

    text = f"openclipart: {{}} of {len(paths)} drawings looked at"
    return dict(zip(paths, in_threads(look_or_damaged, paths, progress, text), strict=True))
