"""Reference methods, run once so that nobody has to again."""

from __future__ import annotations

from collections.abc import Sequence

from builders.baselines.heads import HEADS, Predictor, head_of
from fslbench_data.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder

__all__ = ["HEADS", "Predictor", "run_head"]


def run_head(
    release: Release, head: str, backbone: str, datasets: Sequence[str], *, device: str = "cpu"
) -> Submission:
    """Run a head on every task set of some data sets, on the features of `backbone`.

    The method is named ``<backbone>/<head>``; the submission has predictions and the counts of
    each class.

    Parameters
    ----------
    device
        As torch names it, such as ``cpu`` or ``cuda``.

    Raises
    ------
    UnknownNameError
        If there is no such head, or the release has no such features.
    """
    about = head_of(head).description
    recorder = Recorder(f"{backbone}/{head}", description=about, backbone=backbone)
    for dataset in datasets:
        predict = Predictor(head, release.features(dataset, backbone), device)
        for info in release.task_sets:
            if info.dataset == dataset:
                tasks = release.task_set(dataset, str(info.name))
                recorder.add_task_set(tasks, predict(tasks.support, tasks.query))
    return recorder.submission()
