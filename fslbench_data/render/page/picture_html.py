"""A task in pictures as HTML: a row a class, its support images, then its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmark_spec.tables import Dataset
from fslbench_data.render.page.hard_tasks import HardTask
from fslbench_data.render.small_pictures import Thumbnail
from fslbench_data.render.task_rows import ClassRow
from fslbench_data.render.templating import template

TINY = 32
"""Pixels up to which a picture is enlarged with its pixels as squares."""

Credits = Mapping[int, tuple[str, str]]
"""Creator and licence of images, by id."""


def task_html(
    task: HardTask,
    rows: Sequence[ClassRow],
    small: Mapping[int, Thumbnail],
    about: Dataset,
    credits_of: Credits,
) -> str:
    """Write a task: what was answered of it, its classes, and whose pictures these are.

    Parameters
    ----------
    rows
        The classes and images that are shown, not always all.
    small
        Thumbnails by image id; images that may not be passed on have none.
    """
    shown = [image.image_id for row in rows for image in (*row.support, *row.queries)]
    return template("render/page/templates/task.html.j2").render(
        task=task,
        rows=rows,
        small=small,
        about=about,
        answered=_answered(task),
        accuracies=", ".join(f"{name} {share:.1f} %" for name, share in task.accuracies.items()),
        creators=_creators(shown, credits_of, about),
        tiny=TINY,
    )


def _answered(task: HardTask) -> str:
    """Say what the methods answered: one, all the same, or between the lowest and the highest."""
    methods, right = [*task.accuracies], f"{task.mean:.1f} % of its queries rightly"
    high, low = (f"{task.accuracies[m]:.1f} % ({m})" for m in (methods[0], methods[-1]))
    if len(methods) == 1:
        return f"{methods[0]} answers {right}"
    if len({*task.accuracies.values()}) == 1:
        return f"each of {len(methods)} methods answers {right}"
    return f"{len(methods)} methods answer {right} on average, between {low} and {high}"


def _creators(shown: Sequence[int], credits_of: Credits, about: Dataset) -> str:
    """Name creators by licence, each once; empty where none is known."""
    by_licence: dict[str, dict[str, None]] = {}
    for image_id in shown:
        creator, licence = credits_of.get(image_id, ("", ""))
        if creator:
            by_licence.setdefault(licence or about.licence, {})[creator] = None
    return "; ".join(f"{', '.join(names)} ({licence})" for licence, names in by_licence.items())
