"""Make attributes of images: words of captions or texts, given ones, or ones of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.digest import content_digest
from builders.attributes import pixels
from builders.attributes.captions import write_captions
from builders.attributes.given import (
    GIVEN,
    given_attributes,
    given_texts,
    given_values,
)
from builders.attributes.recipe import PIXELS, Recipe, check_recipe
from builders.attributes.table import attribute_statistics, attributes_table
from builders.attributes.taggers import load_tagger
from builders.features.block_job import Settings
from builders.sources.image_set import ImageSet, Progress, silent
from fslbench_data.evaluation.progress import counted

__all__ = [
    "Recipe",
    "attribute_statistics",
    "check_recipe",
    "make_attributes",
]


def make_attributes(
    images: ImageSet,
    recipe: Recipe,
    source: str,
    work: Path,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> tuple[pa.Table, dict[str, Any]]:
    """Make the attributes of a data set's images by a recipe; returns also their provenance.

    `source` has read the images; `work` and `settings` are those of
    :func:`builders.attributes.captions.write_captions`.
    """
    provenance: dict[str, Any] = {
        "recipe": recipe.without_paths,
        "images": content_digest(images.images),
    }
    total = len(images.images)
    if recipe.attributes == PIXELS:
        attributes = pixels.pixel_attributes(images, progress)
        images.check_unchanged()
        return attributes_table(attributes), {**provenance, **pixels.DEPENDS_ON}
    if recipe.attributes == GIVEN:
        titles = given_texts(images, source) if images.texts else [None] * total
        if recipe.word:
            values, objects = given_values(images, source, recipe.word, titles)
            return attributes_table(values, objects), provenance
        return attributes_table(given_attributes(images, source), titles), provenance
    texts: Sequence[str | None]
    if recipe.captioner:
        what = f"captions by {recipe.captioner}"
        counter = counted(total, "images", lambda done: progress(f"{what}: {done}"))
        texts, how = write_captions(images, recipe.captioner, work, settings, counter)
        provenance["texts"] = how
    else:
        texts = given_texts(images, source)
    tagger = load_tagger(recipe.tagger)
    names = images.images.column("class_name").to_pylist()
    images.check_unchanged()

    def report(done: int) -> None:
        progress(f"words by {recipe.tagger}: {done:,} of {total:,} images")

    words = tagger.words(texts, names, report)
    return attributes_table(words, texts), {**provenance, "words": tagger.describe()}
