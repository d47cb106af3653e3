"""Finding the method that a command line names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark_spec.errors import MethodFailedError, SpecError, UnknownNameError


def load_callable(text: str) -> Callable[..., Any]:
    """Import what ``MODULE:CALLABLE`` names; a class is called once, without arguments.

    MODULE is a dotted name, looked for in the current folder too, or a path ending in ``.py``.
    """
    method = load_object(
        text, "MODULE:CALLABLE, such as my_method.py:predict or package.module:Method"
    )
    if isinstance(method, type):
        try:
            method = method()
        except Exception as error:
            raise MethodFailedError(f"{text}() raised {type(error).__name__}: {error}") from error
    if not callable(method):
        raise SpecError(f"{text} is a {type(method).__name__}", expected="something to call")
    result: Callable[..., Any] = method
    return result


def load_object(text: str, expected: str) -> Any:
    """Import what ``MODULE:NAME`` names; `expected` says in an error what that should be."""
    module_name, colon, name = text.rpartition(":")
    if not colon or not module_name or not name:
        raise SpecError(f"{text!r} does not name a method", expected=expected)
    module = _load(module_name)
    if not hasattr(module, name):
        callables = {k: v for k, v in vars(module).items() if callable(v) and k[0] != "_"}
        own = [k for k, v in callables.items() if getattr(v, "__module__", "") == module.__name__]
        raise UnknownNameError("callable", name, own or callables, where=module_name)
    return getattr(module, name)


def _load(name: str) -> Any:
    if name.endswith(".py") and not Path(name).is_file():
        raise SpecError(f"there is no file {name}")
    try:
        if name.endswith(".py"):
            path = Path(name).resolve()
            sys.path.insert(0, str(path.parent))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None  # noqa: S101
            assert spec.loader is not None  # noqa: S101
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            return module
        sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.split(".")[0] == error.name.split(".")[0]:
            raise SpecError(
                f"there is no module {name!r}",
                expected="one that Python finds here, or a path ending in .py",
            ) from None
        raise MethodFailedError(f"importing {name} raised {error}") from error
    except Exception as error:
        raise MethodFailedError(
            f"importing {name} raised {type(error).__name__}: {error}"
        ) from error
