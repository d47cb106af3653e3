"""Make a submission of the released per-task accuracies of Lafargue et al. (TMLR 2024).

``python -m studies.published_results DIR -o published.parquet``: DIR is a checkout of their
repository, RafLaf/FSL-benchmark-again, or the folder in it with the results:
{1,5,10}-shot/<backbone>/<head>/<dataset>.pt.
"""

from __future__ import annotations

import argparse
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from numpy.typing import NDArray

from benchmark_spec.errors import FSLBenchError, SourceError, listing
from benchmark_spec.extras import require
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, TaskSetName
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Method, Submission
from fslbench_data.tasks import TaskSetInfo

HEADS = ("LR", "NCC", "finetune", "matchingnet")
PLACES = (".", "results/benchmark", "benchmark")
LAYOUT = "{1,5,10}-shot/<backbone>/<head>/<dataset>.pt"


def results_folder(folder: Path) -> Path:
    """Find the results in `folder`: the results themselves, or a checkout of the repository."""
    for place in PLACES:
        if any((folder / place).glob("*-shot/*/*/*.pt")):
            return folder / place
    if not folder.is_dir():
        what, fix = f"there is no folder {folder}", "name a folder that exists"
    elif any(folder.glob("*/*/*.pt")) or any(folder.glob("*/*.pt")):
        what = f"{folder} is a part of the results"
        fix = "name the folder above, which holds 1-shot, 5-shot and 10-shot"
    else:
        what = f"there are no results in {folder}"
        fix = "name a whole checkout of RafLaf/FSL-benchmark-again, or its results/benchmark"
    raise SourceError(what, expected=f"{LAYOUT}, in it or in its results/benchmark", fix=fix)


def import_published(folder: Path, release: Release) -> Submission:
    """Read released results into one submission, bound to the published task sets of `release`.

    Methods are named ``<backbone>/<head>``; shots, backbones, heads and data sets that are not
    there are left out.  SourceError if the folder holds no results, or those of an unknown head or
    data set, AccuracyError if an accuracy is no multiple of 1/(K·Q).
    """
    results = results_folder(folder)
    parts: dict[tuple[str, TaskSetInfo], Submission] = {}
    for protocol in PUBLISHED_PROTOCOLS:
        name = TaskSetName("published", protocol)
        for path in sorted((results / f"{protocol.shot}-shot").glob("*/*/*.pt")):
            backbone, head, dataset = path.parts[-3], path.parts[-2], path.stem
            if head not in HEADS or dataset not in release.datasets:
                raise SourceError(
                    f"{path} is of an unknown head or data set",
                    expected=f"<shots>-shot/<backbone>/<one of {', '.join(HEADS)}>/"
                    f"<one of {', '.join(release.datasets)}>.pt",
                )
            method = f"{backbone}/{head}"
            info, values = release.task_set_info(dataset, str(name)), load_tensor(path)
            part = Submission.from_accuracies(
                values, info, method, percent=True, bind=True, where=str(path)
            )
            words = f"{head} on {backbone}, released by Lafargue et al. (TMLR 2024)"
            about = Method(method, words, backbone, "https://arxiv.org/abs/2409.02850")
            parts[method, info] = replace(part, methods={method: about})
    if not parts:
        shots = ", ".join(sorted(path.name for path in results.glob("*-shot")))
        raise SourceError(f"{results} has results of other shots: {shots}", expected=LAYOUT)
    return merge([parts[key] for key in sorted(parts, key=itemgetter(0))], str(folder))


def contents_text(submission: Submission) -> str:
    """Say which methods, data sets and shots were imported, and what these lack of each other."""
    cells = {
        (method, dataset, TaskSetName.parse(task_set).protocol.shot)
        for method, dataset, task_set in submission.bindings
    }
    methods, datasets, shots = (sorted(set(names)) for names in zip(*cells, strict=True))
    text = f"methods: {len(methods)}; data sets: {len(datasets)}; shots: {listing(shots)}"
    whole = [*product(methods, datasets, shots)]
    missing = [
        f"{method} on {dataset} at {shot}-shot"
        for method, dataset, shot in whole
        if (method, dataset, shot) not in cells
    ]
    if missing:
        text += f"; not there: {len(missing)} of {len(whole)}, {listing(missing, 3)}"
    return text


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
        raise SourceError(
            f"{path} cannot be read as a tensor: {reason}",
            expected="a .pt file that holds one tensor of real numbers and nothing else",
            fix="do not load it by other means unless you trust whoever made it",
        ) from None
    return array


def main() -> None:
    """Write the submission, and say what is in it; what is refused ends with exit code 2."""
    parser = argparse.ArgumentParser(description="Make a submission of released accuracies.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    try:
        submission = import_published(options.folder, load_release())
    except FSLBenchError as error:
        parser.exit(2, f"Error: {error}\n")
    submission.write(options.output)
    print(f"wrote {options.output}: {contents_text(submission)}")


if __name__ == "__main__":
    main()
