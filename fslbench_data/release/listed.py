"""Finding data sets and tables in a release's manifest."""

from __future__ import annotations

from benchmark_spec.errors import ReleaseError, UnknownNameError
from benchmark_spec.manifest import Manifest
from benchmark_spec.tables import Dataset, Kind, Table


def check_dataset(manifest: Manifest, dataset: str) -> None:
    """Raise an UnknownNameError unless a release has a data set of that name."""
    names = [about.name for about in manifest.datasets]
    if dataset not in names:
        raise UnknownNameError("data set", dataset, names, where=_text(manifest))


def about(manifest: Manifest, dataset: str) -> Dataset:
    """Return what a manifest says of a data set that it has."""
    return next(about for about in manifest.datasets if about.name == dataset)


def find_tables(manifest: Manifest, kind: Kind, dataset: str, name: str) -> list[Table]:
    """Find a table of a data set, which has no name if it is the only one; of features all shards.

    Raises
    ------
    UnknownNameError
        If there is no such data set, or it has no table of that kind and name.
    ReleaseError
        If it has none of that kind, which has no name.
    """
    check_dataset(manifest, dataset)
    of_kind = [table for table in manifest.tables if table.kind == kind]
    tables = [table for table in of_kind if table.dataset == dataset]
    if shards := [table for table in tables if table.name == name]:
        return shards
    if name:
        names = list(dict.fromkeys(table.name for table in tables))
        raise UnknownNameError(kind, name, names, where=f"{dataset} of {_text(manifest)}")
    having = dict.fromkeys(table.dataset for table in of_kind)
    raise ReleaseError(
        f"{_text(manifest)} has no {kind} of {dataset}", expected=f"one of {', '.join(having)}"
    )


def find_results(manifest: Manifest, method: str) -> Table:
    """Find the results of a reference method; raise an UnknownNameError if there are none."""
    tables = {table.name: table for table in manifest.tables if table.kind == "results"}
    if method not in tables:
        raise UnknownNameError("reference method", method, tables)
    return tables[method]


def _text(manifest: Manifest) -> str:
    return f"release {manifest.name}@{manifest.version}"
