"""Make methods of scikit-learn and easyfsl, and import those that a command line names."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import MethodFailedError, SpecError, UnknownNameError
from fslbench_data.evaluation.calling import MethodCallable


def load_callable(text: str) -> Callable[..., Any]:
    """Import what ``MODULE:CALLABLE`` names; a class is called once, without arguments.

    MODULE is a dotted name, looked for in the current folder too, or a path ending in ``.py``.
    """
    expected = "MODULE:CALLABLE, such as my_method.py:predict or package.module:Method"
    method = load_object(text, expected)
    if isinstance(method, type):
        try:
            method = method()
        except (Exception, SystemExit) as error:
            raise MethodFailedError.of(f"{text}()", error) from error
    if not callable(method):
        raise SpecError(f"{text} is a {type(method).__name__}", expected="something to call")
    return cast("Callable[..., Any]", method)


def load_object(text: str, expected: str) -> Any:
    """Import what ``MODULE:NAME`` names; `expected` describes it in errors."""
    module_name, colon, name = text.rpartition(":")
    if not colon or not module_name or not name:
        raise SpecError(f"{text!r} does not name a method", expected=expected)
    module = _load(module_name)
    if not hasattr(module, name):
        callables = {k: v for k, v in vars(module).items() if callable(v) and k[0] != "_"}
        defined_there = [
            k for k, v in callables.items() if getattr(v, "__module__", "") == module.__name__
        ]
        raise UnknownNameError("callable", name, defined_there or callables, where=module_name)
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
    except (Exception, SystemExit) as error:  # of a script that ends in sys.exit(main())
        raise MethodFailedError.of(f"importing {name}", error) from error


RANDOM_STATES = 2**32
"""scikit-learn takes seeds below this."""


def sklearn(estimator: Any) -> MethodCallable:
    """Make a method of a classifier of scikit-learn, or of a pipeline that ends in one.

    Every task is predicted by a clone that is fitted to its K·S support features, labelled with
    positions 0..K-1; the estimator itself stays as it is.  Whatever has a `random_state` of None, a
    step of a pipeline too, gets a seed from the task's generator, so that a run can be repeated and
    resumed; a `random_state` that you set is kept.

    Parameters
    ----------
    estimator
        With `fit` and `predict`, such as ``LinearSVC()``.  Its class names the method.

    Raises
    ------
    SpecError
        If it lacks these, or is a clusterer, a regressor or an outlier detector.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC  # doctest: +SKIP
    >>> fb.evaluate(fb.sklearn(LinearSVC()), features="pixels")  # doctest: +SKIP
    """
    expected = "a classifier of scikit-learn, such as LinearSVC()"
    _check(estimator, ("fit", "predict"), expected)
    tags = getattr(estimator, "__sklearn_tags__", None)
    kind = tags().estimator_type if tags else getattr(estimator, "_estimator_type", None)
    if kind not in (None, "classifier"):
        raise SpecError(
            f"{type(estimator).__name__} is no classifier, but a {str(kind).replace('_', ' ')}",
            expected=expected,
            fix="its predictions are not positions of classes; fit a classifier instead",
        )
    return _Estimator(estimator)


def easyfsl(classifier: Any) -> MethodCallable:
    """Make a method of a few-shot classifier of easyfsl; needs PyTorch.

    On features its backbone is the identity: ``PrototypicalNetworks()``.  With a backbone of its
    own it is run on pictures: ``evaluate(..., images=FOLDER, transform=FUNCTION)``.  It is put in
    evaluation mode, with a warning if it was not, and on the device of `evaluate`, and gets one
    task at a time without gradients; the random numbers of PyTorch, on the CPU and on CUDA, are
    seeded from the task's generator.  A classifier that easyfsl calls transductive is marked so.

    Parameters
    ----------
    classifier
        Of `easyfsl.methods`.  Its class names the method.

    Raises
    ------
    SpecError
        If it is no method of easyfsl.
    MissingPackageError
        If PyTorch is not installed.

    Examples
    --------
    >>> from easyfsl.methods import PrototypicalNetworks  # doctest: +SKIP
    >>> fb.evaluate(fb.easyfsl(PrototypicalNetworks()), features="pixels")  # doctest: +SKIP
    """
    from fslbench_data.torch.easyfsl_methods import EasyFSLMethod

    needed = ("process_support_set", "is_transductive")
    _check(classifier, needed, "a method of easyfsl, such as PrototypicalNetworks()")
    return EasyFSLMethod(classifier)


def _check(model: Any, needed: tuple[str, ...], expected: str) -> None:
    if isinstance(model, type):
        raise SpecError(f"{model.__name__} is a class", expected=expected, fix="call it first")
    if missing := [name for name in needed if not hasattr(model, name)]:
        raise SpecError(f"a {type(model).__name__} has no {', '.join(missing)}", expected=expected)


class _Estimator:
    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self.__name__ = type(estimator).__name__

    def __call__(self, support: Any, query: Any, rng: np.random.Generator) -> NDArray[Any]:
        """Predict positions (K·Q,) from support (K, S, D) and query (K·Q, D)."""
        if not isinstance(support, list):  # an episode's is a list: its classes differ in shots
            support = np.asarray(support)
            if support.ndim != 3:
                raise SpecError(
                    f"{self.__name__} got a support of shape {support.shape}",
                    expected="features of one task (K, S, D)",
                    fix="run it on features, without a batch",
                )
        shots = [len(of_class) for of_class in support]
        clone = getattr(self._estimator, "__sklearn_clone__", None)  # as sklearn.base.clone does
        estimator = clone() if clone else copy.deepcopy(self._estimator)
        if hasattr(estimator, "get_params"):
            seeds = {
                name: int(rng.integers(RANDOM_STATES))
                for name, value in sorted(estimator.get_params().items())
                if name.split("__")[-1] == "random_state" and value is None
            }
            estimator = estimator.set_params(**seeds)
        estimator.fit(np.concatenate(support), np.repeat(np.arange(len(shots)), shots))
        return np.asarray(estimator.predict(np.asarray(query)))
