"""Images and weights inside packages: which are pinned, and where they lie unpacked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from benchmark_spec.errors import SourceError

MARK = ".unpacked"
"""Lies in every unpacked package and holds the SHA-256 of the file that it came from."""


@dataclass(frozen=True)
class Package:
    """A package of one version.

    `file` is the name of its file, as the client gives it, and `sha256` that of the file.
    """

    kind: Literal["deb", "wheel", "npm"]
    name: str
    version: str
    file: str
    sha256: str

    @classmethod
    def deb(cls, name: str, version: str, sha256: str) -> Self:
        """Name a Debian package for every architecture."""
        file = f"{name}_{version.replace(':', '%3a')}_all.deb"
        return cls("deb", name, version, file, sha256)

    @classmethod
    def wheel(cls, name: str, version: str, sha256: str, tags: str = "py2.py3") -> Self:
        """Name a wheel for every platform."""
        file = f"{name.replace('-', '_')}-{version}-{tags}-none-any.whl"
        return cls("wheel", name, version, file, sha256)

    @classmethod
    def npm(cls, name: str, version: str, sha256: str) -> Self:
        """Name a package of npm."""
        return cls("npm", name, version, f"{name}-{version}.tgz", sha256)

    @property
    def command(self) -> tuple[str, ...]:
        """The command that downloads it into the current folder."""
        if self.kind == "deb":
            return ("apt-get", "download", f"{self.name}={self.version}")
        if self.kind == "npm":
            return ("npm", "pack", f"{self.name}@{self.version}")
        pip = (sys.executable, "-m", "pip", "download", "--disable-pip-version-check")
        return (*pip, "--no-deps", "--only-binary=:all:", f"{self.name}=={self.version}")


def unpacked(package: Package, folder: Path, source: str) -> Path:
    """Find where a package of the source lies unpacked."""
    if not is_unpacked(package, folder):
        raise SourceError(
            f"{source}: the package {package.name} {package.version} is not there",
            where=str(folder),
            expected=f"the folder {package.name}, unpacked from {package.file}",
            fix=f"fslbench-build fetch {source} -o {folder}",
        )
    return folder / package.name


def is_unpacked(package: Package, folder: Path) -> bool:
    """Tell whether that very package lies unpacked in the folder."""
    mark = folder / package.name / MARK
    return mark.is_file() and mark.read_text(encoding="ascii") == package.sha256
