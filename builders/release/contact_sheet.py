"""A task as a picture: a row per class with support images, queries and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark_spec.extras import require
from fslbench_data.pictures import Picture, decode
from fslbench_data.release.release import Release
from fslbench_data.render.fonts import REGULAR
from fslbench_data.render.page.pictures import task_rows
from fslbench_data.tasks import TaskSetInfo

MARGIN, LABEL, TEXT = 12, 190, 15
"""Pixels of a margin, of the width of class names, and of the height of a line of text."""

INK, FAINT, RULE = (20, 20, 20), (110, 110, 110), (200, 200, 200)


def contact_sheet(
    release: Release, info: TaskSetInfo, task_id: int, paths: Sequence[Path], cell: int = 96
) -> Picture:
    """Draw a task of a task set.

    `paths` are the files of all images of the data set, by id; `cell` is the side, in pixels, of
    the square that an image is fitted into.
    """
    rows = task_rows(release, info, task_id)
    protocol = info.protocol
    line = TEXT if any(row.attribute for row in rows) else 0
    width = 3 * MARGIN + LABEL + protocol.per_class * (cell + 4) + MARGIN
    height = 3 * MARGIN + 2 * TEXT + protocol.way * (cell + line + MARGIN)
    sheet = require("PIL.Image", "builders").new("RGB", (width, height), "white")
    pen = require("PIL.ImageDraw", "builders").Draw(sheet)
    font = require("PIL.ImageFont", "builders").truetype(REGULAR, TEXT - 2)

    def write(x: int, y: int, text: str, room: int, ink: tuple[int, int, int] = INK) -> None:
        pen.text((x, y), _cut(text, room, font), fill=ink, font=font)

    write(MARGIN, MARGIN, f"{info}, task {task_id}, {release}", width - 2 * MARGIN)
    left = 2 * MARGIN + LABEL
    middle = left + protocol.shot * (cell + 4) + MARGIN
    write(left, MARGIN + TEXT, "support", protocol.shot * cell, FAINT)
    write(middle, MARGIN + TEXT, "queries", protocol.query * cell, FAINT)
    for k, row in enumerate(rows):
        top = 2 * MARGIN + 2 * TEXT + k * (cell + line + MARGIN)
        write(MARGIN, top, row.name, LABEL)
        if row.attribute:
            write(MARGIN, top + TEXT, f"support: {row.attribute}", LABEL, FAINT)
        if row.lacking:
            write(MARGIN, top + 2 * TEXT, "not inter-class", LABEL, FAINT)
        for start, images in ((left, row.support), (middle, row.queries)):
            for i, image in enumerate(images):
                x = start + i * (cell + 4)
                sheet.paste(_fitted(paths[image.image_id], cell), (x, top))
                pen.rectangle((x, top, x + cell - 1, top + cell - 1), outline=RULE)
                if row.attribute:
                    write(x, top + cell, ", ".join(image.words), cell, FAINT)
    return sheet


def _fitted(path: Path, cell: int) -> Picture:
    """Read an image and fit it into a white square."""
    picture = decode(path, str(path), longest=cell)
    square = require("PIL.Image", "builders").new("RGB", (cell, cell), "white")
    square.paste(picture, ((cell - picture.width) // 2, (cell - picture.height) // 2))
    return square


def _cut(text: str, room: int, font: Any) -> str:
    """Cut a text so that it takes at most `room` pixels."""
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(f"{text}…") > room:
        text = text[:-1]
    return f"{text}…"
