"""Hangul syllables, one a class, drawn in the fonts of seven Debian packages.

The classes are the 2350 syllables of KS X 1001, the images of a class one from each font that has
all of them.  The packages are pinned, downloaded with apt-get, checked and never installed.
"""

from __future__ import annotations

import argparse
import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.extras import require
from benchmark_spec.protocol import Protocol
from builders.sources.packages import Package, fetch
from studies.common import Array, head, marked, row, spread_out
from studies.coverage import real
from studies.coverage.judged import Summary, together
from studies.coverage.real import Population, RealCell

CELLS = tuple(
    RealCell(classes, images, protocol)
    for classes, images in ((7, 40), (15, 40), (43, 40), (200, 20))
    for protocol in (Protocol(5, 1, 1), Protocol(5, 5, 5))
)
PACKAGES = tuple(
    Package("deb", name, version, sha256)
    for name, version, sha256 in (
        (
            "fonts-alee",
            "13.3",
            "9d38eb6c2ff02864035d56d89a398288371891d2e7e20fb909f9ef18c0a23c54",
        ),
        (
            "fonts-baekmuk",
            "2.2-13",
            "19dbd99e597a35c8f63a36b3e880d8f3df61099e1cb92c5744146240fc4bee55",
        ),
        (
            "fonts-nanum",
            "20200506-1",
            "5e86c346e6485b694e1f0ebd27132892fcf014d1b975de4fd21d1654ddf37043",
        ),
        (
            "fonts-nanum-eco",
            "1.000-7",
            "233bafa5eb3535eb99a09273c0bbec25b944376793dff87f99b14d3a1b66b2a7",
        ),
        (
            "fonts-nanum-extra",
            "20200506-1",
            "05ee7f37582df6a9cec4b259e58d1ca7919bf8c6c3c6502959639a7e51411559",
        ),
        (
            "fonts-unfonts-core",
            "1:1.0.2-080608-18",
            "aa3674928f81920dff1705f9948d29ff86e73f56500a55ba00f093d2f724c7bb",
        ),
        (
            "fonts-unfonts-extra",
            "1:1.0.2-080608+dfsg-11",
            "2b86a0ac83702e7d5d2bf4739926110fcbaf871f1671261a31a990367155bd5f",
        ),
    )
)
SIDE, DRAWN, POINTS = 16, 48, 40
ABSENT = "\uffff"


def syllables() -> list[str]:
    """Return the 2350 syllables of KS X 1001."""
    every = (chr(code) for code in range(0xAC00, 0xD7A4))
    return [c for c in every if len(c.encode("euc_kr", "ignore")) == 2]


def population(raw: Path) -> Population:
    """Return the population, from packages that are fetched into `raw` unless they are there."""
    folders = fetch(PACKAGES, raw)
    files = sorted(p for f in folders for p in f.rglob("*") if p.suffix in {".ttf", ".otf"})
    characters = syllables()
    pictures, seen = [], set()
    for file in files:
        drawn = _drawn(file, characters)
        if drawn is None:
            continue
        digest = hashlib.sha256(drawn.tobytes()).digest()
        if digest not in seen:
            seen.add(digest)
            pictures.append(drawn)
    return Population.of("hangul", np.stack(pictures, axis=1), block=2)


def _drawn(file: Path, characters: list[str]) -> Array | None:
    """Return each character in a font (C, side, side), ink 1; None if the font lacks one."""
    font = require("PIL.ImageFont").truetype(str(file), POINTS)
    absent = _one(font, ABSENT)
    found = []
    for character in characters:
        picture = _one(font, character)
        if not picture.any() or np.array_equal(picture, absent):
            return None
        found.append(picture)
    blocks = np.array(found, np.float32).reshape(-1, SIDE, DRAWN // SIDE, SIDE, DRAWN // SIDE)
    return np.asarray(blocks.mean(axis=(2, 4)) / 255)


def _one(font: Any, character: str) -> Array:
    picture = require("PIL.Image").new("L", (DRAWN, DRAWN), 0)
    draw = require("PIL.ImageDraw").Draw(picture)
    draw.text((DRAWN / 2, DRAWN / 2), character, font=font, fill=255, anchor="mm")
    return np.asarray(picture)


def part(options: argparse.Namespace) -> int:
    """Print how open and class-aware intervals hold for new syllables."""
    images_of = population(options.raw)
    print(images_of.describe(), end="\n\n")
    shots = sorted({cell.protocol.shot for cell in CELLS})
    jobs: list[Any] = [(shot, part) for shot in shots for part in range(real.TRUTH_PARTS)]
    parts = spread_out(partial(images_of.truth, options.seed), jobs, options.processes)
    means = np.reshape(parts, (len(shots), real.TRUTH_PARTS, 2)).mean(axis=1)
    truths = dict(zip(shots, map(tuple, means.tolist()), strict=True))
    jobs = [(c, s, options.sets) for c in CELLS for s in range(real.SEQUENCES)]
    work = partial(real.run, images_of, truths, options.seed)
    results = spread_out(work, jobs, options.processes)
    print(head("C, N", "S, Q", "T", "of", "truth", "true sd", "open", "class-aware", "width"))
    missed = 0
    for i, cell in enumerate(CELLS):
        parts = results[i * real.SEQUENCES : (i + 1) * real.SEQUENCES]
        one, other = truths[cell.protocol.shot]
        for what, which, true in (("NCC", 1, one), ("difference", 2, one - other)):
            s = Summary.of(together(p[which] for p in parts))
            missed += s.aware < 93.0
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p[0] for p in parts])),
                    what,
                    f"{100 * true:.2f}",
                    f"{s.deviation:.2f}",
                    s.open,
                    marked(s.aware, s.aware < 93.0),
                    f"{s.width:.2f}",
                )
            )
    return missed
