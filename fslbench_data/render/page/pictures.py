"""Readable tasks, and the hardest task of each task set in pictures."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from math import fsum
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError, UnknownNameError
from benchmark_spec.manifest import Dataset
from benchmark_spec.protocol import INTER_CLASS, suite_of
from fslbench_data.pictures import decode
from fslbench_data.release.pictures import picture_paths, some_pictures
from fslbench_data.release.release import Release
from fslbench_data.render.templating import template
from fslbench_data.scoring.bias import Ladder, step_of
from fslbench_data.scoring.task_set_report import TaskSetReport
from fslbench_data.tasks import TaskSetInfo


class TaskImage(Struct, frozen=True):
    """An image of a task, with those of the task's attributes that it has, sorted."""

    image_id: int
    words: tuple[str, ...] = ()


class ClassRow(Struct, frozen=True):
    """A class of a task.

    Attributes
    ----------
    attribute
        The attribute that its support images share; empty in tasks made without attributes.
    lacking
        Whether too few images had another class's attribute to be its queries.
    """

    name: str
    attribute: str
    lacking: bool
    support: tuple[TaskImage, ...]
    queries: tuple[TaskImage, ...]


def task_rows(release: Release, info: TaskSetInfo, task_id: int) -> list[ClassRow]:
    """Read a task of a task set, with classes and queries in their order.

    Raises a SpecError if the set has no such task.
    """
    if not 0 <= task_id < info.n_tasks:
        raise SpecError(
            f"{info} has no task {task_id}", expected=f"0 to {info.n_tasks - 1}", where=str(release)
        )
    row = release.task_table(info).slice(task_id, 1).to_pylist()[0]
    shot, suite = info.protocol.shot, suite_of(info.name.suite)
    names = release.classes(info.dataset).column("class_name").to_pylist()
    attributes = row.get("attributes") or [""] * info.protocol.way
    words: list[set[str]] = []  # of each image, in task sets made with attributes
    if suite.attributes:
        table = release.attributes(info.dataset, suite.attributes)
        words = [set(of_image) for of_image in table.column("attributes").to_pylist()]
    queries = list(zip(row["query"], row["query_label"], strict=True))

    def images(ids: Iterable[int]) -> tuple[TaskImage, ...]:
        if not words:
            return tuple(map(TaskImage, ids))
        return tuple(TaskImage(i, tuple(sorted(words[i].intersection(attributes)))) for i in ids)

    return [
        ClassRow(
            names[class_id],
            attributes[k],
            suite.step in INTER_CLASS and not row["inter_class"][k],
            images(row["support"][k * shot : (k + 1) * shot]),
            images(image for image, label in queries if label == k),
        )
        for k, class_id in enumerate(row["class_ids"])
    ]


LONGEST, QUALITY = 96, 80
"""Pixels of a thumbnail's longest side, and the quality of its WebP."""

TINY = 32
"""Pixels of a side up to which a picture is enlarged with its pixels as squares."""

MOST_CLASSES, MOST_IMAGES = 10, 5
"""Classes of a task, and support images and queries of each, at most."""

MOST_PICTURES, MOST_BYTES = 1000, 2_000_000
"""Most pictures and bytes of text of all tasks on a page."""

Images = Path | Literal[True] | None
"""The folder of images, or True for the release's, or None for those if they are on disk."""

Credits = Mapping[int, tuple[str, str]]
"""Creator and licence of images, by id."""


