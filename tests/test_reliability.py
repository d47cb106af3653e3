"""Every row of studies/reliability/README.md is tried again, and ends as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reliability import Attempt, Section, World, sections

from fslbench_data.release.release import Release

SECTIONS = sections()


def _rows(root: Path, section: Section) -> dict[str, str]:
    """What the page says: outcome by what was tried."""
    page = (root / "studies/reliability/README.md").read_text(encoding="utf-8")
    part = page.partition(f"\n## {section.heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", part, flags=re.MULTILINE)
    return {tried: outcome for tried, outcome in rows if tried not in ("tried", "---")}


@pytest.mark.parametrize(
    ("section", "attempt"),
    [
        pytest.param(s, a, id=a.tried, marks=[pytest.mark.slow] if a.slow else [])
        for s in SECTIONS
        for a in s.attempts
    ],
)
def test_what_was_tried_ends_as_the_page_says(
    section: Section, attempt: Attempt, tmp_path: Path, root: Path, embedded: Release
) -> None:
    outcome = attempt.outcome(World(tmp_path, root, embedded))
    rows = _rows(root, section)
    line = f"| {attempt.tried} | {outcome} |"
    assert rows.get(attempt.tried) == outcome, f"studies/reliability/README.md should say:\n{line}"


def test_the_page_has_nothing_that_was_not_tried(root: Path) -> None:
    page = (root / "studies/reliability/README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", page, flags=re.MULTILINE) == [s.heading for s in SECTIONS]
    for section in SECTIONS:
        assert list(_rows(root, section)) == [a.tried for a in section.attempts]
