"""The features of a release: extracted or given, projected, and those of the canaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SourceError, SpecError
from benchmark_spec.naming import slug
from builders.attributes import Recipe
from builders.execution.steps import Made, Step, digest_of
from builders.features import Settings, features_of, is_network
from builders.features.compress import base_of, pca_int8
from builders.features.precomputed import (
    FILE,
    PrecomputedFeatures,
    read_precomputed,
    write_precomputed,
)
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.writer import KEPT, ReleaseWriter
from builders.sources.image_set import ImageSet, Progress
from builders.sources.packaged import canaries
from fslbench_data.evaluation.progress import Progress as Counter
from fslbench_data.evaluation.progress import counted
from fslbench_data.release.features import Features


def networks(spec: ReleaseSpec) -> list[str]:
    """List the networks among the backbones of a release's features, each once."""
    bases = [base_of(name)[0] for dataset in spec.datasets for name in dataset.features]
    return [base for base in dict.fromkeys(bases) if is_network(base)]


def extracted(spec: ReleaseSpec) -> list[tuple[str, str]]:
    """List the data sets and backbones of all features that making a release extracts."""
    pairs = [(dataset.name, name) for dataset in spec.datasets for name in dataset.every_backbone]
    for dataset in spec.datasets:
        rule = dataset.queries
        if rule is not None and rule.features and dataset.left_open:
            pairs.append((rule.dataset or dataset.name, rule.features))
    return [(name, base_of(backbone)[0]) for name, backbone in pairs]


def uses_networks(spec: ReleaseSpec) -> bool:
    """Return whether making a release needs a network, for its features or reference methods."""
    tuned = any(dataset.fine_tuning for dataset in spec.datasets)
    return tuned or any(is_network(backbone) for _, backbone in extracted(spec))


def uses_captioners(spec: ReleaseSpec) -> bool:
    """Return whether making a release needs a network that writes captions."""
    recipes = [recipe for dataset in spec.datasets for recipe in dataset.attributes.values()]
    return any(Recipe.parse(recipe).captioner for recipe in recipes)


def with_canaries(spec: ReleaseSpec) -> ReleaseSpec:
    """Add the canaries and their features to a release with features of networks."""
    backbones = networks(spec)
    if not backbones:
        return spec
    name = canaries.NAME
    declared = [dataset for dataset in spec.datasets if dataset.name == name]
    if not declared:
        declared = [DatasetSpec(name, source=name, folder=name)]
    if declared[0].source != name:
        raise SpecError(
            f"a release with features of networks holds a data set {name!r}: its canaries",
            fix="give yours another name",
        )
    features = tuple(dict.fromkeys((*declared[0].features, *backbones)))
    others = tuple(dataset for dataset in spec.datasets if dataset.name != name)
    return replace(spec, datasets=(*others, replace(declared[0], features=features)))


