"""PyTorch, and photographs."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason="needs torch, of the extra `builders`")


@pytest.fixture(scope="session")
def photographs():
    """Scikit-learn's two: a palace and a dahlia, (427, 640, 3) uint8."""
    datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn")
    pytest.importorskip("PIL.Image", reason="needs Pillow")
    return [np.array(image) for image in datasets.load_sample_images().images]
