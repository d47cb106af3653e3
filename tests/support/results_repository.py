"""A results repository in a folder, for tests."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from recorded import recorded_sets

from fslbench_data.leaderboard.repository import FolderFiles, submission_name
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission

KEY = "cats/open-2w1s2q"
"""A task set of the releases that submissions in tests answer."""


def random_counts(release: Release, key: str = KEY, seed: int = 0) -> list[int]:
    """Return correct queries of four for each task of a task set."""
    tasks = release.task_set_info(*key.split("/")).n_tasks
    return np.random.default_rng(seed).integers(0, 5, tasks).tolist()


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "submissions").mkdir(parents=True)
        (folder / "leaderboard.toml").write_text('title = "T"\nreleases = ["embedded"]\n')

    @property
    def files(self) -> FolderFiles:
        return FolderFiles(self.folder)

    def add(self, submission: Submission) -> str:
        draft = self.folder / "draft.parquet"
        submission.write(draft)
        return self.add_bytes(draft.read_bytes())

    def add_bytes(self, content: bytes) -> str:
        name = submission_name(hashlib.sha256(content).hexdigest())
        (self.folder / name).write_bytes(content)
        return name


def answers(
    release: Release,
    counts: dict[str, Any],
    method: str = "mine",
    *,
    prefix: bool = False,
    transductive: bool = False,
) -> Submission:
    """Return a submission of one method, bound to its task sets: correct queries of each task.

    Fewer than there are are a `prefix`, or the others are missing.
    """
    made = recorded_sets(release, counts, method, transductive=transductive)
    if prefix:
        return made
    bindings = {key: replace(bound, tasks=None) for key, bound in made.bindings.items()}
    return replace(made, bindings=bindings)
