"""The manifest of a release, ``release.json``: data sets, tables, digests and provenance.

The shards of features are ``features/<backbone>/<dataset>-0000i-of-0000N.parquet``, i in 0..N-1,
with consecutive image ids. Values are float16, or float32 that are integers up to 127 in steps of
``scale`` in the tables' provenance. Pictures are in shards, too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

from msgspec import Meta, Struct
from msgspec.structs import asdict

from benchmark_spec.declared import MisfitError, parsed_json
from benchmark_spec.errors import (
    CorruptReleaseError,
    FSLBenchError,
    ReleaseError,
    SpecError,
    listing,
    quoted,
)
from benchmark_spec.naming import (
    check_attribute_set_name,
    check_dataset_name,
    check_method_name,
    check_text,
    slug,
)
from benchmark_spec.protocol import TaskSetName, suite_of
from benchmark_spec.version import SPEC_VERSION

if TYPE_CHECKING:
    import pyarrow as pa


Kind = Literal["classes", "images", "pictures", "tasks", "features", "attributes", "results"]
RESULTS_SPLIT = "test"
"""The split of the configuration ``results``; its rows name their data set themselves."""

Redistribution = Literal["images", "features", "tables"]
"""What may be redistributed by a data set's licence.

``images``: the images themselves, and all of the following.  ``features``: features and attributes
computed from them, and all tables.  ``tables``: classes, lists of images, task sets and results.
"""

Count = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0 to 2^63 - 1")]

_MOST_NESTED = 16
"""Levels of tables and lists in a provenance."""

_SHARD = re.compile(r"-([0-9]{5})-of-([0-9]{5})\.parquet$")


class Dataset(Struct, frozen=True):
    """A data set of a release: where its images come from and on what terms.

    With `n_superclasses` 0 the classes have no superclasses.
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


class Table(Struct, frozen=True):
    """One Parquet file of a release; features and pictures may be in several shards.

    `name` is that of the task set, backbone, attributes or method, empty for classes, images and
    pictures; `dataset` is empty for results. `digest` is of the content, `fingerprint` of a task
    set. `provenance` says how it was made. A `drawn` task set has no file: it is drawn again from
    its provenance and compared with its digest.
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
        if not _within(self.provenance, _MOST_NESTED):
            raise ValueError(f"a table whose provenance is nested at most {_MOST_NESTED} deep")


def as_json(item: Dataset | Table) -> dict[str, Any]:
    """Return the fields of an item of a manifest; optional ones only where they are set."""
    optional = ("n_superclasses", "drawn")
    return {key: value for key, value in asdict(item).items() if value or key not in optional}


def _within(value: Any, levels: int) -> bool:
    """Return whether tables and lists are nested at most `levels` deep."""
    inside = value.values() if isinstance(value, Mapping) else value
    return levels > 0 and all(
        _within(item, levels - 1) for item in inside if isinstance(item, Mapping | list)
    )


def shard_of(path: str) -> tuple[int, int]:
    """Return the shard that a path names, from 0, and the number of shards; (0, 1) without."""
    match = _SHARD.search(path)
    return (int(match[1]), int(match[2])) if match else (0, 1)


def without_shard(path: str) -> str:
    """Return a table's path without its shard, the same for all shards of a feature set."""
    return _SHARD.sub(".parquet", path)


def table_path(kind: Kind, dataset: str, name: str, shard: int = 0, shards: int = 1) -> str:
    """Return the path of a table inside a release; features and pictures have a shard, from 0."""
    if kind == "results":
        return f"results/{slug(name)}.parquet"
    file = f"{dataset}.parquet"
    if kind in ("features", "pictures"):
        file = f"{dataset}-{shard:05}-of-{shards:05}.parquet"
    return "/".join([kind, *([slug(name)] if name else []), file])


def config_and_split(table: Table) -> tuple[str, str]:
    """Return the configuration and split under which ``load_dataset`` finds a table."""
    if table.kind == "results":
        return "results", RESULTS_SPLIT
    if table.kind == "classes":
        return "classes", table.dataset
    if table.kind == "tasks":
        return f"tasks-{slug(table.name)}", table.dataset
    parts = [table.kind, *([slug(table.name)] if table.name else []), table.dataset]
    return "-".join(parts), table.dataset


