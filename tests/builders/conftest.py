"""A small release from a specification, and the packages of images that the slow tests read."""

from functools import cache

import pytest
from golden_inputs import SPEC
from real_packages import fetch_or_skip, package_folder, some_clip_art
from specs import spec_in

from builders.release.build import build_release
from builders.sources.source import source_of


@pytest.fixture(scope="session")
def spec_of():
    def write(folder, version="1.0.0", seed=0, closed=40, more=""):
        return spec_in(folder, SPEC.format(version=version, seed=seed, closed=closed) + more)

    return write


@pytest.fixture(scope="session")
def built(spec_of, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    build_release(spec_of(folder), folder / "release")
    return folder / "release"


@pytest.fixture(scope="session")
def package_files(tmp_path_factory):
    """The folder of packages, for all modules."""
    with package_folder(tmp_path_factory) as place:
        yield place


@pytest.fixture(scope="session")
def folder_of(package_files, tmp_path_factory):
    """Fetches the packages of a source and gives its raw folder: of openclipart, four classes."""

    @cache
    def fetched(name):
        fetch_or_skip(source_of(name).packages, package_files)
        if name != "openclipart":
            return package_files
        folder = tmp_path_factory.mktemp("clip_art")
        some_clip_art(package_files, folder)
        return folder

    return fetched


@pytest.fixture(scope="session")
def read_package(folder_of):
    """Reads a source, once for all modules: of openclipart, four classes."""

    @cache
    def read(name):
        for package in ("PIL", *(["sklearn"] if name == "digits" else [])):
            pytest.importorskip(package, reason="needs Pillow and scikit-learn, of `builders`")
        part = {"allow_missing": True} if name == "openclipart" else {}
        return source_of(name).read(folder_of(name), **part)

    return read
