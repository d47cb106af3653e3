"""``fslbench-build features``: a folder with the features of a data set and of the canaries."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from stopping import content
from tiny_features import ABOUT, TINY

from benchmark_spec.errors import CorruptReleaseError, OutputError, ReleaseError
from benchmark_spec.schemas import check_features
from builders.cli import main
from builders.features import Settings
from builders.features.precomputed import FILE, read_precomputed, write_precomputed


@pytest.fixture(scope="module")
def written(tiny: Any, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loose") / "features"
    write_precomputed(tiny, TINY, folder, settings)
    return folder


@pytest.mark.slow
def test_it_holds_shards_and_says_what_they_are(written: Path, plain: np.ndarray[Any, Any]) -> None:
    files = sorted(p.relative_to(written).as_posix() for p in written.rglob("*") if p.is_file())
    of = "features/timm-test_vit-tiny.safetensors"
    assert files == [
        FILE,
        f"{of}/canaries-00000-of-00001.parquet",
        f"{of}/tiny-00000-of-00001.parquet",
    ]
    found = read_precomputed(written)
    assert (found.backbone, found.datasets) == (TINY, ("tiny", "canaries"))
    np.testing.assert_array_equal(found.features("tiny"), plain)
    assert found.features("canaries").shape == (32, 64)
    assert found.provenance("canaries")["batch"] == 8
    table = pq.read_table(written / files[2])
    check_features(table, "")
    assert table.column("image_id").to_pylist() == list(range(76))


def test_it_is_never_edited_in_place(
    written: Path, tiny: Any, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    for images, folder, how in (
        (replace(tiny, name="other"), written, settings),
        (replace(tiny, images=tiny.images.slice(0, 75)), written, settings),
        (tiny, written, replace(settings, dtype="bfloat16")),
        (tiny, tmp_path, settings),
    ):
        with pytest.raises(OutputError, match="is not an empty folder"):
            write_precomputed(images, TINY, folder, how)


@pytest.mark.slow
def test_interrupted_while_shards_are_written_it_goes_on(
    written: Path, tiny: Any, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builders.execution import parquet

    calls: list[str] = []
    real = parquet.write_table

    def killed(table: Any, path: Path) -> None:
        calls.append(path.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(table, path)

    monkeypatch.setattr(parquet, "write_table", killed)
    with pytest.raises(KeyboardInterrupt):
        write_precomputed(tiny, TINY, tmp_path / "x", settings)
    (tmp_path / "x/features/.tiny.parquet.abcd1234.writing").write_bytes(b"half")
    told: list[tuple[int, bool]] = []
    write_precomputed(
        tiny, TINY, tmp_path / "x", settings, lambda n, /, resumed=False: told.append((n, resumed))
    )
    assert told == [(76, True)]
    assert content(tmp_path / "x") == content(written)


def test_what_is_finished_stays_as_it_is(
    written: Path, tiny: Any, settings: Settings, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(written, tmp_path / "x"))
    (folder / ".extracting/half/removed").mkdir(parents=True)
    (folder / "features/.tiny.parquet.abcd1234.writing").write_bytes(b"half")
    assert write_precomputed(tiny, TINY, folder, settings) == read_precomputed(folder)
    assert content(folder) == content(written)
    assert not (folder / ".extracting").exists()
    next(folder.rglob("*.parquet")).write_bytes(b"PAR1")
    with pytest.raises(CorruptReleaseError, match="is not the file that was written"):
        write_precomputed(tiny, TINY, folder, settings)


def test_damage_is_noticed(written: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="holds no features that can be read"):
        read_precomputed(tmp_path)
    content = json.loads((written / FILE).read_text())
    path = content["tables"][0]["path"]
    for change in (
        {"path": "../../secret.parquet"},
        {"path": path.replace("00000-of-00001", "00001-of-00002")},
        {"name": "other"},
    ):
        tables = [content["tables"][0] | change, *content["tables"][1:]]
        (tmp_path / FILE).write_text(json.dumps({**content, "tables": tables}))
        with pytest.raises(ReleaseError, match="holds no features that can be read"):
            read_precomputed(tmp_path)


def _spec(folder: Path, raw: Path) -> str:
    options = "\n".join(f'{key} = "{value}"' for key, value in ABOUT.items())
    path = folder / "spec.toml"
    path.write_text(
        'name = "s"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\nname = "tiny"\n'
        f'source = "image_folder"\nfolder = "{raw.name}"\n[dataset.options]\n{options}\n'
    )
    return str(path)


@pytest.mark.slow
def test_the_command(
    pictures: Path, weights: Path, tmp_path: Path, plain: np.ndarray[Any, Any]
) -> None:
    common = ["features", "tiny", "--backbone", TINY, "--weights", str(weights)]
    common += ["--spec", _spec(tmp_path, pictures), "--raw", str(pictures.parent)]
    common += ["--workers", "1"]
    out = tmp_path / "out"
    result = CliRunner().invoke(main, [*common, "--batch", "8", "--threads", "1", "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "64 dimensions, float32 on" in result.stderr
    assert "batches of 8" in result.stderr
    tiny, canaries = result.stdout.splitlines()
    assert tiny.startswith("tiny 76 images ")
    assert canaries.startswith("canaries 32 images ")
    np.testing.assert_allclose(read_precomputed(out).features("tiny"), plain, rtol=0.01, atol=0.002)
    (pictures / "class_1/0003.jpg").rename(tmp_path / "kept")
    (pictures / "class_1/0003.jpg").write_bytes(b"damaged")
    try:
        refused = CliRunner().invoke(main, [*common, "-o", str(tmp_path / "b")])
        skipped = CliRunner().invoke(main, [*common, "-o", str(tmp_path / "c"), "--skip-corrupt"])
    finally:
        (tmp_path / "kept").replace(pictures / "class_1/0003.jpg")
    assert refused.exit_code == 2
    assert "class_1/0003.jpg is damaged: no image" in refused.stderr
    assert skipped.exit_code == 0, skipped.output
    assert "zeros for image 22: no image of a known format" in skipped.stderr
    assert list(read_precomputed(tmp_path / "c").provenance("tiny")["left_out"]) == ["22"]


def test_pixels_need_no_network(tmp_path: Path) -> None:
    arguments = ["features", "digits", "--backbone", "pixels", "-o", str(tmp_path / "x")]
    for said in ("wrote", "is finished"):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("digits 1,797 images ")
        assert said in result.stderr
        assert {path.name for path in (tmp_path / "x").iterdir()} == {FILE, "features"}
    assert read_precomputed(tmp_path / "x").datasets == ("digits",)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["features", "digits", "--backbone", "resnet"], "unknown backbone 'resnet'"),
        (["features", "nothing", "--backbone", "pixels"], "unknown source 'nothing'"),
        (
            ["features", "digits", "--backbone", "pixels", "--address", "x:1"],
            "--address goes with --engine ray",
        ),
    ],
)
def test_what_the_command_refuses(arguments: list[str], problem: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "x")])
    assert result.exit_code == 2
    assert problem in result.output
