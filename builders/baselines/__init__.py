"""Reference methods, run once so that nobody has to again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmark_spec.errors import UnknownNameError
from builders.baselines.heads import HEADS
from fslbench_data.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder

DESCRIPTIONS = {
    "NCC": "nearest class centroid, cosine",
    "MatchingNet": "mean cosine to the support images of a class",
    "LR": "multinomial logistic regression (C = 1), solved to 1e-10",
}


def run_head(release: Release, head: str, backbone: str, datasets: Sequence[str]) -> Submission:
    """Run a head on every task set of some data sets, on the features of `backbone`.

    The method is named ``<backbone>/<head>``; the submission has predictions.
    """
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    recorder = Recorder(f"{backbone}/{head}", description=DESCRIPTIONS[head], backbone=backbone)
    for dataset in datasets:
        features = release.features(dataset, backbone).astype(np.float64)
        for info in release.task_sets:
            if info.dataset == dataset:
                for task in release.task_set(dataset, str(info.name)):
                    recorder.add(task, HEADS[head](features[task.support], features[task.query]))
    return recorder.submission()
