"""Open a release on the Hub, in a folder, or in the package."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmark_spec.catalogue import TestSplit, plain, test_split
from benchmark_spec.errors import ReleaseError, UnknownNameError, many
from benchmark_spec.manifest import MANIFEST_FILE, Dataset, Kind, Manifest, Table
from benchmark_spec.protocol import TaskSetName
from fslbench_data.hub import HubAddress, is_address
from fslbench_data.release.features import Features, read_features
from fslbench_data.release.folder import ReleaseFiles, check_file, read_manifest
from fslbench_data.release.tables import (
    check_columns,
    check_rows,
    check_values,
    corrupt,
    declared_columns,
    read_head,
    read_table,
    redrawn,
)
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.model import Submission, metadata_of
from fslbench_data.tasks import TaskSet, TaskSetInfo, groups_of

if TYPE_CHECKING:
    from datasets import Dataset as HubDataset


EMBEDDED = "embedded"
"""The name of the release that comes with the package."""


def read_results(
    entry: Table, path: Path, only: Collection[TaskSetInfo] | None = None
) -> Submission:
    """Read the results that a release lists.

    With `only`, a file whose metadata names none of these task sets is read without rows.  Numbers
    of tasks count as chosen by the release's maker, and the package's heads as inductive.  Raises a
    CorruptReleaseError if the file cannot be read, or holds results of another method.
    """
    table = None if only is None else _no_rows(entry, path, only)
    if table is None:
        table = read_table(path, entry, lambda t: canonical(t, entry.path), names=True)
    results = Submission.of_table(canonical(table, str(path)), table.schema, str(path))
    names = pc.unique(results.table.column("method")).to_pylist()
    if {*names, *results.methods} != {entry.name}:
        raise corrupt(entry, "holds results of other methods", f"those of {entry.name}")
    bindings = {key: replace(binding, of_release=True) for key, binding in results.bindings.items()}
    methods = dict(results.methods)
    if "head" in entry.provenance:
        for name, method in methods.items():
            if method.inductive is None and not method.transductive:
                methods[name] = replace(method, inductive=True)
    return replace(results, bindings=bindings, methods=methods)


def _no_rows(entry: Table, path: Path, only: Collection[TaskSetInfo]) -> pa.Table | None:
    """Return a file's table without rows if its metadata names none of these task sets."""
    head = read_head(path, entry)
    declared = metadata_of(head.schema, str(path))
    if declared is None or "fingerprint" in head.column_names:  # rows may be of other task sets
        return None
    _, bindings, _ = declared
    wanted = {(info.dataset, str(info.name)) for info in only}
    return None if any(key[1:] in wanted for key in bindings) else head


