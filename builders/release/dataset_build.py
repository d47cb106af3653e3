"""Building one data set's classes, images, attributes, task sets and features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SourceError
from benchmark_spec.suites import suite_of
from builders.attributes import Recipe, make_attributes
from builders.attributes.recipe import OWN_TEXTS
from builders.release.features import FeatureBuild
from builders.release.pictures import FILES, picture_provenance, picture_tables
from builders.release.queries import Chosen
from builders.release.spec import CATALOGUE, DatasetSpec
from builders.sampling import draw_task_set, groups_of
from builders.sources.image_set import (
    About,
    ImageSet,
    check_same_images,
    check_same_superclasses,
    raw_state,
)
from builders.sources.read import raw_folder, read_source
from fslbench_data.tasks.redraw import EVIDENCE

ChooseQueries = Callable[[DatasetSpec], Chosen]
"""Chooses the numbers of queries that the specification of a data set leaves open."""


class DatasetBuild:
    """The build of one data set's tables; its raw folder is read only if something needs it.

    `features` also says what the release is written with, how, and who follows it.
    """

    def __init__(
        self, spec: DatasetSpec, raw: Path | None, allow_missing: bool, features: FeatureBuild
    ) -> None:
        self._spec, self._allow_missing, self._features = spec, allow_missing, features
        self._writer, self._progress = features.writer, features.progress
        self._raw = raw / spec.folder if raw is not None else None
        self._files = raw_folder(self._raw, spec.options)
        self._read: ImageSet | None = None

    def build(self, choose: ChooseQueries) -> None:
        """Add the tables that are not there yet."""
        name = self._spec.name
        spec = self._spec
        made_of = [spec.source, spec.folder, dict(spec.options), self._allow_missing]
        if not self._writer.has_dataset(name, made_of):
            self._progress(name)
            self._add_dataset()
        else:
            self.check_unchanged()
        self._check_whole()
        self._features.check_given(name, (*spec.features, *spec.backbones))
        self._add_attributes()
        self._add_pictures()
        self._add_tasks(choose(self._spec))
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

    def images(self) -> ImageSet:
        """Return the data set as its source reads it, once."""
        if self._read is None:
            name, release = self._spec.name, self._writer.so_far()
            images = read_source(
                self._spec.source,
                self._raw,
                name=name,
                options=self._spec.options,
                allow_missing=self._allow_missing,
                progress=self._progress,
            )
            if name in release.datasets_with("images"):
                check_same_images(name, release.images(name), images.images, self._files)
                check_same_superclasses(
                    name, release.superclasses(name), images.superclasses, self._files
                )
            self._writer.keep_raw_state(name, images.state)
            self._read = images
        return self._read

    def _add_dataset(self) -> None:
        name = self._spec.name
        if self._spec.source == CATALOGUE:
            entry = lookup(name)
            self._writer.add_dataset(
                name,
                About.of_catalogue(name),
                entry.class_names,
                entry.class_sizes,
                provenance={"counts_from": entry.counts_from},
                superclasses=entry.superclasses,
            )
            return
        images = self.images()
        self._writer.add_dataset(
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
        listed, name = self._spec.listed, self._spec.name
        (classes,) = (
            table
            for table in self._writer.so_far().manifest.tables
            if (table.kind, table.dataset) == ("classes", name)
        )
        if "left_out" in classes.provenance and any(t.startswith("published-") for t in listed):
            raise SourceError(
                f"{name}: the published task sets need the whole data set, "
                "and images or classes are missing",
                fix="complete the raw folder, or leave the suite `published` out",
            )

    def _add_attributes(self) -> None:
        spec, settings = self._spec, self._features.settings
        own = {key: value for key, value in spec.options.items() if key in OWN_TEXTS}
        for name, text in spec.attributes.items():
            made_of = [text, spec.source, own, self._writer.digest("images", spec.name)]
            if Recipe.parse(text).captioner:
                made_of += [settings.device, settings.dtype]
            if self._writer.has("attributes", spec.name, name, made_of):
                continue
            self._progress(f"{self._spec.name}: attributes {name}")
            made = make_attributes(
                self.images(),
                Recipe.parse(text),
                self._spec.source,
                self._raw,
                self._features.work(f"{spec.name}-{name}", made_of),
                settings,
                self._progress,
            )
            self._writer.add_attributes(self._spec.name, name, made.table, made.provenance)

    def _add_pictures(self) -> None:
        wanted, name = self._spec.pictures, self._spec.name
        digests = [self._writer.digest("classes", name), self._writer.digest("images", name)]
        made_of = [wanted, self._spec.options.get("licence", ""), *digests]
        if wanted is None or self._writer.has("pictures", name, "", made_of):
            return
        longest = None if wanted == FILES else int(wanted)
        images = self.images()
        tables = picture_tables(images, longest, self._progress)
        provenance = picture_provenance(images, longest)
        self._writer.add_pictures(name, tables, images.class_names, provenance)

    def _add_tasks(self, chosen: Chosen) -> None:
        name, release = self._spec.name, self._writer.so_far()
        queries = {pair: evidence.query for pair, evidence in chosen.items()}
        spec, closed = self._spec.with_queries(queries), self._spec.closed(queries)
        sizes = release.classes(name).column("n_images").to_pylist()
        has_images = name in release.datasets_with("images")
        groups = groups_of(release.images(name)) if has_images else None
        digests = [self._writer.digest("classes", name), self._writer.digest("images", name)]
        for task_set in spec.every_task_set:
            label, drawn = suite_of(task_set.suite).attributes, task_set.suite in spec.drawn
            pair = closed.get(str(task_set))
            why = {EVIDENCE: chosen[pair].as_json()} if pair else {}
            made_of = [spec.seed, spec.number_of_tasks(task_set.suite), drawn, why, *digests]
            if label:
                made_of.append(self._writer.digest("attributes", name, label))
            if not self._writer.has("tasks", name, str(task_set), made_of):
                self._progress(f"{name}/{task_set}")
                table, provenance = draw_task_set(
                    name,
                    task_set,
                    sizes,
                    seed=0 if task_set.suite == "published" else self._spec.seed,
                    tasks=self._spec.number_of_tasks(task_set.suite),
                    groups=groups,
                    attributes=release.attributes(name, label) if label else None,
                )
                provenance |= why
                self._writer.add_tasks(name, task_set, table, provenance, drawn=drawn)
