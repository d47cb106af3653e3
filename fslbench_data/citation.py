"""What to cite: the package and its release, the data sets, and the papers."""

from __future__ import annotations

from benchmark_spec.papers import PAPERS
from benchmark_spec.version import __version__
from fslbench_data.release import Release


def bibtex(release: Release) -> str:
    """BibTeX of a release, its data sets and the papers whose methods are used."""
    manifest = release.manifest
    own = f"""@misc{{fslbench,
  title = {{{{FSLBench}} {__version__}, release {manifest.name} {manifest.version}}},
  author = {{{{The FSLBench authors}}}},
  year = {{2026}},
  note = {{release digest {manifest.digest[:12]}}}
}}"""
    datasets = dict.fromkeys(dataset.citation for dataset in manifest.datasets)
    return "\n\n".join([own, *PAPERS, *datasets]) + "\n"
