"""Whether a release's card is the one that its manifest and tables make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.manifest import CARD_FILE, Manifest
from builders.release.card import CardFacts, dataset_card, repository_of
from builders.release.writer import MADE_WITH
from fslbench_data.release.folder import Folder
from fslbench_data.release.release import Release


def card_problems(manifest: Manifest, folder: Path) -> Iterator[str]:
    """Compare the card with that of this version, if it wrote the release; say what is wrong.

    A card knows where its release is published, which nothing else does: that is believed.
    """
    path = folder / CARD_FILE
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if text and manifest.made_with != MADE_WITH:
        return
    try:
        release = Release(manifest, Folder(folder))
        card = dataset_card(manifest, CardFacts.of(release, repository_of(text)))
    except (FSLBenchError, OSError, pa.ArrowException, ValueError, TypeError, LookupError):
        yield "cannot be made again while tables have problems"
        return
    if text != card:
        yield "is not the card of this manifest"
