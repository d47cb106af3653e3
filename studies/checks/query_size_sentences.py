"""Sweep the number of queries on the digits, with variance in parts, and compare with the page.

studies/query_size/model.md has a sentence for each number of shots.
"""

from __future__ import annotations

from pathlib import Path

from builders.query_size.sweep import QuerySets
from builders.query_size.text import sentence
from fslbench_data.release.release import load_release
from studies.query_size.image_parts import sharper_sweep

PAGE = Path(__file__).parents[2] / "studies/query_size/model.md"


def main() -> None:
    """Sweep 1 to 15 queries at 1, 5 and 10 shots."""
    page = PAGE.read_text(encoding="utf-8")
    for shot in (1, 5, 10):
        sets = QuerySets.of(
            load_release(), "digits", "pixels", "NCC", way=5, shot=shot, suite="open"
        )
        found = sentence(sharper_sweep(sets, range(1, 16), parts=20))
        print(f"{shot} shots: {found}")
        assert found in page
