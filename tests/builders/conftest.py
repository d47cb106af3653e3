"""A small release from a specification, for the tests that build, verify and compare releases."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders.release.build import build_release
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec

SpecOf = Callable[..., ReleaseSpec]

SPEC = """
name = "small"
version = "{version}"
description = "d"
protocols = ["5w1s1q", "3w2s2q"]
seed = {seed}
tasks = {{ closed = {closed} }}
[[dataset]]
name = "vgg_flower"
source = "catalogue"
suites = ["published", "open", "closed", "balanced"]
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open", "balanced"]
"""


@pytest.fixture(scope="session")
def spec_text() -> str:
    """To be formatted with version, seed and closed."""
    return SPEC


@pytest.fixture(scope="session")
def spec_of() -> SpecOf:
    """Writes the specification into a folder and reads it."""

    def write(folder: Path, version: str = "1.0.0", seed: int = 0, closed: int = 40) -> ReleaseSpec:
        path = folder / f"spec-{version}-{seed}-{closed}.toml"
        path.write_text(SPEC.format(version=version, seed=seed, closed=closed))
        return read_spec(path)

    return write


@pytest.fixture(scope="session")
def built(spec_of: SpecOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the release."""
    folder = tmp_path_factory.mktemp("built")
    build_release(spec_of(folder), folder / "release")
    return folder / "release"
