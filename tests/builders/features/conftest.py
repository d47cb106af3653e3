"""Photographs, and a model repository on a Hub of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Serve = Callable[..., None]


@pytest.fixture(scope="session")
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs torch, of the extra `builders`")


@pytest.fixture(scope="session")
def photographs() -> list[Any]:
    """Scikit-learn's two: a palace and a dahlia, (427, 640, 3) uint8."""
    datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn")
    pytest.importorskip("PIL.Image", reason="needs Pillow")
    return [np.array(image) for image in datasets.load_sample_images().images]


@pytest.fixture
def serve(hub: Any) -> Serve:
    """Puts a file into a model repository of the Hub."""

    def put(repo: str, name: str, path: Path) -> None:
        if ("model", repo) not in hub.repos:
            hub.create_repo(repo, "model")
        hub.commit(repo, {name: path.read_bytes()}, kind="model")

    return put
