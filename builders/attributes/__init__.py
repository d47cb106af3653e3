"""Attributes of images: words of captions or of given texts, given ones, and pixels'."""

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
    """Make the attributes of a data set's images as a recipe says; gives also how.

    `source` is what has read the images; `work` and `settings` are as for
    :func:`builders.attributes.captions.write_captions`.
    """
    made: dict[str, Any] = {"recipe": recipe.without_paths, "images": content_digest(images.images)}
    total = len(images.images)
    if recipe.attributes == PIXELS:
        attributes = pixels.pixel_attributes(images, progress)
        images.check_unchanged()
        return attributes_table(attributes), {**made, **pixels.DEPENDS_ON}
    if recipe.attributes == GIVEN:
        titles = given_texts(images, source) if images.texts else [None] * total
        if recipe.word:
            of_word = given_values(images, source, recipe.word, titles)
            return attributes_table(*of_word), made
        return attributes_table(given_attributes(images, source), titles), made
    texts: Sequence[str | None]
    if recipe.captioner:
        what = f"captions by {recipe.captioner}"
        counter = counted(total, "images", lambda far: progress(f"{what}: {far}"))
        texts, made["texts"] = write_captions(images, recipe.captioner, work, settings, counter)
    else:
        texts = given_texts(images, source)
    tagger = load_tagger(recipe.tagger)
    names = images.images.column("class_name").to_pylist()
    images.check_unchanged()
    tagged = tagger.words(
        texts,
        names,
        lambda done: progress(f"words by {recipe.tagger}: {done:,} of {total:,} images"),
    )
    return attributes_table(tagged, texts), {**made, "words": tagger.describe()}
