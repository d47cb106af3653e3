"""What does without a home, without PyTorch and without pandas, and what is said there."""

import os
import sys

import pytest
from processes import python

from benchmark_spec.extras import install_line

NOBODY = """
import pwd
pwd.getpwuid = {}.__getitem__
import fslbench_data
from pathlib import Path
from huggingface_hub import constants
print(Path.home(), constants.HF_ASSETS_CACHE)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such users")
def test_a_user_without_a_home(tmp_path, root):
    """Altair asks for it when it is imported; huggingface_hub would make a folder called "~"."""
    own = ("HOME", "HF_HOME", "HF_ASSETS_CACHE", "XDG_CACHE_HOME")
    known = {name: value for name, value in os.environ.items() if name not in own}
    done = python(NOBODY, env={**known, "PYTHONPATH": str(root)}, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["/nonexistent", "/nonexistent/.cache/huggingface/assets"]


@pytest.mark.slow
def test_without_pytorch_an_error_says_how_to_install_it():
    said = python(
        "import sys; sys.modules['torch'] = None\n"
        "import fslbench_data as fb\n"
        "from benchmark_spec.errors import MissingPackageError\n"
        "def module(): import fslbench_data.torch\n"
        "def adapter(): fb.easyfsl(object())\n"
        "def run(): fb.evaluate(abs, features='pixels', device='cpu')\n"
        "for call in (module, adapter, run):\n"
        "    try: call()\n"
        "    except MissingPackageError as error: print(error)\n",
        check=True,
    ).stdout
    assert said.count("the package 'torch' is not installed") == 3
    assert said.count(install_line("torch")) == 3


@pytest.mark.slow
def test_a_method_on_arrays_imports_neither_pytorch_nor_scikit_learn():
    imported = python(
        "import sys, numpy as np, fslbench_data as fb\n"
        "class Constant:\n"
        "    def fit(self, x, y): ...\n"
        "    def predict(self, x): return np.zeros(len(x), int)\n"
        "where = {'datasets': 'digits', 'features': 'pixels', 'task_sets': 'open-5w5s5q'}\n"
        "fb.evaluate(fb.sklearn(Constant()), **where)\n"
        "print(*({'torch', 'sklearn', 'easyfsl'} & set(sys.modules)))\n",
        check=True,
    ).stdout.split()
    assert imported == []


READ = """
import sys
from fslbench_data.entry import fslbench
sys.argv = ["fslbench", "validate", "examples/my_results.parquet"]
try:
    fslbench()
finally:
    assert "pyarrow" in sys.modules and "pandas" not in sys.modules
"""


@pytest.mark.slow
def test_a_file_is_read_without_pandas(root):
    python(READ, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=True)
