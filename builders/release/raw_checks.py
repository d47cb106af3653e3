"""The images of a release, read again from their raw folders and hashed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, SourceError, listing
from benchmark_spec.tables import Table
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.sources import GENERAL, SOURCES
from builders.sources.pictures import file_of
from builders.sources.read import read_source
from builders.sources.unchanged import differing_images
from fslbench_data.files import sha256_of
from fslbench_data.release.release import Release


def raw_problems(
    release: Release,
    entry: Table,
    raw: Path,
    spec: ReleaseSpec | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """What in the raw folders is not the image that an images table lists.

    Images are read as the data set's source reads them, which also knows what their hashes are of.
    Of a data set that is no source they are files below a folder of its name.

    Parameters
    ----------
    entry
        Of the images table.
    raw
        Holds the raw folder of each data set.
    spec
        The specification of the release, for data sets whose source takes options.
    """
    recorded = release.images(entry.dataset)
    try:
        found = _found(entry, recorded, raw, spec, progress)
    except FSLBenchError as error:
        yield f"cannot be compared with {raw}: {error}"
        return
    paths = differing_images(recorded, found)
    if paths:
        count = f"{len(paths)} image{'s' if len(paths) != 1 else ''}"
        yield f"{count} in {raw} not the released one{'s' if len(paths) != 1 else ''}: " + listing(
            paths
        )


def _found(
    entry: Table,
    recorded: pa.Table,
    raw: Path,
    spec: ReleaseSpec | None,
    progress: Callable[[str], None],
) -> pa.Table:
    """Path and SHA-256 of the images as they are now."""
    name = entry.dataset
    listed = {dataset.name: dataset for dataset in spec.datasets} if spec else {}
    if name in listed or (name in SOURCES and name not in GENERAL):
        of = listed.get(name) or DatasetSpec(name, source=name, folder=name)
        return read_source(
            of.source,
            raw / of.folder,
            name=name,
            options=of.options,
            allow_missing="left_out" in entry.provenance,
            progress=progress,
        ).images
    if not (raw / name).is_dir():
        raise SourceError(
            f"there is no folder {name}, and no source of that name",
            where=str(raw),
            fix="name the specification that the release was made from with --spec",
        )
    paths = recorded.column("path").to_pylist()
    digests: dict[str, str | None] = {}
    for number, path in enumerate(paths):
        if number % 100 == 0:
            progress(f"{name}: {number} of {len(paths)} files read")
        file = file_of(path)
        if file not in digests:
            there = (raw / name / file).is_file()
            digests[file] = sha256_of(raw / name / file) if there else None
    return pa.table({"path": paths, "sha256": [digests[file_of(path)] for path in paths]})