class Release(Struct, frozen=True, eq=False, dict=True):
    """An opened release, whose tables are fetched, verified and read on demand."""

    manifest: Manifest
    files: ReleaseFiles

    def __str__(self) -> str:
        return f"{self.manifest.name}@{self.manifest.version}"

    def __repr__(self) -> str:
        return (
            f"<Release {self}: {many(len(self.datasets), 'data set')}, "
            f"{many(len(self.task_sets), 'task set')}, "
            f"{many(len({*self.methods}), 'reference method')}\n in {self.files.where}>"
        )

    @property
    def hub(self) -> str:
        """On the Hub, the repository and whole commit as ``ORG/NAME@COMMIT``; else empty."""
        return self.files.hub

    def drawn_from(self, datasets: Iterable[str]) -> str:
        """Return what a log's tasks are drawn from, for signatures; empty for other releases."""
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
        """Names of the backbones of the release's features."""
        return tuple(dict.fromkeys(table.name for table in self._tables("features")))

    @property
    def attribute_sets(self) -> tuple[str, ...]:
        """Names of the sets of attributes."""
        return tuple(dict.fromkeys(table.name for table in self._tables("attributes")))

    def datasets_with(self, kind: Kind, name: str = "") -> tuple[str, ...]:
        """Return the data sets with tables of a kind, such as the features of a backbone."""
        return tuple(dict.fromkeys(t.dataset for t in self._tables(kind) if t.name == name))

    @cached_property
    def task_sets(self) -> tuple[TaskSetInfo, ...]:
        """All task sets, in the manifest's order."""
        return tuple(
            TaskSetInfo(t.dataset, TaskSetName.parse(t.name), t.rows, t.fingerprint)
            for t in self._tables("tasks")
        )

    def task_set(self, dataset: str, name: str) -> TaskSet:
        """Return the tasks of ``name`` (such as ``open-5w5s5q``) of a data set."""
        info = self.task_set_info(dataset, name)
        return TaskSet.from_table(info, self.task_table(info))

    def task_set_info(self, dataset: str, name: str) -> TaskSetInfo:
        """Return the facts about a task set, without its tasks."""
        self._dataset(dataset)
        for info in self.task_sets:
            if (info.dataset, str(info.name)) == (dataset, name):
                return info
        names = [str(info.name) for info in self.task_sets if info.dataset == dataset]
        raise UnknownNameError("task set", name, names, where=f"{dataset} of release {self}")

    def task_table(self, info: TaskSetInfo) -> pa.Table:
        """Return the table of a task set: :func:`benchmark_spec.schemas.task_set`."""
        return self._tasks(self._find("tasks", info.dataset, str(info.name)))

    def provenance(self, info: TaskSetInfo) -> Mapping[str, Any]:
        """Return the parameters that a task set is drawn with."""
        return self._find("tasks", info.dataset, str(info.name)).provenance

    def class_ids(self, info: TaskSetInfo) -> NDArray[np.int32]:
        """Return the classes of each task of a set, int32 (T, K)."""
        return self._column(info, "class_ids")

    def query_labels(self, info: TaskSetInfo) -> NDArray[np.integer[Any]]:
        """Return the position of each query's class, int8 (T, K·Q), or int16 if ways are many."""
        return self._column(info, "query_label")

    def _column(self, info: TaskSetInfo, name: str) -> NDArray[Any]:
        table = self.task_table(info)
        values: NDArray[Any] = table.column(name).combine_chunks().flatten().to_numpy()
        return values.reshape(table.num_rows, -1)

    def _tasks(self, entry: Table) -> pa.Table:
        """Read a task set, or draw it if no table is stored."""
        if not entry.drawn:
            return self._read(entry)

        def design() -> tuple[list[int], NDArray[np.int64] | None, list[str] | None]:
            sizes: list[int] = self.classes(entry.dataset).column("n_images").to_pylist()
            paths = self.paths(entry.dataset) if entry.provenance.get("test") else None
            return sizes, self.groups(entry.dataset), paths

        return check_values(redrawn(entry, design), entry, self._dataset(entry.dataset))

    @cached_property
    def _classes(self) -> dict[str, pa.Table]:
        """Tables of classes that have been read, by data set."""
        return {}

    def classes(self, dataset: str) -> pa.Table:
        """Return a data set's :data:`benchmark_spec.schemas.CLASSES`, perhaps with superclasses."""
        if dataset not in self._classes:
            self._classes[dataset] = self._read(self._find("classes", dataset, ""))
        return self._classes[dataset]

    def superclasses(self, dataset: str) -> tuple[str, ...] | None:
        """Return the superclass of each class of a data set; None if it has none."""
        columns = self.classes(dataset).to_pydict()
        return tuple(columns["superclass"]) if "superclass" in columns else None

    def images(self, dataset: str) -> pa.Table:
        """Return a data set's :data:`benchmark_spec.schemas.IMAGES`."""
        return self._read(self._find("images", dataset, ""))

    def groups(self, dataset: str) -> NDArray[np.int64] | None:
        """Return the group of each image of a data set, else -1; None without a table of images."""
        if dataset not in self.datasets_with("images"):
            return None
        return groups_of(self.images(dataset))

    def paths(self, dataset: str) -> list[str]:
        """Return the path of each image of a data set; empty if it has none."""
        paths: list[str] = self.images(dataset).column("path").fill_null("").to_pylist()
        return paths

    def features(self, dataset: str, backbone: str) -> Features:
        """Return features of a data set's images, (N, D), read-only: row i is image id i.

        They are float16, or float32 if they were rounded to steps of a scale.
        """
        return read_features(self._tables_of("features", dataset, backbone), self.files.path)

    def attributes(self, dataset: str, name: str) -> pa.Table:
        """Return :data:`benchmark_spec.schemas.ATTRIBUTES` of images, row i of image id i."""
        return self._read(self._find("attributes", dataset, name))

    def references(self, only: Collection[TaskSetInfo] | None = None) -> tuple[Submission, ...]:
        """Return the reference methods' results, a submission each, possibly without rows.

        With `only`, results on other task sets are left out, and their rows are not checked.
        """
        references = [self.reference(name, only) for name in self.methods]
        return tuple(references if only is None else [one.on(only) for one in references])

    def reference(self, name: str, only: Collection[TaskSetInfo] | None = None) -> Submission:
        """Return one reference method's results; `only` is that of :meth:`references`."""
        tables = {table.name: table for table in self._tables("results")}
        if name not in tables:
            raise UnknownNameError("reference method", name, tables)
        return read_results(tables[name], self.files.path(tables[name]), only)

    def load_dataset(self, config: str, split: str) -> HubDataset:
        """Load a table as ``datasets.load_dataset`` does, such as ``tasks-open-5w5s5q``, ``cub``.

        `fslbench info --format json` lists configurations and splits.  Raises an UnknownNameError
        if the release has no such split.
        """
        from datasets import Dataset as Loaded
        from datasets import Features as Columns
        from datasets import NamedSplit
        from datasets.table import InMemoryTable

        configs = self.manifest.configs(drawn=True)
        if config not in configs:
            raise UnknownNameError("configuration", config, configs, where=f"release {self}")
        if split not in configs[config]:
            where = f"{config} of release {self}"
            raise UnknownNameError("split", split, configs[config], where=where)
        tables = [table for table in self.manifest.tables if table.path in configs[config][split]]
        if tables[0].drawn:
            return Loaded(InMemoryTable(self._tasks(tables[0])), split=NamedSplit(split))
        columns = declared_columns(self.manifest).get(config)
        features = None if columns is None else Columns.from_arrow_schema(columns)
        paths = [str(self.files.path(table)) for table in tables]
        return Loaded.from_parquet(paths, split=NamedSplit(split), features=features)

    def _tables(self, kind: Kind) -> list[Table]:
        return [table for table in self.manifest.tables if table.kind == kind]

    def _find(self, kind: Kind, dataset: str, name: str) -> Table:
        return self._tables_of(kind, dataset, name)[0]

    def _tables_of(self, kind: Kind, dataset: str, name: str) -> list[Table]:
        """Find a data set's table of a kind and name, or its shards; some kinds have no names.

        Raises an UnknownNameError or, of a kind without names, a ReleaseError.
        """
        self._dataset(dataset)
        tables = [table for table in self._tables(kind) if table.dataset == dataset]
        if named := [table for table in tables if table.name == name]:
            return named
        if name:
            names = list(dict.fromkeys(table.name for table in tables))
            raise UnknownNameError(kind, name, names, where=f"{dataset} of release {self}")
        having = dict.fromkeys(table.dataset for table in self._tables(kind))
        what = f"release {self} has no {kind} of {dataset}"
        raise ReleaseError(what, expected=f"one of {', '.join(having)}")

    def _dataset(self, name: str) -> Dataset:
        """Return a data set's entry of the manifest; raise an UnknownNameError if it has none."""
        for dataset in self.manifest.datasets:
            if dataset.name == name:
                return dataset
        raise UnknownNameError("data set", name, self.datasets, where=f"release {self}")

    def _read(self, entry: Table) -> pa.Table:
        """Read a table of classes, images, attributes or tasks, and check its values."""
        path = self.files.path(entry)
        table = read_table(path, entry, lambda rows: check_columns(rows, entry))
        return check_values(table, entry, self._dataset(entry.dataset))


