"""The release inside the wheel: the 27 published task sets, and the digits, ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmark_spec.catalogue import catalogue
from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, TaskSetName
from builders.baselines import run_head
from builders.baselines.heads import HEADS
from builders.features import pixels
from builders.release_writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources import digits

NAME = "embedded"
VERSION = "1.0.0"
SEED = 0
CLOSED_TASKS = 600
"""As Lafargue et al. (TMLR 2024), and most of the field, draw."""

DESCRIPTION = (
    "The release inside the package: the 27 task sets behind the per-task accuracies released "
    "with 'Oops, I Sampled it Again' (Lafargue et al., TMLR 2024), and a small real data set "
    "with features and reference results, so that a method can be run with nothing downloaded."
)

Progress = Callable[[str], None]


def build_embedded(folder: Path, progress: Progress = lambda _: None) -> Manifest:
    """Make the embedded release in a new folder; `progress` is told each step."""
    writer = ReleaseWriter(folder, NAME, VERSION, DESCRIPTION)
    _add_digits(writer, progress)
    for name, dataset in catalogue().items():
        writer.add_dataset(
            name,
            title=dataset.title,
            homepage=dataset.homepage,
            licence=dataset.licence,
            citation=dataset.citation,
            note=dataset.note,
            class_names=dataset.class_names,
            class_sizes=dataset.class_sizes,
            provenance={"counts_from": dataset.counts_from},
        )
        for protocol in PUBLISHED_PROTOCOLS:
            task_set = TaskSetName("published", protocol)
            progress(f"{name}/{task_set}")
            writer.add_tasks(name, task_set, *draw_task_set(name, task_set, dataset.class_sizes))
    return writer.finish()


def _add_digits(writer: ReleaseWriter, progress: Progress) -> None:
    progress("digits")
    source = digits.read()
    writer.add_dataset(
        digits.NAME,
        **asdict(source.about),
        class_names=source.class_names,
        class_sizes=source.class_sizes,
        images=source.images,
        provenance=source.provenance,
    )
    for suite, tasks in (("open", None), ("closed", CLOSED_TASKS)):
        for protocol in PUBLISHED_PROTOCOLS:
            task_set = TaskSetName(suite, protocol)
            drawn = draw_task_set(digits.NAME, task_set, source.class_sizes, seed=SEED, tasks=tasks)
            writer.add_tasks(digits.NAME, task_set, *drawn)
    if source.pixels is not None:
        features = pixels.pixel_features(source.pixels, source.white)
        writer.add_features(digits.NAME, pixels.NAME, *features)
    for head in HEADS:
        progress(f"digits: {pixels.NAME}/{head}")
        submission = run_head(writer.so_far(), head, pixels.NAME, digits.NAME)
        writer.add_results(submission, {"head": head, "features": pixels.NAME})
