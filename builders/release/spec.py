"""The specification of a release: data sets, task sets, features, attributes and methods."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import replace

from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Suite, TaskSetName, suite_of
from builders.query_size.evidence import MOST_SEEDS, Rule
from builders.sources.image_set import ImageSet, Progress, silent
from builders.sources.source import read_source
from fslbench_data.sampling.redraw import SAMPLER_VERSION

CATALOGUE = "catalogue"
"""The source of a data set known by its classes and counts."""

MAX_TASKS = 10_000_000
"""A bound on requested tasks, beyond what any data set holds."""


WayShot = tuple[int, int]
"""K and S of a protocol that leaves Q open."""

LEFT_OPEN = re.compile(r"(?:(.*)-)?([1-9][0-9]{0,8})w([1-9][0-9]{0,8})s")
"""A protocol without Q, perhaps of a suite; groups: suite, K, S."""


def _open_in(texts: Iterable[str]) -> dict[str, WayShot]:
    """Map those protocols and task sets that leave Q open to their K and S."""
    matches = filter(None, map(LEFT_OPEN.fullmatch, texts))
    return {match[0]: (int(match[2]), int(match[3])) for match in matches}


class QuerySpec(Struct, frozen=True, forbid_unknown_fields=True):
    """``queries = "optimal"``: how Q is chosen for protocols that leave it open, such as ``5w5s``.

    By `rule` Q makes the intervals of ``comparisons`` of heads narrow, or that of the ``accuracy``
    of `head` alone.  The effect of Q is estimated from results on tasks of `suite` with `features`,
    by default the data set's first, and on the images of an earlier `dataset`, by default its own.
    """

    rule: Annotated[Rule, Meta(description='"comparisons" or "accuracy"')] = "comparisons"

    features: str = ""
    head: str = "NCC"
    dataset: str = ""
    suite: str = "open"
    seeds: Annotated[
        int, Meta(ge=1, le=MOST_SEEDS, description=f"a whole number from 1 to {MOST_SEEDS:,}")
    ] = 20


_Names = Annotated[
    tuple[str, ...], Meta(min_length=1, description='a list of names, such as ["..."]')
]


class FineTuningSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """``fine_tuning = { backbones = ["..."], task_sets = ["open-5w5s5q"], max_tasks = 20 }``.

    The first `max_tasks` tasks of each task set are answered, by default all.
    """

    backbones: _Names
    task_sets: _Names
    max_tasks: Annotated[int, Meta(ge=1)] | None = None


class MethodsSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """``methods_of.allway = { features = ["pixels"], heads = ["NCC"] }``: methods of a suite."""

    features: _Names
    heads: _Names


class DatasetSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of a release for one data set.

    Attributes
    ----------
    name, source
        The name of the data set in the release; and the source in :mod:`builders.sources` that
        reads it, by default of the same name, or ``catalogue`` for classes and counts only.
    folder
        Its raw folder, relative to that of all; by default the source's name, or the data set's if
        the source is a general one.
    suites, protocols, task_sets, seed, tasks
        The task sets: every suite at every protocol, and others by their whole names;
        ``ladder_<attributes>`` and ``counterfactual_<attributes>`` stand for all steps.  `tasks`
        has the number of tasks by suite.
    queries
        How Q is chosen for protocols without it, such as ``5w5s`` or ``open-5w5s``.
    drawn
        Uniform suites without tables in the release, which readers draw again.
    attributes
        Recipes of the images' sets of attributes, by name (:mod:`builders.attributes.recipe`).
    features, backbones
        Backbones whose features the release holds, perhaps projected
        (``efficientnet_lite0-pca128``); and others for the reference methods, whose features it
        does not hold.
    pictures
        ``files`` for the images as they are, or the longest side of thumbnails in pixels.
    heads, fine_tuning
        Reference methods to run on all features; and networks to fine-tune on tasks of some sets.
    methods_of
        By suite, the reference methods on its task sets, in place of `heads` on all features.
    test
        The beginning of the paths of images in the data set's own test part, for `allway`.
    options
        Other options of the source, such as the title of an image folder.
    """

    name: Annotated[str, Meta(description='name = "..."')]
    source: str = ""
    folder: str = ""
    suites: tuple[str, ...] = ()
    protocols: Annotated[
        tuple[str, ...], Meta(min_length=1, description='a list such as ["5w1s1q"]')
    ] = tuple(map(str, PUBLISHED_PROTOCOLS))
    task_sets: tuple[str, ...] = ()
    seed: int = 0
    tasks: Annotated[
        Mapping[str, Annotated[int, Meta(ge=1, le=MAX_TASKS, description=f"1 to {MAX_TASKS:,}")]],
        Meta(description="a table of whole numbers by suite, such as { closed = 600 }"),
    ] = {}
    queries: Annotated[
        QuerySpec | None,
        Meta(description='"optimal", or a table such as { features = "pixels", head = "NCC" }'),
    ] = None
    drawn: tuple[str, ...] = ()
    attributes: Annotated[
        Mapping[str, Annotated[str, Meta(description="a recipe")]],
        Meta(description='a table of recipes by name, such as { titles = "given+textblob" }'),
    ] = {}
    features: tuple[str, ...] = ()
    backbones: tuple[str, ...] = ()
    pictures: Annotated[
        Literal["files"] | Annotated[int, Meta(ge=16, le=4096)] | None,
        Meta(description='"files", or the longest side of thumbnails in pixels, 16 to 4096'),
    ] = None
    heads: tuple[str, ...] = ()
    fine_tuning: Annotated[
        FineTuningSpec | None, Meta(description="a table with backbones and task_sets")
    ] = None
    methods_of: Annotated[
        Mapping[str, MethodsSpec], Meta(description="tables with features and heads, by suite")
    ] = {}
    test: str = ""
    options: Mapping[str, Any] = {}

    def read(
        self, folder: Path | None, *, allow_missing: bool = False, progress: Progress = silent
    ) -> ImageSet:
        """Read the images of the data set from its raw folder."""
        return read_source(
            self.source,
            folder,
            name=self.name,
            options=self.options,
            allow_missing=allow_missing,
            progress=progress,
        )

    def number_of_tasks(self, suite: str) -> int | None:
        """Return the requested number of tasks, by default that of `closed` if images are reused.

        `pooled` and `allway` have no such default.
        """
        declared = suite_of(suite)
        like_closed = declared.interval == "closed" and suite != "pooled" and not declared.whole
        return self.tasks.get(suite, self.tasks.get("closed") if like_closed else None)

    @property
    def every_backbone(self) -> tuple[str, ...]:
        """The features of the data set and of its reference methods, each once."""
        of_suites = (name for methods in self.methods_of.values() for name in methods.features)
        return tuple(dict.fromkeys((*self.features, *self.backbones, *of_suites)))

    @property
    def declared_task_sets(self) -> tuple[str, ...]:
        """The names of the task sets, suite by suite; some may leave Q open."""
        by_suite = (f"{suite}-{protocol}" for suite in self.suites for protocol in self.protocols)
        return (*by_suite, *self.task_sets)

    @property
    def left_open(self) -> tuple[WayShot, ...]:
        """Ways and shots of the protocols that leave Q open, each once."""
        return tuple(dict.fromkeys(_open_in((*self.protocols, *self.task_sets)).values()))

    def with_queries(self, chosen: Mapping[WayShot, int]) -> DatasetSpec:
        """Replace every open Q by the one chosen, and drop duplicates that result."""
        pairs = _open_in((*self.protocols, *self.task_sets))

        def completed(text: str) -> str:
            return f"{text}{chosen[pairs[text]]}q" if text in pairs else text

        protocols = tuple(dict.fromkeys(map(completed, self.protocols)))
        spec = replace(self, protocols=protocols, task_sets=())
        by_suite = {str(name) for name in spec.every_task_set}
        names = dict.fromkeys(map(completed, self.task_sets))
        return replace(spec, task_sets=tuple(name for name in names if name not in by_suite))

    @property
    def filled(self) -> DatasetSpec:
        """The same with one query per class in protocols that leave Q open."""
        return self.with_queries(dict.fromkeys(self.left_open, 1))

    def closed(self, chosen: Mapping[WayShot, int]) -> dict[str, WayShot]:
        """Map the task sets that leave Q open, named with the chosen Q, to their K and S."""
        pairs = _open_in(self.declared_task_sets)
        return {f"{text}{chosen[pair]}q": pair for text, pair in pairs.items()}

    @property
    def every_task_set(self) -> tuple[TaskSetName, ...]:
        """All task sets, suite by suite; no protocol may leave Q open."""
        return tuple(map(TaskSetName.parse, self.declared_task_sets))

    @property
    def every_suite(self) -> tuple[Suite, ...]:
        """The suites of the task sets, each once."""
        return tuple(map(suite_of, dict.fromkeys(name.suite for name in self.every_task_set)))


class ReleaseSpec(Struct, frozen=True):
    """A whole release, as its file describes it."""

    name: str
    version: str
    description: str
    datasets: tuple[DatasetSpec, ...]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all that determines the release's content, except the raw files."""
        content = to_builtins(self)
        added = "attributes", "task_sets", "drawn", "queries", "pictures", "methods_of", "test"
        for dataset in content["datasets"]:
            for field in added:
                if not dataset[field]:  # so that builds begun before the field existed continue
                    del dataset[field]
            if "queries" in dataset:  # a former field, so that digests stay what they were
                dataset["queries"]["release"] = ""
        text = json.dumps([content, SAMPLER_VERSION], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
