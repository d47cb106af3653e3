"""The captioners there are: found, checked and loaded by their names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from builders.attributes.captioner import COCA, Captioner, check_captioner
from builders.attributes.captioner_folders import check_folder
from builders.attributes.coca_captioner import CocaCaptioner, check_spec
from builders.attributes.transformers_captioners import TransformersCaptioner
from builders.features.processor import Device, facts


@dataclass(frozen=True)
class CaptionerName:
    """What loads a captioner, in whichever process.

    The name is ``vit_gpt2[@FOLDER]``, ``blip[@FOLDER]`` or ``coca[:ARCH/TAG_OR_FILE]``; what it
    names is also looked for in `folder`.
    """

    name: str
    folder: Path | None = None
    device: Device = "cpu"

    @property
    def family(self) -> str:
        """``vit_gpt2``, ``blip`` or ``coca``."""
        return check_captioner(self.name)[0]

    def survey(self, threads: int, batch: int | None, block: int) -> dict[str, Any]:
        """Find out what captions depend on, on this machine."""
        return {
            **self.load().describe(),
            **facts(self.device, self.family),
            "threads": threads,
            "batch": batch,
            "block": block,
            "decoder": "Pillow",
        }

    def check(self) -> None:
        """Refuse a captioner whose package, folder or file is missing, before any work.

        What comes from the Hub is not asked for.  Raises what :meth:`load` would.
        """
        family, rest = check_captioner(self.name)
        if family == COCA:
            check_spec(rest, self.folder)
        else:
            check_folder(family, rest, self.folder)

    def load(self) -> Captioner:
        """Load the captioner; a process keeps the last one.

        Raises
        ------
        BackboneError
            If its weights are not there and cannot be had, or do not fit.
        MissingPackageError
            If its package is not installed.
        """
        return _loaded(self)


@lru_cache(maxsize=1)
def _loaded(captioner: CaptionerName) -> Captioner:
    family, rest = check_captioner(captioner.name)
    if family == COCA:
        return CocaCaptioner.load(rest, captioner.folder, captioner.device)
    return TransformersCaptioner.load(family, rest, captioner.folder, captioner.device)


forget_captioner = _loaded.cache_clear
"""Give the last captioner's memory back."""
