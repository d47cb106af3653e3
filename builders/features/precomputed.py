"""Feature sets in a folder outside any release: shards and ``features.json``."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmark_spec.declared import parsed_json
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, ReleaseError, UnknownNameError
from benchmark_spec.manifest import (
    Table,
    as_json,
    check_shards,
    number_of_shards,
    shard_of,
    table_path,
)
from benchmark_spec.version import __version__
from builders.execution.parquet import write_shard, written
from builders.execution.steps import check_folder
from builders.features import WORK, Settings, features_of, is_network
from builders.features.block_job import load_once, survey
from builders.features.extraction import Network
from builders.features.shards import cut
from builders.sources.image_set import ImageSet, silent
from builders.sources.packaged import canaries
from builders.sources.source import source_of
from fslbench_data.evaluation.progress import Progress
from fslbench_data.files import clear_temporary, sha256_of, write_whole
from fslbench_data.release.features import Features, read_features

FILE = "features.json"


@dataclass(frozen=True)
class PrecomputedFeatures:
    """A folder with one backbone's features of a data set and of the canaries."""

    folder: Path
    tables: tuple[Table, ...]

    @property
    def backbone(self) -> str:
        """The backbone's name."""
        return self.tables[0].name

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with features; the canaries are the last."""
        return tuple(dict.fromkeys(table.dataset for table in self.tables))

    def features(self, dataset: str) -> Features:
        """Return features (N, D) of a data set: row i is image id i."""
        return read_features(self.shards(dataset), self.checked_path)

    def provenance(self, dataset: str) -> dict[str, Any]:
        """Return how the features of a data set were made."""
        return dict(self.shards(dataset)[0].provenance)

    def checked_path(self, table: Table) -> Path:
        """Return the file of a table; CorruptReleaseError if it is not as it was written."""
        path = self.folder / table.path
        if not path.is_file() or sha256_of(path) != table.sha256:
            raise CorruptReleaseError(
                f"{table.path} is not the file that was written",
                where=str(path),
                expected=f"SHA-256 {table.sha256}",
                fix="extract the features again into another folder",
            )
        return path

    def shards(self, dataset: str) -> list[Table]:
        """Return the tables of a data set's features."""
        if dataset not in self.datasets:
            raise UnknownNameError("data set", dataset, self.datasets, where=str(self.folder))
        return [table for table in self.tables if table.dataset == dataset]


def write_precomputed(
    images: ImageSet,
    backbone: str,
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> PrecomputedFeatures:
    """Extract the features of a data set, and of the canaries, into a folder.

    The folder is new, empty, or of a run of the same.  An unfinished run is continued; a finished
    one is not changed.
    """
    done = _finished(folder, images, backbone, settings or Settings())
    if done is not None:
        clear_temporary(folder, deep=True)
        shutil.rmtree(folder / WORK, ignore_errors=True)
        return done
    check_folder(folder, WORK, "", "an extraction of the same: a feature set")
    (folder / WORK).mkdir(exist_ok=True)
    clear_temporary(folder, deep=True)
    datasets = [images]
    if is_network(backbone) and images.name != canaries.NAME:
        datasets.insert(0, source_of(canaries.NAME).read())  # few images: faults show at once
    with ExitStack() as unfinished:  # blocks are kept until all features are written
        tables: list[Table] = []
        for dataset in datasets:
            report = progress if dataset is images else silent
            context = features_of(backbone, dataset, folder, settings, report)
            pieces, provenance = unfinished.enter_context(context)
            count, name = len(dataset.images), str(provenance["backbone"])
            shards = number_of_shards(count)
            parts = cut(pieces, count, f"{name} of {dataset.name}")
            write = partial(write_shard, shards=shards)
            entries = written(
                folder, "features", dataset.name, name, parts, provenance, write, shards
            )
            tables = [*entries, *tables]
        content = {
            "made_with": f"fslbench {__version__}",
            "tables": [as_json(table) for table in tables],
        }
        write_whole(folder / FILE, json.dumps(content, indent=1) + "\n")
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return PrecomputedFeatures(folder, tuple(tables))


def read_precomputed(folder: Path) -> PrecomputedFeatures:
    """Open a folder of features; ReleaseError if its ``features.json`` is missing or damaged."""
    path = folder / FILE
    try:
        tables = parsed_json(path.read_bytes(), _Tables).tables
    except (OSError, ValueError, FSLBenchError) as error:
        raise ReleaseError(
            f"{folder} holds no features that can be read: {error}",
            where=str(path),
            expected="what `fslbench-build features` has written",
        ) from None
    return PrecomputedFeatures(folder, tables)


class _Tables(Struct):
    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        check_shards(self.tables)
        if len({table.name for table in self.tables}) != 1:
            raise ValueError("it lists no tables, or those of several backbones")
        for t in self.tables:
            if t.path != table_path("features", t.dataset, t.name, *shard_of(t.path)):
                raise ValueError(f"{t.path} is not where such a table belongs")


def _finished(
    folder: Path, images: ImageSet, backbone: str, settings: Settings
) -> PrecomputedFeatures | None:
    """Return the result of a finished run of the same images, backbone and settings, if any."""
    if not (folder / FILE).is_file():
        return None
    finished = read_precomputed(folder)
    if finished.datasets[0] != images.name:
        return None
    provenance = finished.provenance(images.name)
    if is_network(backbone):
        network, batch = Network.of(backbone, settings), provenance.get("batch")
        try:
            wanted = survey(network, images, settings, batch)
        finally:
            load_once.cache_clear()
    else:
        with features_of(backbone, images, folder) as (pieces, wanted):
            digests = [content_digest(t) for t in cut(pieces, len(images.images), backbone)]
        if digests != [table.digest for table in finished.shards(images.name)]:
            return None
    if provenance != json.loads(json.dumps(wanted)):
        return None
    for table in finished.tables:
        finished.checked_path(table)
    return finished
