"""The reference results of a release: heads on features, and networks that are fine-tuned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmark_spec.digest import content_digest
from benchmark_spec.naming import slug
from builders.baselines import run_ft, run_head
from builders.features import Settings
from builders.features.backbones import load_backbone
from builders.release.features import KEPT, FeatureBuild, ImagesOf
from builders.release.spec import DatasetSpec, FineTuningSpec, ReleaseSpec
from builders.release.writer import ReleaseWriter
from builders.sources.export import write_pictures
from builders.sources.image_set import Progress
from fslbench_data.release.features import Features
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding
from fslbench_data.submission.model import Submission, merge


class ResultsBuild:
    """Runs the reference methods of a release, and adds their results to it.

    Parameters
    ----------
    images
        Reads a data set, by name.
    earlier
        A release whose results of fine-tuning are taken over where they are of the same network,
        images and tasks.
    """

    def __init__(
        self,
        spec: ReleaseSpec,
        writer: ReleaseWriter,
        features: FeatureBuild,
        images: Mapping[str, ImagesOf],
        settings: Settings,
        progress: Progress,
        earlier: Release | None = None,
    ) -> None:
        self._spec, self._writer, self._features = spec, writer, features
        self._images, self._settings, self._progress = images, settings, progress
        self._earlier = earlier

    def add(self) -> None:
        """Add those that are not there yet."""
        for backbone, head, datasets in _heads(self._spec):
            if not self._writer.has("results", "", f"{backbone}/{head}"):
                self._run(backbone, head, datasets)
        for backbone, tuned in _fine_tuned(self._spec):
            if not self._writer.has("results", "", f"{backbone}/FT"):
                self._tune(backbone, tuned)

    def _run(self, backbone: str, head: str, datasets: Sequence[str]) -> None:
        release, made = self._writer.so_far(), {}

        def features(dataset: str) -> Features:
            known = self._features.of(dataset, backbone, self._images[dataset])
            made[dataset] = known.provenance
            return known.features

        self._progress(f"{backbone}/{head}")
        engine, threads = self._settings.engine, self._settings.threads
        submission = run_head(
            release, head, backbone, datasets, features=features, engine=engine, threads=threads
        )
        provenance: dict[str, Any] = {"head": head, "features": backbone}
        if not all(backbone in _stored(self._spec, dataset) for dataset in datasets):
            provenance["extraction"] = _common(made.values())
        self._writer.add_results(submission, provenance)

    def _tune(self, backbone: str, tuned: Sequence[tuple[DatasetSpec, FineTuningSpec]]) -> None:
        network = load_backbone(backbone, self._settings.weights, device=self._settings.device)
        release, results = self._writer.so_far(), []
        provenance = {"head": "FT", "network": network.describe()}
        known = self._known(f"{backbone}/FT", tuned, provenance)
        if known is not None:
            self._progress(f"{backbone}/FT of {self._earlier}")
            self._writer.add_results(known, provenance)
            return
        for dataset, tuning in tuned:
            self._progress(f"{backbone}/FT on {dataset.name}")
            folder = self._writer.folder / KEPT / dataset.name / "pictures"
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
                    journal=folder.with_name(f"{slug(backbone)[-80:]}.journal"),
                )
            )
        self._writer.add_results(merge(results), provenance)

    def _known(
        self,
        method: str,
        tuned: Sequence[tuple[DatasetSpec, FineTuningSpec]],
        provenance: dict[str, Any],
    ) -> Submission | None:
        """The earlier release's results of a method, if they are just what would be computed."""
        earlier, release = self._earlier, self._writer.so_far()
        if earlier is None or method not in earlier.methods:
            return None
        (entry,) = (t for t in earlier.manifest.tables if t.kind == "results" and t.name == method)
        (found,) = (each for each in earlier.references() if method in each.methods)
        wanted = {}
        for dataset, tuning in tuned:
            if content_digest(earlier.images(dataset.name)) != content_digest(
                release.images(dataset.name)
            ):
                return None
            for name in tuning.task_sets:
                info = release.task_set_info(dataset.name, name)
                some = tuning.max_tasks is not None and tuning.max_tasks < info.n_tasks
                number = tuning.max_tasks if some else None
                wanted[method, dataset.name, name] = Binding(info.fingerprint, number)
        same = dict(found.bindings) == wanted and entry.provenance == provenance
        return found if same else None


def _heads(spec: ReleaseSpec) -> Iterator[tuple[str, str, list[str]]]:
    """Each backbone and head with the data sets it runs on, in the order of the specification."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for dataset in spec.datasets:
        for backbone in dict.fromkeys((*dataset.features, *dataset.backbones)):
            for head in dataset.heads:
                pairs.setdefault((backbone, head), []).append(dataset.name)
    for (backbone, head), datasets in pairs.items():
        yield backbone, head, datasets


def _fine_tuned(
    spec: ReleaseSpec,
) -> Iterator[tuple[str, list[tuple[DatasetSpec, FineTuningSpec]]]]:
    """Each network that is fine-tuned, with the data sets it is fine-tuned on."""
    found: dict[str, list[tuple[DatasetSpec, FineTuningSpec]]] = {}
    for dataset in spec.datasets:
        if dataset.fine_tuning is not None:
            for backbone in dataset.fine_tuning.backbones:
                found.setdefault(backbone, []).append((dataset, dataset.fine_tuning))
    yield from found.items()


def _common(provenances: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What several data sets' features have in common."""
    first, *others = provenances
    return {
        key: value
        for key, value in first.items()
        if all(other.get(key) == value for other in others)
    }


def _stored(spec: ReleaseSpec, dataset: str) -> tuple[str, ...]:
    return next(each.features for each in spec.datasets if each.name == dataset)
