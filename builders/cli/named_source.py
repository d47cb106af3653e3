"""Which source a command's argument names."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def named_source(name: str, spec: Path | None) -> tuple[str, dict[str, Any]]:
    """Return a source, and what :func:`builders.sources.read_source` takes besides.

    Parameters
    ----------
    name
        Of the source; with a specification of a release, of one of its data sets.

    Raises
    ------
    UnknownNameError
        If there is no such source, or it needs a specification.
    SpecError
        If the data set has no images.
    """
    from benchmark_spec.errors import SpecError, UnknownNameError
    from builders.release.spec import CATALOGUE
    from builders.release.spec_file import find_spec, read_spec
    from builders.sources import GENERAL, SOURCES

    if spec is None:
        if name not in SOURCES or name in GENERAL:
            fix = f"{name} takes options: name the release's specification with --spec"
            valid = [s for s in SOURCES if s not in GENERAL]
            raise UnknownNameError("source", name, valid, fix=fix if name in GENERAL else "")
        return name, {}
    datasets = {entry.name: entry for entry in read_spec(find_spec(spec)).datasets}
    if name not in datasets:
        raise UnknownNameError("data set", name, datasets, where=str(spec))
    entry = datasets[name]
    if entry.source == CATALOGUE:
        raise SpecError(f"{name} has no images, only the counts of the catalogue", where=str(spec))
    return entry.source, {"name": entry.name, "options": entry.options}
