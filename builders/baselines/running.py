"""Running the reference methods on the task sets of a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from builders.baselines.fine_tuning import PictureFineTuner
from builders.baselines.heads import head_of
from builders.baselines.task_ranges import predictions
from builders.execution.engine import Engine
from builders.features.backbone import Backbone
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.release.features import Features
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder


def run_head(
    release: Release,
    head: str,
    backbone: str,
    datasets: Sequence[str],
    *,
    task_sets: Sequence[str] = (),
    features: Callable[[str], Features] | None = None,
    device: str = "cpu",
    engine: Engine | None = None,
    threads: int | None = None,
) -> Submission:
    """Run a head on every task set of some data sets, on the features of `backbone`.

    The method is named ``<backbone>/<head>``; the submission has predictions and the counts of
    each class, but on `pooled` sets, whose tasks are thousands, the counts of tasks alone.

    Parameters
    ----------
    task_sets
        Names of those to answer; all unless given.
    features
        Gives those (N, D) of a data set; the release's unless given.
    device, engine, threads
        As for :func:`builders.baselines.task_ranges.predictions`, which raises its errors.
    """
    about = head_of(head).description
    recorder = Recorder(f"{backbone}/{head}", description=about, backbone=backbone)
    for dataset in datasets:
        inputs = release.features(dataset, backbone) if features is None else features(dataset)
        infos = [
            info
            for info in release.task_sets
            if info.dataset == dataset and (not task_sets or str(info.name) in task_sets)
        ]
        sets = [release.task_set(dataset, str(info.name)) for info in infos]
        arrays = [(tasks.support, tasks.query) for tasks in sets]
        answered = predictions(head, inputs, arrays, device=device, engine=engine, threads=threads)
        for tasks, answers in zip(sets, answered, strict=True):
            if tasks.info.name.suite == "pooled":
                right = (answers == tasks.query_label).sum(axis=1)
                recorder.add_counts(tasks, right)
            else:
                recorder.add_task_set(tasks, answers)
    return recorder.submission()


def run_ft(
    release: Release,
    backbone: Backbone,
    images: str | Path,
    dataset: str,
    task_sets: str | Sequence[str] = (),
    *,
    max_tasks: int | None = None,
    device: str = "cpu",
    journal: str | Path | None = None,
    show_progress: bool = False,
) -> Submission:
    """Fine-tune a backbone on every task of some task sets, or on the first few.

    The method is named ``<backbone>/FT``; the submission has predictions and the counts of each
    class, and says how many tasks it answered if not all.

    Parameters
    ----------
    device
        As torch names it, such as ``cpu`` or ``cuda``.
    images, dataset, task_sets, max_tasks, journal, show_progress
        As for :func:`fslbench_data.evaluate`, which raises its errors.
    """
    submission = evaluate(
        PictureFineTuner(backbone.module, backbone.preprocessing, device),
        release,
        name=f"{backbone.name}/FT",
        datasets=dataset,
        task_sets=task_sets,
        images=images,
        max_tasks=max_tasks,
        description="whole network fine-tuned on each task, 30 steps of SGD with momentum",
        journal=journal,
        show_progress=show_progress,
    )
    about = {
        name: replace(method, backbone=backbone.name) for name, method in submission.methods.items()
    }
    return replace(submission, methods=about)
