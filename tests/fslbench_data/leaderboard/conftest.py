"""A results repository in a folder, submissions for it, and two releases that they may answer."""

import pytest
from results_repository import Repository
from toy_release import toy_release


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "results")


def _release(folder, version, seed, classes):
    """Data set cats differs with the seed; dogs is always the same."""
    sizes = {"cats": [30] * classes, "dogs": [30] * 6}
    tasks = {"open": None, "closed": 20}
    return toy_release(folder, sizes, tasks, version=version, seeds={"cats": seed})


@pytest.fixture(scope="session")
def newer(tmp_path_factory):
    return _release(tmp_path_factory.mktemp("newer") / "release", "2.0.0", 2, classes=5)


@pytest.fixture(scope="session")
def older(tmp_path_factory):
    """More tasks of cats than the newer one has, and other ones."""
    return _release(tmp_path_factory.mktemp("older") / "release", "1.0.0", 1, classes=6)
