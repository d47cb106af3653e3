"""What a build would stop at, told before it reads an image or extracts a feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import FSLBenchError, SamplingError, SpecError
from benchmark_spec.extras import require
from benchmark_spec.protocol import TaskSetName
from builders.execution.engine import LocalEngine
from builders.features import Settings, is_network
from builders.features.backbones import check_weights
from builders.features.compress import base_of
from builders.features.precomputed import PrecomputedFeatures
from builders.features.processor import facts
from builders.query_size.draws import Draws
from builders.release.features import networks
from builders.release.queries import no_number
from builders.release.spec import CATALOGUE, LEFT_OPEN, DatasetSpec, ReleaseSpec
from builders.sources.packaged import canaries
from builders.sources.read import listed_sizes
from fslbench_data.tasks.drawn import Groups, checked_sizes


def refusals(
    spec: ReleaseSpec,
    raw: Path | None,
    settings: Settings,
    extracted: Sequence[PrecomputedFeatures] = (),
) -> Iterator[FSLBenchError]:
    """Yield what is missing or cannot be made, as far as it shows without opening an image.

    The specification is one that :func:`builders.release.spec_checks.check_spec` has passed.
    """
    for dataset in spec.datasets:
        try:
            sizes = _sizes(dataset, raw)
        except FSLBenchError as error:
            yield error
            continue
        if sizes is not None:
            yield from _too_few(dataset, sizes)
    yield from missing_for_networks(spec, settings, extracted)


def missing_for_networks(
    spec: ReleaseSpec, settings: Settings, extracted: Sequence[PrecomputedFeatures] = ()
) -> Iterator[FSLBenchError]:
    """Yield what networks, heads and pictures need and there is not on this machine."""
    given = {(name, one.backbone) for one in extracted for name in one.datasets}
    wanted = [
        (dataset.name, base_of(name)[0])
        for dataset in spec.datasets
        for name in (*dataset.features, *dataset.backbones)
    ]
    wanted += [(canaries.NAME, name) for name in networks(spec)]
    tuned = [name for d in spec.datasets if d.fine_tuning for name in d.fine_tuning.backbones]
    here = list(tuned)
    if isinstance(settings.engine, LocalEngine):
        here += [name for of, name in wanted if is_network(name) and (of, name) not in given]
    checks: list[Callable[[], object]] = [
        partial(check_weights, name, settings.weights) for name in dict.fromkeys(here)
    ]
    if here:
        checks.append(partial(facts, settings.device, ""))
    if any(d.heads or (d.queries and d.left_open) for d in spec.datasets):
        checks.append(partial(require, "torch"))
    if any(d.pictures is not None for d in spec.datasets):
        checks.append(partial(require, "PIL"))
    checks += [partial(_check_whole, one, of) for of, _ in wanted for one in extracted]
    for check in checks:
        try:
            check()
        except FSLBenchError as error:
            yield error


def no_choice(
    dataset: DatasetSpec, sizes: tuple[int, ...], groups: Groups | None = None
) -> Iterator[SamplingError]:
    """Yield that a number of queries cannot be chosen, on so few images of the data set itself."""
    rule = dataset.queries
    if rule is None or rule.release or rule.dataset not in ("", dataset.name):
        return
    if rule.suite == "grouped" and groups is None:
        return  # its images are not read yet
    for way, shot in dataset.left_open:
        draws = Draws(dataset.name, rule.suite, way, shot, sizes, groups)
        if draws.tasks(1, 0) < 2:
            yield no_number(dataset.name, draws)


def _sizes(dataset: DatasetSpec, raw: Path | None) -> tuple[int, ...] | None:
    """Return the images of each class, where a listing tells, before any is left out."""
    if dataset.source == CATALOGUE:
        return tuple(lookup(dataset.name).class_sizes)
    folder = None if raw is None else raw / dataset.folder
    return listed_sizes(dataset.source, folder, dataset.name, dataset.options)


def _too_few(dataset: DatasetSpec, sizes: tuple[int, ...]) -> Iterator[SamplingError]:
    """Yield why task sets cannot be drawn from classes of so many images."""
    for text in dataset.listed:
        name = TaskSetName.parse(f"{text}1q" if LEFT_OPEN.fullmatch(text) else text)
        try:
            checked_sizes(sizes, name.protocol, dataset.name)
        except SamplingError as error:
            yield error
    yield from no_choice(dataset, sizes)


def _check_whole(extracted: PrecomputedFeatures, dataset: str) -> None:
    """Refuse given features of a data set of which images were left out."""
    given = dataset in extracted.datasets
    left_out = extracted.provenance(dataset).get("left_out") if given else None
    if left_out:
        raise SpecError(
            f"{dataset}: features in a release are of whole images, "
            f"and {len(left_out)} were left out",
            where=str(extracted.folder),
        )
