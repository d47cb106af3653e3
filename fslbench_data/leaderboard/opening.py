"""Open a results repository, and the releases that its settings name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fslbench_data.hub.address import HubAddress, is_address
from fslbench_data.leaderboard.folder_files import FolderFiles
from fslbench_data.leaderboard.hub_files import HubResults
from fslbench_data.leaderboard.repository import EMBEDDED, ResultsFiles
from fslbench_data.release.release import Release, load_release


def open_results(where: str | Path) -> ResultsFiles:
    """Open a results repository: a folder, or on the Hub ``ORG/NAME`` or ``ORG/NAME@REVISION``."""
    if isinstance(where, str) and is_address(where) and not Path(where).exists():
        return HubResults.open(HubAddress.parse(where))
    return FolderFiles(where)


def open_releases(names: Sequence[str]) -> tuple[Release, ...]:
    """Open the releases of these names, in order."""
    return tuple(load_release(None if name == EMBEDDED else name) for name in names)
