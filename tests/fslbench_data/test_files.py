"""Files that appear whole, what is never replaced, and folders for a moment."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fslbench_data as fb
from benchmark_spec.errors import CorruptReleaseError, OutputError, UnreadableError
from benchmark_spec.manifest import MANIFEST_FILE
from fslbench_data.files import (
    _clear_abandoned,
    clear_temporary,
    scratch_folder,
    temporary_of,
    whole_file,
    write_whole,
)
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.validation.log_source import numbers_by_id


def test_what_fails_midway_changes_nothing(tmp_path):
    (path := tmp_path / "x").write_text("before")

    def broken():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_usual_permissions(tmp_path):
    write_whole(tmp_path / "x", "é\n")  # with a umask of 022, as all tests
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644
    assert (tmp_path / "x").read_bytes() == b"\xc3\xa9\n"


def _tree(folder):
    """What is in a folder by path: the kind of each entry, with a link's target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = stat.filemode(path.lstat().st_mode)[0]
        found[path.relative_to(folder).as_posix()] = (
            f"l {path.readlink()}" if path.is_symlink() else kind
        )
    return found


KINDS = ["file", "nothing", "fifo", "folder", "loop"]


@given(st.integers(0, 3), st.sampled_from(KINDS), st.booleans(), st.booleans())
def test_only_a_regular_file_or_nothing_is_replaced(
    tmp_path_factory, links, end, linked_parent, relative
):
    """Any chain of links to any kind of thing: every entry but the file stays what it was."""
    folder = tmp_path_factory.mktemp("links")
    (folder / "far").mkdir()
    target = folder / "far" / "end.txt"
    if end == "file":
        target.write_text("before")
    elif end == "fifo":
        os.mkfifo(target)
    elif end == "folder":
        target.mkdir()
    elif end == "loop":
        target.symlink_to(target)
    if linked_parent:
        (folder / "near").symlink_to("far" if relative else folder / "far")
    name = folder / ("near" if linked_parent else "far") / "end.txt"
    for number in range(links):
        link = folder / f"link{number}"
        link.symlink_to(os.path.relpath(name, folder) if relative else name)
        name = link
    before = _tree(folder)
    if end in ("folder", "loop"):
        with pytest.raises(OutputError):
            write_whole(name, "after\n")
        assert _tree(folder) == before
        return
    if end == "fifo":
        with ThreadPoolExecutor() as pool:
            reader = pool.submit(target.read_bytes)
            write_whole(name, "after\n")
            assert reader.result(timeout=30) == b"after\n"
        assert _tree(folder) == before
        return
    write_whole(name, "after\n")
    assert target.read_bytes() == b"after\n"
    assert _tree(folder) == before | {"far/end.txt": "-"}


def test_the_temporary_file_lies_beside_the_target_of_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/file")
    with whole_file(tmp_path / "link") as temporary:
        assert temporary.parent == tmp_path / "far"
        temporary.write_text("x")
    assert (tmp_path / "link").is_symlink()


def test_a_private_device_is_written_to(tmp_path):
    node = tmp_path / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        node.write_bytes(b"x")
    except OSError as error:
        pytest.skip(f"no device nodes may be made or opened here: {error}")
    write_whole(node, "x\n")
    assert stat.S_ISCHR(node.stat().st_mode)
    assert list(tmp_path.iterdir()) == [node]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="of Linux")
def test_a_full_disk_is_said_to_be_full():
    with pytest.raises(OutputError) as error:
        write_whole("/dev/full", "x\n")
    assert error.value.fix == "make room on its disk"


def test_a_socket_is_refused(tmp_path, monkeypatch):
    import socket

    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(OutputError, match="is a socket"):
            write_whole("s", "x")
        assert stat.S_ISSOCK(Path("s").stat().st_mode)


def test_what_changes_its_kind_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "x"

    def written():
        with whole_file(path) as temporary:
            temporary.write_text("x")
            os.mkfifo(path)

    with pytest.raises(OutputError, match="became something else"):
        written()
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


_STDOUT = """
import sys
from fslbench_data.files import write_whole
print("before", flush=True)
write_whole("/dev/stdout", "file\\n")
print("after")
"""


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout here")
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_dev_stdout(tmp_path, to):
    command = [sys.executable, "-c", _STDOUT]
    if to == "pipe":
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    else:
        with (tmp_path / "out").open("w") as file:
            inode = os.fstat(file.fileno()).st_ino
            subprocess.run(command, stdout=file, check=True)
        assert (tmp_path / "out").stat().st_ino == inode
        found = (tmp_path / "out").read_text()
    assert found == "before\nfile\nafter\n"


