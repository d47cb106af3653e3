"""Answer the task sets: ``python -m studies.trained_methods.answer RELEASE TRAININGS``.

RELEASE is made from ``tasks.toml``, or from ``many_tasks.toml``; TRAININGS is the folder that
`fslbench-build train` filled from ``runs/*.toml``.  Every finished training answers all task sets.
Where there are open ones, so do others: NCC, MatchingNet and LR do on the
maps of the network of seed 0, NCC the open ones also on their means over places, and FT, which
trains that network on, those of 20 ways and 5 shots.
Each method with new weights (`untrained`; of LEO those of the network, too) answers the open ones.
What has been answered is left as it is.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from msgspec import structs
from numpy.typing import NDArray
from torch import nn

from builders.baselines import run_head
from builders.baselines.fine_tuning import FineTuner
from builders.training.building import build_method
from builders.training.images import Inputs
from builders.training.trained import Trained, answer, as_run, fits_ways, load_trained
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from studies.trained_methods import DATASET, MEANS, OPEN, RESULTS, TUNED, UNTRAINED

LEFT_OUT = {"RENet": "3w10s|20w5s|_(bold|italic|[ab][24]0)-", "Baseline++": "3w10s|_[ab][24]0-"}
"""Task sets that methods do not answer which take up to a second for a task of several shots."""
HEADS, BATCH = ("NCC", "MatchingNet", "LR"), 1024


def untrained(trained: Trained) -> Trained:
    """Return the method with new weights, those that the seed gives."""
    method = build_method(trained.settings, trained.about["classes"])
    return replace(trained, method=method.eval())


def levels_of(release: Release, dataset: str = DATASET) -> NDArray[np.uint8]:
    """Return all images of a data set, (N, 1, h, w), of the pixels that the release holds."""
    pixels = release.features(dataset, "pixels").astype(np.float32)
    side = round(pixels.shape[1] ** 0.5)
    return np.rint(pixels * 255).astype(np.uint8).reshape(-1, 1, side, side)


def maps_of(trained: Trained, release: Release) -> NDArray[np.float32]:
    """Compute the flat maps (N, D) of all images."""
    levels, load = levels_of(release), Inputs(trained.settings.data).plain
    network, blocks = trained.method.network, range(0, len(levels), BATCH)
    with torch.no_grad():
        maps = [network(load(levels[i : i + BATCH])).flatten(1) for i in blocks]
    return torch.cat(maps).numpy()


def answers_of(
    trained: Trained, release: Release, name: str, journal: Path, among: Collection[str] = ()
) -> Submission:
    """Answer all task sets of a method's ways, or those `among` some."""
    fit = sorted(str(info.name) for info in release.task_sets if fits_ways(trained, info))
    left_out = LEFT_OUT.get(trained.settings.method, "")
    sets = [
        task_set
        for task_set in fit
        if (not among or task_set in among) and not (left_out and re.search(left_out, task_set))
    ]
    return answer(
        trained, release, lambda _: levels_of(release), name=name, datasets=[DATASET],
        task_sets=sets, journal=journal, show_progress=True,
    )  # fmt: skip


def heads_of(trained: Trained, release: Release, name: str) -> Submission:
    """Answer all task sets with heads on the network's maps."""
    maps = maps_of(trained, release)
    made = merge(
        [run_head(release, of, name, [DATASET], features=lambda _: maps, threads=1) for of in HEADS]
    )
    return as_run(made, trained.settings.seed)


def means_of(trained: Trained, release: Release, name: str) -> Submission:
    """Answer the open task sets with NCC on the means of the network's maps over places."""
    maps = maps_of(trained, release)
    means = maps.reshape(len(maps), trained.method.network.channels, -1).mean(axis=2)
    made = run_head(
        release, "NCC", name, [DATASET], task_sets=OPEN, features=lambda _: means, threads=1
    )
    return as_run(made, trained.settings.seed)


def tuned(trained: Trained, release: Release, name: str) -> Submission:
    """Answer the open tasks of many ways with FT: the network is trained on for each task."""
    tune = FineTuner(nn.Sequential(trained.method.network, nn.Flatten()))
    load, levels = Inputs(trained.settings.data).plain, levels_of(release)

    def method(
        support: NDArray[np.float32], query: NDArray[np.float32], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        return tune(load(support), load(query))

    made = evaluate(
        method, release, name=f"{name}/FT", datasets=[DATASET], task_sets=[TUNED],
        features=lambda _: levels, transductive=False,
    )  # fmt: skip
    return as_run(made, trained.settings.seed)


def kept(made: Submission) -> Submission:
    """Keep the correct queries of each class."""
    return structs.replace(made, table=made.table.drop_columns("predictions"))


def jobs(
    folder: Path, release: Release, journal: Path
) -> Iterator[tuple[str, Callable[[], Submission]]]:
    """Give what a training answers: a file's stem, and what makes it."""
    trained = load_trained(folder)
    stem, start = folder.name.rpartition("-")[0], f"{trained.settings.method}-{UNTRAINED}"
    yield stem, lambda: answers_of(trained, release, stem, journal)
    has_open = any(info.name.suite == "open" for info in release.task_sets)
    if trained.settings.training.protocol.shot == 1 or not has_open:
        return
    yield start, lambda: answers_of(untrained(trained), release, start, journal, OPEN)
    if trained.settings.seed == 0:
        yield f"{stem}-heads", lambda: heads_of(trained, release, stem)
        yield f"{stem}-{MEANS}", lambda: means_of(trained, release, f"{stem}-{MEANS}")
        yield f"{stem}-FT", lambda: tuned(trained, release, stem)


def main() -> None:
    """Write the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("trainings", type=Path)
    parser.add_argument("--only", default="", help="Of trainings whose names start with this.")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    release = load_release(options.release)
    options.output.mkdir(exist_ok=True)
    for folder in sorted(path.parent for path in options.trainings.glob("*/trained.json")):
        if not folder.name.startswith(options.only):
            continue
        seed, journal = folder.name.rpartition("-")[2], folder / "answers.journal"
        for stem, make in jobs(folder, release, journal):
            path = options.output / f"{stem}-{seed}.parquet"
            if not path.exists():
                kept(make()).write(path)
                journal.unlink(missing_ok=True)
                print(path.name, flush=True)


if __name__ == "__main__":
    main()
