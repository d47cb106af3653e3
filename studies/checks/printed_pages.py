"""Pages of the documentation hold what their commands print, all of it made again.

studies/trained_methods/README.md, studies/taggers/README.md, studies/query_size/model.md, and
figures 2, 3 and 5 of studies/paper_figures/README.md.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

from studies.taggers.__main__ import main as taggers
from studies.trained_methods.__main__ import main as trained

ROOT = Path(__file__).parents[2]


def printed(command: Callable[[], object]) -> list[str]:
    """Run a command without arguments, and give the tables that it prints."""
    said = io.StringIO()
    with redirect_stdout(said), patch.object(sys, "argv", ["command"]):
        command()
    return said.getvalue().strip().split("\n\n")


def scripted(*words: str) -> list[str]:
    """Run a script of the examples, and give the paragraphs that it prints."""
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip().split("\n\n")


def held(page: str, paragraphs: list[str], least: int) -> None:
    """Print how many tables a page holds, and assert that they are all of them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    tables = [paragraph for paragraph in paragraphs if "|" in paragraph]
    missing = [table for table in tables if table not in text]
    print(f"{page}: holds {len(tables) - len(missing)} of {len(tables)} tables", flush=True)
    assert not missing, missing[0]
    assert len(tables) >= least


def main() -> None:
    """Print how many tables each page holds."""
    held("studies/trained_methods/README.md", printed(trained), 10)
    held("studies/taggers/README.md", printed(taggers), 4)
    held("studies/query_size/model.md", scripted("examples/query_size.py"), 2)
    for figure in "235":
        held("studies/paper_figures/README.md", scripted("examples/paper_figures.py", figure), 1)
