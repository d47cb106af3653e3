import os
import stat
from pathlib import Path

import pytest

from fslbench_data.files import whole_file, write_whole


def test_what_fails_midway_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("before")

    def broken() -> None:
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_usual_permissions(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_whole(tmp_path / "x", "é\n")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644
    assert (tmp_path / "x").read_bytes() == b"\xc3\xa9\n"
