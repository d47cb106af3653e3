"""The features of a release: extracted or given, projected, and those of the canaries."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SourceError, SpecError
from benchmark_spec.naming import slug
from builders.features import Settings, features_of, is_network
from builders.features.compress import base_of, pca_int8
from builders.features.precomputed import FILE, LooseFeatures, read_loose, write_loose
from builders.features.shards import Pieces
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.writer import ReleaseWriter
from builders.sources.image_set import ImageSet, Progress
from builders.sources.packaged import canaries
from fslbench_data.evaluation.progress import Progress as Counter
from fslbench_data.release.features import Features

ImagesOf = Callable[[], ImageSet]
"""Reads a data set, when it is needed."""

KEPT = ".features"
"""The folder, in that of an unfinished release, of features that the release will not hold."""


def networks(spec: ReleaseSpec) -> list[str]:
    """The backbones of a release's features that are networks, each once, in their order."""
    bases = [base_of(name)[0] for dataset in spec.datasets for name in dataset.features]
    return [base for base in dict.fromkeys(bases) if is_network(base)]


def uses_networks(spec: ReleaseSpec) -> bool:
    """Whether making a release takes a network: for its features, or for reference methods."""
    others = [name for dataset in spec.datasets for name in dataset.backbones]
    tuned = any(dataset.fine_tuning for dataset in spec.datasets)
    return tuned or bool(networks(spec)) or any(is_network(base_of(n)[0]) for n in others)


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


@dataclass(frozen=True)
class Known:
    """The features (N, D) of a data set's images, and how they were made."""

    features: Features
    provenance: dict[str, Any]


class FeatureBuild:
    """Finds or extracts the features of a release, and adds to it those that it holds.

    Parameters
    ----------
    given
        Features that were extracted before; they are taken in place of extracting anew.
    """

    def __init__(
        self,
        writer: ReleaseWriter,
        settings: Settings,
        progress: Progress,
        given: Sequence[LooseFeatures] = (),
    ) -> None:
        self._writer, self._settings, self._progress = writer, settings, progress
        self._given = {
            (dataset, loose.backbone): loose for loose in given for dataset in loose.datasets
        }

    def add(self, dataset: str, names: tuple[str, ...], images: ImagesOf) -> None:
        """Add those of `names` that are not there yet.

        Parameters
        ----------
        names
            Of feature sets: backbones, and their projections such as ``BACKBONE-pca128``, which
            come last.
        """
        for name in sorted(names, key=lambda name: base_of(name)[1] is not None):
            if self._writer.has("features", dataset, name):
                continue
            self._progress(f"{dataset}: features of {name}")
            with self._pieces(dataset, name, images) as (pieces, provenance):
                self._writer.add_features(dataset, name, pieces, provenance)

    def of(self, dataset: str, name: str, images: ImagesOf) -> Known:
        """Those that the release holds, or else a backbone's own, kept until it is whole.

        Raises
        ------
        SourceError
            If those that were given are of other images.
        SpecError
            If they leave out images, or a release would give their backbone another name.
        """
        release = self._writer.so_far()
        for table in release.manifest.tables:
            if (table.kind, table.dataset, table.name) == ("features", dataset, name):
                return Known(release.features(dataset, name), dict(table.provenance))
        loose = self._found(dataset, name) or self._kept(dataset, name, images)
        return Known(loose.features(dataset), _named(name, loose.provenance(dataset)))

    def forget(self) -> None:
        """Remove what was kept."""
        shutil.rmtree(self._writer.folder / KEPT, ignore_errors=True)

    @contextmanager
    def _pieces(
        self, dataset: str, name: str, images: ImagesOf
    ) -> Iterator[tuple[Pieces, dict[str, Any]]]:
        base, dimensions = base_of(name)
        if dimensions is not None or self._found(dataset, name):
            known = self.of(dataset, base, images)
            if dimensions is None:
                yield [known.features], known.provenance
            else:
                values, _, of_values = pca_int8(known.features, dimensions)
                yield [values], {**known.provenance, **of_values}
            return
        told = self._counter(f"{dataset}: features of {name}", len(images().images))
        folder = self._writer.folder
        with features_of(name, images(), folder, self._settings, told) as (pieces, provenance):
            yield pieces, _named(name, provenance)

    def _found(self, dataset: str, backbone: str) -> LooseFeatures | None:
        """Those that were given, if they are of these images."""
        loose = self._given.get((dataset, backbone))
        if loose is None or not is_network(backbone):
            return None
        provenance, where = loose.provenance(dataset), str(loose.folder)
        if provenance.get("images") != content_digest(self._writer.so_far().images(dataset)):
            raise SourceError(
                f"the features of {backbone} that were given are of other images than {dataset}",
                where=where,
                fix=f"extract those of {dataset} again, or do not give them",
            )
        if "left_out" in provenance:
            raise SpecError(
                f"{dataset}: features in a release are of whole images, "
                f"and {len(provenance['left_out'])} were left out",
                where=where,
            )
        return loose

    def _kept(self, dataset: str, backbone: str, images: ImagesOf) -> LooseFeatures:
        """Those that this build extracts, or extracted before it was stopped."""
        folder = self._writer.folder / KEPT / dataset / slug(backbone)[-80:]
        if (folder / FILE).exists():
            return read_loose(folder)
        what = f"{dataset}: features of {backbone}"
        self._progress(what)
        told = self._counter(what, len(images().images))
        return write_loose(images(), backbone, folder, self._settings, told)

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


def _named(name: str, provenance: dict[str, Any]) -> dict[str, Any]:
    """The provenance, if a release calls the backbone by the name that was asked for."""
    if provenance["backbone"] != name:
        raise SpecError(
            f"features = [{name!r}]: a release calls it {provenance['backbone']!r}",
            fix="write that, and name the folder of its file with --weights",
        )
    return provenance
