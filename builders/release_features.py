"""The features of a release: extracted, projected, and those of the canaries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from benchmark_spec.errors import SpecError
from builders.feature_shards import Pieces, feature_array
from builders.features import Settings, features_of, is_network
from builders.features.compress import base_of, pca_int8
from builders.release_spec import DatasetSpec, ReleaseSpec
from builders.release_writer import ReleaseWriter
from builders.sources import ImageSet, canaries
from builders.sources.image_set import Progress
from fslbench_data.evaluation.progress import Progress as Counter


def networks(spec: ReleaseSpec) -> list[str]:
    """The backbones of a release's features that are networks, each once, in their order."""
    bases = [base_of(name)[0] for dataset in spec.datasets for name in dataset.features]
    return [base for base in dict.fromkeys(bases) if is_network(base)]


def with_canaries(spec: ReleaseSpec) -> ReleaseSpec:
    """The same release, and where it has features of networks, theirs of the canaries.

    Raises
    ------
    SpecError
        If another data set has that name.
    """
    wanted = networks(spec)
    if not wanted:
        return spec
    name = canaries.NAME
    listed = [dataset for dataset in spec.datasets if dataset.name == name]
    if not listed:
        listed = [DatasetSpec(name, source=name, folder=name)]
    if listed[0].source != name:
        raise SpecError(
            f"a release with features of networks holds a data set {name!r}: its canaries",
            fix="give yours another name",
        )
    features = tuple(dict.fromkeys((*listed[0].features, *wanted)))
    others = tuple(dataset for dataset in spec.datasets if dataset.name != name)
    return replace(spec, datasets=(*others, replace(listed[0], features=features)))


class FeatureBuild:
    """Adds the features of data sets to a release."""

    def __init__(self, writer: ReleaseWriter, settings: Settings, progress: Progress) -> None:
        self._writer, self._settings, self._progress = writer, settings, progress

    def add(self, dataset: str, names: tuple[str, ...], images: Callable[[], ImageSet]) -> None:
        """Add those that are not there yet.

        Parameters
        ----------
        names
            Of feature sets: backbones, and their projections such as ``BACKBONE-pca128``, which
            come last.
        images
            Reads the data set, if it is needed.
        """
        for name in sorted(names, key=lambda name: base_of(name)[1] is not None):
            if self._writer.has("features", dataset, name):
                continue
            self._progress(f"{dataset}: features of {name}")
            base, dimensions = base_of(name)
            with self._features(dataset, base, images, dimensions) as (pieces, known):
                if dimensions is not None:
                    pieces, known = _projected(pieces, known, dimensions)
                self._writer.add_features(dataset, name, pieces, known)

    @contextmanager
    def _features(
        self, dataset: str, base: str, images: Callable[[], ImageSet], dimensions: int | None
    ) -> Iterator[tuple[Pieces, dict[str, Any]]]:
        """Features that are extracted now or, for a projection, were before."""
        release = self._writer.so_far()
        if dimensions is not None and dataset in release.datasets_with("features", base):
            tables = (t for t in release.manifest.tables if t.kind == "features")
            known = next(t.provenance for t in tables if (t.dataset, t.name) == (dataset, base))
            yield [release.features(dataset, base)], dict(known)
            return
        told = self._counter(f"{dataset}: features of {base}", len(images().images))
        folder = self._writer.folder
        with features_of(base, images(), folder, self._settings, told) as (pieces, provenance):
            if provenance["backbone"] != base:
                raise SpecError(
                    f"features = [{base!r}]: a release calls it {provenance['backbone']!r}",
                    fix="write that, and name the folder of its file with --weights",
                )
            yield pieces, provenance

    def _counter(self, what: str, total: int) -> Counter:
        """Says how far it is, how fast, and how long it will take."""
        begin, done, computed = time.monotonic(), 0, 0

        def advance(images: int, /, *, resumed: bool = False) -> None:
            nonlocal done, computed
            done, computed = done + images, computed + (0 if resumed else images)
            rate = computed / max(time.monotonic() - begin, 1e-9)
            left = f", {rate:.1f} images/s, {(total - done) / rate:.0f} s left" if computed else ""
            self._progress(f"{what}: {done:,} of {total:,} images{left}")

        return advance


def _projected(
    pieces: Pieces, known: dict[str, Any], dimensions: int
) -> tuple[Pieces, dict[str, Any]]:
    """Features of a data set on their principal directions, as int8."""
    parts = [pieces] if hasattr(pieces, "column") else list(pieces)
    arrays = [part if isinstance(part, np.ndarray) else feature_array(part) for part in parts]
    values, _, provenance = pca_int8(np.concatenate(arrays), dimensions)
    return [values], {**known, **provenance}
