"""What to cite, as BibTeX: a release and its data, or what some results used of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchmark_spec.catalogue import catalogue
from benchmark_spec.catalogue.papers import INTERVALS, META_DATASET, PAPERS, SPURIOUS_BIAS
from benchmark_spec.errors import UnknownNameError
from benchmark_spec.naming import slug
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.version import __version__
from fslbench_data.release.release import Release
from fslbench_data.scoring.method_names import features_in
from fslbench_data.submission.model import Submission


def bibtex(release: Release | None = None) -> str:
    """Return BibTeX of a release, its data sets and the papers whose methods are used.

    Without a release, as for a log of one's own tasks: of the package and the paper of intervals.
    """
    if release is None:
        return _text(_package(), INTERVALS)
    datasets = [dataset.citation for dataset in release.manifest.datasets]
    return _text(_own(release), *PAPERS, *datasets)


def bibtex_of(submission: Submission, release: Release) -> str:
    """Return BibTeX of what some results used of a release, and of nothing else.

    That is the release, the papers of intervals and, where there are such tasks, of attributes and
    of Meta-Dataset, the data sets, and the weights of the networks whose features they name.

    Raises
    ------
    UnknownNameError
        If there are results on a data set that the release has not.
    """
    by_name = {dataset.name: dataset for dataset in release.manifest.datasets}
    table = submission.table.select(["dataset", "task_set", "method"])
    rows = table.group_by(table.column_names).aggregate([]).to_pylist()
    used = {row["dataset"] for row in rows}
    for name in sorted(used - by_name.keys()):
        raise UnknownNameError("data set", name, by_name, where=submission.source)
    papers = [INTERVALS]
    if any(TaskSetName.parse(row["task_set"]).attributes for row in rows):
        papers.append(SPURIOUS_BIAS)
    if used & catalogue().keys():
        papers.append(META_DATASET)
    datasets = [by_name[name].citation for name in by_name if name in used]
    methods = dict.fromkeys(row["method"] for row in rows)
    backbones = features_in(submission, methods)
    return _text(_own(release), *papers, *datasets, *_weights(release, backbones))


def _text(*entries: str) -> str:
    return "\n\n".join(dict.fromkeys(entries)) + "\n"


def _own(release: Release) -> str:
    manifest = release.manifest
    about = f", release {manifest.name} {manifest.version}"
    return _package(about, f",\n  note = {{release digest {manifest.digest[:12]}}}")


def _package(about: str = "", note: str = "") -> str:
    return f"""@misc{{fslbench,
  title = {{{{FSLBench}} {__version__}{about}}},
  author = {{{{The FSLBench authors}}}},
  year = {{2026}}{note}
}}"""


def _weights(release: Release, backbones: frozenset[str]) -> Iterator[str]:
    """Give an entry for the weights of each of some backbones that the release knows."""
    told: set[str] = set()
    for table in release.manifest.tables:
        provenance = table.provenance
        name = table.name if table.kind == "features" else provenance.get("features", "")
        if table.kind not in ("features", "results") or name not in backbones - told:
            continue
        weights = _weights_of(provenance)
        if weights is not None:
            told.add(name)
            yield _entry(str(provenance.get("backbone", name)), weights)


def _weights_of(provenance: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a table says of the weights behind it, if there are any."""
    for place in (provenance, provenance.get("extraction"), provenance.get("network")):
        if isinstance(place, Mapping) and isinstance(place.get("weights"), Mapping):
            weights: Mapping[str, Any] = place["weights"]
            return weights
    return None


def _entry(backbone: str, weights: Mapping[str, Any]) -> str:
    source, package, licence = (
        _plain(str(weights.get(key, ""))) for key in ("source", "package", "licence")
    )
    note = ", ".join(filter(None, [package, licence]))
    return f"""@misc{{weights-{slug(backbone)},
  title = {{{{Weights of {_plain(backbone)}}}}},
  howpublished = {{{source}}},
  note = {{{note}}}
}}"""


def _plain(text: str) -> str:
    """Text for a field of BibTeX, which LaTeX will read."""
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[{}\\]", "", text))