class FeatureBuild:
    """Finds or extracts the features of a release, and adds those that it holds.

    Features `extracted` before are used instead of extracting them again; `images` has a function
    for each data set that reads it when needed.
    """

    def __init__(
        self,
        writer: ReleaseWriter,
        settings: Settings,
        progress: Progress,
        extracted: Sequence[PrecomputedFeatures] = (),
    ) -> None:
        self.writer, self.settings, self.progress = writer, settings, progress
        self.images: dict[str, Callable[[], ImageSet]] = {}
        self._extracted = {
            (dataset, given.backbone): given for given in extracted for dataset in given.datasets
        }

    def steps(self, dataset: str, names: tuple[str, ...]) -> Iterator[Step]:
        """Yield the steps that add the feature sets of these names, projections last."""
        for name in sorted(names, key=lambda name: base_of(name)[1] is not None):
            add = partial(self._add, dataset, name)
            yield Step(f"features/{dataset}/{name}", self.made_of(dataset, name), add)

    def check_given(self, dataset: str, names: Iterable[str]) -> None:
        """Raise a SourceError for given features of other images, once the images are read."""
        for name in names:
            self._before(dataset, base_of(name)[0])

    def of(self, dataset: str, name: str) -> tuple[Features, dict[str, Any]]:
        """Return features (N, D), the release's or those of a backbone, and their provenance."""
        release, key = self.writer.so_far(), ("features", dataset, name)
        for table in release.manifest.tables:
            if (table.kind, table.dataset, table.name) == key:
                return release.features(dataset, name), dict(table.provenance)
        precomputed = self._before(dataset, name) or self._kept(dataset, name)
        return precomputed.features(dataset), _named(name, precomputed.provenance(dataset))

    def made_of(self, dataset: str, name: str) -> list[str]:
        """List what features are made of, for JSON: images, network, device, or those given."""
        made_of, base = [name, self.writer.digest("images", dataset)], base_of(name)[0]
        if is_network(base):
            given = self._extracted.get((dataset, base))
            digests = [table.digest for table in given.shards(dataset)] if given else []
            made_of += [self.settings.device, self.settings.dtype, *digests]
        return made_of

    def work(self, what: str, made_of: Sequence[Any]) -> Path:
        """Return a folder for work on these inputs, kept until the release is finished."""
        return self.writer.folder / KEPT / f"{slug(what)[-60:]}-{digest_of(made_of)[:16]}"

    def _add(self, dataset: str, name: str) -> Made:
        self.progress(f"{dataset}: features of {name}")
        (base, dimensions), add = base_of(name), partial(self.writer.add_features, dataset, name)
        if dimensions is not None:
            features, provenance = self.of(dataset, base)
            values, _, of_values = pca_int8(features, dimensions)
            return add([values], provenance | of_values)
        if (self._work_folder(dataset, name) / FILE).exists() or self._before(dataset, name):
            features, provenance = self.of(dataset, base)
            return add([features], provenance)
        folder = self.work(f"{dataset}-{name}", self.made_of(dataset, name))
        images, counter = self._images_and_counter(dataset, name)
        with features_of(name, images, folder, self.settings, counter) as (pieces, provenance):
            return add(pieces, _named(name, provenance))

    def _before(self, dataset: str, backbone: str) -> PrecomputedFeatures | None:
        """Return precomputed features of a backbone, if any; a SourceError for other images."""
        precomputed = self._extracted.get((dataset, backbone))
        if precomputed is None or not is_network(backbone):
            return None
        provenance, where = precomputed.provenance(dataset), str(precomputed.folder)
        if provenance.get("images") != content_digest(self.writer.so_far().images(dataset)):
            raise SourceError(
                f"the features of {backbone} that were given are of other images than {dataset}",
                where=where,
                fix=f"extract those of {dataset} again, or do not give them",
            )
        return precomputed

    def _kept(self, dataset: str, backbone: str) -> PrecomputedFeatures:
        """Return features in the work folder, extracted unless a previous run has done so."""
        folder = self._work_folder(dataset, backbone)
        if (folder / FILE).exists():
            return read_precomputed(folder)
        self.progress(f"{dataset}: features of {backbone}")
        images, counter = self._images_and_counter(dataset, backbone)
        return write_precomputed(images, backbone, folder, self.settings, counter)

    def _images_and_counter(self, dataset: str, name: str) -> tuple[ImageSet, Counter]:
        """Read a data set, and return what reports how many of its images are extracted."""
        images, what = self.images[dataset](), f"{dataset}: features of {name}"
        counter = counted(len(images.images), "images", lambda far: self.progress(f"{what}: {far}"))
        return images, counter

    def _work_folder(self, dataset: str, backbone: str) -> Path:
        """Return the folder of features that :meth:`_kept` extracts."""
        return self.work(f"{dataset}-{backbone}", ["kept", *self.made_of(dataset, backbone)])


def _named(name: str, provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the provenance, if its backbone has the requested name."""
    if provenance["backbone"] != name:
        raise SpecError(
            f"features = [{name!r}]: a release calls it {provenance['backbone']!r}",
            fix="write that, and name the folder of its file with --weights",
        )
    return provenance
