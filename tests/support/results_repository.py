"""A results repository in a folder, for tests."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fslbench_data.leaderboard.repository import FolderFiles, submission_name
from fslbench_data.submission.model import Submission


class Repository:
    """A results repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "submissions").mkdir(parents=True)
        (folder / "leaderboard.toml").write_text('title = "T"\nreleases = ["embedded"]\n')

    @property
    def files(self) -> FolderFiles:
        return FolderFiles(self.folder)

    def add(self, submission: Submission) -> str:
        """Write a submission under its right name, which is returned."""
        draft = self.folder / "draft.parquet"
        submission.write(draft)
        return self.add_bytes(draft.read_bytes())

    def add_bytes(self, content: bytes) -> str:
        name = submission_name(hashlib.sha256(content).hexdigest())
        (self.folder / name).write_bytes(content)
        return name