class HardTask(Struct, frozen=True):
    """The first task of a set with the lowest mean accuracy over methods.

    Attributes
    ----------
    tasks
        The number of tasks that it is the hardest of: 0 to `tasks` - 1.
    accuracies
        Accuracies on this task in percent by method, the highest first, of the methods that
        answered the most tasks.
    """

    info: TaskSetInfo
    task_id: int
    tasks: int
    accuracies: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Mean accuracy over the methods, percent."""
        return fsum(self.accuracies.values()) / len(self.accuracies)


class Thumbnail(Struct, frozen=True):
    """A small picture as a ``data:`` address of WebP, and its size in pixels."""

    address: str
    width: int
    height: int


def hardest(info: TaskSetInfo, shares: Mapping[str, NDArray[np.float64]]) -> HardTask:
    """Find the hardest task, given each method's percentage of right queries on its first tasks."""
    n_tasks = max(map(len, shares.values()))
    complete = {method: share for method, share in shares.items() if len(share) == n_tasks}
    totals = [fsum(of_task) for of_task in zip(*complete.values(), strict=True)]
    task_id = totals.index(min(totals))
    accuracies = {method: float(share[task_id]) for method, share in complete.items()}
    by_accuracy = sorted(accuracies.items(), key=lambda item: (-item[1], item[0]))
    return HardTask(info, task_id, n_tasks, dict(by_accuracy))


def hard_tasks(
    infos: Sequence[TaskSetInfo],
    sets: Sequence[TaskSetReport],
    methods: Sequence[str],
    ladders: Sequence[Ladder],
) -> Iterator[HardTask]:
    """Yield the hardest task of each task set, then of the last step of each ladder."""
    named = {str(info): info for info in infos}
    for report in sets:
        counts, place = report.counts, {method: i for i, method in enumerate(report.methods)}
        shares = {
            method: 100.0 * counts.correct[i, : counts.tasks[i]] / counts.queries_per_task[i]
            for method in methods
            if (i := place.get(method)) is not None
        }
        yield hardest(named[str(report.scored)], shares)
    for ladder in ladders:
        by_method = ladder.by_method
        answered = {step for steps in by_method.values() for step in steps}
        last = next((i for i in reversed(ladder.infos) if step_of(i) in answered), None)
        if last is None or str(last) in named:
            continue
        step, shares = step_of(last), {}
        counts_of = {method: steps[step] for method, steps in by_method.items() if step in steps}
        for method in [name for name in methods if name in counts_of] or counts_of:
            correct = counts_of[method]  # by class (T, K), of runs (T, K, R)
            total = last.protocol.n_query * correct[0, 0].size
            shares[method] = 100.0 * correct.reshape(len(correct), -1).sum(axis=1) / total
        yield hardest(last, shares)


def pictures_html(
    release: Release, tasks: Sequence[HardTask], first: Collection[str], images: Images
) -> str:
    """Write the tasks with available images as HTML; empty if there are none.

    Tasks of the sets `first` get room first.  Raises an UnknownNameError if the release should
    hold pictures of these data sets and does not, and a SourceError if an image of the folder is
    missing or cannot be read.
    """
    datasets = _with_pictures(release, [task.info.dataset for task in tasks], images)
    shown = {str(task.info): task for task in tasks if task.info.dataset in datasets}
    if not shown:
        return ""
    rows: dict[str, list[ClassRow]] = {}
    for name in sorted(shown, key=lambda name: name not in first):
        task = shown[name]
        rows[name] = [
            replace(row, support=row.support[:MOST_IMAGES], queries=row.queries[:MOST_IMAGES])
            for row in task_rows(release, task.info, task.task_id)[:MOST_CLASSES]
        ]
        if sum(len(_images(of_task)) for of_task in rows.values()) > MOST_PICTURES:
            rows.popitem()
            break
    about = {dataset.name: dataset for dataset in release.manifest.datasets}
    ids: dict[str, set[int]] = {dataset: set() for dataset in datasets}
    for name, of_task in rows.items():
        ids[shown[name].info.dataset] |= {image.image_id for image in _images(of_task)}
    small = {dataset: _thumbnails(release, dataset, images, ids[dataset]) for dataset in datasets}
    made_by = {dataset: _credits(release, dataset, ids[dataset]) for dataset in datasets}
    blocks: dict[str, str] = {}
    room = MOST_BYTES
    for name, of_task in rows.items():
        dataset = shown[name].info.dataset
        block = task_html(shown[name], of_task, small[dataset], about[dataset], made_by[dataset])
        room -= len(block.encode("utf-8"))
        if room < 0:
            break
        blocks[name] = block
    return template("render/page/templates/pictures.html.j2").render(
        tasks={name: blocks[name] for name in shown if name in blocks},
        left=len(shown) - len(blocks),
        images=MOST_IMAGES,
        pictures=MOST_PICTURES,
        megabytes=MOST_BYTES / 1e6,
    )


