"""The processor and the packages, on which features depend.

They decide the order of sums, and so their last bits; all processes of a run must have the same.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from benchmark_spec.errors import EngineError
from benchmark_spec.extras import require
from benchmark_spec.version import __version__
from builders.execution.engine import check_device

Device = Literal["cpu", "cuda"]

THREADS_OF_GPU = 16

PACKAGES = ("numpy", "pillow", "torch", "torchvision")
LIBRARIES = {
    "open_clip": ("open_clip_torch", "timm"),
    "mobilenet_v2": (),
    "blip": ("tokenizers", "transformers"),
    "vit_gpt2": ("tokenizers", "transformers"),
}
"""More packages, by the family that a network's or captioner's name begins with; else timm."""


def default_device() -> Device:
    """Return the GPU where torch sees one."""
    return "cuda" if require("torch").cuda.is_available() else "cpu"


def default_threads(device: Device = "cpu") -> int:
    """Count the processors that this process may use; for a GPU at most 16."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, THREADS_OF_GPU) if device == "cuda" else usable or 1


def facts(device: Device, network: str) -> dict[str, Any]:
    """Return this machine's processor and the versions of the packages that a network uses."""
    torch = require("torch")
    check_device(device)
    if device == "cuda":
        processor = str(torch.cuda.get_device_name())
    else:
        processor = f"{_cpu_model()}, {torch.backends.cpu.get_cpu_capability()}"
    packages = {"fslbench": __version__}
    family = re.split("[:@]", network)[0]
    for name in sorted((*PACKAGES, *LIBRARIES.get(family, ("timm",)))):
        with suppress(PackageNotFoundError):  # a package built here, without metadata
            packages[name] = version(name)
    return {"device": device, "processor": processor, "packages": packages}


def check_facts(expected: Mapping[str, Any], network: str) -> None:
    """Refuse a machine if its results could differ from those where the run began."""
    for key, fact in facts(expected["device"], network).items():
        if fact != expected[key]:
            raise EngineError(
                f"{platform.node()} has another {key} than the machine on which the run began",
                where=f"{key} {fact}",
                expected=str(expected[key]),
                fix="use machines of one kind with the same packages: features of different "
                "ones agree only nearly, and a feature set is to have one digest",
            )


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # no Linux
        pass
    return platform.processor() or platform.machine()
