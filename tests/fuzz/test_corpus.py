"""What the fuzzer found, run again; and, where there is atheris, a little more of it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzing.seeds import seeds
from fuzzing.targets import TARGETS

HERE = Path(__file__).parent
RUNS = "400"
"""Of inputs, the kept ones among them; ``python -m studies.checks new_inputs`` makes 10,000."""


def _corpus(target: str) -> list[Path]:
    return sorted((HERE / "corpus" / target).iterdir())


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_ends_in_no_other_errors(target: str) -> None:
    """An input that fails is named; ``tests/fuzz/README.md`` says how to look at it."""
    inputs = {path.name: path.read_bytes() for path in _corpus(target)}
    inputs |= {f"seed {i}": data for i, data in enumerate(seeds(target))}
    for name, data in inputs.items():
        try:
            TARGETS[target](data)
        except Exception as error:
            pytest.fail(f"{target}/{name}: {error!r}")


def test_the_corpus_is_small_and_named_by_its_content() -> None:
    files = [path for target in TARGETS for path in _corpus(target)]
    assert len(files) > 100
    assert sum(path.stat().st_size for path in files) < 500_000
    for path in files:
        assert path.name == hashlib.sha1(path.read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_new_inputs_end_in_no_other_errors(target: str) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed")
    command = [sys.executable, str(HERE / "run.py"), target, "--runs", RUNS]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=3000)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]
    assert f"Done {RUNS} runs" in result.stderr
