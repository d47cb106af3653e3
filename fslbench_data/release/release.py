"""Opening a release: on the Hub, in a folder, or the one in the package."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import UnknownNameError
from benchmark_spec.manifest import MANIFEST_FILE, Manifest
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import Kind, Table
from fslbench_data.hub.address import HubAddress, is_address
from fslbench_data.release import values as release_values
from fslbench_data.release.features import Features, read_features
from fslbench_data.release.folder import (
    Folder,
    ReleaseFiles,
    check_file,
    embedded_folder,
    read_manifest,
)
from fslbench_data.release.listed import about, check_dataset, find_results, find_tables
from fslbench_data.release.reference_results import read_results
from fslbench_data.release.shown import release_html, release_text
from fslbench_data.release.tables import read_table
from fslbench_data.release.task_tables import read_tasks
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.tasks.drawn import groups_of

if TYPE_CHECKING:
    from datasets import Dataset as HubDataset


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """An opened release: tables are fetched, compared with the manifest and read on demand."""

    manifest: Manifest
    files: ReleaseFiles
    _classes: dict[str, pa.Table] = field(default_factory=dict, init=False)  # that were asked for

    def __str__(self) -> str:
        return f"{self.manifest.name}@{self.manifest.version}"

    def __repr__(self) -> str:
        return release_text(self.manifest, self.files.where)

    def _repr_html_(self) -> str:
        return release_html(self.manifest)

    @property
    def hub(self) -> str:
        """On the Hub, the repository and whole commit as ``ORG/NAME@COMMIT``; else empty."""
        return self.files.hub

    @property
    def drawn_from(self) -> str:
        """Of a log of one's own tasks, what they are drawn from, for signatures; else empty."""
        return ""

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets."""
        return tuple(dataset.name for dataset in self.manifest.datasets)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the reference methods."""
        return tuple(table.name for table in self._tables("results"))

    @property
    def backbones(self) -> tuple[str, ...]:
        """Names of the backbones that there are features of."""
        return tuple(dict.fromkeys(table.name for table in self._tables("features")))

    @property
    def attribute_sets(self) -> tuple[str, ...]:
        """Names of the sets of attributes."""
        return tuple(dict.fromkeys(table.name for table in self._tables("attributes")))

    def datasets_with(self, kind: Kind, name: str = "") -> tuple[str, ...]:
        """Data sets of which there are tables of a kind, such as the features of a backbone."""
        return tuple(dict.fromkeys(t.dataset for t in self._tables(kind) if t.name == name))

    @cached_property
    def task_sets(self) -> tuple[TaskSetInfo, ...]:
        """All task sets, in the manifest's order."""
        return tuple(
            TaskSetInfo(t.dataset, TaskSetName.parse(t.name), t.rows, t.fingerprint)
            for t in self._tables("tasks")
        )

    def task_set(self, dataset: str, name: str) -> TaskSet:
        """The tasks of ``name`` (such as ``open-5w5s5q``) of a data set."""
        info = self.task_set_info(dataset, name)
        return TaskSet.from_table(info, self.task_table(info))

    def task_set_info(self, dataset: str, name: str) -> TaskSetInfo:
        """What the release says of a task set, without its tasks."""
        check_dataset(self.manifest, dataset)
        for info in self.task_sets:
            if (info.dataset, str(info.name)) == (dataset, name):
                return info
        names = [str(info.name) for info in self.task_sets if info.dataset == dataset]
        raise UnknownNameError("task set", name, names, where=f"{dataset} of release {self}")

    def task_table(self, info: TaskSetInfo) -> pa.Table:
        """The table of a task set: :func:`benchmark_spec.schemas.task_set`."""
        return self._tasks(self._find("tasks", info.dataset, str(info.name)))

    def provenance(self, info: TaskSetInfo) -> Mapping[str, Any]:
        """What it takes to draw a task set again."""
        return self._find("tasks", info.dataset, str(info.name)).provenance

    def class_ids(self, info: TaskSetInfo) -> NDArray[np.int32]:
        """Classes of each task of a set, int32 (T, K), without its images."""
        return self._column(info, "class_ids")

    def query_labels(self, info: TaskSetInfo) -> NDArray[np.int8]:
        """Positions in its classes of each task's queries, int8 (T, K·Q), without its images."""
        return self._column(info, "query_label")

    def _column(self, info: TaskSetInfo, name: str) -> NDArray[Any]:
        table = self._tasks(self._find("tasks", info.dataset, str(info.name)), name)
        values: NDArray[Any] = table.column(0).combine_chunks().flatten().to_numpy()
        return values.reshape(table.num_rows, -1)

    def _tasks(self, entry: Table, column: str = "") -> pa.Table:
        images = self.images if entry.dataset in self.datasets_with("images") else None
        known = about(self.manifest, entry.dataset)
        return read_tasks(entry, known, self.files.path, self.classes, images, column)

    def classes(self, dataset: str) -> pa.Table:
        """Classes of a data set: :data:`benchmark_spec.schemas.CLASSES`, perhaps superclasses."""
        if dataset in self._classes:
            return self._classes[dataset]
        entry, where = self._find("classes", dataset, ""), f"classes of {dataset}"
        path = self.files.path(entry)
        table = read_table(path, entry, lambda table: schemas.check_classes(table, where))
        checked = release_values.check_classes(table, entry, about(self.manifest, dataset))
        return self._classes.setdefault(dataset, checked)

    def superclasses(self, dataset: str) -> tuple[str, ...] | None:
        """The superclass of each class of a data set, in the order of classes; None without any."""
        columns = self.classes(dataset).to_pydict()
        return tuple(columns["superclass"]) if "superclass" in columns else None

    def images(self, dataset: str) -> pa.Table:
        """Images of a data set, where they are known: :data:`benchmark_spec.schemas.IMAGES`."""
        entry = self._find("images", dataset, "")
        table = self._read(entry, schemas.IMAGES, f"images of {dataset}")
        return release_values.check_images(table, entry, about(self.manifest, dataset))

    def groups(self, dataset: str) -> NDArray[np.int64] | None:
        """The group of each image of a data set, -1 of one without; None where none are known."""
        if dataset not in self.datasets_with("images"):
            return None
        return groups_of(self.images(dataset))

    def features(self, dataset: str, backbone: str) -> Features:
        """Features of a data set's images, (N, D), read-only: row i is image id i.

        float16, or float32 where they were rounded to steps of a scale.
        """
        shards = find_tables(self.manifest, "features", dataset, backbone)
        return read_features(shards, self.files.path)

    def attributes(self, dataset: str, name: str) -> pa.Table:
        """Attributes of images, row i of image id i: :data:`benchmark_spec.schemas.ATTRIBUTES`."""
        entry = self._find("attributes", dataset, name)
        table = self._read(entry, schemas.ATTRIBUTES, f"attributes {name} of {dataset}")
        return release_values.check_attributes(table, entry)

    def references(
        self, *, counts_only: bool = False, only: Collection[TaskSetInfo] | None = None
    ) -> tuple[Submission, ...]:
        """The reference methods' results, a submission each, which may be left without rows.

        Parameters
        ----------
        counts_only
            Leave out predictions and counts by class.
        only
            Leave out results on other task sets than these; their rows are not even checked.
        """
        of_all = self._counts if counts_only else [*map(self.reference, self.methods)]
        return tuple(of_all if only is None else [results.on(only) for results in of_all])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out counts that were read: a process that gets a release may need none."""
        return {name: value for name, value in vars(self).items() if name != "_counts"}

    @cached_property
    def _counts(self) -> list[Submission]:
        """The reference methods' counts, which a command may need of several task sets in turn."""
        return [self.reference(name, counts_only=True) for name in self.methods]

    def reference(self, name: str, *, counts_only: bool = False) -> Submission:
        """One reference method's results; `counts_only` as for :meth:`references`."""
        table = find_results(self.manifest, name)
        return read_results(table, self.files.path(table), counts_only=counts_only)

    def load_dataset(self, config: str, split: str) -> HubDataset:
        """Load a table with ``datasets.load_dataset``, such as ``tasks-open-5w5s5q``, ``cub``.

        It comes from the same commit, and its digest is compared; `fslbench info --format json`
        lists configurations and splits.
        """
        from fslbench_data.release.as_dataset import as_dataset

        repo_id, _, commit = self.hub.partition("@")
        where = repo_id or self.files.where
        return as_dataset(self.manifest, where, commit or None, config, split, self._tasks)

    def _tables(self, kind: Kind) -> list[Table]:
        return [table for table in self.manifest.tables if table.kind == kind]

    def _find(self, kind: Kind, dataset: str, name: str) -> Table:
        return find_tables(self.manifest, kind, dataset, name)[0]

    def _read(self, entry: Table, schema: pa.Schema, where: str) -> pa.Table:
        path = self.files.path(entry)
        return read_table(path, entry, lambda table: schemas.check(table, schema, where))


