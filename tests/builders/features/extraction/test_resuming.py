"""An extraction that is stopped, killed or damaged goes on, and gives the same features."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import stop_after

from benchmark_spec.errors import OutputError, SourceError

Extract = Callable[..., tuple[np.ndarray[Any, Any], dict[str, Any]]]


def _blocks(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npy"))


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_stopped_after_every_block_in_turn(
    workers: int, tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    for done in range(1, 5):
        with pytest.raises(KeyboardInterrupt):
            extract(tiny, tmp_path, stop_after(1), workers=workers)
        assert len(_blocks(tmp_path)) == done
    told: list[tuple[int, bool]] = []
    found, _ = extract(
        tiny, tmp_path, lambda n, /, resumed=False: told.append((n, resumed)), workers=workers
    )
    np.testing.assert_array_equal(found, plain)
    assert told == [(64, True), (12, False)]


def test_damaged_and_half_written_blocks_are_made_again(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        extract(tiny, tmp_path, stop_after(4))
    first, second, third, _ = _blocks(tmp_path)
    first.write_bytes(first.read_bytes()[:-1])
    data = bytearray(second.read_bytes())
    data[-1] ^= 1
    second.write_bytes(data)
    third.rename(third.with_name(f".{third.name}.abcd1234"))  # killed before it was whole
    found, _ = extract(tiny, tmp_path)
    np.testing.assert_array_equal(found, plain)


def test_a_run_is_gone_on_with_by_none_but_its_own(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        extract(tiny, tmp_path, stop_after(2))
    with pytest.raises(OutputError, match="something else: they differ in batch\n"):
        extract(tiny, tmp_path, batch=4)
    with pytest.raises(OutputError, match="they differ in agreement, dtype"):
        extract(tiny, tmp_path, dtype="bfloat16")
    with pytest.raises(OutputError, match="they differ in threads"):
        extract(tiny, tmp_path, threads=2)
    assert len(_blocks(tmp_path)) == 2
    found, provenance = extract(tiny, tmp_path, batch=None)  # that of the journal, not the default
    assert provenance["batch"] == 8
    np.testing.assert_array_equal(found, plain)


def test_other_images_are_not_gone_on_with(tiny: Any, extract: Extract, tmp_path: Path) -> None:
    import pyarrow as pa

    with pytest.raises(KeyboardInterrupt):
        extract(tiny, tmp_path, stop_after(2))
    digests = tiny.images.column("sha256").to_pylist()
    digests[0] = "0" * 64
    position = tiny.images.column_names.index("sha256")
    other = tiny.images.set_column(position, "sha256", pa.array(digests))
    from dataclasses import replace

    with pytest.raises(OutputError, match="they differ in images"):
        extract(replace(tiny, images=other), tmp_path)


@pytest.mark.parametrize("compared", [True, False])
def test_images_that_change_meanwhile(extract: Extract, tmp_path: Path, compared: bool) -> None:
    """Files are compared as they are decoded; blocks of what is no file are thrown away."""
    from dataclasses import replace

    from tiny_features import read_pictures, write_pictures

    raw = write_pictures(tmp_path / "raw", 10)
    picture = raw / "class_3/0009.jpg"

    def meanwhile(images: int, /, *, resumed: bool = False) -> None:
        picture.write_bytes((raw / "class_3/0007.jpg").read_bytes())

    images = read_pictures(raw) if compared else replace(read_pictures(raw), file=None)
    what = "another file than was read" if compared else "changed after its images were read"
    with pytest.raises(SourceError, match=what):
        extract(images, tmp_path, meanwhile)
    assert bool(_blocks(tmp_path)) == compared


def test_a_damaged_journal_is_refused(tiny: Any, extract: Extract, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        extract(tiny, tmp_path, stop_after(1))
    (journal,) = tmp_path.rglob("extraction.json")
    journal.write_text("{")
    with pytest.raises(OutputError, match="journal of the unfinished extraction"):
        extract(tiny, tmp_path)


def test_two_do_not_work_in_one_folder(tiny: Any, extract: Extract, tmp_path: Path) -> None:
    def progress(images: int, /, *, resumed: bool = False) -> None:
        with pytest.raises(OutputError, match="another extraction is running"):
            extract(tiny, tmp_path)

    extract(tiny, tmp_path, progress)


_RUN = """
import sys
from pathlib import Path
from tiny_features import TINY, read_pictures
from builders.features import Settings
from builders.features.extraction import extracted
pictures, weights, folder = map(Path, sys.argv[1:])
settings = Settings(weights=weights, block=4, batch=2, threads=1, workers=1)
tiny = read_pictures(pictures)
def told(images, /, *, resumed=False):
    print("block", flush=True)
with extracted(tiny, TINY, folder, settings, told) as (pieces, _):
    import hashlib
    values = b"".join(piece.tobytes() for piece in pieces)
    print(hashlib.sha256(values).hexdigest(), flush=True)
"""


@pytest.mark.slow
def test_killed_at_random_moments_it_gives_the_same_features(
    pictures: Path, weights: Path, tmp_path: Path, root: Path
) -> None:
    def start(folder: Path) -> subprocess.Popen[str]:
        path = f"{root}:{root / 'tests/support'}"
        return subprocess.Popen(
            [sys.executable, "-c", _RUN, pictures, weights, folder],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        )

    run = start(tmp_path / "whole")
    expected = run.communicate()[0].split()[-1]
    assert run.returncode == 0
    assert len(expected) == 64
    chance = np.random.default_rng(0)
    for _ in range(3):  # and gone on with at once
        run = start(tmp_path / "killed")
        assert run.stdout is not None
        for _ in range(1 + int(chance.integers(0, 5))):
            run.stdout.readline()
        time.sleep(float(chance.random()) * 0.05)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    assert start(tmp_path / "killed").communicate()[0].split()[-1] == expected


def test_a_lost_image_does_not_cost_what_is_done(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    from dataclasses import replace

    def picture(path: str) -> Any:
        if path.endswith("0018.png"):
            raise OSError("the disk is gone")
        return tiny.picture(path)

    broken = replace(tiny, picture=picture, file=None)
    with pytest.raises(SourceError, match=r"image 18 \(class_0/0018.png\).*the disk is gone"):
        extract(broken, tmp_path)
    assert len(_blocks(tmp_path)) == 1
    found, _ = extract(tiny, tmp_path)
    np.testing.assert_array_equal(found, plain)
