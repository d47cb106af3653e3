"""A line a method for scripts: fields parted by tabs, each a name and a number."""

from __future__ import annotations

from collections.abc import Sequence

from analysis_sql.comparison.ties import VerdictCounts
from fslbench_data.scoring.brief import Brief


def brief_text(briefs: Sequence[Brief]) -> str:
    """Return the method and its numbers of comparisons by verdict, for new images and classes."""
    return "".join(
        "\t".join([each.method, *_fields("", each.images), *_fields("new_classes_", each.classes)])
        + "\n"
        for each in briefs
    )


def _fields(prefix: str, counts: VerdictCounts) -> list[str]:
    not_told_apart = counts.inconclusive + counts.identical
    numbers = {
        "comparisons": counts.compared + counts.not_estimable,
        "better": counts.better,
        "worse": counts.worse,
        "not_told_apart": not_told_apart,
        "not_estimable": counts.not_estimable,
    }
    return [f"{prefix}{name}={number}" for name, number in numbers.items()]
