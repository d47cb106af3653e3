"""Files, builds and publishing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from small_runs import OWN, write_run
from tiny_features import write_pictures

from builders.release.build import build_release
from builders.release.diff import check_version
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from fslbench_data.files import temporary_of, write_whole
from fslbench_data.files.kept import is_kept
from fslbench_data.release.redrawn import redrawn
from fslbench_data.release.release import Release, load_release
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

QUERY = "SELECT 1 AS one"

FLOWERS = """
name = "flowers"
version = "{version}"
description = "d"
protocols = ["5w1s1q"]
seed = {seed}
[[dataset]]
name = "vgg_flower"
source = "catalogue"
suites = ["open"]
"""

TINY = """
name = "tiny"
version = "1.0.0"
description = "d"
protocols = ["2w1s1q"]
[[dataset]]
name = "tiny"
source = "image_folder"
suites = ["open"]
folder = "tiny"
attributes = { pixels = "pixels" }
options = { title = "t", homepage = "https://example.org", licence = "CC0", citation = "@misc{x}" }
"""
IMAGE = "tiny/class_0/0000.png"


KILLED = """
import os, signal, sys
from pathlib import Path
from builders.cli import main
Path.replace = lambda path, target: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""


class Killed(Exception):
    """A build keeps nothing but what is on the disk: an exception stops it as a kill does."""


def _tiny(world: World) -> tuple[ReleaseSpec, Path]:
    """A specification and its raw folders."""
    write_pictures(world.folder / "raw/tiny", 4, classes=3)
    path = world.folder / "tiny.toml"
    path.write_text(TINY)
    return read_spec(path), world.folder / "raw"


def _flowers(world: World, version: str, seed: int) -> Release:
    path = world.folder / f"{version}.toml"
    path.write_text(FLOWERS.format(version=version, seed=seed))
    build_release(read_spec(path), world.folder / version)
    return load_release(world.folder / version)


def _pixel(path: Path) -> None:
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    picture.putpixel((3, 3), (1, 2, 3))
    picture.save(path)