_KILLED = """
import sys, time
from fslbench_data.files import whole_file
with whole_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(flush=True)
    time.sleep(600)
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_but_not_a_living_ones(tmp_path):
    path = tmp_path / "table.tex"
    runs = [
        subprocess.Popen([sys.executable, "-c", _KILLED, name], stdout=subprocess.PIPE)
        for name in (path, path, tmp_path / "other.tex")
    ]
    for run in runs:
        run.stdout.readline()
    for run in runs[1:]:
        run.send_signal(signal.SIGKILL)
        run.wait()
    somebodys_own = tmp_path / ".table.tex.mysource"
    somebodys_own.write_text("no temporary file")
    try:
        write_whole(path, "x\n")
        assert _unfinished(tmp_path) == ["other.tex", "table.tex"]
        clear_temporary(tmp_path)
        assert _unfinished(tmp_path) == ["table.tex"]  # of the one that lives
        assert somebodys_own.exists()
    finally:
        runs[0].kill()
        runs[0].wait()


def _unfinished(folder):
    return sorted(filter(None, (temporary_of(path.name) for path in folder.iterdir())))


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"

READERS = {
    "parquet": [fb.score, fb.validate, fb.Submission.read, fb.interval, read_untrusted],
    "csv": [fb.Submission.read, fb.interval],
    "jsonl": [fb.Submission.read, fb.interval],
    "json": [lambda path: numbers_by_id(path, "class", "n_images", "sizes")],
}


@pytest.mark.parametrize("ending", READERS)
def test_pointers_of_git_lfs_are_called_that(ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    path.write_text(POINTER)
    for read in READERS[ending]:
        with pytest.raises(UnreadableError, match="is a pointer of Git LFS") as caught:
            read(path)
        assert path.name in caught.value.what
        assert caught.value.fix == "git lfs pull"


@pytest.mark.parametrize("name", [MANIFEST_FILE, "tasks", "classes"])
def test_pointers_in_a_release_are_called_that(name, toy, tmp_path):
    target = Path(shutil.copytree(toy.files.where, tmp_path / "release")) / name
    for path in [target] if target.is_file() else target.rglob("*.parquet"):
        path.write_text(POINTER)
    with pytest.raises(CorruptReleaseError, match=r"is a pointer of Git LFS(?s:.*)git lfs pull"):
        fb.load_release(tmp_path / "release")


HOLD = """
import sys
from contextlib import suppress
from pathlib import Path
from fslbench_data.files import scratch_folder
with scratch_folder(sys.argv[1], Path(sys.argv[2])) as folder:
    (folder / "deeper").mkdir()
    (folder / "deeper" / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def scratch(tmp_path):
    """Where folders are made, as by a new process."""
    if sys.platform == "win32":
        pytest.skip("Windows locks no folders")
    _clear_abandoned.cache_clear()
    return tmp_path


def _holder(kind, where):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, kind, str(where)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_empty_and_goes_with_its_content(scratch):
    with suppress(ZeroDivisionError), scratch_folder("a", scratch) as folder:
        assert folder.parent == scratch
        assert not list(folder.iterdir())
        (folder / "file").write_text("x")
        raise ZeroDivisionError
    assert not list(scratch.iterdir())


def test_a_killed_process_leaves_none_behind_for_long(scratch):
    process, left = _holder("a", scratch)
    with process:
        process.send_signal(signal.SIGKILL)
    assert (left / "deeper" / "file").exists()
    with scratch_folder("b", scratch):
        assert left.exists()  # of another kind
    with scratch_folder("a", scratch) as folder:
        assert list(scratch.iterdir()) == [folder]


def test_what_a_living_process_uses_stays(scratch):
    process, used = _holder("a", scratch)
    with process, scratch_folder("a", scratch) as folder:
        _clear_abandoned.cache_clear()
        with scratch_folder("a", scratch):
            assert (used / "deeper" / "file").exists()
            assert folder.exists()
        process.stdin.close()
        assert process.wait() == 0
    assert not list(scratch.iterdir())


def test_what_others_made_stays(scratch):
    others = [scratch / "fslbench-a-notes", scratch / "fslbench-a-abcdefgh.txt"]
    for path in others:
        path.mkdir()
    target = scratch / "target"
    target.mkdir()
    (scratch / "fslbench-a-abcdefgh").symlink_to(target)
    (scratch / "fslbench-a-12345678").write_text("a file")
    before = sorted(scratch.iterdir())
    with scratch_folder("a", scratch):
        pass
    assert sorted(scratch.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs another user")
def test_what_another_user_left_stays(scratch):
    theirs = scratch / "fslbench-a-abcdefgh"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    with scratch_folder("a", scratch):
        assert theirs.exists()
