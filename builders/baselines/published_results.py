"""Reading the per-task accuracies that Lafargue et al. (TMLR 2024) released.

Their results folder holds ``{1,5,10}-shot/<backbone>/<head>/<dataset>.pt``: a float32 tensor (T,)
of percentages each, one a task, in the order of the published task sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, UnsafeFileError
from benchmark_spec.extras import require
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, TaskSetName
from fslbench_data.release.release import Release
from fslbench_data.submission.accuracies import counts_of
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder

HEADS = ("LR", "NCC", "finetune", "matchingnet")


def import_published(folder: Path, release: Release) -> Submission:
    """Read a results folder into one submission, bound to the published task sets of `release`.

    Methods are named ``<backbone>/<head>`` as in the folder; shots, backbones, heads and data
    sets that are not there are left out.

    Raises
    ------
    SourceError
        If the folder has another layout.
    UnsafeFileError
        If a file holds anything but a tensor.
    AccuracyError
        If a file has another number of tasks than its task set, or an accuracy is no multiple of
        1/(K·Q).
    """
    recorders: dict[str, Recorder] = {}
    files = 0
    for protocol in PUBLISHED_PROTOCOLS:
        name = TaskSetName("published", protocol)
        for path in sorted((folder / f"{protocol.shot}-shot").glob("*/*/*.pt")):
            backbone, head, dataset = path.parts[-3], path.parts[-2], path.stem
            if head not in HEADS or dataset not in release.datasets:
                raise SourceError(
                    f"{path} is of an unknown head or data set",
                    expected=f"<shots>-shot/<backbone>/<one of {', '.join(HEADS)}>/"
                    f"<one of {', '.join(release.datasets)}>.pt",
                )
            method = f"{backbone}/{head}"
            recorder = recorders.setdefault(
                method,
                Recorder(
                    method,
                    description=f"{head} on {backbone}, released by Lafargue et al. (TMLR 2024)",
                    backbone=backbone,
                    link="https://arxiv.org/abs/2409.02850",
                ),
            )
            info = release.task_set_info(dataset, str(name))
            recorder.add_counts(info, counts_of(load_tensor(path), info, 100.0, str(path)))
            files += 1
    if not files:
        raise SourceError(
            f"there are no results in {folder}",
            expected="a checkout of the authors' results: {1,5,10}-shot/<backbone>/<head>/"
            "<dataset>.pt",
            fix="name the folder that holds 1-shot, 5-shot or 10-shot",
        )
    return merge([recorders[method].submission() for method in sorted(recorders)], str(folder))


def load_tensor(path: Path) -> NDArray[Any]:
    """Read a ``.pt`` file that holds one tensor; nothing else in it is ever unpickled."""
    torch = require("torch")
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(loaded, torch.Tensor):
            raise TypeError(f"it holds a {type(loaded).__name__}")  # noqa: TRY301
        array: NDArray[Any] = loaded.detach().double().numpy()
    except Exception as error:  # torch raises whatever the bytes lead it into
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise UnsafeFileError(
            f"{path} cannot be read as a tensor: {reason}",
            expected="a .pt file that holds one tensor of real numbers and nothing else",
            fix="do not load it by other means unless you trust whoever made it",
        ) from None
    return array