def load_release(where: str | Path | None = None) -> Release:
    """Open a release.

    Parameters
    ----------
    where
        A folder, whose every file is compared with the manifest's SHA-256 at once; or on the Hub
        ``ORG/NAME@v1.0.0`` with a tag, branch or whole commit, or ``ORG/NAME`` for its newest
        version, of which a table is fetched and compared when it is asked for; None opens the
        release that comes with the package.

    Raises
    ------
    ReleaseNotFoundError, HubError
        If there is no release there, or the Hub refuses it or does not answer.
    CorruptReleaseError, MovedTagError
        If a file differs from the manifest, or a tag names another commit than it did.
    """
    if isinstance(where, str) and is_address(where) and not Path(where).exists():
        from fslbench_data.release.hub_files import open_on_hub

        manifest, on_hub = open_on_hub(HubAddress.parse(where))
        release_values.check_rows(manifest, on_hub.where)
        return Release(manifest, on_hub)
    if where is None:
        return _embedded()
    folder, manifest = read_manifest(where)
    release_values.check_rows(manifest, str(folder / MANIFEST_FILE))
    for table in manifest.tables:
        if not table.drawn:
            check_file(folder, table)
    return Release(manifest, Folder(folder))


@cache
def _embedded() -> Release:
    return load_release(embedded_folder())
