"""Which tasks a page shows in pictures, where images are at hand, and how much of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from benchmark_spec.errors import UnknownNameError
from fslbench_data.release.pictures import picture_paths
from fslbench_data.release.release import Release
from fslbench_data.release.stored_pictures import some_pictures
from fslbench_data.render.page.hard_tasks import HardTask
from fslbench_data.render.page.picture_html import Credits, task_html
from fslbench_data.render.small_pictures import Thumbnail, thumbnail
from fslbench_data.render.task_rows import ClassRow, ShownImage, task_rows
from fslbench_data.render.templating import template

LONGEST = 96
"""Pixels of a thumbnail's longest side."""

MOST_CLASSES, MOST_IMAGES = 10, 5
"""Classes of a task, and support images and queries of each, that are shown."""

MOST_PICTURES, MOST_BYTES = 1000, 2_000_000
"""What all tasks of a page take at most: pictures, and bytes of their text."""

Images = Path | Literal[True] | None
"""The folder of images, or True for those that the release holds; None: if they are on disk."""


def pictures_html(
    release: Release, tasks: Sequence[HardTask], first: Collection[str], images: Images
) -> str:
    """Show tasks of which images are at hand; empty where there are none.

    Parameters
    ----------
    first
        Names of the task sets that come first, should there be too many.

    Raises
    ------
    UnknownNameError
        If the release is to hold pictures of these data sets, and does not.
    SourceError
        If an image of the folder is missing, or one cannot be read.
    MissingPackageError
        Without Pillow.
    """
    datasets = at_hand(release, [task.info.dataset for task in tasks], images)
    there = [task for task in tasks if task.info.dataset in datasets]
    if not there:
        return ""
    rows: dict[str, list[ClassRow]] = {}
    for task in sorted(there, key=lambda task: str(task.info) not in first):
        shown = [_cut(row) for row in task_rows(release, task.info, task.task_id)[:MOST_CLASSES]]
        rows[str(task.info)] = shown
        if sum(len(_images(some)) for some in rows.values()) > MOST_PICTURES:
            rows.popitem()
            break
    named = {str(task.info): task for task in there}
    about = {each.name: each for each in release.manifest.datasets}
    ids = {dataset: _ids(rows, dataset) for dataset in datasets}
    small = {dataset: _thumbnails(release, dataset, images, ids[dataset]) for dataset in datasets}
    made_by = {dataset: _credits(release, dataset, ids[dataset]) for dataset in datasets}
    blocks: dict[str, str] = {}
    room = MOST_BYTES
    for name, some in rows.items():
        dataset = named[name].info.dataset
        block = task_html(named[name], some, small[dataset], about[dataset], made_by[dataset])
        room -= len(block.encode("utf-8"))
        if room < 0:
            break
        blocks[name] = block
    kept = {name: blocks[name] for name in named if name in blocks}
    section = template("render/page/templates/pictures.html.j2")
    return section.render(tasks=kept, rule=_rule(named, blocks))


def _rule(named: Collection[str], shown: Collection[str]) -> str:
    """Say which tasks these are, and of how many sets there is none."""
    text = (
        "Of each task set the task with the lowest mean accuracy over the methods of this page, of "
        f"equal ones the first; of a class at most {MOST_IMAGES} support images and {MOST_IMAGES} "
        "queries."
    )
    left = len(named) - len(shown)
    if left:
        sets = "1 more task set has none" if left == 1 else f"{left} more task sets have none"
        text += (
            f" {sets}: a page has at most {MOST_PICTURES:,} pictures, {MOST_BYTES / 1e6:.0f} MB."
        )
    return text


def at_hand(release: Release, datasets: Sequence[str], images: Images) -> list[str]:
    """Return of which of these data sets there are images.

    Unasked, nothing is fetched from the Hub.
    """
    once = dict.fromkeys(datasets)
    if isinstance(images, Path):
        listed = release.datasets_with("images")
        return [dataset for dataset in once if dataset in listed] or [*once]
    held = release.datasets_with("pictures")
    there = [dataset for dataset in once if dataset in held]
    if images is True and not there:
        where = f"release {release}" + ("" if held else ", which holds none")
        fix = "give the images as files: --images DIR, in Python images=FOLDER"
        raise UnknownNameError("pictures", "", held, where=where, fix=fix)
    return [] if images is None and release.hub else there


def _cut(row: ClassRow) -> ClassRow:
    some = row.support[:MOST_IMAGES], row.queries[:MOST_IMAGES]
    return ClassRow(row.name, row.attribute, row.lacking, *some)


def _images(rows: Sequence[ClassRow]) -> list[ShownImage]:
    return [image for row in rows for image in (*row.support, *row.queries)]


def _ids(rows: Mapping[str, Sequence[ClassRow]], dataset: str) -> set[int]:
    """The images of all tasks of a data set."""
    of_dataset = (some for name, some in rows.items() if name.startswith(f"{dataset}/"))
    return {image.image_id for some in of_dataset for image in _images(some)}


def _thumbnails(
    release: Release, dataset: str, images: Images, ids: Collection[int]
) -> dict[int, Thumbnail]:
    """Make thumbnails by image id; of images that may not be passed on there are none."""
    if isinstance(images, Path):
        paths = picture_paths(release, dataset, images)
        return {i: thumbnail(paths[i], LONGEST, str(paths[i])) for i in sorted(ids)}
    return {
        i: thumbnail(data, LONGEST, f"image {i} of {dataset} in {release}")
        for i, data in some_pictures(release, dataset, ids)
    }


def _credits(release: Release, dataset: str, ids: Collection[int]) -> Credits:
    """Creator and licence of images, as far as the release says them."""
    if dataset not in release.datasets_with("images"):
        return {}
    table = release.images(dataset).select(["creator", "licence"]).take(sorted(ids))
    both = ([value or "" for value in column.to_pylist()] for column in table.columns)
    return dict(zip(sorted(ids), zip(*both, strict=True), strict=True))
