"""A task in pictures as HTML: a row a class, its support images, then its queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from benchmark_spec.tables import Dataset
from fslbench_data.render.page.answer_html import paragraph
from fslbench_data.render.page.hard_tasks import HardTask
from fslbench_data.render.small_pictures import Thumbnail
from fslbench_data.render.task_rows import ClassRow, ShownImage

TINY = 32
"""Pixels up to which a picture is enlarged with its pixels as squares."""

Credits = Mapping[int, tuple[str, str]]
"""Creator and licence of images, by id."""


def section_html(blocks: Mapping[str, str], rule: str) -> str:
    """Write the part of the page that shows one of some tasks, each by the name of its set."""
    options = "".join(f"<option>{escape(name)}</option>" for name in blocks)
    return (
        '\n<section class="wide" id="pictures" aria-labelledby="h-pictures">\n'
        '<h2 id="h-pictures">A hard task in pictures</h2>\n'
        f'<label>Task of <select id="pictured">{options}</select></label>\n'
        f"{paragraph(rule, 'note')}\n{chr(10).join(blocks.values())}\n</section>"
    )


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
    parts = len(rows[0].support), len(rows[0].queries)
    items = "".join(_row_html(row, small) for row in rows)
    return "".join(
        [
            f'<div class="task" data-set="{escape(str(task.info))}" '
            f'style="--support:{parts[0]};--queries:{parts[1]}">',
            paragraph(_sentence(task), "said"),
            f'<div class="heads" aria-hidden="true"><span>{_shown(task, rows)}</span>'
            f"<span>{_part('support', parts[0], task.info.protocol.shot)}</span>"
            f"<span>{_part('queries', parts[1], task.info.protocol.query)}</span></div>",
            f"<ul>{items}</ul>",
            *(paragraph(note, "note") for note in _notes(rows)),
            _details("What each method answered of it", _accuracies(task)),
            paragraph(f"Pictures: {about.title}, {about.homepage}; {about.licence}.", "note"),
            _details("Who made these pictures", _creators(shown, credits_of, about)),
            "</div>",
        ]
    )


def _sentence(task: HardTask) -> str:
    of = f"of {task.tasks}" if task.tasks > 1 else "and the only one"
    return (
        f"Task {task.task_id}, the hardest {of}: {_answered(task)}. T = 1, chosen for being hard: "
        "no interval."
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


def _shown(task: HardTask, rows: Sequence[ClassRow]) -> str:
    return _part("classes", len(rows), task.info.protocol.way)


def _part(name: str, shown: int, there: int) -> str:
    """A heading, which says of how many these are the first."""
    return name if shown == there else f"{name}, the first {shown} of {there}"


def _row_html(row: ClassRow, small: Mapping[int, Thumbnail]) -> str:
    name, about = escape(row.name), ""
    if row.attribute:
        about = f"<br><span>shared: <b>{escape(row.attribute)}</b></span>"
    if row.lacking:
        about += "<br><span>not inter-class</span>"
    return (
        f'<li><div class="class"><b>{name}</b>{about}</div>'
        f'<div class="images" role="group" aria-label="{name}, support" data-part="support">'
        f"{''.join(_image_html(row, 'support', image, small) for image in row.support)}</div>"
        f'<div class="images" role="group" aria-label="{name}, queries" data-part="queries">'
        f"{''.join(_image_html(row, 'query', image, small) for image in row.queries)}</div></li>"
    )


def _image_html(row: ClassRow, part: str, image: ShownImage, small: Mapping[int, Thumbnail]) -> str:
    picture = small.get(image.image_id)
    words = ", ".join(image.words)
    label = f"{row.name}, {part}" + (f": {words}" if words else "")
    if picture is None:
        shown = '<span class="none">may not be passed on</span>'
    else:
        tiny = ' class="tiny"' if max(picture.width, picture.height) <= TINY else ""
        shown = (
            f'<img{tiny} src="{picture.address}" alt="{escape(label)}" '
            f'width="{picture.width}" height="{picture.height}">'
        )
    marked = ", ".join(
        f"<b>{escape(word)}</b>" if word == row.attribute else escape(word) for word in image.words
    )
    caption = f"<figcaption>{marked}</figcaption>" if row.attribute else ""
    return f"<figure>{shown}{caption}</figure>"


def _notes(rows: Sequence[ClassRow]) -> Iterator[str]:
    if any(row.attribute for row in rows):
        yield (
            "Shared: the attribute that a class's support images have in common. Below an image "
            "stands which of these it has, in bold that of its own class."
        )
    if any(row.lacking for row in rows):
        yield "Not inter-class: too few images of the class have another class's attribute."


def _accuracies(task: HardTask) -> str:
    return ", ".join(f"{method} {share:.1f} %" for method, share in task.accuracies.items())


def _creators(shown: Sequence[int], credits_of: Credits, about: Dataset) -> str:
    """Name creators by licence, each once; empty where none is known."""
    by_licence: dict[str, dict[str, None]] = {}
    for image_id in shown:
        creator, licence = credits_of.get(image_id, ("", ""))
        if creator:
            by_licence.setdefault(licence or about.licence, {})[creator] = None
    return "; ".join(f"{', '.join(names)} ({licence})" for licence, names in by_licence.items())


def _details(summary: str, text: str) -> str:
    """A text that opens on a click, a tap or a key; nothing where there is none."""
    if not text:
        return ""
    return (
        f'<details class="words"><summary>{escape(summary)}</summary>'
        f"<p>{escape(text)}</p></details>"
    )
