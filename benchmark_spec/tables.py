"""The data sets and tables that a manifest lists, and where in a release a table lies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, cast, get_args

from msgspec import Meta

from benchmark_spec.errors import SpecError
from benchmark_spec.naming import slug
from benchmark_spec.protocol import TaskSetName

Kind = Literal["classes", "images", "pictures", "tasks", "features", "attributes", "results"]
NAMELESS: tuple[Kind, ...] = ("classes", "images", "pictures")
"""Kinds of which a data set has one."""

IN_SHARDS: tuple[Kind, ...] = ("pictures", "features")
"""Kinds whose tables may be several files."""

RESULTS_SPLIT = "test"
"""The split of the configuration ``results``, whose rows name their data set themselves."""

Redistribution = Literal["images", "features", "tables"]
"""What a data set's licence lets others pass on.

``images``: the images themselves, and what follows.  ``features``: features and attributes computed
from them, and all tables.  ``tables``: only classes, lists of images, task sets and results.
"""

Count = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0 to 2^63 - 1")]

_LEVELS = 16
"""Of tables and lists in a provenance, for whatever walks through it."""

_SHARD = re.compile(r"-([0-9]{5})-of-([0-9]{5})\.parquet$")


@dataclass(frozen=True)
class Dataset:
    """A data set of a release: where its images come from and on what terms.

    A manifest that does not say what may be redistributed means ``tables``; one that does not say
    how many superclasses there are means that the classes have none.
    """

    name: str
    title: str
    homepage: str
    licence: str
    citation: str
    n_classes: Count
    n_images: Count
    note: str
    redistribution: Redistribution = "tables"
    n_superclasses: Count = 0

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a manifest has them: superclasses only where there are any."""
        fields = asdict(self)
        if not self.n_superclasses:
            del fields["n_superclasses"]
        return fields


@dataclass(frozen=True)
class Table:
    """One Parquet file of a release; a feature set, or pictures, may be several.

    Attributes
    ----------
    kind, dataset, name
        What the table is: `name` is the task set's, backbone's, attributes' or method's true name,
        empty for classes, images and pictures; `dataset` is empty for results.  The shards of a
        feature set, or of pictures, have all three in common (:mod:`benchmark_spec.feature_sets`).
    rows, bytes, sha256
        Number of rows; size and SHA-256 (hex) of the file.
    digest
        Content digest of the table (:mod:`benchmark_spec.digest`).
    fingerprint
        Of a task set, else empty.
    provenance
        How the table was made: sampler and seed, or backbone and preprocessing, and so on.  Of
        rounded features, `scale` is what one step stands for.
    drawn
        Whether the release holds no file of it: a task set that is drawn again from its provenance
        and compared with its digest.  It has 0 bytes and no SHA-256.
    """

    path: str
    kind: Kind
    dataset: str
    name: str
    rows: Count
    bytes: Count
    sha256: str
    digest: str
    fingerprint: str
    provenance: Mapping[str, Any]
    drawn: bool = False

    def __post_init__(self) -> None:
        if not _within(self.provenance, _LEVELS):
            raise ValueError(f"a table whose provenance is nested at most {_LEVELS} deep")

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a manifest has them: `drawn` only where it is."""
        fields = asdict(self)
        if not self.drawn:
            del fields["drawn"]
        return fields


def _within(value: Any, levels: int) -> bool:
    """Whether tables and lists are nested at most so deep."""
    inside = value.values() if isinstance(value, Mapping) else value
    return levels > 0 and all(
        _within(item, levels - 1) for item in inside if isinstance(item, Mapping | list)
    )


def shard_file(dataset: str, shard: int, shards: int) -> str:
    """Return the name of a shard's file: `shard` of 0..`shards`-1."""
    return f"{dataset}-{shard:05}-of-{shards:05}.parquet"


def shard_of(path: str) -> tuple[int, int]:
    """Tell which shard a path names, from 0, and of how many; (0, 1) for a path that names none."""
    match = _SHARD.search(path)
    return (int(match[1]), int(match[2])) if match else (0, 1)


def without_shard(path: str) -> str:
    """Return a table's path, but one for all shards of a feature set."""
    return _SHARD.sub(".parquet", path)


def table_path(kind: Kind, dataset: str, name: str, shard: int = 0, shards: int = 1) -> str:
    """Return the path of a table inside a release; of some kinds also which shard, of how many."""
    if kind in ("classes", "images"):
        return f"{kind}/{dataset}.parquet"
    if kind == "pictures":
        return f"pictures/{shard_file(dataset, shard, shards)}"
    if kind == "features":
        return f"features/{slug(name)}/{shard_file(dataset, shard, shards)}"
    if kind == "results":
        return f"results/{slug(name)}.parquet"
    return f"{kind}/{slug(name)}/{dataset}.parquet"


def config_and_split(table: Table) -> tuple[str, str]:
    """Return the configuration and split under which ``load_dataset`` finds a table.

    Task sets and classes: a configuration each, a split a data set.  Images, pictures, features
    and attributes: a configuration a data set, since load_dataset builds every split of one.
    """
    if table.kind == "results":
        return "results", RESULTS_SPLIT
    if table.kind == "classes":
        return "classes", table.dataset
    if table.kind == "tasks":
        return f"tasks-{slug(table.name)}", table.dataset
    parts = [table.kind, *([slug(table.name)] if table.name else []), table.dataset]
    return "-".join(parts), table.dataset


def named_config_and_split(table: Table) -> tuple[str, str]:
    """Return the configuration and split of a task set in which ``load_dataset`` names classes.

    A configuration has one list of names for all its splits, so there is one for each data set and
    protocol, and its splits are suites.  Suites with attributes have columns of their own, and so a
    configuration.  No suite and no data set could be called so as to give another's.
    """
    name = TaskSetName.parse(table.name)
    kind = "tasks-attributes" if name.attributes else "tasks"
    return f"{kind}-{name.protocol}-{table.dataset}", name.suite


def check_redistribution(value: str, where: str) -> Redistribution:
    """Return `value` if it says what may be redistributed.

    Raises a SpecError if it is none of ``images``, ``features`` and ``tables``.
    """
    if value in get_args(Redistribution):
        return cast("Redistribution", value)
    raise SpecError(
        f"redistribution is {value!r}",
        where=where,
        expected='"images" where their licence lets the images be passed on, "features" where it '
        'lets features computed from them be passed on, else "tables"',
    )
