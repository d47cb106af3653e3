"""What a captioner is: a network that writes a caption to a picture, and how it is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from benchmark_spec.errors import UnknownNameError
from builders.features.preprocessing import Preprocessing

GIVEN = "given"
"""In place of a captioner: texts that came with the data set."""
ON_FOLDERS = ("vit_gpt2", "blip")
"""Captioners of transformers, which are read from folders."""
COCA = "coca"
CAPTIONERS = (*(f"{name}[@FOLDER]" for name in ON_FOLDERS), f"{COCA}[:ARCH/TAG_OR_FILE]")
"""Forms of a captioner's name."""


class Captioner(Protocol):
    """A network that writes captions."""

    @property
    def name(self) -> str:
        """As in a recipe, with a folder's or file's name in place of its path."""

    @property
    def preprocessing(self) -> Preprocessing:
        """What makes the network's input of a picture."""

    @property
    def weights(self) -> Mapping[str, Any]:
        """Where its weights came from, with their SHA-256."""

    @property
    def generation(self) -> Mapping[str, Any]:
        """How captions are generated."""

    def captions(self, batch: Any) -> list[str]:
        """Write a caption for each preprocessed picture of a torch.Tensor (B, 3, H, W)."""


def describe(captioner: Captioner) -> dict[str, Any]:
    """Return what captions depend on, of the network."""
    return {
        "captioner": captioner.name,
        "weights": dict(captioner.weights),
        "generation": dict(captioner.generation),
        "preprocessing": captioner.preprocessing.describe(),
        "dtype": "float32",
    }


def plain(caption: str) -> str:
    """Put what a network wrote on one line, with blanks for what cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in caption).split())


def check_captioner(name: str, where: str = "") -> tuple[str, str]:
    """Split a captioner's name into its family and the folder or network in it ('' if none).

    Raises
    ------
    UnknownNameError
        If the name has none of the forms of :data:`CAPTIONERS`.
    """
    for family in ON_FOLDERS:
        rest = name.removeprefix(family)
        if rest != name and (not rest or (rest[0] == "@" and len(rest) > 1)):
            return family, rest[1:]
    rest = name.removeprefix(COCA)
    arch, slash, weights = rest[1:].partition("/")
    if rest != name and (not rest or (rest[0] == ":" and arch and slash and weights)):
        return COCA, rest[1:]
    raise UnknownNameError("captioner", name, (GIVEN, *CAPTIONERS), where=where)