def _at(step: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Progress that does something at a step."""
    return lambda told: act() if step in told else None


def _killed() -> None:
    raise Killed


def _stopped(spec: ReleaseSpec, raw: Path, folder: Path) -> None:
    """A build that is stopped when its images are read."""
    try:
        build_release(spec, folder, raw=raw, progress=_at("attributes", _killed))
    except Killed:
        return
    raise AssertionError("it was not stopped")


def _content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@attempt("`-o` names a file that is there, and a link to it")
def _(world: World) -> str:
    there, link = world.folder / "there.csv", world.folder / "to_there.csv"
    there.write_text("precious", encoding="utf-8")
    link.symlink_to(there)
    said = [world.fslbench("sql", QUERY, "-o", path) for path in (there, link)]
    assert there.read_text(encoding="utf-8") == "precious"
    assert said[0] == said[1]
    return f"it stays;{said[0].partition(':')[2]}"


@attempt("`-o` names a symbolic link")
def _(world: World) -> str:
    link = world.folder / "link.csv"
    link.symlink_to("far.csv")
    world.fslbench("sql", QUERY, "-o", link)
    still = "stays" if link.is_symlink() else "is gone"
    return f"the file that it names is written; the link {still}" if link.exists() else "nothing"


@attempt("`-o` names a FIFO")
def _(world: World) -> str:
    fifo = world.folder / "fifo.csv"
    found: list[str] = []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_text()), daemon=True)
    reader.start()
    world.fslbench("sql", QUERY, "-o", fifo)
    reader.join(timeout=60)
    still = "stays" if fifo.is_fifo() else "is gone"
    came = "it is written into" if found == ["one\n1\n"] else "nothing comes"
    return f"{came}; it {still}"


@attempt("`-o` names a folder")
def _(world: World) -> str:
    folder = world.folder / "folder"
    folder.mkdir()
    write_whole(folder, "x")
    return "it is replaced"


@attempt("a release is built, stopped, one pixel of an image changed, and the build resumed")
def _(world: World) -> str:
    spec, raw = _tiny(world)
    _stopped(spec, raw, world.folder / "release")
    _pixel(raw / IMAGE)
    return str(build_release(spec, world.folder / "release", raw=raw).digest)


@attempt("the same, and the image only touched")
def _(world: World) -> str:
    spec, raw = _tiny(world)
    _stopped(spec, raw, world.folder / "release")
    os.utime(raw / IMAGE)
    build_release(spec, world.folder / "release", raw=raw)
    build_release(spec, world.folder / "peace", raw=raw)
    same = _content(world.folder / "release") == _content(world.folder / "peace")
    return "the files of a build in peace" if same else "other files"


@attempt("a pixel changes while features or attributes are made")
def _(world: World) -> str:
    spec, raw = _tiny(world)
    meanwhile = _at("attributes", lambda: _pixel(raw / IMAGE))
    return str(build_release(spec, world.folder / "release", raw=raw, progress=meanwhile).digest)


@attempt("a pixel changes, its file's size and time do not, and `verify --raw` looks")
def _(world: World) -> str:
    spec, raw = _tiny(world)
    build_release(spec, world.folder / "release", raw=raw)
    before = (raw / IMAGE).stat()
    _pixel(raw / IMAGE)
    os.utime(raw / IMAGE, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = verify(world.folder / "release", raw=raw, spec=spec)
    return "; ".join(f"{problem.path}: {problem.what}" for problem in found.problems)


@attempt("a 1.0.1 with other tasks is compared with the 1.0.0 before it, as `publish` does")
def _(world: World) -> str:
    check_version(_flowers(world, "1.0.0", seed=0), _flowers(world, "1.0.1", seed=1))
    return "it is published"


@attempt("a finished release is made again")
def _(world: World) -> str:
    _flowers(world, "1.0.0", seed=0)
    return world.fslbench_build(
        "release", world.folder / "1.0.0.toml", "-o", world.folder / "1.0.0"
    )


@attempt("the same with another seed in its specification")
def _(world: World) -> str:
    return str(_flowers(world, _flowers(world, "1.0.0", seed=0).manifest.version, seed=1))


@attempt("`features` is killed while its last file is written, and called again twice")
def _(world: World) -> str:
    command = ["features", "digits", "--backbone", "pixels", "-o"]
    folder, peace = world.folder / "killed", world.folder / "peace"
    run = subprocess.run([sys.executable, "-c", KILLED, *command, str(folder)], check=False)
    left = [path for path in folder.rglob("*") if temporary_of(path.name)]
    again = [world.fslbench_build(*command, out) for out in (folder, folder, peace)]
    same = "the files of a run in peace" if _content(folder) == _content(peace) else "other files"
    killed = run.returncode == -signal.SIGKILL and left
    return f"{same if killed else 'not killed'}; the second time: {again[1]}"


def _drawn(world: World, put: Callable[[Path], None]) -> str:
    """Something lies where a drawn task set is kept, and the set is asked for again."""
    path = "tasks/closed-5w1s1q/digits.parquet"
    (table,) = (table for table in world.embedded.manifest.tables if table.path == path)
    entry = replace(table, drawn=True)
    sizes = world.embedded.classes("digits").column("n_images").to_pylist()
    with patch("huggingface_hub.constants.HF_ASSETS_CACHE", str(world.folder)):
        redrawn(entry, lambda: (sizes, None))
        kept = world.folder / f"fslbench/tasks/{entry.digest}.parquet"
        kept.unlink()
        put(kept)
        tasks = redrawn(entry, lambda: (sizes, None)).num_rows
    return f"{tasks} tasks; a regular file again: {is_kept(kept)}"


@attempt("a link to another file lies where a drawn task set is kept")
def _(world: World) -> str:
    other = world.folder / "other"
    other.write_text("precious")
    said = _drawn(world, lambda kept: kept.symlink_to(other))
    return f"{said}; the other file: {other.read_text()}"


@attempt("a FIFO that nobody writes to lies there")
def _(world: World) -> str:
    return _drawn(world, lambda kept: os.mkfifo(kept))


def _own_training(world: World) -> Path:
    """A finished training of a method in `own_methods.py`, which then has other code."""
    from builders.execution.engine import LocalEngine
    from builders.training import several

    code = world.folder / "own_methods.py"
    code.write_text(OWN)
    run = write_run(world.folder / "own.toml", method="own_methods:Cosine")
    with chdir(world.folder):
        list(several.train_all(several.plan([run], [], world.folder), None, engine=LocalEngine()))
    code.write_text(OWN + "raise SystemExit('it runs')")
    sys.path.remove(str(world.folder))
    del sys.modules["own_methods"]
    return world.folder / "own-0"


@attempt("a stranger's training, whose `trained.json` names a module that lies about, is loaded")
def _(world: World) -> str:
    from builders.training.trained import load_trained

    folder = _own_training(world)
    with chdir(world.folder):
        return load_trained(folder).name


@attempt("the same, the module named, which has other code than the training had")
def _(world: World) -> str:
    from builders.training.trained import load_trained

    folder = _own_training(world)
    with chdir(world.folder):
        return load_trained(folder, "own_methods:Cosine").name


@attempt("a training with `seed = 18446744073709551616`")
def _(world: World) -> str:
    from builders.training.settings import read_settings

    run = write_run(world.folder / "own.toml")
    run.write_text("seed = 18446744073709551616\n" + run.read_text())
    return str(read_settings(run).seed)
