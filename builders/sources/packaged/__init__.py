"""Data sets that come in packages; `data_sets.toml` has their descriptions."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from builders.sources.image_set import ABOUT_OPTIONS, About
from builders.sources.packages import Package


def described(name: str) -> tuple[About, tuple[Package, ...], dict[str, int]]:
    """Return a data set's description, its packages, and the images of each class, in order."""
    entry = tomllib.loads(files(__name__).joinpath("data_sets.toml").read_text("utf-8"))[name]
    packages = tuple(Package(**pin) for pin in entry.get("packages", ()))
    about = About(**{option: entry[option] for option in ABOUT_OPTIONS})
    return about, packages, entry.get("counts", {})
