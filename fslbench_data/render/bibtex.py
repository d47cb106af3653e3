"""BibTeX of a release and its data, or of what some results used of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchmark_spec.catalogue import INTERVALS, META_DATASET, PAPERS, SPURIOUS_BIAS, catalogue
from benchmark_spec.errors import UnknownNameError
from benchmark_spec.naming import slug
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.version import __version__
from fslbench_data.release.release import Release
from fslbench_data.scoring.selection import features_in
from fslbench_data.submission.model import Submission
from fslbench_data.validation.rows import numbered
from fslbench_data.validation.rules import check_fingerprints


def bibtex(release: Release | None = None, submission: Submission | None = None) -> str:
    """Return BibTeX of a release with its data sets and papers, or of what some results used of it.

    Results use the release, the paper of intervals, those of attributes and of Meta-Dataset if they
    are on such tasks, their data sets, and the weights of the networks of their features.  Without
    a release, as for a log of own tasks, only the package and the paper of intervals are cited.
    Raises an UnknownNameError for results on a data set that the release does not have, and a
    FingerprintError for results on other tasks than the release's.
    """
    if release is None:
        entries = [_package("", ""), INTERVALS]
    else:
        manifest = release.manifest
        note = f",\n  note = {{release digest {manifest.digest[:12]}}}"
        package = _package(f", release {manifest.name} {manifest.version}", note)
        citations = {dataset.name: dataset.citation for dataset in manifest.datasets}
        if submission is None:
            entries = [package, *PAPERS, *citations.values()]
        else:
            entries = [package, *_used(submission, release, citations)]
    return "\n\n".join(dict.fromkeys(entries)) + "\n"


def _package(about: str, note: str) -> str:
    return f"""@misc{{fslbench,
  title = {{{{FSLBench}} {__version__}{about}}},
  author = {{{{The FSLBench authors}}}},
  year = {{2026}}{note}
}}"""


def _used(submission: Submission, release: Release, citations: Mapping[str, str]) -> Iterator[str]:
    table = submission.table.select(["dataset", "task_set", "method"])
    rows = table.group_by(table.column_names).aggregate([]).to_pylist()
    used = {row["dataset"] for row in rows}
    for name in sorted(used - citations.keys()):
        raise UnknownNameError("data set", name, citations, where=submission.source)
    check_fingerprints(numbered(submission, release))
    yield INTERVALS
    if any(TaskSetName.parse(row["task_set"]).attributes for row in rows):
        yield SPURIOUS_BIAS
    if used & catalogue().keys():
        yield META_DATASET
    yield from (citation for name, citation in citations.items() if name in used)
    uncited = {*features_in(submission, dict.fromkeys(row["method"] for row in rows))}
    for entry in release.manifest.tables:
        provenance = entry.provenance
        features = entry.name if entry.kind == "features" else provenance.get("features", "")
        if entry.kind not in ("features", "results") or features not in uncited:
            continue
        if weights := _weights(provenance):
            uncited.remove(features)
            yield _weights_entry(str(provenance.get("backbone", features)), weights)


def _weights_entry(backbone: str, weights: Mapping[str, Any]) -> str:
    source, *others = (_plain(weights.get(key)) for key in ("source", "package", "licence"))
    fields = {
        "key": _plain(backbone),
        "title": f"{{Weights of {_plain(backbone)}}}",
        "howpublished": source,
        "note": ", ".join(filter(None, others)),
    }
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items() if text)
    return f"@misc{{weights-{slug(backbone)},\n{lines}\n}}"


def _weights(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the weights in a table's provenance; empty if there are none."""
    for place in (provenance, provenance.get("extraction"), provenance.get("network")):
        if isinstance(place, Mapping) and isinstance(place.get("weights"), Mapping):
            return dict(place["weights"])
    return {}


def _plain(value: object) -> str:
    """Escape a value for a field of BibTeX."""
    text = re.sub(r"[{}\\]", "", "" if value is None else str(value))
    return re.sub(r"([&%$#_])", r"\\\1", text)
