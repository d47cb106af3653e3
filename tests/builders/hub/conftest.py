"""A release to publish, and the command that does it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from specs import spec_in

from builders.cli import main
from builders.release.build import build_release

REPO = "org/bench"
SPEC = """
name = "small"
version = "{version}"
description = "{description}"
protocols = ["3w2s2q"]
drawn = [{drawn}]
[[dataset]]
name = "vgg_flower"
source = "catalogue"
suites = [{suites}]
seed = {seed}
tasks = {{ closed = 10 }}
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open"]
"""

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Makes a release of two data sets, 2 of classes and 3 of tasks; none is made twice."""

    @cache
    def make(
        version: str = "1.0.0",
        *,
        suites: tuple[str, ...] = ("open", "closed"),
        seed: int = 0,
        description: str = "d",
        drawn: str = "",
    ) -> Path:
        folder = tmp_path_factory.mktemp("publish")
        quoted = ", ".join(f'"{suite}"' for suite in suites)
        how = {"version": version, "suites": quoted, "seed": seed, "description": description}
        build_release(spec_in(folder, SPEC.format(**how, drawn=drawn)), folder / "release")
        return folder / "release"

    return make


@pytest.fixture
def release(build: Build, tmp_path: Path) -> Path:
    """Version 1.0.0 of the release, to do with as one likes: 5 tables, card and manifest."""
    return Path(shutil.copytree(build(), tmp_path / "release"))


def publish(folder: Path, *options: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["publish", str(folder), "--repo-id", REPO, *options])
