"""Features of the canaries against those expected."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import TINY, write_checkpoint

from benchmark_spec.errors import SpecError
from builders.features import Settings
from builders.features.extraction import AGREEMENT
from builders.features.precomputed import read_precomputed, write_precomputed
from builders.sources.packaged.canaries import CANARY_IMAGES, FAMILIES, OF_EACH
from builders.sources.source import source_of
from studies.reference_results.doctor import diagnose, main, tolerance_of


@pytest.fixture(scope="module")
def expected() -> np.ndarray[Any, Any]:
    """Features in eight bundles of four."""
    chance = np.random.default_rng(0)
    centres = np.repeat(chance.standard_normal((8, 50)), 4, axis=0)
    return (centres + 0.3 * chance.standard_normal((32, 50))).astype(np.float16)


def test_the_canaries_are_a_data_set() -> None:
    images = source_of("canaries").read()
    assert images.class_sizes == (OF_EACH,) * 8
    assert images.class_names == FAMILIES
    assert [images.open(i).size for i in (0, 31)] == [
        (CANARY_IMAGES[i].width, CANARY_IMAGES[i].height) for i in (0, 31)
    ]
    table = images.images
    assert table.column("path").to_pylist() == [canary.name for canary in CANARY_IMAGES]
    owners = set(zip(*(table.column(c).to_pylist() for c in ("creator", "licence")), strict=True))
    assert owners == {
        ("danielbuechele", "CC BY 2.0"),
        ("vultilion", "CC BY 2.0"),
        ("fslbench", "Apache-2.0"),
    }


def test_the_same_features_are_identical(expected: np.ndarray[Any, Any]) -> None:
    found = diagnose(expected, expected)
    assert (found.verdict, found.agrees) == ("identical", True)
    assert (found.lowest, found.mean, found.largest, found.flipped) == (1, 1, 0, 0)
    assert found.predictions == 8 * (4 * 3 + 4 * 1)


@pytest.mark.parametrize(
    ("noise", "verdict"), [(0.004, "agrees"), (0.15, "close"), (0.6, "differs"), (5, "unrelated")]
)
def test_noise_turns_them(noise: float, verdict: str, expected: np.ndarray[Any, Any]) -> None:
    chance = np.random.default_rng(1)
    found = diagnose(expected + noise * chance.standard_normal(expected.shape), expected)
    assert found.verdict == verdict
    assert found.agrees == (verdict == "agrees")
    assert (found.flipped > 0) == (noise > 1)
    assert found.lowest <= found.mean < 1


def test_by_hand(expected: np.ndarray[Any, Any]) -> None:
    other = expected.astype(np.float64)
    other[5] = other[5][::-1]
    found = diagnose(other, expected)
    a, b = other[5], expected[5].astype(np.float64)
    assert found.lowest == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert found.mean == pytest.approx((31 + found.lowest) / 32)
    assert found.worst == CANARY_IMAGES[5].name
    assert found.largest == pytest.approx(np.abs(a - b).max())
    rms = np.sqrt((expected.astype(np.float64) ** 2).mean())
    assert found.relative == pytest.approx(found.largest / rms)


def test_a_zero_among_the_expected_is_no_division_by_zero() -> None:
    zeros = np.zeros((32, 3))
    assert diagnose(zeros, zeros).lowest == 1
    assert diagnose(np.ones((32, 3)), zeros).verdict == "unrelated"


@pytest.mark.parametrize(
    ("shape", "problem"),
    [((31, 50), "a row a canary"), ((32,), "a row a canary"), ((32, 49), "another layer")],
)
def test_shapes_that_cannot_be(
    shape: tuple[int, ...], problem: str, expected: np.ndarray[Any, Any]
) -> None:
    with pytest.raises(SpecError, match=problem):
        diagnose(np.ones(shape), expected)


def test_values_that_are_not_finite(expected: np.ndarray[Any, Any]) -> None:
    with pytest.raises(SpecError, match="not all finite"):
        diagnose(np.full(expected.shape, np.nan), expected)


def test_the_less_exact_of_two_decides() -> None:
    exact, rough = ({"agreement": AGREEMENT[t]} for t in ("float32", "bfloat16"))
    assert tolerance_of(exact, exact) == AGREEMENT["float32"]
    assert tolerance_of(exact, rough) == tolerance_of({}) == AGREEMENT["bfloat16"]


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
    weights = write_checkpoint(tmp_path)
    for name, dtype in (("a", "float32"), ("b", "bfloat16")):
        settings = Settings(weights=weights, threads=1, workers=0, dtype=dtype)  # type: ignore[arg-type]
        write_precomputed(source_of("canaries").read(), TINY, tmp_path / name, settings)
    own = read_precomputed(tmp_path / "a").features("canaries")

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["doctor", "--features", *arguments])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err

    code, said = run(str(tmp_path / "a"), "--against", str(tmp_path / "a"))
    assert code == 0, said
    assert "The features are the same, bit for bit." in said
    assert "flipped: 0 of 128" in said
    code, said = run(str(tmp_path / "b"), "--against", str(tmp_path / "a"))
    assert code == 0, said
    assert f"at least {AGREEMENT['bfloat16']:g} is expected" in said
    assert "The features agree" in said
    np.save(tmp_path / "own.npy", own[::-1])
    code, said = run(
        str(tmp_path / "own.npy"), "--backbone", TINY, "--against", str(tmp_path / "a")
    )
    assert code == 1
    assert "do not agree" in said or "nothing in common" in said
    code, said = run(str(tmp_path / "own.npy"), "--against", str(tmp_path / "a"))
    assert (code, "--backbone" in said) == (2, True)
    (tmp_path / "no.npy").write_bytes(b"no")
    code, said = run(str(tmp_path / "no.npy"), "--backbone", TINY, "--against", str(tmp_path / "a"))
    assert (code, "no .npy file of numbers" in said) == (2, True)
    content = json.loads((tmp_path / "a/features.json").read_text())
    (tmp_path / "a" / content["tables"][0]["path"]).write_bytes(b"PAR1")
    assert run(str(tmp_path / "b"), "--against", str(tmp_path / "a"))[0] == 2