AnyRelease = Release | str | Path | None
"""A release, or what :func:`load_release` opens."""


def load_release(where: AnyRelease = None) -> Release:
    """Open a release.

    Parameters
    ----------
    where
        A folder; or on the Hub ``ORG/NAME@v1.0.0`` with a tag, branch or whole commit, or
        ``ORG/NAME`` for its newest version; None or ``"embedded"`` opens the release that comes
        with the package; a release is returned as it is.  The files of a folder are compared with
        the manifest's SHA-256 at once, others when they are read.

    Raises
    ------
    ReleaseNotFoundError, HubError
        If there is no release, or the Hub refuses it or does not answer.
    CorruptReleaseError, MovedTagError
        If a file differs from the manifest, or a tag was moved to another commit.
    """
    if isinstance(where, Release):
        return where
    if isinstance(where, str) and is_address(where) and not Path(where).exists():
        from fslbench_data.release.folder import open_on_hub

        manifest, on_hub = open_on_hub(HubAddress.parse(where))
        check_rows(manifest, on_hub.where)
        return Release(manifest, on_hub)
    if where is None or where == EMBEDDED:
        return _embedded()
    folder, manifest = read_manifest(where)
    check_rows(manifest, str(folder / MANIFEST_FILE))
    for table in manifest.tables:
        if not table.drawn:
            check_file(folder, table)
    return Release(manifest, ReleaseFiles(str(folder)))


@cache
def _embedded() -> Release:
    folder, manifest = read_manifest()
    return Release(manifest, ReleaseFiles(str(folder), of_package=True))


def split_of(dataset: str) -> TestSplit | None:
    """Return a test split by the name that papers use, or by a data set of the package."""
    if split := test_split(dataset):
        return split
    release, written = load_release(), plain(dataset)
    for name in release.datasets:
        if plain(name) == written:
            classes = release.classes(name)
            columns = (classes.column(column).to_pylist() for column in ("class_name", "n_images"))
            return TestSplit(dict(zip(*columns, strict=True)))
    return None
