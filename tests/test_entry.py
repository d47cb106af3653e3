"""What the first lines of the commands arrange, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from fslbench_data.entry import fslbench
sys.argv = ["fslbench", "validate", "examples/my_results.parquet"]
try:
    fslbench()
finally:
    assert "pyarrow" in sys.modules and "pandas" not in sys.modules
"""


@pytest.mark.slow
def test_a_file_is_read_without_pandas(root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", CODE], cwd=root, env=environment, check=True)
