"""What a build would make, told before it is made: task sets, features, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import FSLBenchError, SamplingError
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.suites import suite_of
from builders.attributes import Recipe, make_attributes
from builders.attributes.captioner import GIVEN
from builders.features import Settings
from builders.features.compress import base_of
from builders.features.precomputed import PrecomputedFeatures
from builders.release.refusals import missing_for_networks, no_choice
from builders.release.spec import CATALOGUE, LEFT_OPEN, DatasetSpec, ReleaseSpec
from builders.release.spec_checks import check_spec
from builders.sampling import Groups, count_tasks, groups_of
from builders.sampling.published import draw_published
from builders.sampling.with_attributes import draw_with_attributes
from builders.sources.image_set import Progress, silent
from builders.sources.read import read_source
from fslbench_data.tasks.drawn import checked_sizes

Attributes = Mapping[str, pa.Table]
"""By label, of the sets of attributes that came with a data set."""

FEW = 20
"""Tasks below which Student's quantile makes intervals wide."""

WIDE = "few: wide intervals; see `fslbench plan`"


@dataclass(frozen=True)
class PlannedSet:
    """A task set that would be made; `tasks` is None where drawing decides, `note` says more."""

    dataset: str
    name: str
    tasks: int | None
    note: str = ""


@dataclass(frozen=True)
class PlannedFeatures:
    """Features that would be extracted, or taken from a folder."""

    dataset: str
    backbone: str
    images: int


@dataclass(frozen=True)
class DryRun:
    """What a build would make.

    Attributes
    ----------
    sizes
        Classes and images of each data set that can be read.
    missing
        What the build would stop at, in words.
    """

    sizes: dict[str, tuple[int, int]]
    sets: tuple[PlannedSet, ...]
    features: tuple[PlannedFeatures, ...]
    missing: tuple[str, ...]


def dry_run(
    spec: ReleaseSpec,
    raw: Path | None = None,
    *,
    allow_missing: bool = False,
    settings: Settings | None = None,
    extracted: Sequence[PrecomputedFeatures] = (),
    progress: Progress = silent,
) -> DryRun:
    """Read what a build would read and say what would be made.

    No task is drawn, but one with attributes that came with the images: whether there is any
    depends on which images have them.

    Raises what :func:`builders.release.build.build_release` raises at once; what it would stop at
    later is among what is missing.
    """
    settings = settings or Settings()
    check_spec(spec, settings)
    sizes: dict[str, tuple[int, int]] = {}
    sets: list[PlannedSet] = []
    features: list[PlannedFeatures] = []
    missing: list[str] = []
    for dataset in spec.datasets:
        try:
            of_classes, groups, tables = _read(dataset, raw, allow_missing, progress)
        except FSLBenchError as error:
            missing.append(str(error))
            continue
        missing += map(str, no_choice(dataset, of_classes, groups))
        sizes[dataset.name] = (len(of_classes), sum(of_classes))
        for planned in _task_sets(dataset, of_classes, groups, tables):
            if isinstance(planned, str):
                missing.append(planned)
            else:
                sets.append(planned)
        names = dict.fromkeys(base_of(n)[0] for n in (*dataset.features, *dataset.backbones))
        features += [PlannedFeatures(dataset.name, name, sum(of_classes)) for name in names]
    missing += map(str, missing_for_networks(spec, settings, extracted))
    return DryRun(sizes, tuple(sets), tuple(features), tuple(missing))


def _read(
    dataset: DatasetSpec, raw: Path | None, allow_missing: bool, progress: Progress
) -> tuple[tuple[int, ...], Groups | None, Attributes]:
    """Read the class sizes and groups of a data set, and the attributes that came with it."""
    if dataset.source == CATALOGUE:
        return tuple(lookup(dataset.name).class_sizes), None, {}
    folder = None if raw is None else raw / dataset.folder
    images = read_source(
        dataset.source,
        folder,
        name=dataset.name,
        options=dataset.options,
        allow_missing=allow_missing,
        progress=progress,
    )
    recipes = {label: Recipe.parse(text) for label, text in dataset.attributes.items()}
    tables = {
        label: make_attributes(images, recipe, dataset.source, folder, Path()).table
        for label, recipe in recipes.items()
        if recipe.attributes == GIVEN
    }
    return images.class_sizes, groups_of(images.images), tables


def _task_sets(
    dataset: DatasetSpec, sizes: tuple[int, ...], groups: Groups | None, tables: Attributes
) -> Iterator[PlannedSet | str]:
    """Say how many tasks each task set would have, or why there can be none."""
    for text in dataset.listed:
        match = LEFT_OPEN.fullmatch(text)
        names = [text] if match is None else [f"{text}{query}q" for query in (1, 10)]
        try:
            sets = [TaskSetName.parse(name) for name in names]
            tasks = [_tasks(dataset, name, sizes, groups, tables) for name in sets]
        except SamplingError as error:
            yield str(error)
            continue
        if match is not None:
            note = "Q is chosen while it is built"
            if None not in tasks and tasks[0] != tasks[1]:
                note += f": {tasks[0]:,} tasks at Q = 1, {tasks[1]:,} at 10"
            if tasks[0] is not None and tasks[0] < FEW:
                note += f"; {WIDE}"
            yield PlannedSet(dataset.name, text, None, note)
            continue
        (number,) = tasks
        few = number is not None and number < FEW
        note = "as many as attributes allow" if number is None else ""
        yield PlannedSet(dataset.name, text, number, note or (few and WIDE) or "")


def _tasks(
    dataset: DatasetSpec,
    name: TaskSetName,
    sizes: tuple[int, ...],
    groups: Groups | None,
    tables: Attributes,
) -> int | None:
    """Count the tasks of a set; None where attributes decide."""
    asked, suite = dataset.number_of_tasks(name.suite), suite_of(name.suite)
    if suite.attributes or (suite.interval == "closed" and asked is not None):
        checked_sizes(sizes, name.protocol, dataset.name)
        if (of_images := tables.get(suite.attributes)) is not None:
            one: dict[str, Any] = {"seed": dataset.seed, "tasks": 1, "groups": groups}
            draw_with_attributes(dataset.name, name, sizes, attributes=of_images, **one)
        return asked
    if name.suite == "published":
        return len(draw_published(sizes, name.protocol, dataset=dataset.name))
    counted = count_tasks(dataset.name, name, sizes, seed=dataset.seed, groups=groups)
    return counted if asked is None else min(asked, counted)
