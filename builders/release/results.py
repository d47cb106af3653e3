"""The reference results of a release: heads on features, and networks that are fine-tuned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from builders.baselines import run_ft, run_head
from builders.execution.steps import Made, Step
from builders.features.backbone import Backbone
from builders.features.backbones import load_backbone
from builders.release.features import FeatureBuild, ImagesOf
from builders.release.spec import DatasetSpec, FineTuningSpec, ReleaseSpec
from builders.sources.export import write_pictures
from fslbench_data.release.features import Features
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

Bindings = Mapping[tuple[str, str, str], Binding]
"""By method, data set and task set: which tasks are answered."""


class _Part(NamedTuple):
    """A data set that a method runs on, and how it is tuned, if at all.

    Without a `suite`, it runs on the task sets of suites that have no methods of their own.
    """

    dataset: DatasetSpec
    tuning: FineTuningSpec | None = None
    suite: str = ""

    def takes(self, info: TaskSetInfo) -> bool:
        """Whether a task set is among those that are answered."""
        if info.dataset != self.dataset.name:
            return False
        if self.tuning is not None:
            return str(info.name) in self.tuning.task_sets
        suite = info.name.suite
        return suite == self.suite if self.suite else suite not in self.dataset.methods_of


@dataclass(frozen=True)
class _Method:
    """A reference method, and the data sets it runs on; where it is tuned, also how."""

    backbone: str
    head: str
    parts: list[_Part] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.backbone}/{self.head}"

    def answers(self, release: Release, part: _Part) -> Bindings:
        """Tell which tasks of a data set it answers."""
        most = part.tuning.max_tasks if part.tuning else None
        return {
            (self.name, info.dataset, str(info.name)): Binding(
                info.fingerprint, None if most is None or most >= info.n_tasks else most
            )
            for info in release.task_sets
            if part.takes(info)
        }


def _methods(spec: ReleaseSpec) -> list[_Method]:
    """List the reference methods of a specification, in its order: heads, then fine-tuning."""
    methods: dict[str, _Method] = {}
    for dataset in spec.datasets:
        for backbone in dict.fromkeys((*dataset.features, *dataset.backbones)):
            for head in dataset.heads:
                method = methods.setdefault(f"{backbone}/{head}", _Method(backbone, head))
                method.parts.append(_Part(dataset))
        for suite, of in dataset.methods_of.items():
            for backbone, head in product(of.features, of.heads):
                method = methods.setdefault(f"{backbone}/{head}", _Method(backbone, head))
                method.parts.append(_Part(dataset, suite=suite))
    for dataset in spec.datasets:
        for backbone in dataset.fine_tuning.backbones if dataset.fine_tuning else ():
            method = methods.setdefault(f"{backbone}/FT", _Method(backbone, "FT"))
            method.parts.append(_Part(dataset, dataset.fine_tuning))
    return list(methods.values())


class ResultsBuild:
    """Runs the reference methods of a release, and adds their results to it."""

    def __init__(
        self, spec: ReleaseSpec, features: FeatureBuild, images: Mapping[str, ImagesOf]
    ) -> None:
        self._spec, self._features, self._images = spec, features, images
        self._writer, self._settings = features.writer, features.settings

    def steps(self) -> Iterator[Step]:
        """Give the steps that add them, each method on all its data sets."""
        for method in _methods(self._spec):
            made_of = [self._made_of(method, part) for part in method.parts]
            yield Step(f"results/{method.name}", made_of, partial(self._run, method))

    def _made_of(self, method: _Method, part: _Part) -> list[Any]:
        """List what results on a data set follow from, in JSON: images or features, and tasks."""
        dataset = part.dataset
        if part.tuning is None:
            held = method.backbone in dataset.features
            of = [dataset.name, held, *self._features.made_of(dataset.name, method.backbone)]
        else:
            images = self._writer.digest("images", dataset.name)
            of = [dataset.name, images, self._settings.device]
        answers = method.answers(self._writer.so_far(), part)
        tasks = [[name, one.fingerprint, one.tasks] for (_, _, name), one in answers.items()]
        return [*of, tasks]

    def _run(self, method: _Method) -> Made:
        release, name = self._writer.so_far(), method.backbone
        made: dict[str, dict[str, Any]] = {}

        def features_of(dataset: str) -> Features:
            values, made[dataset] = self._features.of(dataset, name, self._images[dataset])
            return values

        settings = self._settings
        network = None
        if method.head == "FT":
            network = load_backbone(name, settings.weights, device=settings.device)
            provenance: dict[str, Any] = {"head": "FT", "network": network.describe()}
        else:
            provenance = {"head": method.head, "features": name}
        self._features.progress(method.name)
        parts = []
        for part in method.parts:
            if network is not None and part.tuning is not None:
                parts.append(self._tuned(method, network, release, part, part.tuning))
                continue
            sets = tuple(str(info.name) for info in release.task_sets if part.takes(info))
            how: dict[str, Any] = {"engine": settings.engine, "threads": settings.threads}
            one = [part.dataset.name]
            how |= {"task_sets": sets, "features": features_of}
            parts += [run_head(release, method.head, name, one, **how)] if sets else []
        if network is None and any(name not in part.dataset.features for part in method.parts):
            provenance["extraction"] = _common(made)
        return self._writer.add_results(merge(parts), provenance)

    def _tuned(
        self,
        method: _Method,
        network: Backbone,
        release: Release,
        part: _Part,
        tuning: FineTuningSpec,
    ) -> Submission:
        dataset = part.dataset
        self._features.progress(f"{method.name} on {dataset.name}")
        made_of = self._made_of(method, part)
        folder = self._features.work(f"{dataset.name}-pictures", made_of[1:2])
        write_pictures(self._images[dataset.name](), folder, self._features.progress)
        return run_ft(
            release,
            network,
            folder,
            dataset.name,
            tuning.task_sets,
            max_tasks=tuning.max_tasks,
            device=self._settings.device,
            journal=self._features.work(f"{method.backbone}-answers", made_of),
        )


def _common(provenances: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the features of several data sets have in common."""
    first, *others = provenances.values()
    return {k: v for k, v in first.items() if all(other.get(k) == v for other in others)}
