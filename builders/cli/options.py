"""Shared options of commands: input, output, and the extraction of features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fslbench_data.cli.options import FILE, check_free

if TYPE_CHECKING:
    from builders.execution.engine import Engine
    from builders.features import Settings
    from builders.features.backbone import DType
    from builders.features.processor import Device
    from builders.release.spec import DatasetSpec

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
ABSOLUTE = click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True)


def _all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds some options to a command in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


device_type = click.Choice(["cpu", "cuda"])
spec_option: Callable[[F], F] = click.option(
    "--spec",
    type=FILE,
    metavar="SPEC",
    help="SOURCE is a data set of this specification of a release, with its source and options.",
)
source_options = _all_of(
    click.option(
        "--raw",
        type=ABSOLUTE,
        metavar="RAW",
        help="Holds one raw folder for each data set, of its source's name.",
    ),
    spec_option,
    click.option("--allow-missing", is_flag=True, help="Leave out what is missing, and renumber."),
)
"""The options for the images to read: `raw`, `spec` and `allow_missing`."""

engine_options = _all_of(
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
"""The options for where work runs: `engine_name` and `address`."""

extraction_options = _all_of(
    click.option(
        "--weights",
        type=ABSOLUTE,
        metavar="DIR",
        help="What `fslbench-build fetch weights` has filled, and where checkpoints are.",
    ),
    click.option(
        "--device",
        type=device_type,
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
    engine_options,
)
"""The options for extracting features."""


def made_option(name: str, about: str) -> Callable[[F], F]:
    """Make the option of the folder that a command fills, or continues to fill."""
    return click.option("-o", "--output", name, type=FILE, required=True, help=about)


def check_table_file(path: Path | None) -> None:
    """Refuse a table's file that exists or does not end in .parquet."""
    from benchmark_spec.errors import OutputError

    check_free(path)
    if path is not None and path.suffix != ".parquet":
        raise OutputError(f"{path} does not end in .parquet", fix="name a .parquet file")


def engine_from(*, engine_name: str, address: str | None) -> Engine:
    """Return the engine of the options."""
    from builders.execution.engine import LocalEngine

    if address is not None and engine_name != "ray":
        raise click.UsageError("--address goes with --engine ray")
    if engine_name != "ray":
        return LocalEngine()
    from builders.execution.ray_engine import RayEngine

    return RayEngine(address)


def settings_from(
    *,
    network: bool,
    device: Device | None,
    dtype: str,
    engine_name: str,
    address: str | None,
    **fields: Any,
) -> Settings:
    """Return the settings of an extraction; `fields` are the options that are fields of them.

    Only for a `network` the default device is asked of PyTorch: a GPU if there is one.
    """
    from builders.features import Settings
    from builders.features.processor import default_device

    engine = engine_from(engine_name=engine_name, address=address)
    device = device or (default_device() if network else "cpu")
    precision: DType = "bfloat16" if dtype == "bf16" else "float32"
    return Settings(device=device, dtype=precision, engine=engine, **fields)


def named_dataset(
    name: str, spec: Path | None, raw: Path | None = None
) -> tuple[DatasetSpec, Path | None]:
    """Return a data set of a specification, or without one of a source, and its raw folder."""
    from benchmark_spec.errors import SourceError, SpecError, UnknownNameError
    from builders.release.spec import CATALOGUE, DatasetSpec
    from builders.release.spec_file import read_spec
    from builders.sources import GENERAL, SOURCES

    if spec is None:
        if name not in SOURCES or name in GENERAL:
            fix = "of a data set of one's own name its release's specification, too: --spec FILE"
            catalogued = [source for source in SOURCES if source not in GENERAL]
            raise UnknownNameError("source", name, catalogued, fix=fix)
        dataset = DatasetSpec(name, source=name, folder=name)
    else:
        datasets = {entry.name: entry for entry in read_spec(spec).datasets}
        if name not in datasets:
            raise UnknownNameError("data set", name, datasets, where=str(spec))
        dataset = datasets[name]
        if dataset.source == CATALOGUE:
            what = f"{name} has no images, only the counts of the catalogue"
            raise SpecError(what, where=str(spec))
    if raw is not None and not (raw / dataset.folder).is_dir():
        raise SourceError(
            f"{raw} holds no folder {dataset.folder}",
            expected="RAW with one raw folder for each data set, as `fetch -o RAW/NAME` fills it",
            fix=f"name the folder that {dataset.folder} lies in",
        )
    return dataset, None if raw is None else raw / dataset.folder
