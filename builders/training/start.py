"""The network that a training starts from: that of another training, of the same seed."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from benchmark_spec.errors import SpecError
from builders.training.about import finished
from builders.training.method import Method
from builders.training.settings import RunSettings
from builders.training.trained import load_network


def start_name(settings: RunSettings) -> str:
    """Return the folder's name of the training that one starts from; empty for new weights."""
    start = settings.network.start
    return f"{start}-{settings.seed}" if start else ""


def check_start(settings: RunSettings, folder: Path) -> None:
    """Raise SpecError unless `folder` holds the finished training that one starts from."""
    name = start_name(settings)
    if name and finished(folder / name) is None:
        raise SpecError(
            f"it starts from the network of {name}, which is not trained",
            where=str(folder),
            expected=f"a finished training in its folder {name}",
            fix=f"name {settings.network.start}.toml in the same command, or train it first",
        )


def load_start(method: Method, settings: RunSettings, folder: Path) -> str:
    """Load the network that a training starts from; gives the digest of that training's weights.

    Parameters
    ----------
    folder
        That of all trainings.

    Raises
    ------
    SpecError
        If that training is not finished, or has another network.
    BackboneError
        If its weights are damaged.
    """
    check_start(settings, folder)
    network, other, about_other = load_network(folder / start_name(settings))
    for about, ours, theirs in (
        ("network", replace(settings.network, start=""), replace(other.network, start="")),
        ("side", settings.data.side, other.data.side),
    ):
        if ours != theirs:
            raise SpecError(
                f"it starts from the network of {start_name(settings)}, whose {about} is another",
                where=str(folder),
                expected=f"{theirs}",
                fix=f"give both files the same {about}",
            )
    method.network.load_state_dict(network.state_dict())
    return str(about_other["weights_sha256"])
