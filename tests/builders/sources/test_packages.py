"""Fetching packages, with small packages made here and clients that only copy a file."""

import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from threading import Event

import pytest
from commands import build as called
from msgspec import structs

from benchmark_spec.errors import FSLBenchError, MissingPackageError, SourceError
from builders.sources import PACKAGED, packages
from builders.sources.packages import MARK, Package, fetch, unpacked
from builders.sources.source import source_of


def _wheel(path):
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("fruit/list.txt", "apple\n")
    return path.read_bytes()


def _npm(path, member="package/list.txt"):
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = 6
        tar.addfile(info, io.BytesIO(b"apple\n"))
    return path.read_bytes()


def _deb(path):
    root = path.parents[1] / "tree"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(
        "Package: fruit\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@example.org>\n"
        "Description: fruit\n"
    )
    (root / "usr/share").mkdir(parents=True)
    (root / "usr/share/list.txt").write_text("apple\n")
    (root / "usr/share/link.txt").symlink_to("list.txt")
    command = ["dpkg-deb", "--root-owner-group", "-b", str(root), str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path.read_bytes()


MAKE = {"wheel": _wheel, "npm": _npm, "deb": _deb}
CLIENT = {"wheel": "pip", "npm": "npm", "deb": "apt-get"}
FILE = {"wheel": "fruit-1.0-py3-none-any.whl", "npm": "fruit-1.0.tgz"}
FILE["deb"] = "fruit_1%3a1.0_all.deb"
LIST = {"wheel": "fruit/list.txt", "npm": "package/list.txt", "deb": "usr/share/list.txt"}


class Store:
    def __init__(self, folder):
        self.shelf, self.programs = folder / "shelf", folder / "programs"
        self.log, self.pip = folder / "log", self.programs / "pip/__main__.py"
        self.shelf.mkdir()
        self.pip.parent.mkdir(parents=True)
        for name in CLIENT.values():
            self.program(name, f'echo "{name} $@" >> {self.log}; cp {self.shelf}/{name}/* .')
        (self.programs / "pip/__init__.py").touch()
        program = self.programs / "pip.sh"
        code = f"import subprocess, sys\nsubprocess.run([{str(program)!r}, *sys.argv])"
        self.pip.write_text(code)

    def program(self, name, script):
        path = self.programs / ("pip.sh" if name == "pip" else name)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def package(self, kind):
        if kind == "deb" and shutil.which("dpkg-deb") is None:
            pytest.skip("needs dpkg-deb")
        file = self.shelf / CLIENT[kind] / FILE[kind]
        file.parent.mkdir()
        digest = sha256(MAKE[kind](file)).hexdigest()
        version = "1:1.0" if kind == "deb" else "1.0"
        return Package(kind, "fruit", version, digest, "py3")

    @property
    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def store(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setenv("PATH", str(store.programs), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(store.programs))
    return store


def _shown(folder):
    """Names in a folder, but for that of the lock."""
    return sorted(path.name for path in folder.iterdir() if path.name != ".fetching.lock")


@pytest.mark.parametrize("kind", MAKE)
def test_a_package_is_fetched_once(kind, store, tmp_path):
    """Of two fetches one works, the other waits; between them the package is downloaded whole."""
    package, folder = store.package(kind), tmp_path / "a/b"
    at_work, said, meanwhile = Event(), list[str](), list[str]()

    def slow(step):
        said.append(step)
        at_work.set()
        time.sleep(0.2)

    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(fetch, [package], folder, slow)
        assert at_work.wait(60)
        assert fetch([package], folder, meanwhile.append) == first.result() == [folder / "fruit"]
    assert said == [f"{FILE[kind]}: downloading", f"{FILE[kind]}: unpacking"]
    assert meanwhile == [f"waiting for another fetch into {folder}"]
    assert (unpacked(package, folder, "fruits") / LIST[kind]).read_text() == "apple\n"
    assert _shown(folder) == sorted(["fruit", FILE[kind]])
    if kind == "deb":
        assert (folder / "fruit/usr/share/link.txt").is_symlink()
    fetch([package], folder)
    assert len(store.calls) == 1
    assert ("fruit@1.0" if kind == "npm" else "fruit=") in store.calls[0]


@pytest.mark.parametrize("kind", MAKE)
def test_what_was_unpacked_by_halves_is_unpacked_again(kind, store, tmp_path, monkeypatch):
    package, folder = store.package(kind), tmp_path / "raw"

    def killed(self, *_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(packages.Path, "write_text", killed)  # once the files are there
        with pytest.raises(KeyboardInterrupt):
            fetch([package], folder)
    assert _shown(folder) == [FILE[kind]]
    # a kill leaves what no `finally` has removed
    (folder / ".fruit.unpacking").mkdir()
    (folder / ".fruit.unpacking/half").touch()
    (folder / ".fruit.downloading").mkdir()
    fetch([package], folder)
    assert not (folder / "fruit/half").exists()
    assert (folder / "fruit" / LIST[kind]).exists()
    assert len(store.calls) == 1


def test_a_file_by_hand_is_used_and_another_version_replaced(store, tmp_path):
    package, folder = store.package("npm"), tmp_path / "raw"
    (folder / "fruit").mkdir(parents=True)
    (folder / "fruit" / MARK).write_text("0" * 64)
    with pytest.raises(SourceError, match=r"fslbench-build fetch fruits -o .*raw"):
        unpacked(package, folder, "fruits")
    shutil.move(store.shelf / "npm" / package.file, folder)
    fetch([package], folder)
    assert unpacked(package, folder, "fruits") == folder / "fruit"
    assert store.calls == []


def test_links_and_fifos_are_replaced(store, tmp_path):
    package, folder, victim = store.package("npm"), tmp_path / "raw", tmp_path / "victim"
    for path in (folder, victim):
        path.mkdir()
    (victim / "precious").touch()
    os.mkfifo(folder / package.file)
    for name in ("fruit", ".fruit.downloading", ".fruit.unpacking"):
        (folder / name).symlink_to(victim)
    fetch([package], folder)
    assert (unpacked(package, folder, "fruits") / LIST["npm"]).read_text() == "apple\n"
    assert not (folder / "fruit").is_symlink()
    assert [path.name for path in victim.iterdir()] == ["precious"]


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_file_with_another_digest_is_refused(by_hand, store, tmp_path):
    package, folder = store.package("npm"), tmp_path / "raw"
    folder.mkdir()
    (store.shelf / "npm" / package.file).write_bytes(b"other")
    if by_hand:
        shutil.move(store.shelf / "npm" / package.file, folder)
    with pytest.raises(SourceError) as caught:
        fetch([package], folder)
    assert f"SHA-256 {package.sha256}, found {sha256(b'other').hexdigest()}" in str(caught.value)
    assert ("remove it" if by_hand else f"put {package.file} into") in caught.value.fix
    assert _shown(folder) == ([package.file] if by_hand else [])


def test_what_cannot_be_fetched(store, tmp_path):
    """A version that is not to be had, into a folder that cannot be written, or to elsewhere."""
    package = store.package("npm")
    data = _npm(store.shelf / "npm" / package.file, "../../outside.txt")
    elsewhere = Package("npm", "fruit", "1.0", sha256(data).hexdigest())
    with pytest.raises(SourceError, match="cannot be unpacked"):
        fetch([elsewhere], tmp_path / "raw")
    assert not (tmp_path / "outside.txt").exists()
    assert not (tmp_path / "raw/fruit").exists()
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match=r"cannot write .*file"):
        fetch([package], tmp_path / "file")
    if os.geteuid():
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(SourceError, match="cannot write"):
            fetch([package], tmp_path / "closed/raw")
    store.program("npm", 'echo "no such version" >&2; exit 1')
    with pytest.raises(SourceError, match=r"npm cannot get fruit 1\.0\n.*no such version") as error:
        fetch([package], tmp_path / "new")
    assert "(elsewhere: npm pack fruit@1.0)" in error.value.fix
    store.program("npm", "true")
    with pytest.raises(SourceError, match="gave 0 files"):
        fetch([package], tmp_path / "new")


@pytest.mark.parametrize("kind", MAKE)
def test_a_client_that_is_not_installed(kind, store, tmp_path, monkeypatch):
    package = store.package(kind)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    store.pip.write_text("import sys\nsys.exit('/usr/bin/python: No module named pip')\n")
    with pytest.raises(MissingPackageError, match=f"{CLIENT[kind]} is not installed") as caught:
        fetch([package], tmp_path / "raw")
    assert f"put {package.file} into" in caught.value.fix
    assert sys.executable not in caught.value.fix


def test_the_fetch_command(store, tmp_path, monkeypatch):
    package = store.package("wheel")
    row = structs.replace(source_of("groceries"), pins=(package,))
    assert "Nothing to fetch" in called(0, "fetch", "digits", "-o", tmp_path / "x").stdout
    monkeypatch.setattr("builders.sources.source.source_of", lambda _: row)
    result = called(0, "fetch", "groceries", "-o", tmp_path / "x")
    assert result.stdout == f"fruit 1.0 sha256:{package.sha256}\n"
    assert row.layout in result.stderr


@pytest.mark.parametrize("name", [n for n in PACKAGED if source_of(n).packages])
def test_a_source_that_was_not_fetched_says_how(name, tmp_path):
    pytest.importorskip("scipy")
    with pytest.raises(FSLBenchError, match=f"fslbench-build fetch {name} -o {tmp_path}"):
        source_of(name).read(tmp_path)
