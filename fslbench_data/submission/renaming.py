"""Methods under other names."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import FSLBenchWarning, listing
from fslbench_data.submission.columns import NAMES
from fslbench_data.submission.model import Submission
from fslbench_data.submission.streaming import Streamed


def renamed(submission: Submission, names: Mapping[str, str]) -> Submission:
    """Return a submission in which some methods have other names; `names` are new by old."""
    index = submission.table.column_names.index("method")
    before = submission.table.column(index).cast(pa.string())
    after = before
    for old, new in names.items():
        after = pc.if_else(pc.equal(before, pa.scalar(old)), pa.scalar(new), after)
    return replace(
        submission,
        table=submission.table.set_column(index, "method", after.cast(NAMES)),
        methods={
            names.get(name, name): replace(about, name=names.get(name, name))
            for name, about in submission.methods.items()
        },
        bindings={
            (names.get(name, name), dataset, task_set): bound
            for (name, dataset, task_set), bound in submission.bindings.items()
        },
    )


def named_by_features(parts: Sequence[Submission]) -> list[Submission]:
    """Tell one name on several features apart: ``nearest`` is ``pixels/nearest`` on pixels.

    Each submission says what features its methods rest on; a name on two of them is two methods.
    A warning says so.  Names that some submission has already, and methods of which one that is
    streamed has results, are left as they are.
    """
    several: dict[str, dict[str, str]] = {}
    for part in parts:
        for name, about in part.methods.items():
            if about.backbone:
                several.setdefault(name, {}).setdefault(about.backbone, part.source)
    taken = {name for part in parts for name in part.methods}
    several = {
        name: sources
        for name, sources in several.items()
        if len(sources) > 1
        and not taken & {_on(features, name) for features in sources}
        and not any(isinstance(part, Streamed) and name in part.methods for part in parts)
    }
    for name, sources in several.items():
        warnings.warn(
            f"{name} rests on other features in each of {listing([*sources.values()], 4)}: these "
            f"are methods of their own, {listing([_on(some, name) for some in sources], 4)}",
            FSLBenchWarning,
            stacklevel=3,
        )
    return [_named(part, several) for part in parts] if several else [*parts]


def _named(part: Submission, several: Mapping[str, object]) -> Submission:
    names = {
        name: _on(about.backbone, name)
        for name, about in part.methods.items()
        if name in several and about.backbone
    }
    return renamed(part, names) if names else part


def _on(features: str, name: str) -> str:
    return f"{features}/{name}"
