"""What is said where PyTorch is missing, and what does without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmark_spec.extras import install_line


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_without_pytorch_an_error_says_how_to_install_it() -> None:
    said = _python(
        "import sys; sys.modules['torch'] = None\n"
        "import fslbench_data as fb\n"
        "from benchmark_spec.errors import MissingPackageError\n"
        "def module(): import fslbench_data.torch\n"
        "def adapter(): fb.easyfsl(object())\n"
        "def run(): fb.evaluate(abs, features='pixels', device='cpu')\n"
        "for call in (module, adapter, run):\n"
        "    try: call()\n"
        "    except MissingPackageError as error: print(error)\n"
    )
    assert said.count("the package 'torch' is not installed") == 3
    assert said.count(install_line("torch")) == 3


@pytest.mark.slow
def test_a_method_on_arrays_imports_neither_pytorch_nor_scikit_learn() -> None:
    assert not _python(
        "import sys, numpy as np, fslbench_data as fb\n"
        "class Constant:\n"
        "    def fit(self, x, y): ...\n"
        "    def predict(self, x): return np.zeros(len(x), int)\n"
        "where = {'datasets': 'digits', 'features': 'pixels', 'task_sets': 'open-5w5s5q'}\n"
        "fb.evaluate(fb.sklearn(Constant()), **where)\n"
        "print(*({'torch', 'sklearn', 'easyfsl'} & set(sys.modules)))\n"
    )
