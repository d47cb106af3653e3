"""Build a release from its specification, continuing an interrupted build."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SourceError
from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import TaskSetName, suite_of
from builders.attributes import Recipe, make_attributes
from builders.attributes.recipe import OWN_ATTRIBUTES, OWN_TEXTS
from builders.execution.steps import Made, Step
from builders.features import Settings
from builders.features.precomputed import PrecomputedFeatures
from builders.release.features import FeatureBuild, uses_captioners, uses_networks, with_canaries
from builders.release.pictures import FILES, picture_provenance, picture_tables
from builders.release.preflight import check_spec, check_there
from builders.release.queries import choose_queries
from builders.release.results import result_steps
from builders.release.spec import CATALOGUE, DatasetSpec, ReleaseSpec
from builders.release.writer import ReleaseWriter, finished_release
from builders.sampling import draw_task_set
from builders.sources.export import check_outside
from builders.sources.image_set import About, ImageSet, Progress, check_same, raw_state, silent
from builders.sources.source import raw_folder
from fslbench_data.sampling.redraw import EVIDENCE
from fslbench_data.tasks import groups_of

Drawn = tuple[pa.Table, dict[str, Any]]
"""The table of a task set, and how it was drawn."""


def build_release(
    spec: ReleaseSpec,
    folder: Path,
    *,
    raw: Path | None = None,
    allow_missing: bool = False,
    settings: Settings | None = None,
    features: Sequence[PrecomputedFeatures] = (),
    progress: Progress = silent,
) -> Manifest:
    """Make a whole release, or continue one; the result is the same, byte for byte.

    Parameters
    ----------
    folder
        New, empty, or left by an unfinished build of a release of this name; if a build of the same
        specification was finished there, nothing is left to do.
    raw
        The folder with the raw folder of each data set.
    allow_missing
        Whether to leave out missing images and classes, and record them in the manifest.
    settings
        How features are extracted.  With features of a network, the release also has the canaries
        as a data set.
    features
        Features that were extracted before, such as on another machine.

    Raises
    ------
    SpecError, UnknownNameError, MissingPackageError
        If something is wrong in any data set that shows without opening an image; before any work.
    SourceError, SamplingError
        If a raw folder is not what it should be, or a task set cannot be drawn from it.
    BackboneError, EngineError
        If features cannot be extracted, or captions cannot be written.
    OutputError
        If the folder cannot be written, or holds something else.
    """
    settings = settings or Settings()
    check_spec(spec, settings)
    if raw is not None:
        for dataset in spec.datasets:
            check_outside(folder, raw / dataset.folder)
    recipe = spec.digest + (" allow_missing" if allow_missing else "")
    if uses_networks(spec) or uses_captioners(spec):
        digests = (table.digest for precomputed in features for table in precomputed.tables)
        recipe += " ".join(["", settings.device, settings.dtype, *sorted(digests)])
    finished = finished_release(folder, spec.name, spec.version, recipe)
    if finished is not None:
        return finished
    check_there(spec, raw, settings, features, allow_missing=allow_missing)
    spec = with_canaries(spec)
    writer = ReleaseWriter(folder, spec.name, spec.version, spec.description, recipe=recipe)
    with closing(writer.journal):
        shared = FeatureBuild(writer, settings, progress, features)
        builds = [DatasetBuild(dataset, raw, allow_missing, shared) for dataset in spec.datasets]
        shared.images |= {build.spec.name: build.images for build in builds}
        datasets = {dataset.name: dataset for dataset in spec.datasets}
        for build in builds:
            writer.run(build.steps(datasets))
        writer.run(result_steps(spec, shared))
        for build in builds:
            build.check_unchanged()
        return writer.finish()


class DatasetBuild:
    """The build of one data set; its raw folder is read only if a step needs it."""

    def __init__(
        self, spec: DatasetSpec, raw: Path | None, allow_missing: bool, features: FeatureBuild
    ) -> None:
        self.spec, self._allow_missing, self._features = spec, allow_missing, features
        self._writer, self._progress = features.writer, features.progress
        self._raw = raw / spec.folder if raw is not None else None
        self._files = raw_folder(self._raw, spec.options)
        self._read: ImageSet | None = None

    def steps(self, datasets: Mapping[str, DatasetSpec]) -> Iterator[Step]:
        """Yield the steps that make its tables; `datasets` may be needed to choose queries."""
        spec, name = self.spec, self.spec.name
        made_of = [spec.source, spec.folder, dict(spec.options), self._allow_missing]
        yield Step(f"classes/{name}", made_of, self._add_dataset)
        if self._read is None:
            self.check_unchanged()
        self._check_whole()
        self._features.check_given(name, spec.every_backbone)
        yield from self._attributes()
        digests = [self._writer.digest("classes", name), self._writer.digest("images", name)]
        if spec.pictures is not None:
            made_of = [spec.pictures, spec.options.get("licence", ""), *digests]
            yield Step(f"pictures/{name}", made_of, self._add_pictures)
        yield from self._tasks(datasets, digests)
        yield from self._features.steps(name, spec.features)

    def check_unchanged(self) -> None:
        """Raise a SourceError if the images are not those that an earlier run has read."""
        name = self.spec.name
        if self.spec.source == CATALOGUE:
            return
        if self._read is not None:
            self._read.check_unchanged()
        elif raw_state(self._files) != self._writer.journal.notes.get(name):
            self._progress(f"{name}: the raw folder changed and is read again")
            self.images()

    def images(self) -> ImageSet:
        """Return the data set as its source reads it, once."""
        if self._read is None:
            name, release = self.spec.name, self._writer.so_far()
            images = self.spec.read(
                self._raw, allow_missing=self._allow_missing, progress=self._progress
            )
            if name in release.datasets_with("images"):
                check_same(images, release.images(name), release.superclasses(name))
            self._writer.journal.notes[name] = images.state
            self._writer.journal.save()
            self._read = images
        return self._read

    def _add_dataset(self) -> Made:
        name, add = self.spec.name, self._writer.add_dataset
        self._progress(name)
        if self.spec.source == CATALOGUE:
            entry = lookup(name)
            about, provenance = About.of(entry), {"counts_from": entry.counts_from}
            classes = entry.class_names, entry.class_sizes
            return add(name, about, *classes, None, provenance, entry.of_classes)
        images = self.images()
        return add(
            name,
            images.about,
            images.class_names,
            images.class_sizes,
            images.images,
            images.provenance,
            images.superclasses,
        )

    def _check_whole(self) -> None:
        """Refuse published task sets of a data set that is not whole."""
        name, tables = self.spec.name, self._writer.so_far().manifest.tables
        (classes,) = (t for t in tables if (t.kind, t.dataset) == ("classes", name))
        published = any(text.startswith("published-") for text in self.spec.declared_task_sets)
        if "left_out" in classes.provenance and published:
            raise SourceError(
                f"{name}: the published task sets need the whole data set, "
                "and images or classes are missing",
                fix="complete the raw folder, or leave the suite `published` out",
            )

    def _attributes(self) -> Iterator[Step]:
        spec, features = self.spec, self._features
        file_options = OWN_TEXTS | OWN_ATTRIBUTES
        own_files = {key: value for key, value in spec.options.items() if key in file_options}
        for name, text in spec.attributes.items():
            recipe = Recipe.parse(text)
            made_of = [text, spec.source, own_files, self._writer.digest("images", spec.name)]
            if recipe.captioner:
                made_of += [features.settings.device, features.settings.dtype]
            folder = features.work(f"{spec.name}-{name}", made_of)
            make = partial(self._add_attributes, name, recipe, folder)
            yield Step(f"attributes/{spec.name}/{name}", made_of, make)

    def _add_attributes(self, name: str, recipe: Recipe, work: Path) -> Made:
        spec, settings = self.spec, self._features.settings
        self._progress(f"{spec.name}: attributes {name}")
        table, provenance = make_attributes(
            self.images(), recipe, spec.source, work, settings, self._progress
        )
        return self._writer.add_attributes(spec.name, name, table, provenance)

    def _add_pictures(self) -> Made:
        form, images = self.spec.pictures, self.images()
        longest = None if form == FILES or form is None else int(form)
        tables = picture_tables(images, longest, self._progress)
        provenance = picture_provenance(images, longest)
        return self._writer.add_pictures(self.spec.name, tables, images.class_names, provenance)

    def _tasks(self, datasets: Mapping[str, DatasetSpec], digests: Sequence[str]) -> Iterator[Step]:
        name, release = self.spec.name, self._writer.so_far()
        sizes = release.classes(name).column("n_images").to_pylist()
        has_images = name in release.datasets_with("images")
        groups = groups_of(release.images(name)) if has_images else None

        def drawing(spec: DatasetSpec, task_set: TaskSetName) -> Callable[[], Drawn]:
            suite = suite_of(task_set.suite)
            how: dict[str, Any] = {"tasks": spec.number_of_tasks(suite.name), "groups": groups}
            how["seed"] = 0 if suite.name == "published" else spec.seed
            if suite.attributes:
                how["attributes"] = release.attributes(name, suite.attributes)
            if spec.test and suite.whole:
                how |= {"test": spec.test, "paths": release.paths(name)}
            return partial(draw_task_set, name, task_set, sizes, **how)

        if self.spec.left_open:  # refuse what cannot be drawn before features are extracted
            with_one_query = self.spec.filled
            for task_set in with_one_query.every_task_set:
                suite = suite_of(task_set.suite)
                if suite.uniform or suite.attributes:
                    drawing(with_one_query, task_set)()
        chosen = choose_queries(self.spec, self._features, datasets)
        queries = {pair: evidence.query for pair, evidence in chosen.items()}
        spec, closed = self.spec.with_queries(queries), self.spec.closed(queries)
        for task_set in spec.every_task_set:
            suite, pair = suite_of(task_set.suite), closed.get(str(task_set))
            why = {EVIDENCE: chosen[pair].as_json()} if pair else {}
            drawn = suite.name in spec.drawn
            made_of = [spec.seed, spec.number_of_tasks(suite.name), drawn, why, *digests]
            if suite.attributes:
                made_of.append(self._writer.digest("attributes", name, suite.attributes))
            if spec.test and suite.whole:
                made_of.append(spec.test)
            add = partial(self._add_tasks, task_set, drawing(spec, task_set), why, drawn)
            yield Step(f"tasks/{name}/{task_set}", made_of, add)

    def _add_tasks(
        self, task_set: TaskSetName, draw: Callable[[], Drawn], why: dict[str, Any], drawn: bool
    ) -> Made:
        name = self.spec.name
        self._progress(f"{name}/{task_set}")
        table, provenance = draw()
        return self._writer.add_tasks(name, task_set, table, provenance | why, drawn=drawn)
