"""Checks of a specification before a release is made from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SamplingError, SpecError, UnknownNameError, listing
from benchmark_spec.extras import require
from benchmark_spec.protocol import EPISODES, TaskSetName, suite_of
from builders.attributes import Recipe, check_recipe
from builders.baselines.heads import HEADS, head_of
from builders.execution.engine import LocalEngine
from builders.features import PIXELS, Settings, check_backbone, is_network
from builders.features.backbones import check_weights
from builders.features.compress import base_of
from builders.features.precomputed import PrecomputedFeatures
from builders.features.processor import facts
from builders.query_size.draws import DRAWABLE, Draws
from builders.release.features import extracted, networks, with_canaries
from builders.release.pictures import PASSED_ON, passed_on
from builders.release.queries import backbone_of
from builders.release.spec import CATALOGUE, LEFT_OPEN, DatasetSpec, QuerySpec, ReleaseSpec
from builders.sources import GENERAL, SOURCES
from builders.sources.packaged import canaries
from builders.sources.source import check_options, class_sizes_from_lists, source_of, terms_of
from fslbench_data.sampling.draw import checked_sizes

# ---- the contents of a specification -------------------------------------------------------------


def check_spec(spec: ReleaseSpec, settings: Settings) -> None:
    """Refuse a specification that cannot be followed with these settings."""
    if not spec.description.strip():
        raise SpecError(
            "the description is empty",
            where=f"release {spec.name}",
            expected="a sentence: what the release is for",
        )
    for i, dataset in enumerate(spec.datasets):
        where = f"data set {dataset.name}"
        if dataset.queries is not None and dataset.left_open:
            so_far = spec.datasets[: i + 1]
            _check_queries(dataset, dataset.queries, so_far, f"{where}, queries")
        _check_tuning(dataset, f"{where}, fine_tuning")
        dataset = dataset.filled
        _check_source(dataset, where)
        _check_suites(dataset, where)
        _check_methods(dataset, where)
        for name, text in dataset.attributes.items():
            place = f"{where}, attributes.{name}"
            recipe = Recipe.parse(text, place)
            check_recipe(recipe, dataset.source, settings.weights, place, dataset.options)
        if dataset.pictures is not None:
            _check_pictures(dataset, where)
    _check_used(spec)
    with_canaries(spec)


def _check_used(spec: ReleaseSpec) -> None:
    """Refuse what no task set uses; of what several data sets say alike, one has to use it."""
    places: dict[tuple[str, str], list[str]] = {}
    used = set[tuple[str, str]]()
    for dataset in spec.datasets:
        for text, fix, is_used in _uses(dataset):
            places.setdefault((text, fix), []).append(dataset.name)
            used |= {(text, fix)} if is_used else set()
    for (text, fix), datasets in places.items():
        if (text, fix) not in used:
            raise SpecError(
                f"no task set uses {text}",
                where=f"data set{'s' if len(datasets) > 1 else ''} {listing(datasets)}",
                expected="only what task sets are made by: the rest may be a slip",
                fix=fix,
            )


def _uses(dataset: DatasetSpec) -> Iterator[tuple[str, str, bool]]:
    """Yield what is said of some task sets, how to mend it, and whether there are any."""
    suites = {suite.name for suite in dataset.filled.every_suite}
    for suite, number in dataset.tasks.items():
        alone = replace(dataset, tasks={suite: number})
        others = (name for name in suites if name not in dataset.tasks)
        is_used = suite in suites or any(alone.number_of_tasks(name) for name in others)
        fix = f"take {suite} out of `tasks`, or add it to the suites"
        yield f"tasks = {{ {suite} = {number} }}", fix, is_used
    for suite in dataset.drawn:
        fix = f"take {suite} out of `drawn`, or add it to the suites"
        yield f'drawn = ["{suite}"]', fix, suite in suites
    if dataset.queries is not None:
        fix = 'take `queries` out, or leave a number of queries open, such as protocols = ["5w5s"]'
        yield f"queries, by {dataset.queries.rule}", fix, bool(dataset.left_open)


def _check_queries(
    dataset: DatasetSpec, rule: QuerySpec, so_far: Sequence[DatasetSpec], where: str
) -> None:
    """Refuse a rule for numbers of queries that cannot be followed with the data sets so far."""
    head_of(rule.head)
    if rule.suite not in DRAWABLE:
        raise UnknownNameError(
            "suite to draw without replacement", rule.suite, DRAWABLE, where=where
        )
    name = rule.dataset or dataset.name
    known = {earlier.name: earlier for earlier in so_far}
    if name not in known:
        raise UnknownNameError(
            "data set", name, known, where=where, fix="or list it before this one"
        )
    backbone = backbone_of(known[name], rule)
    if known[name].source == CATALOGUE or not backbone:
        raise SpecError(
            f"{where}: {name} has no features that could say how many queries are best",
            expected='features = ["..."] or backbones = ["..."] of the data set, or of another '
            'one listed before it, such as queries = { dataset = "openclipart" }',
        )
    _check_backbones([backbone], known[name].source, where)


def _check_backbones(backbones: Sequence[str], source: str, where: str) -> None:
    """Refuse backbones that are unknown, or cannot process the images of a source."""
    for backbone in backbones:
        check_backbone(backbone, where)
    grey = [name for name in SOURCES if source_of(name).pixels]
    if PIXELS in backbones and source not in grey:
        raise SpecError(
            f"{where}: `pixels` are the grey levels of images of 8 or 28 pixels, which "
            f"{source} does not read",
            expected=f"a network; of {listing(grey)} also `pixels`",
            fix='such as features = ["efficientnet_lite0"]: `fslbench-build fetch weights`',
        )


def _check_source(dataset: DatasetSpec, where: str) -> None:
    if dataset.source == CATALOGUE:
        lookup(dataset.name)
        need_images = (
            *("features", "backbones", "methods_of", "fine_tuning", "attributes", "pictures"),
            *("test", "options"),
        )
        if declared := [field for field in need_images if getattr(dataset, field)]:
            raise SpecError(
                f"{where}: a catalogue has no images, only counts, and takes no "
                f"{' or '.join(declared)}",
                fix=f"take {' and '.join(declared)} out, or name a source with images",
            )
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
                f"{where}: a set of {suite.name} needs a number of tasks",
                fix=f"add tasks = {{ {suite.name if suite.whole else 'closed'} = "
                f"{5 if suite.whole else 600} }}",
            )
        if suite.attributes and suite.attributes not in dataset.attributes:
            raise UnknownNameError(
                "attributes", suite.attributes, dataset.attributes, where=f"{where}, {suite.name}"
            )
    for name in dataset.drawn:
        if not suite_of(name).uniform:
            raise SpecError(
                f"{where}: {name} sets cannot be left out, since readers cannot draw them",
                expected="suites that are drawn uniformly: closed, pooled, allway, episodes",
            )
    if dataset.test and not any(suite.whole for suite in dataset.every_suite):
        raise SpecError(
            f"{where}: test is of sets with all classes at once, and there are none",
            fix="take `test` out, or add allway to the suites",
        )
    if dataset.test and dataset.source == "image_folder":
        raise SpecError(
            f"{where}: paths in an image folder begin with their class, not with {dataset.test!r}",
            fix="take `test` out: all images that are no support are queries then",
        )
    if "published" in {suite.name for suite in dataset.every_suite} & set(dataset.tasks):
        raise SpecError(
            f"{where}: the published task sets are what they are", fix="take tasks.published out"
        )


def _check_methods(dataset: DatasetSpec, where: str) -> None:
    tuned = dataset.fine_tuning
    bases = [base_of(name)[0] for name in dataset.features]
    others = dataset.every_backbone[len(dataset.features) :]
    backbones = [*bases, *others, *(tuned.backbones if tuned else ())]
    _check_backbones(backbones, dataset.source, where)
    for suite in dataset.methods_of:
        names = [known.name for known in dataset.every_suite]
        if suite not in names:
            raise UnknownNameError("suite", suite, names, where=f"{where}, methods_of")
    for heads in (dataset.heads, *(methods.heads for methods in dataset.methods_of.values())):
        if unknown := [head for head in heads if head not in HEADS]:
            raise UnknownNameError("head", unknown[0], HEADS, where=where)
        if twice := [head for head in heads if heads.count(head) > 1]:
            raise SpecError(f"{where}: head {twice[0]} stands there twice")
    if EPISODES in dataset.every_suite:
        methods = dataset.methods_of.get(EPISODES.name)
        heads = methods.heads if methods else dataset.heads
        if even := [name for name in heads if not HEADS[name].uneven]:
            raise SpecError(
                f"{where}: {listing(even)} cannot answer {EPISODES.name}, "
                "whose classes differ in shots",
                expected=listing([name for name, head in HEADS.items() if head.uneven]),
                fix='such as methods_of.episodes = { features = ["..."], heads = ["NCC"] }',
            )
    with_features = dataset.features or dataset.backbones
    for_heads = [name for name in dataset.every_task_set if name.suite not in dataset.methods_of]
    if dataset.heads and not (with_features and for_heads):
        raise SpecError(
            f"{where}: heads need features, and suites to run on that methods_of leaves",
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
    """Refuse fine-tuning of backbones that are no networks, or on task sets that may not exist."""
    tuned = dataset.fine_tuning
    for name in tuned.backbones if tuned else ():
        if not is_network(name):
            raise SpecError(f"{where}: {name} is no network that could be tuned")
    names = [name for name in dataset.declared_task_sets if not LEFT_OPEN.fullmatch(name)]
    unnamed = (
        "one whose number of queries is still to be chosen has no name yet: list it with its number"
    )
    for task_set in tuned.task_sets if tuned else ():
        if task_set not in names:
            fix = "" if len(names) == len(dataset.declared_task_sets) else unnamed
            raise UnknownNameError("task set", task_set, names, where=where, fix=fix)
        if TaskSetName.parse(task_set).varies:
            raise SpecError(f"{where}: fine-tuning cannot answer {task_set}, of uneven tasks")


def _check_pictures(dataset: DatasetSpec, where: str) -> None:
    """Refuse pictures of a data set whose terms do not let them be passed on."""
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


def unpublishable(spec: ReleaseSpec) -> list[str]:
    """List the data sets whose terms forbid to publish their features or attributes."""
    return [
        dataset.name
        for dataset in spec.datasets
        if (dataset.features or dataset.attributes)
        and dataset.source != CATALOGUE
        and terms_of(dataset.source, dataset.options)[0] == "tables"
    ]


# ---- what is there -------------------------------------------------------------------------------


def check_there(
    spec: ReleaseSpec,
    raw: Path | None,
    settings: Settings,
    given: Sequence[PrecomputedFeatures] = (),
    *,
    allow_missing: bool = False,
) -> None:
    """Refuse what is missing or cannot be made, without opening an image."""
    for dataset in spec.datasets:
        if dataset.source == CATALOGUE:
            sizes: tuple[int, ...] | None = tuple(lookup(dataset.name).class_sizes)
        else:
            folder = None if raw is None else raw / dataset.folder
            sizes = class_sizes_from_lists(
                dataset.source, folder, dataset.name, dataset.options, allow_missing=allow_missing
            )
        if sizes is None:  # only the images tell
            continue
        for name in dataset.filled.every_task_set:
            if not (name.whole or name.varies):  # which take what there is
                checked_sizes(sizes, name.protocol, dataset.name)
        _check_choice(dataset, sizes)
    wanted = extracted(spec)
    available: set[tuple[str, str]] = set()
    for precomputed in given:
        pairs = {(name, precomputed.backbone) for name in precomputed.datasets}
        if not pairs & {*wanted}:
            raise SpecError(
                f"nothing takes the features of {precomputed.backbone} that were given",
                where=str(precomputed.folder),
                expected=listing([f"{base} of {name}" for name, base in wanted]) or "none",
            )
        available |= pairs
    wanted += [(canaries.NAME, name) for name in networks(spec)]
    loaded = [name for d in spec.datasets if d.fine_tuning for name in d.fine_tuning.backbones]
    if isinstance(settings.engine, LocalEngine):
        missing = [pair for pair in wanted if pair not in available]
        loaded += [backbone for _, backbone in missing if is_network(backbone)]
    for backbone in dict.fromkeys(loaded):
        check_weights(backbone, settings.weights)
    if loaded:
        facts(settings.device, "")
    if any(d.heads or d.methods_of or (d.queries and d.left_open) for d in spec.datasets):
        require("torch")
    if any(d.pictures is not None for d in spec.datasets):
        require("PIL")


def _check_choice(dataset: DatasetSpec, sizes: tuple[int, ...]) -> None:
    """Refuse to choose a number of queries from too few images of the data set itself."""
    rule = dataset.queries
    if rule is None or rule.dataset not in ("", dataset.name):
        return
    if rule.suite == "grouped":
        return  # the groups are not read yet
    for way, shot in dataset.left_open:
        Draws(dataset.name, rule.suite, way, shot, sizes).check_variances(dataset.name)
