"""A tiny network with its checkpoint, and a folder of small pictures."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_features import TINY, read_pictures, write_checkpoint, write_pictures

for package in ("torch", "timm"):
    pytest.importorskip(package, reason=f"needs {package}, of the extra `builders`")
from builders.features import Settings, features_of  # noqa: E402


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """76 pictures in 4 classes: with blocks of 16 five, the last of 12."""
    return write_pictures(tmp_path_factory.mktemp("pictures"), 19)


@pytest.fixture(scope="session")
def tiny(pictures):
    return read_pictures(pictures)


@pytest.fixture(scope="session")
def settings(weights):
    """Small blocks and batches, in this process alone."""
    return Settings(weights=weights, block=16, batch=8, threads=1, workers=0)


@pytest.fixture(scope="session")
def extract(settings):
    def run(images, folder, *progress, **given):
        how = replace(settings, **given)
        with features_of(TINY, images, folder, how, *progress) as (pieces, made):
            return np.concatenate(list(pieces)), made

    return run


@pytest.fixture(scope="session")
def plain(tiny, extract, tmp_path_factory):
    """Features of the data set from a run that nothing disturbed."""
    return extract(tiny, tmp_path_factory.mktemp("plain"))[0]
