"""What a specification asks for that cannot be made: refused at once, not after hours."""

from __future__ import annotations

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SamplingError, SpecError, UnknownNameError, listing
from benchmark_spec.suites import suite_of
from builders.attributes import Recipe, check_recipe
from builders.baselines.heads import HEADS
from builders.features import Settings, check_backbone, is_network, pixels
from builders.features.compress import base_of
from builders.release.features import with_canaries
from builders.release.pictures import PASSED_ON, passed_on
from builders.release.query_checks import check_queries
from builders.release.spec import CATALOGUE, LEFT_OPEN, DatasetSpec, ReleaseSpec
from builders.sources import GENERAL, SOURCES, source_module
from builders.sources.read import check_options, terms_of


def check_spec(spec: ReleaseSpec, settings: Settings) -> None:
    """Refuse a specification that cannot be followed with these settings.

    Raises
    ------
    SpecError, UnknownNameError, SamplingError
        If it asks for what cannot be made.
    SourceError, MissingPackageError, BackboneError
        See :func:`builders.attributes.recipe.check_recipe`.
    """
    for position, dataset in enumerate(spec.datasets):
        where = f"data set {dataset.name}"
        check_queries(dataset, spec.datasets[: position + 1], where)
        _check_tuning(dataset, where)
        dataset = dataset.with_queries(dict.fromkeys(dataset.left_open, 1))
        _check_source(dataset, where)
        _check_suites(dataset, where)
        _check_methods(dataset, where)
        _check_attributes(dataset, settings, where)
        _check_pictures(dataset, where)
    with_canaries(spec)
    if settings.skip_corrupt:
        raise SpecError("features in a release are of whole images: none can be skipped")


def _check_source(dataset: DatasetSpec, where: str) -> None:
    if dataset.source == CATALOGUE:
        lookup(dataset.name)
        if dataset.features or dataset.backbones or dataset.fine_tuning or dataset.options:
            raise SpecError(
                f"{where}: a catalogue has no images to extract features from, and takes no options"
            )
        if dataset.pictures is not None:
            raise SpecError(f"{where}: a catalogue has no images, and so no pictures")
        if "grouped" in {suite.name for suite in dataset.every_suite}:
            raise SamplingError(
                f"{where}: a grouped set needs the groups of the images",
                fix="give a source with images; a catalogue has only counts",
            )
    elif dataset.source not in SOURCES:
        raise UnknownNameError("source", dataset.source, (*SOURCES, CATALOGUE), where=where)
    else:
        check_options(dataset.source, dataset.name, dataset.options)


def _check_suites(dataset: DatasetSpec, where: str) -> None:
    for suite in dataset.every_suite:
        needed = suite.interval == "closed" and suite.name != "pooled"
        if needed and dataset.number_of_tasks(suite.name) is None:
            raise SpecError(
                f"{where}: a {suite.name} set needs a number of tasks",
                fix="add tasks = { closed = 600 }",
            )
        if suite.attributes and suite.attributes not in dataset.attributes:
            raise UnknownNameError(
                "attributes", suite.attributes, dataset.attributes, where=f"{where}, {suite.name}"
            )
    for name in dataset.drawn:
        if not suite_of(name).uniform:
            raise SpecError(
                f"{where}: {name} sets cannot be left out, since readers cannot draw them",
                expected="drawn lists suites that are drawn uniformly: closed, pooled",
            )
    if "published" in {suite.name for suite in dataset.every_suite} & set(dataset.tasks):
        raise SpecError(
            f"{where}: the published task sets are what they are", fix="take tasks.published out"
        )


def _check_methods(dataset: DatasetSpec, where: str) -> None:
    tuned = dataset.fine_tuning
    bases = [base_of(name)[0] for name in dataset.features]
    for backbone in (*bases, *dataset.backbones, *(tuned.backbones if tuned else ())):
        check_backbone(backbone, where)
    grey = [name for name in SOURCES if getattr(source_module(name), "PIXELS", False)]
    if pixels.NAME in (*bases, *dataset.backbones) and dataset.source not in grey:
        raise SpecError(
            f"{where}: `pixels` are the grey levels of images of 8 or 28 pixels, which "
            f"{dataset.source} does not read",
            expected=f"a network; of {listing(grey)} also `pixels`",
            fix='such as features = ["efficientnet_lite0"]: `fslbench-build fetch weights`',
        )
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


def _check_tuning(dataset: DatasetSpec, where: str) -> None:
    """Refuse fine-tuning of what is no network, and on task sets that are not sure to be there."""
    tuned, of = dataset.fine_tuning, f"{where}, fine_tuning"
    if tuned is None:
        return
    for name in tuned.backbones:
        if not is_network(name):
            raise SpecError(f"{of}: {name} is no network that could be tuned")
    names = [name for name in dataset.listed if not LEFT_OPEN.fullmatch(name)]
    for task_set in tuned.task_sets:
        if task_set not in names:
            raise UnknownNameError(
                "task set",
                task_set,
                names,
                where=of,
                fix=""
                if len(names) == len(dataset.listed)
                else "one whose number of queries is "
                "still to be chosen has no name yet: list it with its number",
            )


def _check_attributes(dataset: DatasetSpec, settings: Settings, where: str) -> None:
    if dataset.attributes and dataset.source == CATALOGUE:
        raise SpecError(f"{where}: a catalogue has no images that could have attributes")
    for name, text in dataset.attributes.items():
        of = f"{where}, attributes.{name}"
        recipe = Recipe.parse(text, of)
        check_recipe(recipe, dataset.source, settings.weights, of, dataset.options)


def _check_pictures(dataset: DatasetSpec, where: str) -> None:
    """Refuse pictures of a data set whose terms do not let them be passed on."""
    if dataset.pictures is None:
        return
    redistribution, licence = terms_of(dataset.source, dataset.options)
    if redistribution != "images":
        raise SpecError(
            f"{where}: pictures are asked for, and its licence does not let them be passed on",
            where=f"redistribution = {redistribution!r}: {licence}",
            fix="take `pictures` out, or where the licence allows it say redistribution = "
            '"images" in the options of an own data set',
        )
    if dataset.source in GENERAL and not passed_on(licence):
        raise SpecError(
            f"{where}: pictures are asked for, and its licence, {licence}, does not let each of "
            "them be passed on in a collection",
            expected=f"one of {', '.join(PASSED_ON)}",
            fix="take `pictures` out: methods run on the raw folder with `evaluate --images`",
        )
