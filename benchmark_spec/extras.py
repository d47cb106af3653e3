"""Packages that only the extras install, imported when they are needed."""

from __future__ import annotations

import json
from importlib import import_module, metadata
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
            fix=install_line(extra),
        ) from None


def install_line(extra: str) -> str:
    """Say how to install an extra: from the folder that the package came from, or by its name."""
    try:
        origin = metadata.distribution("fslbench").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # run from a folder that is not installed
        origin = '{"dir_info": {}}'
    if origin is not None and "dir_info" in json.loads(origin):
        return f"pip install '.[{extra}]' in the folder of the project"
    return f'pip install "fslbench[{extra}]"'
