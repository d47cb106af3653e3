"""Import packages that only extras install, when they are needed."""

from __future__ import annotations

import json
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benchmark_spec.errors import MissingPackageError
from benchmark_spec.version import __version__


def require(module: str, extra: str = "builders") -> Any:
    """Import `module`, or raise an error that names the extra that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # a dependency of the package
        raise MissingPackageError(
            f"the package {module.split('.')[0]!r} is not installed",
            fix=install_line(extra),
        ) from None
    except AttributeError as error:
        if sys.flags.optimize < 2:
            raise
        raise MissingPackageError(
            f"the package {module.split('.')[0]!r} cannot be imported without docstrings: {error}",
            fix="run Python without -OO and PYTHONOPTIMIZE=2",
        ) from None


def install_line(extra: str) -> str:
    """Return the command that installs an extra from where pip installed the package."""
    origin = _origin()
    if "dir_info" in origin:
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        folder = url2pathname(urlsplit(origin["url"]).path)
        return f"pip install '{folder}[{extra}]'"
    return f'pip install "fslbench[{extra}]{_source(origin)}"'


def own_requirement() -> str:
    """Return the requirement by which pip installs this package on another machine.

    It names an index, a repository at a commit, or an address, as pip installed it here; it is
    empty for a folder, such as a clone, or a file, which other machines do not have.
    """
    origin = _origin()
    if not origin:
        return f"fslbench=={__version__}"
    from_here = "dir_info" in origin or str(origin.get("url")).startswith("file:")
    return "" if from_here else f"fslbench{_source(origin)}"


def _source(origin: dict[str, Any]) -> str:
    """Return the part of a requirement that says where pip got the package from."""
    if not origin:
        return ""
    repository = origin.get("vcs_info")
    if repository:
        return f" @ {repository['vcs']}+{origin['url']}@{repository['commit_id']}"
    return f" @ {origin['url']}"


def _origin() -> dict[str, Any]:
    """Return where pip got the package from, by PEP 610; empty for an index."""
    try:
        text = metadata.distribution("fslbench").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # imported from a folder, not installed
        return {"dir_info": {}, "url": Path(__file__).resolve().parents[1].as_uri()}
    found: dict[str, Any] = json.loads(text) if text else {}
    return found
