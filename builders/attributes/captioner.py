"""The interface of captioners, networks that write a caption to a picture, and their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmark_spec.errors import UnknownNameError
from builders.features.backbone import Preprocessing

GIVEN = "given"
"""The name for texts that came with the data set, in place of a captioner's."""
ON_FOLDERS = ("vit_gpt2", "blip", "blip_large")
"""Captioners of transformers, which are read from folders."""
COCA = "coca"
CAPTIONERS = (*(f"{name}[@FOLDER]" for name in ON_FOLDERS), f"{COCA}[:ARCH/TAG_OR_FILE]")
"""Forms of a captioner's name."""


@dataclass(frozen=True, eq=False)
class Captioner(ABC):
    """A network that writes captions, and its tokenizer.

    `weights` is where they came from, with their SHA-256, and `generation` how captions are made.
    """

    name: str
    preprocessing: Preprocessing
    weights: Mapping[str, Any]
    generation: Mapping[str, Any]
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)

    @abstractmethod
    def captions(self, batch: Any) -> list[str]:
        """Write a caption for each preprocessed picture of a torch.Tensor (B, 3, H, W)."""

    def describe(self) -> dict[str, Any]:
        """Return what captions depend on, of the network."""
        return {
            "captioner": self.name,
            "weights": dict(self.weights),
            "generation": dict(self.generation),
            "preprocessing": self.preprocessing.describe(),
            "dtype": "float32",
        }


def plain(caption: str) -> str:
    """Put what a network wrote on one line, with blanks for what cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in caption).split())


def check_captioner(name: str, where: str = "") -> tuple[str, str]:
    """Split a captioner's name into its family and the folder or network in it ('' if none)."""
    for family in ON_FOLDERS:
        rest = name.removeprefix(family)
        if rest != name and (not rest or (rest[0] == "@" and len(rest) > 1)):
            return family, rest[1:]
    rest = name.removeprefix(COCA)
    arch, slash, weights = rest[1:].partition("/")
    if rest != name and (not rest or (rest[0] == ":" and arch and slash and weights)):
        return COCA, rest[1:]
    raise UnknownNameError("captioner", name, (GIVEN, *CAPTIONERS), where=where)
