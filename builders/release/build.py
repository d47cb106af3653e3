"""Making a release from its specification, going on where an earlier run was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SamplingError, SourceError, SpecError, UnknownNameError
from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import TaskSetName, suite_of
from builders.baselines.heads import HEADS
from builders.features import Settings, check_backbone
from builders.features.compress import base_of
from builders.features.precomputed import LooseFeatures
from builders.release.attributes import add_attributes, check_attributes, uses_captioners
from builders.release.features import FeatureBuild, uses_networks, with_canaries
from builders.release.finished import finished_release
from builders.release.results import ResultsBuild
from builders.release.spec import CATALOGUE, DatasetSpec, ReleaseSpec
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set, groups_of
from builders.sources import SOURCES
from builders.sources.image_set import ImageSet, Progress, silent
from builders.sources.read import check_options, raw_folder, read_source
from builders.sources.unchanged import check_same_images, raw_state
from fslbench_data.release.release import Release


def build_release(
    spec: ReleaseSpec,
    folder: Path,
    *,
    raw: Path | None = None,
    allow_missing: bool = False,
    settings: Settings | None = None,
    features: Sequence[LooseFeatures] = (),
    earlier: Release | None = None,
    progress: Progress = silent,
) -> Manifest:
    """Make a whole release.

    Every table is written as soon as it is made, so a build that is stopped and called again does
    not make it twice; the result is the same, byte for byte.

    Parameters
    ----------
    folder
        New, empty, or left by a build of the same specification; if that was finished, nothing is
        left to do.
    raw
        Holds the raw folder of each data set.
    allow_missing
        Go on where images or classes are missing, and record them in the manifest.
    settings
        How features are extracted.  Where they are of a network, the release has a data set more:
        the canaries.
    features
        Some that were extracted before, such as on another machine; they are not extracted again.
    earlier
        A release whose results of fine-tuning are taken over where they are of the same network,
        images and tasks.

    Raises
    ------
    SpecError, UnknownNameError
        If the specification asks for what cannot be made.
    SourceError, CatalogueError, SamplingError
        If a raw folder is not what it should be, or a task set cannot be drawn from it.
    BackboneError, EngineError
        If features cannot be extracted, or captions not be written.
    MissingPackageError
        If what makes the attributes is not installed.
    OutputError
        If the folder cannot be written, or holds something else.
    """
    settings = settings or Settings()
    for wanted in spec.datasets:
        _check(wanted)
        check_attributes(wanted, settings)
    if settings.skip_corrupt:
        raise SpecError("features in a release are of whole images: none can be skipped")
    recipe = spec.digest + (" allow_missing" if allow_missing else "")
    if uses_networks(spec) or uses_captioners(spec):
        given = (table.digest for loose in features for table in loose.tables)
        recipe += " ".join(["", settings.device, settings.dtype, *sorted(given)])
    done = finished_release(folder, spec.name, spec.version, recipe)
    if done is not None:
        return done
    spec = with_canaries(spec)
    writer = ReleaseWriter(folder, spec.name, spec.version, spec.description, recipe=recipe)
    found = FeatureBuild(writer, settings, progress, features)
    datasets = {
        dataset.name: _Dataset(dataset, writer, raw, allow_missing, found, settings, progress)
        for dataset in spec.datasets
    }
    for dataset in datasets.values():
        dataset.build()
    images = {name: dataset.images for name, dataset in datasets.items()}
    ResultsBuild(spec, writer, found, images, settings, progress, earlier).add()
    for dataset in datasets.values():
        dataset.check_unchanged()
    found.forget()
    return writer.finish()


def _check(dataset: DatasetSpec) -> None:
    """Refuse at once what would fail after hours."""
    where = f"data set {dataset.name}"
    suites, given = {suite.name for suite in dataset.every_suite}, set(dataset.tasks)
    if dataset.source == CATALOGUE:
        lookup(dataset.name)
        if dataset.features or dataset.backbones or dataset.fine_tuning or dataset.options:
            raise SpecError(
                f"{where}: a catalogue has no images to extract features from, and takes no options"
            )
        if "grouped" in suites:
            raise SamplingError(
                f"{where}: a grouped set needs the groups of the images",
                fix="give a source with images; a catalogue has only counts",
            )
    elif dataset.source not in SOURCES:
        raise UnknownNameError("source", dataset.source, (*SOURCES, CATALOGUE), where=where)
    else:
        check_options(dataset.source, dataset.name, dataset.options)
    for suite in dataset.every_suite:
        if suite.interval == "closed" and dataset.number_of_tasks(suite.name) is None:
            raise SpecError(
                f"{where}: a {suite.name} set needs a number of tasks",
                fix="add tasks = { closed = 600 }",
            )
        if suite.attributes and suite.attributes not in dataset.attributes:
            raise UnknownNameError(
                "attributes", suite.attributes, dataset.attributes, where=f"{where}, {suite.name}"
            )
    if "published" in given & suites:
        raise SpecError(
            f"{where}: the published task sets are what they are", fix="take tasks.published out"
        )
    _check_methods(dataset, where)


def _check_methods(dataset: DatasetSpec, where: str) -> None:
    tuned = dataset.fine_tuning
    bases = [base_of(name)[0] for name in dataset.features]
    for backbone in (*bases, *dataset.backbones, *(tuned.backbones if tuned else ())):
        check_backbone(backbone, where)
    for head in dataset.heads:
        if head not in HEADS:
            raise UnknownNameError("head", head, HEADS, where=where)
    with_features = dataset.features or dataset.backbones
    if dataset.heads and not (with_features and dataset.every_task_set):
        raise SpecError(
            f"{where}: heads need features, and suites to run on",
            fix='add features = ["..."] and suites = ["..."]',
        )
    if dataset.backbones and not dataset.heads:
        raise SpecError(
            f"{where}: backbones are for reference methods, and there are none",
            fix='add heads = ["..."], or list them in features for the release to hold',
        )
    for name in dataset.backbones:
        if base_of(name)[1] is not None:
            raise SpecError(
                f"{where}: {name} is a projection, which a release holds", fix="list it in features"
            )
    for task_set in tuned.task_sets if tuned else ():
        if task_set not in (known := [str(name) for name in dataset.every_task_set]):
            raise UnknownNameError("task set", task_set, known, where=f"{where}, fine_tuning")


class _Dataset:
    """The build of one data set's tables; its raw folder is read only if something needs it."""

    def __init__(
        self,
        spec: DatasetSpec,
        writer: ReleaseWriter,
        raw: Path | None,
        allow_missing: bool,
        features: FeatureBuild,
        settings: Settings,
        progress: Progress,
    ) -> None:
        self._spec, self._writer, self._progress = spec, writer, progress
        self._features, self._settings = features, settings
        self._raw = raw / spec.folder if raw is not None else None
        self._files = raw_folder(self._raw, spec.options)
        self._allow_missing = allow_missing
        self._read: ImageSet | None = None

    def build(self) -> None:
        name = self._spec.name
        if not self._writer.has_dataset(name):
            self._progress(name)
            self._add_dataset()
        else:
            self.check_unchanged()
        add_attributes(
            self._writer, self._spec, self.images, self._raw, self._settings, self._progress
        )
        release = self._writer.so_far()
        sizes = release.classes(name).column("n_images").to_pylist()
        known = name in release.datasets_with("images")
        groups = groups_of(release.images(name)) if known else None
        for task_set in self._spec.every_task_set:
            if not self._writer.has("tasks", name, str(task_set)):
                self._progress(f"{name}/{task_set}")
                label = suite_of(task_set.suite).attributes
                drawn = draw_task_set(
                    name,
                    task_set,
                    sizes,
                    seed=self._seed(task_set),
                    tasks=self._spec.number_of_tasks(task_set.suite),
                    groups=groups,
                    attributes=release.attributes(name, label) if label else None,
                )
                self._writer.add_tasks(name, task_set, *drawn)
        self._features.add(name, self._spec.features, self.images)

    def check_unchanged(self) -> None:
        """Refuse to go on if the images are not those which were read before, in any run."""
        name = self._spec.name
        if self._spec.source == CATALOGUE:
            return
        if self._read is not None:
            self._read.check_unchanged()
        elif raw_state(self._files) != self._writer.raw_state(name):
            self._progress(f"{name}: the raw folder changed and is read again")
            self.images()

    def _seed(self, task_set: TaskSetName) -> int:
        return 0 if task_set.suite == "published" else self._spec.seed

    def _add_dataset(self) -> None:
        name = self._spec.name
        if self._spec.source == CATALOGUE:
            known = lookup(name)
            self._writer.add_dataset(
                name,
                title=known.title,
                homepage=known.homepage,
                licence=known.licence,
                citation=known.citation,
                note=known.note,
                redistribution=known.redistribution,
                class_names=known.class_names,
                class_sizes=known.class_sizes,
                provenance={"counts_from": known.counts_from},
            )
            return
        images = self.images()
        if "left_out" in images.provenance and any(
            suite.name == "published" for suite in self._spec.every_suite
        ):
            raise SourceError(
                f"{name}: the published task sets need the whole data set, "
                "and images or classes are missing",
                fix="complete the raw folder, or leave the suite `published` out",
            )
        self._writer.add_dataset(
            name,
            title=images.about.title,
            homepage=images.about.homepage,
            licence=images.about.licence,
            citation=images.about.citation,
            note=images.about.note,
            redistribution=images.about.redistribution,
            class_names=images.class_names,
            class_sizes=images.class_sizes,
            images=images.images,
            provenance=images.provenance,
        )

    def images(self) -> ImageSet:
        """The data set as its source reads it, once."""
        if self._read is None:
            name, release = self._spec.name, self._writer.so_far()
            found = read_source(
                self._spec.source,
                self._raw,
                name=name,
                options=self._spec.options,
                allow_missing=self._allow_missing,
                progress=self._progress,
            )
            if name in release.datasets_with("images"):
                check_same_images(name, release.images(name), found.images, self._files)
            self._writer.keep_raw_state(name, found.state)
            self._read = found
        return self._read
