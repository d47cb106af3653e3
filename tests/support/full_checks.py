"""The checks at full size, of which tests use the functions at a small one."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = str(Path(__file__).resolve().parents[2])


def study_module(name: str) -> ModuleType:
    """Import a module of studies, which is no installed package.

    The repository stands last in the path: the other packages stay those that are installed.
    """
    if ROOT not in sys.path:
        sys.path.append(ROOT)
    return import_module(f"studies.{name}")


def check_module(name: str) -> ModuleType:
    return study_module(f"checks.{name}")
