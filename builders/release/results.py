"""The reference results of a release: heads on features, and networks that are fine-tuned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from builders.baselines import run_ft, run_head
from builders.execution.steps import Made, Step
from builders.features.backbones import load_backbone
from builders.release.earlier import Bindings
from builders.release.features import FeatureBuild, ImagesOf
from builders.release.spec import DatasetSpec, FineTuningSpec, ReleaseSpec
from builders.sources.export import write_pictures
from fslbench_data.release.features import Features
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission


class ResultsBuild:
    """Runs the reference methods of a release, and adds their results to it."""

    def __init__(
        self,
        spec: ReleaseSpec,
        features: FeatureBuild,
        images: Mapping[str, ImagesOf],
    ) -> None:
        self._spec, self._features, self._images = spec, features, images
        self._earlier = features.earlier
        self._writer, self._progress = features.writer, features.progress
        self._settings = features.settings

    def steps(self) -> Iterator[Step]:
        """Give the steps that add them, each method on all its data sets."""
        for (backbone, head), datasets in _heads(self._spec).items():
            made_of = self._made_of_head(backbone, datasets)
            run = partial(self._run, backbone, head, datasets)
            yield Step(f"results/{backbone}/{head}", made_of, run)
        for backbone, tuned in _fine_tuned(self._spec).items():
            made_of = self._made_of_tuning(backbone, tuned)
            yield Step(f"results/{backbone}/FT", made_of, partial(self._tune, backbone, tuned))

    def _made_of_head(self, backbone: str, datasets: Sequence[str]) -> list[Any]:
        """List what a head's results follow from, in JSON: features, held or not, and tasks."""
        held = [dataset.name for dataset in self._spec.datasets if backbone in dataset.features]
        tasks = [
            [info.dataset, str(info.name), info.fingerprint]
            for info in self._writer.so_far().task_sets
            if info.dataset in datasets
        ]
        of = [[d, d in held, *self._features.made_of(d, backbone)] for d in datasets]
        return [of, tasks]

    def _made_of_tuning(
        self, backbone: str, tuned: Sequence[tuple[DatasetSpec, FineTuningSpec]]
    ) -> list[Any]:
        """List what results of fine-tuning follow from, in JSON: images and tasks."""
        release = self._writer.so_far()
        tasks = [
            [dataset, task_set, binding.fingerprint, binding.tasks]
            for (_, dataset, task_set), binding in _bindings(release, backbone, tuned).items()
        ]
        images = [[d.name, self._writer.digest("images", d.name)] for d, _ in tuned]
        return [self._settings.device, images, tasks]

    def _run(self, backbone: str, head: str, datasets: Sequence[str]) -> Made:
        release, made = self._writer.so_far(), {}

        def features(dataset: str) -> Features:
            images = self._images[dataset]
            values, made[dataset] = self._features.of(dataset, backbone, images)
            return values

        provenance: dict[str, Any] = {"head": head, "features": backbone}
        stored = {entry.name for entry in self._spec.datasets if backbone in entry.features}
        extracted = not stored.issuperset(datasets)
        method, taken = f"{backbone}/{head}", dict[str, Submission]()
        if self._earlier:
            now = [self._features.as_now(dataset, backbone) for dataset in datasets]
            of_all = {**provenance, **({"extraction": _common(now)} if extracted else {})}
            for dataset in datasets:
                bindings = {
                    (method, dataset, str(info.name)): Binding(info.fingerprint)
                    for info in release.task_sets
                    if info.dataset == dataset
                }
                results = self._earlier.results(method, of_all, bindings, backbone)
                if results is not None:
                    taken[dataset], made[dataset] = results, now[datasets.index(dataset)]
        self._say(method, taken, datasets)
        engine, threads = self._settings.engine, self._settings.threads
        parts = [
            taken[dataset]
            if dataset in taken
            else run_head(
                release, head, backbone, [dataset],
                features=features, engine=engine, threads=threads,
            )
            for dataset in datasets
        ]  # fmt: skip
        if extracted:
            provenance["extraction"] = _common(made[dataset] for dataset in datasets)
        return self._writer.add_results(merge(parts), provenance)

    def _tune(self, backbone: str, tuned: Sequence[tuple[DatasetSpec, FineTuningSpec]]) -> Made:
        network = load_backbone(backbone, self._settings.weights, device=self._settings.device)
        release, results = self._writer.so_far(), []
        provenance = {"head": "FT", "network": network.describe()}
        method, taken = f"{backbone}/FT", dict[str, Submission]()
        for dataset, tuning in tuned:
            bindings = _bindings(release, backbone, [(dataset, tuning)])
            earlier = self._earlier.results(method, provenance, bindings)
            if earlier is not None:
                taken[dataset.name] = earlier
        self._say(method, taken, [dataset.name for dataset, _ in tuned])
        for dataset, tuning in tuned:
            if dataset.name in taken:
                results.append(taken[dataset.name])
                continue
            self._progress(f"{backbone}/FT on {dataset.name}")
            images = self._writer.digest("images", dataset.name)
            folder = self._features.work(f"{dataset.name}-pictures", [images])
            write_pictures(self._images[dataset.name](), folder, self._progress)
            results.append(
                run_ft(
                    release,
                    network,
                    folder,
                    dataset.name,
                    tuning.task_sets,
                    max_tasks=tuning.max_tasks,
                    device=self._settings.device,
                    journal=self._features.work(
                        f"{backbone}-answers", self._made_of_tuning(backbone, [(dataset, tuning)])
                    ),
                )
            )
        return self._writer.add_results(merge(results), provenance)

    def _say(self, method: str, taken: Collection[str], datasets: Sequence[str]) -> None:
        """Tell what of a method's results is taken over and what is computed."""
        if len(taken) < len(datasets):
            self._progress(method)
        if taken:
            some = "" if len(taken) == len(datasets) else f" on {', '.join(taken)}"
            self._progress(f"{method}{some} of {self._earlier}")


def _bindings(
    release: Release, backbone: str, tuned: Sequence[tuple[DatasetSpec, FineTuningSpec]]
) -> Bindings:
    """Tell which tasks a network is fine-tuned on."""
    bindings = {}
    for dataset, tuning in tuned:
        for name in tuning.task_sets:
            info = release.task_set_info(dataset.name, name)
            some = tuning.max_tasks is not None and tuning.max_tasks < info.n_tasks
            number = tuning.max_tasks if some else None
            bindings[f"{backbone}/FT", dataset.name, name] = Binding(info.fingerprint, number)
    return bindings


def _heads(spec: ReleaseSpec) -> dict[tuple[str, str], list[str]]:
    """Map each backbone and head to the data sets it runs on, in the order of the specification."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for dataset in spec.datasets:
        for backbone in dict.fromkeys((*dataset.features, *dataset.backbones)):
            for head in dataset.heads:
                pairs.setdefault((backbone, head), []).append(dataset.name)
    return pairs


def _fine_tuned(spec: ReleaseSpec) -> dict[str, list[tuple[DatasetSpec, FineTuningSpec]]]:
    """Map each network that is fine-tuned to the data sets it is fine-tuned on."""
    tuned: dict[str, list[tuple[DatasetSpec, FineTuningSpec]]] = {}
    for dataset in spec.datasets:
        if dataset.fine_tuning is not None:
            for backbone in dataset.fine_tuning.backbones:
                tuned.setdefault(backbone, []).append((dataset, dataset.fine_tuning))
    return tuned


def _common(provenances: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what several data sets' features have in common."""
    first, *others = provenances
    return {
        key: value
        for key, value in first.items()
        if all(other.get(key) == value for other in others)
    }
