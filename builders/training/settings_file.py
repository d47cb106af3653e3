"""A training as one TOML file says it, and as a finished one describes it.

.. code-block:: toml

    method = "ProtoNet"                # one of builders.training.methods
    seed = 0

    [settings]                         # of the method, where its defaults will not do

    [network]
    name = "conv4"
    channels = 32
    pools = [true, true, false, false]
    start = "RFS-5w5s"                 # weights of the training RFS-5w5s-SEED, in the same folder

    [data]
    source = "glyphs"
    side = 28                          # pixels; images are grey
    train = { part = "base" }          # options of the source for what is trained on,
    validate = { part = "val" }        # and for what decides which weights are kept

    [training]
    episode = "5w5s15q"
    steps = 5000
    episodes = 1                       # of a step; their losses are averaged
    batch = 128                        # labelled images of a step
    optimizer = "adam"
    rate = 0.001                       # falls along half a cosine to nothing
    clip = 0.0                         # the largest norm of a step's gradient; 0: any

    [validation]
    episode = "5w5s15q"
    tasks = 200
    every = 500                        # steps
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from benchmark_spec.declared import MisfitError, declared, read_toml
from benchmark_spec.errors import SpecError, shown
from builders.training.settings import MOST_SEED, RunSettings


def _is_plain(value: Any, depth: int = 20) -> bool:
    """Whether JSON can say a value: TOML also has dates, and numbers that are none."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_plain(one, depth - 1) for one in inside)
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def of_description(described: Any) -> RunSettings:
    """Read back what :meth:`RunSettings.describe` returned, whoever may have changed it since.

    What an earlier version did not say is as unless given.  SpecError for what is no description,
    or what only a later version can have said.
    """
    where = "settings of a training"
    try:
        return _settings(described)
    except MisfitError as error:
        if not error.known:
            raise error.at(where) from None
        raise SpecError(
            f"this version knows no {error.value}",
            where=", ".join([where, *error.places]),
            expected=f"fields among {', '.join(error.known)}",
            fix="update fslbench: a later version trained it",
        ) from None


def read_settings(path: Path) -> RunSettings:
    """Read a training's file.

    SpecError or UnknownNameError, with file, field and what was expected, where it is not one.
    """
    try:
        return _settings(read_toml(path))
    except MisfitError as error:
        raise error.at(str(path)) from None


def _settings(raw: Any) -> RunSettings:
    settings = declared(raw, RunSettings)
    if settings.seed > MOST_SEED:
        raise MisfitError(["seed"], shown(settings.seed), f"a whole number up to {MOST_SEED:,}")
    data = settings.data
    for places, table in (
        (["settings"], settings.settings),
        (["data", "train"], data.train),
        (["data", "validate"], data.validate),
    ):
        if not _is_plain(table):
            plain = "a table of texts, finite numbers, truth values, and lists and tables of them"
            raise MisfitError(places, shown(table), plain)
    return settings
