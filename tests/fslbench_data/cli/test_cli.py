import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import invoke, printed

from benchmark_spec.version import __version__


@pytest.fixture
def mine(root):
    return str(root / "examples/my_results.parquet")


def test_version():
    assert printed("--version").strip() == f"fslbench, version {__version__}"


@pytest.mark.slow
def test_the_installed_command(mine):
    """Through the real entry point: a table on standard output, no escapes, a line on stderr."""
    command = Path(sys.executable).with_name("fslbench")
    if not command.exists():
        pytest.skip("the command fslbench is not installed beside this Python")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    out = subprocess.run([command, "score", mine], capture_output=True, check=True, env=ascii_only)
    (line,) = out.stderr.decode("ascii").splitlines()
    assert line.startswith("tip: evaluate the pooled sets (digits/pooled-5w1s1q")
    assert b"\x1b" not in out.stdout
    assert b"pixels/Ridge against 3 methods" in out.stdout
    bad = subprocess.run([command, "score", "nowhere.csv"], capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "Error: there is no file nowhere.csv\n"


ONE_SET = ("--dataset", "digits", "--task-set", "closed-5w5s5q")


def test_some_methods_only(mine):
    chosen = ("--method", "pixels/Ridge", "--method", "pixels/NCC")
    text = printed("score", mine, *ONE_SET, *chosen)
    assert "pixels/Ridge" in text
    assert "pixels/NCC" in text
    assert "LR" not in text
    assert "reference method (--all-references)" not in text
    text = printed("score", mine, *ONE_SET, "--method", "pixels/Ridge", "--against", "NCC")
    assert text.startswith("pixels/Ridge against 1 method")
    refused = invoke("score", mine, "--bias", "--method", "pixels/Ridge")
    assert "--method does not go with --bias" in refused.stderr


def test_a_data_set_in_place_of_a_release():
    refused = invoke("info", "digits")
    assert refused.exit_code == 2
    assert refused.stderr.endswith("fix: fslbench info --dataset digits\n")
    refused = invoke("info", "nowhere")
    assert "--dataset" not in refused.stderr
