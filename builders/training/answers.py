"""The task sets of a release, answered by a trained method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from builders.training.trained import Trained
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

PIXELS = "pixels"


def answer(
    trained: Trained,
    release: Release,
    *,
    name: str | None = None,
    datasets: Sequence[str] = (),
    task_sets: Sequence[str] = (),
    journal: Path | None = None,
    show_progress: bool = False,
) -> Submission:
    """Answer task sets from the pixels of a release; the training's seed is the run.

    Trainings that differ by their seed are one method, and files of theirs are scored together.
    Parameters are as of :func:`fslbench_data.evaluate`, which raises its errors.  A method that
    adapts to each task answers, of the sets that are not named, only those that reuse no image; one
    with an output for each class, only those of its number of ways.
    """
    method = trained.method
    if not task_sets and (method.adapts or method.keeps_way):
        infos = [info for info in release.task_sets if not datasets or info.dataset in datasets]
        task_sets = sorted({str(info.name) for info in infos if _unasked(trained, info)})
    settings = trained.settings
    made = evaluate(
        trained,
        release,
        name=name or trained.name,
        description=f"{settings.network.name} trained on {settings.data.source}",
        datasets=datasets,
        task_sets=task_sets,
        features=PIXELS,
        journal=journal,
        show_progress=show_progress,
        transductive=False,
    )
    return as_run(made, settings.seed)


def as_run(made: Submission, seed: int) -> Submission:
    """Give all answers the run that a training's seed is."""
    run = pa.array([str(seed)] * made.table.num_rows)
    return replace(made, table=made.table.append_column("run", run))


def _unasked(trained: Trained, info: TaskSetInfo) -> bool:
    """Whether a method answers a task set that is not named."""
    if trained.method.adapts and info.name.interval == "closed":
        return False
    return fits_ways(trained, info)


def fits_ways(trained: Trained, info: TaskSetInfo) -> bool:
    """Whether a method can answer tasks of so many ways."""
    own = trained.settings.training.protocol.way
    return not trained.method.keeps_way or info.protocol.way == own
