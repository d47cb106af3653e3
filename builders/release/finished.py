"""Releases whose build has ended: what they were made from, so that it is not made again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from benchmark_spec.manifest import MANIFEST_FILE, Manifest
from benchmark_spec.version import __version__
from builders.release.journal import JOURNAL_FILE, LOCK_FILE
from fslbench_data.files import clear_temporary
from fslbench_data.release.folder import read_manifest
from fslbench_data.release.release import load_release

MADE_WITH = f"fslbench {__version__}"


def is_finished(folder: Path) -> bool:
    """Whether a folder holds a release whose build has ended."""
    return (folder / MANIFEST_FILE).is_file() and not (folder / JOURNAL_FILE).exists()


def specification_of(recipe: str) -> str:
    """SHA-256 (hex) of a recipe, as the manifest has it; empty for none."""
    return hashlib.sha256(recipe.encode("utf-8")).hexdigest() if recipe else ""


def finished_release(folder: Path, name: str, version: str, recipe: str) -> Manifest | None:
    """The manifest of a release that a build of the same has finished there; None if there is none.

    Raises
    ------
    CorruptReleaseError
        If one of its files is not what was written.
    """
    if not is_finished(folder):
        return None
    manifest = read_manifest(folder)[1]
    wanted = (name, version, specification_of(recipe), MADE_WITH)
    if (manifest.name, manifest.version, manifest.specification, manifest.made_with) != wanted:
        return None
    clear_temporary(folder, deep=True)  # what killed runs left
    (folder / LOCK_FILE).unlink(missing_ok=True)
    return load_release(folder).manifest