def task_html(
    task: HardTask,
    rows: Sequence[ClassRow],
    small: Mapping[int, Thumbnail],
    about: Dataset,
    credits_of: Credits,
) -> str:
    """Write a task with the methods' accuracies, its classes, and the creators of its pictures.

    Images that may not be passed on have no thumbnail in `small`.
    """
    creators: dict[str, dict[str, None]] = {}  # by licence; the inner dict is an ordered set
    for image in _images(rows):
        creator, licence = credits_of.get(image.image_id, ("", ""))
        if creator:
            creators.setdefault(licence or about.licence, {})[creator] = None
    return template("render/page/templates/task.html.j2").render(
        task=task,
        rows=rows,
        small=small,
        about=about,
        answered=_answered(task),
        accuracies=", ".join(f"{name} {share:.1f} %" for name, share in task.accuracies.items()),
        creators="; ".join(f"{', '.join(names)} ({terms})" for terms, names in creators.items()),
        tiny=TINY,
    )


def _answered(task: HardTask) -> str:
    """Say how well the methods answer a task; if they differ, from the lowest to the highest."""
    methods, right = [*task.accuracies], f"{task.mean:.1f} % of its queries rightly"
    high, low = (f"{task.accuracies[m]:.1f} % ({m})" for m in (methods[0], methods[-1]))
    if len(methods) == 1:
        return f"{methods[0]} answers {right}"
    if len({*task.accuracies.values()}) == 1:
        return f"each of {len(methods)} methods answers {right}"
    return f"{len(methods)} methods answer {right} on average, between {low} and {high}"


def _with_pictures(release: Release, datasets: Sequence[str], images: Images) -> list[str]:
    """Return which of these data sets have pictures; by default none is fetched."""
    datasets = [*dict.fromkeys(datasets)]
    if isinstance(images, Path):
        with_images = release.datasets_with("images")
        return [dataset for dataset in datasets if dataset in with_images] or datasets
    held = release.datasets_with("pictures")
    pictured = [dataset for dataset in datasets if dataset in held]
    if images is True and not pictured:
        where = f"release {release}" + ("" if held else ", which holds none")
        fix = "give the images as files: --images DIR, in Python images=FOLDER"
        raise UnknownNameError("pictures", "", held, where=where, fix=fix)
    return [] if images is None and release.hub else pictured


def _images(rows: Sequence[ClassRow]) -> list[TaskImage]:
    return [image for row in rows for image in (*row.support, *row.queries)]


def _thumbnails(
    release: Release, dataset: str, images: Images, ids: Collection[int]
) -> dict[int, Thumbnail]:
    """Make thumbnails by image id; images that may not be passed on have none."""
    if isinstance(images, Path):
        paths = picture_paths(release, dataset, images)
        return {i: thumbnail(paths[i], LONGEST, str(paths[i])) for i in sorted(ids)}
    return {
        i: thumbnail(data, LONGEST, f"image {i} of {dataset} in {release}")
        for i, data in some_pictures(release, dataset, ids)
    }


def thumbnail(image: Path | bytes, longest: int, name: str) -> Thumbnail:
    """Make the thumbnail of an image file."""
    picture = decode(image, name, longest=longest, extra="report")
    file = BytesIO()
    picture.save(file, format="WEBP", quality=QUALITY)
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/webp;base64,{text}", picture.width, picture.height)


def _credits(release: Release, dataset: str, ids: Collection[int]) -> Credits:
    """Return the creator and licence of each image that the release has them of."""
    if dataset not in release.datasets_with("images"):
        return {}
    table = release.images(dataset).select(["creator", "licence"]).take(sorted(ids))
    creators, licences = ([text or "" for text in column.to_pylist()] for column in table.columns)
    return dict(zip(sorted(ids), zip(creators, licences, strict=True), strict=True))
