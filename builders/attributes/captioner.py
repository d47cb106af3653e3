"""Networks that write a caption to a picture, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from builders.attributes.recipe import COCA, check_captioner
from builders.features.preprocessing import Preprocessing
from builders.features.processor import Device


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
        """A caption for each picture.

        Parameters
        ----------
        batch : torch.Tensor (B, 3, H, W)
            Preprocessed; moved to the network's device if it is not there.
        """


@dataclass(frozen=True)
class CaptionerName:
    """What loads a captioner, in whichever process.

    Attributes
    ----------
    name
        ``vit_gpt2[@FOLDER]``, ``blip[@FOLDER]`` or ``coca[:ARCH/TAG_OR_FILE]``.
    folder
        Where its folder or file is looked for besides.
    """

    name: str
    folder: Path | None = None
    device: Device = "cpu"

    @property
    def family(self) -> str:
        """``vit_gpt2``, ``blip`` or ``coca``."""
        return check_captioner(self.name)[0]

    def load(self) -> Captioner:
        """The captioner; a process keeps the last one.

        Raises
        ------
        BackboneError
            If its weights are not there and cannot be had, or do not fit.
        MissingPackageError
            If its package is not installed.
        """
        return _loaded(self.name, self.folder, self.device)


def describe(captioner: Captioner) -> dict[str, Any]:
    """What captions depend on, of the network."""
    return {
        "captioner": captioner.name,
        "weights": dict(captioner.weights),
        "generation": dict(captioner.generation),
        "preprocessing": captioner.preprocessing.describe(),
        "dtype": "float32",
    }


def plain(caption: str) -> str:
    """What a network wrote, on one line, with blanks for what cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in caption).split())


def check_at_hand(name: str, folder: Path | None) -> None:
    """Refuse a captioner whose package, folder or file is not there, before any work.

    What is to come from the Hub is not asked for.

    Raises
    ------
    UnknownNameError, BackboneError, MissingPackageError
        As loading it would.
    """
    family, rest = check_captioner(name)
    if family == COCA:
        from builders.attributes.coca_captioner import check_spec

        check_spec(rest, folder)
    else:
        from builders.attributes.captioner_folders import check_folder

        check_folder(family, rest, folder)


def _load(name: str, folder: Path | None, device: Device) -> Captioner:
    family, rest = check_captioner(name)
    if family == COCA:
        from builders.attributes.coca_captioner import CocaCaptioner

        return CocaCaptioner.load(rest, folder, device)
    from builders.attributes.transformers_captioners import TransformersCaptioner

    return TransformersCaptioner.load(family, rest, folder, device)


_loaded = lru_cache(maxsize=1)(_load)
forget_captioner = _loaded.cache_clear
"""Give the last captioner's memory back."""
