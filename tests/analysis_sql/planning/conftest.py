"""The Gaussian example, where the truth is known."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def example(root: Path) -> ModuleType:
    """examples/query_size.py, where the truth is known."""
    spec = importlib.util.spec_from_file_location("example", root / "examples/query_size.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["example"] = module
    spec.loader.exec_module(module)
    return module
