"""The first lines of ``fslbench-build``; see :mod:`fslbench_data.entry`."""

from __future__ import annotations

from fslbench_data.entry import run


def fslbench_build() -> None:
    """Run the command ``fslbench-build``."""
    run("builders.cli")
