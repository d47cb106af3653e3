"""Options of the commands that extract features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from builders.execution.engine import Engine
    from builders.features import Settings

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--weights",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="What `fslbench-build fetch weights` has filled, and where checkpoints are.",
    ),
    click.option(
        "--device",
        type=click.Choice(["cpu", "cuda"]),
        help="Where the network computes: by default on a GPU where there is one.",
    ),
    click.option(
        "--dtype",
        type=click.Choice(["fp32", "bf16"]),
        default="fp32",
        show_default=True,
        help="Numbers that the network computes with.",
    ),
    click.option(
        "--batch",
        type=int,
        help="Pictures at a time: by default 32, on a GPU what half of its memory holds.",
    ),
    click.option(
        "--workers",
        type=int,
        help="Processes that decode pictures: by default one for four threads, for a GPU as many "
        "as threads.",
    ),
    click.option(
        "--threads",
        type=int,
        help="Processors for each process that computes, recorded: by default all, for a GPU 16.",
    ),
    click.option(
        "--engine",
        "engine_name",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Who computes: this machine, or a Ray cluster. The result is the same.",
    ),
    click.option(
        "--address",
        metavar="HOST:PORT",
        help="Of a running Ray cluster; without one Ray is started on this machine.",
    ),
)


def extraction_options(command: F) -> F:
    """Add the options that say how features are extracted."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def engine_from(name: str, address: str | None) -> Engine:
    """The engine that the options ask for."""
    from builders.execution.engine import LocalEngine

    if address is not None and name != "ray":
        raise click.UsageError("--address goes with --engine ray")
    if name != "ray":
        return LocalEngine()
    from builders.execution.ray_engine import RayEngine

    return RayEngine(address)


def settings_from(
    weights: Path | None,
    device: str | None,
    dtype: str,
    engine: Engine,
    **given: Any,
) -> Settings:
    """How to extract, as the options say; `given` has those that are fields of it."""
    from builders.features import Settings
    from builders.features.processor import default_device

    return Settings(
        weights=weights.resolve() if weights is not None else None,
        device="cuda" if device == "cuda" else "cpu" if device == "cpu" else default_device(),
        dtype="bfloat16" if dtype == "bf16" else "float32",
        engine=engine,
        **given,
    )
