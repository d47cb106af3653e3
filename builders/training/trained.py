"""Trained methods, read back, and as methods for :func:`fslbench_data.evaluate`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark_spec.errors import BackboneError, SpecError
from builders.training.building import build_method, short_name
from builders.training.digest import state_sha256
from builders.training.folder import ABOUT, WEIGHTS
from builders.training.method import Method
from builders.training.settings import RunSettings, of_description

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
        episode, of_network = self.settings.training.episode, self.settings.network
        method = short_name(self.settings.method)
        return f"{method}-{of_network.name}-{episode.way}w{episode.shot}s"

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


def load_trained(folder: Path) -> Trained:
    """Load a finished training; BackboneError where it is none, or its weights are damaged."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        state = torch.load(folder / WEIGHTS, weights_only=True)
    except FileNotFoundError:
        raise BackboneError(
            f"{folder} holds no finished training",
            expected=f"{ABOUT} and {WEIGHTS}",
            fix="go on with it: fslbench-build train",
        ) from None
    except Exception as error:  # torch has no kind of its own for a file that is none of its
        raise BackboneError(
            f"{folder} cannot be read: {type(error).__name__}",
            expected=f"{ABOUT} and {WEIGHTS} as fslbench-build train wrote them",
            fix="train it again, or fetch it again",
        ) from None
    if state_sha256(state) != about["weights_sha256"]:
        raise BackboneError(
            f"the weights in {folder} are not those that its {ABOUT} is about",
            fix="train them again, or fetch them again",
        )
    settings = of_description(about["settings"])
    method = build_method(settings, about["classes"])
    method.load_state_dict(state)
    return Trained(method.eval(), settings, about)