def named_config_and_split(table: Table) -> tuple[str, str]:
    """Return the configuration and split in which ``load_dataset`` names a task set's classes."""
    name = TaskSetName.parse(table.name)
    kind = "tasks-attributes" if name.attributes else "tasks"
    return f"{kind}-{name.protocol}-{table.dataset}", name.suite


def check_redistribution(value: str, where: str) -> Redistribution:
    """Return `value` if it is ``images``, ``features`` or ``tables``; raises a SpecError if not."""
    if value in get_args(Redistribution):
        return cast("Redistribution", value)
    raise SpecError(
        f"redistribution is {value!r}",
        where=where,
        expected='"images" where their licence lets the images be passed on, "features" where it '
        'lets features computed from them be passed on, else "tables"',
    )


SHARD_IMAGES = 65_536
"""Images in each shard but the last in new releases; readers take any number."""

SHARD_PICTURES = 8_192
"""Pictures in each shard but the last in new releases; readers take any number."""

_LARGEST_SCALE = 1e30
"""More than any feature, and within the range of float32."""


def number_of_shards(images: int) -> int:
    """Return the number of shards for the features of these images, at least 1."""
    return max(1, -(-images // SHARD_IMAGES))


def number_of_picture_shards(images: int) -> int:
    """Return the number of shards for these pictures, at least 1."""
    return max(1, -(-images // SHARD_PICTURES))


def check_shards(tables: Iterable[Table]) -> None:
    """Raise a ReleaseError unless features and pictures have all shards once, in order."""
    sets: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for table in tables:
        if table.kind in ("pictures", "features"):
            key = (table.kind, table.dataset, table.name)
            sets.setdefault(key, []).append(shard_of(table.path))
    for (kind, dataset, name), entries in sets.items():
        counts = sorted({shards for _, shards in entries})
        about = f"{kind} of {dataset}{f' by {quoted(name, 60)}' if name else ''}"
        if len(counts) > 1:
            raise ReleaseError(f"{about}: shards of {listing(counts)} are listed together")
        numbers = [shard for shard, _ in entries]
        if numbers != list(range(counts[0])):
            raise ReleaseError(
                f"{about}: of {counts[0]} shards {listing(numbers)} are listed, not each once in "
                "order"
            )


def scale_of(kind: pa.DataType, provenance: Mapping[str, Any], where: str) -> float | None:
    """Return the size of one step of float32 features; None for float16 features.

    Raises a ReleaseError if float32 features have no positive scale in their table's provenance, or
    float16 features have one; `where` names the table.
    """
    scale = provenance.get("scale")
    if str(kind) not in ("float", "float32"):
        if scale is None:
            return None
        raise ReleaseError(f"{where}: features of type {kind} with a scale", expected="no scale")
    if (
        isinstance(scale, int | float)
        and not isinstance(scale, bool)
        and 0 < scale < _LARGEST_SCALE
    ):
        return float(scale)
    raise ReleaseError(
        f"{where}: {kind} features whose provenance gives scale {quoted(scale, 60)}",
        expected="the positive number that one step of their values stands for",
    )


MANIFEST_FILE = "release.json"
CARD_FILE = "README.md"

_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}")


class Manifest(Struct, frozen=True):
    """A release's name, version, data sets and tables.

    `made_with` is the package that wrote it, such as ``fslbench 0.1.0``, and `specification` the
    SHA-256 (hex) of its specification; older releases have neither.
    """

    name: str
    version: str
    description: str
    datasets: tuple[Dataset, ...]
    tables: tuple[Table, ...]
    spec_version: str = SPEC_VERSION
    made_with: str = ""
    specification: str = ""

    def __repr__(self) -> str:
        return f"<Manifest of {self.name}@{self.version}: {len(self.tables)} tables>"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of name, version and content digests: the same for the same data."""
        content = [
            self.spec_version,
            self.name,
            self.version,
            sorted([t.path, t.kind, t.dataset, t.name, t.digest] for t in self.tables),
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def configs(self, *, drawn: bool = False) -> dict[str, dict[str, list[str]]]:
        """Return paths of files by configuration of the card, and split; task sets are in two.

        With `drawn`, paths of task sets without a file are among them.
        """
        tables = [table for table in self.tables if drawn or not table.drawn]
        places = [(config_and_split(table), table.path) for table in tables]
        places += [(named_config_and_split(t), t.path) for t in tables if t.kind == "tasks"]
        paths: dict[str, dict[str, list[str]]] = {}
        for (config, split), path in places:
            paths.setdefault(config, {}).setdefault(split, []).append(path)
        return paths

    def to_json(self) -> str:
        """Return the manifest as text, one table per line."""
        head = {
            "name": self.name,
            "version": self.version,
            "spec_version": self.spec_version,
            **({"made_with": self.made_with} if self.made_with else {}),
            **({"specification": self.specification} if self.specification else {}),
            "digest": self.digest,
            "description": self.description,
            "datasets": [as_json(d) for d in self.datasets],
        }
        lines = ",\n".join("    " + json.dumps(as_json(t), sort_keys=True) for t in self.tables)
        text = json.dumps(head, indent=2, ensure_ascii=False)
        return f'{text[:-2]},\n  "tables": [\n{lines}\n  ]\n}}\n'

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Manifest:
        """Read and check a manifest.

        Raises a CorruptReleaseError if the text is not a manifest, contradicts its own digest,
        names a table twice or outside the folder, or follows a later specification than this
        package knows.
        """
        head = _parsed(text, _Head, where)
        if head.spec_version.split(".")[0] != SPEC_VERSION.split(".")[0]:
            raise CorruptReleaseError(
                f"the release follows specification {quoted(head.spec_version)}",
                where=where,
                expected=f"{SPEC_VERSION.split('.')[0]}.x, which this package reads",
                fix="upgrade fslbench, or ask for a release of an older specification",
            )
        manifest: Manifest = _parsed(text, cls, where)
        try:
            check_manifest(manifest)
        except FSLBenchError as error:
            raise _corrupt(error.what, where) from None
        if head.digest != manifest.digest:
            raise _corrupt("its digest is not that of the tables it lists", where)
        return manifest


class _Head(Struct):
    spec_version: str
    digest: str = ""


def _parsed(text: str | bytes, kind: type, where: str) -> Any:
    try:
        return parsed_json(text, kind)
    except MisfitError as error:
        raise _corrupt(str(error), where) from None
    except ValueError as error:
        raise _corrupt(f"not JSON ({error})", where) from None


def check_manifest(manifest: Manifest) -> None:
    """Raise an FSLBenchError for names, versions and paths that a release cannot have."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{,199}", manifest.name):
        raise FSLBenchError(f"{quoted(manifest.name)} cannot be a release's name")
    if not _VERSION.fullmatch(manifest.version):
        raise FSLBenchError(f"{quoted(manifest.version)} is not a version such as 1.0.0")
    check_text(manifest.description, "the description", lines=True)
    check_text(manifest.made_with, "what it was made with")
    if not re.fullmatch("([0-9a-f]{64})?", manifest.specification):
        raise FSLBenchError(f"{quoted(manifest.specification)} is no SHA-256 of a specification")
    described = {check_dataset_name(dataset.name) for dataset in manifest.datasets}
    for item in (*manifest.datasets, *manifest.tables):
        for key, text in asdict(item).items():
            if isinstance(text, str):
                check_text(text, f"field {key!r}", lines=key in ("citation", "note"))
    by_path: dict[str, Table] = {}
    for table in manifest.tables:
        if table.kind == "results":
            check_method_name(table.name)
        elif table.dataset not in described:
            raise FSLBenchError(f"{table.path}: no data set {quoted(table.dataset)} is described")
        if bool(table.name) == (table.kind in ("classes", "images", "pictures")):
            raise FSLBenchError(f"{table.path}: the name of such a table is {quoted(table.name)}")
        uniform = table.kind == "tasks" and suite_of(TaskSetName.parse(table.name).suite).uniform
        if table.drawn and (not uniform or table.bytes or table.sha256):
            raise FSLBenchError(f"{table.path}: only uniform task sets without a file can be drawn")
        if table.kind == "attributes":
            check_attribute_set_name(table.name, table.path)
        if table.path != table_path(table.kind, table.dataset, table.name, *shard_of(table.path)):
            raise FSLBenchError(f"{quoted(table.path)} is not where such a table belongs")
        other = by_path.setdefault(table.path, table)
        if other is not table:
            raise FSLBenchError(f"{other.name!r} and {table.name!r} would share {table.path}")
    check_shards(manifest.tables)


def _corrupt(what: str, where: str) -> CorruptReleaseError:
    return CorruptReleaseError(
        f"the release's manifest cannot be trusted: {what}",
        where=where,
        fix="get the release again, or make it again with fslbench-build",
    )
