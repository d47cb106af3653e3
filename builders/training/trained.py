"""Trained methods, read back, and as methods for :func:`fslbench_data.evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark_spec.errors import BackboneError, SpecError, printable, shown
from builders.training.about import ABOUT, finished
from builders.training.building import build_method, build_network, short_name
from builders.training.digest import shapes_of, state_sha256
from builders.training.folder import WEIGHTS
from builders.training.method import Method
from builders.training.networks import Network
from builders.training.own_code import check_code
from builders.training.settings import RunSettings
from builders.training.settings_file import of_description
from fslbench_data.files.kept import open_regular

LEVELS = 255


@dataclass(frozen=True, eq=False)
class Trained:
    """A method with the weights of a finished training; `about` is its ``trained.json``."""

    method: Method
    settings: RunSettings
    about: dict[str, Any]

    @property
    def name(self) -> str:
        """Of its results, such as ``ProtoNet-conv4-5w5s``."""
        return training_name(self.settings)

    def __call__(
        self, support: NDArray[np.float32], query: NDArray[np.float32], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Answer a task of grey pixels in 0..1: (K, S, D) and (M, D) give positions (M,)."""
        with torch.no_grad():
            scores = self.method.scores(self.images(support), self.images(query))
        answers: NDArray[np.int64] = scores.argmax(dim=1).numpy()
        return answers

    def images(self, pixels: NDArray[np.float32]) -> torch.Tensor:
        """Return (..., 1, side, side): pixels are whole grey levels again, as in training."""
        side = self.settings.data.side
        if pixels.shape[-1] != side * side:
            raise SpecError(
                f"images have {pixels.shape[-1]} pixels",
                where=self.name,
                expected=f"{side * side}: {side} x {side}, as it was trained on",
            )
        levels = np.rint(pixels * LEVELS).astype(np.float32) / LEVELS
        return torch.from_numpy(levels.reshape(*levels.shape[:-1], 1, side, side))


def training_name(settings: RunSettings) -> str:
    """Return the name of what was trained, such as ``ProtoNet-conv4-5w5s``."""
    episode = settings.training.protocol
    method = short_name(settings.method)
    return f"{method}-{settings.network.name}-{episode.way}w{episode.shot}s"


def load_trained(folder: Path, own: str = "") -> Trained:
    """Load a finished training, whoever made it.

    Parameters
    ----------
    own
        ``MODULE:CLASS``, if a method of one's own was trained: its module is imported, which runs
        it, only if it is named here and has the code that the training had.

    Raises
    ------
    BackboneError
        If it is no finished training, its weights are damaged, or its method is of a module that
        is not named, or has other code.
    SpecError, MethodFailedError
        If its settings are not a training's, or the module is not there or cannot be imported.
    """
    found = read_finished(folder)
    method = found.settings.method
    if own != (method if ":" in method else ""):
        raise _not_named(folder, method, own)
    if own:
        check_code(folder, found.about, own)
    made = build_method(found.settings, found.about["classes"])
    _load(made, found.state, folder)
    return Trained(made.eval(), found.settings, found.about)


def load_network(folder: Path) -> tuple[Network, RunSettings, dict[str, Any]]:
    """Load the network of a finished training, its settings and its ``trained.json``.

    No code of the method is needed for it, or run.  Raises a BackboneError or a SpecError as
    :func:`load_trained` does.
    """
    found = read_finished(folder)
    network = build_network(found.settings.network)
    start = "network."
    state = {n.removeprefix(start): t for n, t in found.state.items() if n.startswith(start)}
    _load(network, state, folder)
    return network.eval(), found.settings, found.about


@dataclass(frozen=True, eq=False)
class Finished:
    """What lies in the folder of a finished training."""

    settings: RunSettings
    about: dict[str, Any]
    state: dict[str, torch.Tensor]


def read_finished(folder: Path) -> Finished:
    """Read a finished training; BackboneError or SpecError where it is none, or is damaged."""
    about = finished(folder)
    if about is None:
        raise _unfinished(folder)
    try:
        with open_regular(folder / WEIGHTS) as file:
            state = torch.load(file, map_location="cpu", weights_only=True)
        digest = state_sha256(state)
        state = {name: values for name, values in state.items() if isinstance(name, str)}
    except FileNotFoundError:
        raise _unfinished(folder) from None
    except Exception as error:  # torch has no kind of its own for a file that is none of its
        raise BackboneError(
            f"{folder} cannot be read: {type(error).__name__}",
            expected=f"{ABOUT} and {WEIGHTS} as fslbench-build train wrote them",
            fix="train it again, or fetch it again",
        ) from None
    if digest != about["weights_sha256"]:
        raise BackboneError(
            f"the weights in {folder} are not those that its {ABOUT} is about",
            fix="train them again, or fetch them again",
        )
    return Finished(of_description(about["settings"]), about, state)


def _unfinished(folder: Path) -> BackboneError:
    return BackboneError(
        f"{folder} holds no finished training",
        expected=f"{ABOUT} and {WEIGHTS}",
        fix="go on with it: fslbench-build train",
    )


def _load(module: torch.nn.Module, state: dict[str, torch.Tensor], folder: Path) -> None:
    if shapes_of(state) != shapes_of(module.state_dict()):
        raise BackboneError(
            f"the weights in {folder} are not of the {type(module).__name__} that its {ABOUT} says",
            expected="the names, shapes and types of its weights",
            fix="train them again, or fetch them again",
        )
    module.load_state_dict(state)


def _not_named(folder: Path, method: str, own: str) -> BackboneError:
    """The error about a method whose code is not to be run unasked, or is another than asked."""
    if ":" not in method:
        return BackboneError(
            f"{folder} was trained by {shown(method)}, not by {shown(own)}",
            fix="name no method: it is one of fslbench",
        )
    return BackboneError(
        f"{folder} was trained by {shown(method)}, a method of somebody's own"
        + (f", not by {shown(own)}" if own else ""),
        expected="its name from you: its module is imported, which runs the code in it",
        fix=f"if you trust that code, name it: --method {printable(method)}, in Python "
        f"load_trained(folder, {shown(method)})",
    )
