"""Specifications of releases, for tests."""

from pathlib import Path

from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec

HEAD = 'name = "r"\nversion = "1.0.0"\ndescription = "d"\n'


def spec_in(folder: Path, text: str) -> ReleaseSpec:
    folder.mkdir(exist_ok=True)
    path = folder / "spec.toml"
    path.write_text(text)
    return read_spec(path)
