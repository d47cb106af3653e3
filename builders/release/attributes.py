"""The attributes of a release's images, each set made as its recipe says."""

from __future__ import annotations

from pathlib import Path

from benchmark_spec.errors import SpecError
from builders.attributes import Recipe, check_recipe, make_attributes
from builders.features import WORK, Settings
from builders.release.features import ImagesOf
from builders.release.spec import CATALOGUE, DatasetSpec, ReleaseSpec
from builders.release.writer import ReleaseWriter
from builders.sources.image_set import Progress


def check_attributes(dataset: DatasetSpec, settings: Settings) -> None:
    """Refuse at once recipes that cannot be followed.

    Raises
    ------
    SpecError
        If the data set has no images.
    SourceError, MissingPackageError, BackboneError, UnknownNameError
        See :func:`builders.attributes.recipe.check_recipe`.
    """
    where = f"data set {dataset.name}"
    if dataset.attributes and dataset.source == CATALOGUE:
        raise SpecError(f"{where}: a catalogue has no images that could have attributes")
    for name, recipe in dataset.attributes.items():
        of = f"{where}, attributes.{name}"
        check_recipe(Recipe.parse(recipe, of), dataset.source, settings.weights, of)


def uses_captioners(spec: ReleaseSpec) -> bool:
    """Whether making a release takes a network that writes captions."""
    recipes = [recipe for dataset in spec.datasets for recipe in dataset.attributes.values()]
    return any(Recipe.parse(recipe).captioner for recipe in recipes)


def add_attributes(
    writer: ReleaseWriter,
    dataset: DatasetSpec,
    images: ImagesOf,
    raw: Path | None,
    settings: Settings,
    progress: Progress,
) -> None:
    """Add a data set's attributes that are not there yet.

    Parameters
    ----------
    raw
        The raw folder of the data set.
    """
    for name, recipe in dataset.attributes.items():
        if writer.has("attributes", dataset.name, name):
            continue
        progress(f"{dataset.name}: attributes {name}")
        made = make_attributes(
            images(),
            Recipe.parse(recipe),
            dataset.source,
            raw,
            writer.folder / WORK,
            settings,
            progress,
        )
        writer.add_attributes(dataset.name, name, made.table, made.provenance)
