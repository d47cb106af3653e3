"""The code of a method of somebody's own: found and compared before any of it runs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from benchmark_spec.errors import BackboneError, SpecError, shown
from builders.training.building import OWN, method_class
from fslbench_data.files import sha256_of


def code_of(method: str) -> dict[str, str]:
    """Tell what a training records of a method of one's own; nothing of one of ours.

    ``code`` is the SHA-256 of the file that the class stands in, ``module`` the module of that file
    where it is not the one that ``MODULE:CLASS`` names.  Imports the method.
    """
    if ":" not in method:
        return {}
    kind = method_class(method)
    file = inspect.getsourcefile(kind)
    if file is None:
        return {}
    code, named = sha256_of(Path(file)), method.rpartition(":")[0]
    return {"code": code, **({} if kind.__module__ == named else {"module": kind.__module__})}


def check_code(folder: Path, about: Mapping[str, Any], method: str) -> None:
    """Refuse a method whose code is not what was trained with; it is imported after that.

    Raises a BackboneError; or a SpecError, if there is no such module, and what an import raises.
    """
    module = about.get("module", method.rpartition(":")[0])
    file = source_of(module)
    if file is None:
        raise SpecError(
            f"there is no module {shown(module)}",
            expected=f"a module that Python finds, in a file of its own: {OWN}",
            fix="call from the folder that the module lies in, or install it",
        )
    wanted, found = about.get("code"), sha256_of(file)
    if found == wanted:
        found = code_of(method).get("code", "")
    if found != wanted:
        raise BackboneError(
            f"the code of {shown(method)} is not that which {folder} was trained with",
            where=str(file),
            expected=f"SHA-256 {wanted or 'in its trained.json'}; found {found}",
            fix="put the method's code back, or train again",
        )


def source_of(module: str) -> Path | None:
    """Find the file of a module as an import would, and run neither it nor its packages."""
    if module == "__main__":  # the script that is running
        return Path(getattr(sys.modules[module], "__file__", None) or "").absolute()
    places: list[str] | None = [str(Path.cwd()), *sys.path]
    found: ModuleSpec | None = None
    parts = module.split(".")
    for number in range(len(parts)):
        if places is None:
            return None
        found = _found(".".join(parts[: number + 1]), places)
        if found is None:
            return None
        inside: Iterable[str] | None = found.submodule_search_locations
        # a namespace's own list would look for its parent among the modules that are imported
        places = None if inside is None else list(getattr(inside, "_path", inside))
    if found is None or not found.has_location or found.origin is None:
        return None
    return Path(found.origin) if Path(found.origin).is_file() else None


def _found(name: str, places: list[str]) -> ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, places, None)
        except (ImportError, ValueError, OSError):
            continue
        if spec is not None:
            return spec
    return None
