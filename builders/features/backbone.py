"""A network that turns pictures into features, and everything that must be said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmark_spec.errors import BackboneError
from benchmark_spec.extras import require
from builders.features.preprocessing import TOLERANCE, Preprocessing
from builders.training.digest import state_sha256

__all__ = ["TOLERANCE", "Backbone", "DType", "Preprocessing", "state_sha256"]

DType = Literal["float32", "bfloat16"]


@dataclass(frozen=True, eq=False)
class Backbone:
    """A pretrained network without its classifier.

    Attributes
    ----------
    name
        As :func:`builders.features.backbones.load_backbone` takes it, with a checkpoint's file
        name in place of its path.
    module
        The ``torch.nn.Module`` from (B, 3, H, W) to (B, D), in evaluation mode; its weights may be
        trained (fine-tuning copies it first).
    preprocessing
        What makes (3, H, W) of a picture.
    dimensions
        D.
    parameters
        Numbers in `module`.
    weights_sha256
        Of the file that the weights were read from; without a file, :func:`state_sha256`.
    weights
        Where they came from: package, file, licence and what else is known.
    classifier
        The ``torch.nn.Module`` from features (B, D) to the logits of ImageNet's 1000 classes,
        where the weights hold one: only to check that a network was loaded as it should be.
    """

    name: str
    module: Any
    preprocessing: Preprocessing
    dimensions: int
    parameters: int
    weights_sha256: str
    weights: Mapping[str, str] = field(default_factory=dict)
    classifier: Any | None = None

    @classmethod
    def of(
        cls,
        name: str,
        module: Any,
        preprocessing: Preprocessing,
        *,
        weights_sha256: str = "",
        weights: Mapping[str, str] | None = None,
        classifier: Any | None = None,
    ) -> Backbone:
        """Make a backbone of a module, whose output is tried out on a black picture."""
        torch = require("torch")
        module.eval().to(memory_format=torch.channels_last)  # convolutions: twice as fast on a CPU
        if classifier is not None:
            classifier.eval()
        black = torch.zeros(1, 3, *preprocessing.crop)
        with torch.no_grad():
            try:
                features = module(black)
            except (RuntimeError, ValueError, AssertionError, TypeError) as error:
                raise BackboneError(
                    f"{name} takes no pictures of {preprocessing.crop}: {error}"
                ) from error
        if not isinstance(features, torch.Tensor) or features.ndim != 2 or not features.shape[1]:
            shape = tuple(getattr(features, "shape", ())) or type(features).__name__
            raise BackboneError(
                f"{name} gives no features: {shape} of one picture", expected="a vector, (1, D)"
            )
        return cls(
            name=name,
            module=module,
            preprocessing=preprocessing,
            dimensions=features.shape[1],
            parameters=sum(parameter.numel() for parameter in module.parameters()),
            weights_sha256=weights_sha256 or state_sha256(module.state_dict()),
            weights=weights or {},
            classifier=classifier,
        )

    @property
    def device(self) -> Any:
        """Where it is, a ``torch.device``."""
        return next(self.module.parameters()).device

    @property
    def dtype(self) -> DType:
        """What it computes in."""
        name: DType = str(next(self.module.parameters()).dtype).removeprefix("torch.")  # type: ignore[assignment]
        return name

    def to(self, device: Any = None, dtype: DType | None = None) -> Backbone:
        """Move it to a device, or to another type of numbers; gives itself."""
        torch = require("torch")
        for module in (self.module, self.classifier):
            if module is not None:
                module.to(device=device, dtype=None if dtype is None else getattr(torch, dtype))
        return self

    def features(self, batch: Any) -> Any:
        """Compute features (B, D) of preprocessed pictures (B, 3, H, W), without gradients.

        They are float32 whatever it computes in, on its device, to which the pictures are moved.
        """
        return self._run(self.module, batch)

    def logits(self, features: Any) -> Any:
        """Tell what the classifier says of features (B, D), float32."""
        if self.classifier is None:
            raise BackboneError(f"the weights of {self.name} hold no classifier")
        return self._run(self.classifier, features)

    def describe(self) -> dict[str, Any]:
        """Tell what a feature set says of it: network, weights, preprocessing, type of numbers."""
        return {
            "backbone": self.name,
            "dimensions": self.dimensions,
            "parameters": self.parameters,
            "weights": {**self.weights, "sha256": self.weights_sha256},
            "preprocessing": self.preprocessing.describe(),
            "dtype": self.dtype,
        }

    def _run(self, module: Callable[[Any], Any], values: Any) -> Any:
        torch = require("torch")
        with torch.no_grad():
            return module(values.to(self.device, getattr(torch, self.dtype))).float()
