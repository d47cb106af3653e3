"""What is remembered of the Hub between runs, below the assets folder of its cache.

- Which commit a tag named when it was first loaded, and the SHA-256 of that release's manifest.
- Which cached files were found to be whole: their size, time and inode then.

Both can be lost or unwritable: files are then looked through again, tags taken as new.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import OutputError
from fslbench_data.files import file_state, write_whole
from fslbench_data.files.kept import read_kept
from fslbench_data.hub.address import is_commit, version_of


@dataclass(frozen=True)
class Pin:
    """What a tag named when it was first loaded: its commit, and the SHA-256 of the manifest."""

    commit: str
    manifest: str


class Memory:
    """What is remembered of one repository."""

    def __init__(self, repo_id: str) -> None:
        from huggingface_hub import constants

        self._folder = Path(constants.HF_ASSETS_CACHE) / "fslbench" / repo_id.replace("/", "--")

    def pin_path(self, tag: str) -> Path:
        """The file that remembers a tag."""
        return self._folder / "tags" / f"{tag}.json"

    def pin(self, tag: str) -> Pin | None:
        """What the tag named when it was first loaded, if that is known."""
        try:
            pin: Pin = parsed_json(read_kept(self.pin_path(tag)), Pin)
        except (OSError, ValueError):
            return None
        return pin if is_commit(pin.commit) else None

    def remember_pin(self, tag: str, pin: Pin) -> None:
        """Remember what a tag names."""
        self._write(self.pin_path(tag), json.dumps(asdict(pin)))

    def tags(self) -> list[str]:
        """The tags of versions that were loaded before."""
        tags = [path.stem for path in (self._folder / "tags").glob("v*.json")]
        return sorted(tag for tag in tags if version_of(tag) is not None)

    def is_whole(self, path: Path, sha256: str) -> bool:
        """Whether a cached file was found to have that SHA-256, and was not touched since."""
        try:
            return read_kept(self._mark(sha256)) == file_state(path).encode()
        except (OSError, ValueError):
            return False

    def remember_whole(self, path: Path, sha256: str) -> None:
        """Remember that a cached file has that SHA-256."""
        self._write(self._mark(sha256), file_state(path))

    def _mark(self, sha256: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise ValueError(sha256)
        return self._folder / "whole" / sha256

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text, follow=False)
        except (OSError, OutputError):
            return  # a cache that may only be read
