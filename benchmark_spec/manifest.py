"""``release.json``: what a release holds, with digests and provenance."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from benchmark_spec.declared import MisfitError, parsed_json
from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, shown
from benchmark_spec.feature_sets import check_shards
from benchmark_spec.naming import (
    check_attribute_set_name,
    check_dataset_name,
    check_method_name,
    check_text,
)
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.suites import suite_of
from benchmark_spec.tables import (
    NAMELESS,
    Dataset,
    Table,
    config_and_split,
    named_config_and_split,
    shard_of,
    table_path,
)
from benchmark_spec.version import SPEC_VERSION

MANIFEST_FILE = "release.json"
CARD_FILE = "README.md"

_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}")


@dataclass(frozen=True, repr=False)
class Manifest:
    """A release's name, version, data sets and tables.

    `made_with` is the package that wrote it, such as ``fslbench 0.1.0``, and `specification` a
    SHA-256 (hex) of what it was asked to make; older ones do not say.
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

    def configs(self) -> dict[str, dict[str, list[str]]]:
        """Return paths of files by configuration of the card, and split; task sets stand twice."""
        stored = [table for table in self.tables if not table.drawn]
        places = [(config_and_split(table), table.path) for table in stored]
        places += [(named_config_and_split(t), t.path) for t in stored if t.kind == "tasks"]
        paths: dict[str, dict[str, list[str]]] = {}
        for (config, split), path in places:
            paths.setdefault(config, {}).setdefault(split, []).append(path)
        return paths

    def to_json(self) -> str:
        """The manifest as text, one table a line."""
        head = {
            "name": self.name,
            "version": self.version,
            "spec_version": self.spec_version,
            **({"made_with": self.made_with} if self.made_with else {}),
            **({"specification": self.specification} if self.specification else {}),
            "digest": self.digest,
            "description": self.description,
            "datasets": [d.as_json() for d in self.datasets],
        }
        lines = ",\n".join("    " + json.dumps(t.as_json(), sort_keys=True) for t in self.tables)
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
                f"the release follows specification {shown(head.spec_version)}",
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
    """Refuse names, versions and paths that a release cannot have."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{,199}", manifest.name):
        raise FSLBenchError(f"{shown(manifest.name)} cannot be a release's name")
    if not _VERSION.fullmatch(manifest.version):
        raise FSLBenchError(f"{shown(manifest.version)} is not a version such as 1.0.0")
    check_text(manifest.description, "the description", lines=True)
    check_text(manifest.made_with, "what it was made with")
    if not re.fullmatch("([0-9a-f]{64})?", manifest.specification):
        raise FSLBenchError(f"{shown(manifest.specification)} is no SHA-256 of a specification")
    described = {check_dataset_name(dataset.name) for dataset in manifest.datasets}
    for item in (*manifest.datasets, *manifest.tables):
        for key, text in vars(item).items():
            if isinstance(text, str):
                check_text(text, f"field {key!r}", lines=key in ("citation", "note"))
    by_path: dict[str, Table] = {}
    for table in manifest.tables:
        if table.kind == "results":
            check_method_name(table.name)
        elif table.dataset not in described:
            raise FSLBenchError(f"{table.path}: no data set {shown(table.dataset)} is described")
        if bool(table.name) == (table.kind in NAMELESS):
            raise FSLBenchError(f"{table.path}: the name of such a table is {shown(table.name)}")
        uniform = table.kind == "tasks" and suite_of(TaskSetName.parse(table.name).suite).uniform
        if table.drawn and (not uniform or table.bytes or table.sha256):
            raise FSLBenchError(f"{table.path}: only uniform task sets without a file can be drawn")
        if table.kind == "attributes":
            check_attribute_set_name(table.name, table.path)
        path = PurePosixPath(table.path)
        if path.is_absolute() or ".." in path.parts or path.suffix != ".parquet":
            raise FSLBenchError(f"{shown(table.path)} is not a Parquet file inside the release")
        if table.path != table_path(table.kind, table.dataset, table.name, *shard_of(table.path)):
            raise FSLBenchError(f"{shown(table.path)} is not where such a table belongs")
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
