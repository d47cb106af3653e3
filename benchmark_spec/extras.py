"""Packages that only the extras install, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmark_spec.errors import MissingPackageError


def require(module: str, extra: str = "builders") -> Any:
    """Import `module`, or say which extra installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # something that the package itself needs
        raise MissingPackageError(
            f"the package {module.split('.')[0]!r} is not installed",
            fix=f'pip install "fslbench[{extra}]"',
        ) from None
