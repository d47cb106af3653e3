"""docs/reported.md shows what the command prints, and the shares that it uses."""

import os
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from fslbench_data.cli import main
from fslbench_data.scoring.reported import SHARES, reported

MARK = "<!-- reported -->\n```text\n"


def test_the_page_shows_what_the_command_prints(root: Path) -> None:
    page = root / "docs/reported.md"
    text = page.read_text(encoding="utf-8")
    before, _, after = text.partition(MARK)
    command = before.rpartition("```sh\n")[2].partition("\n```")[0]
    printed = CliRunner(env={"COLUMNS": "88"}).invoke(main, shlex.split(command)[1:]).stdout
    if os.environ.get("FSLBENCH_REGENERATE"):
        page.write_text(before + MARK + printed + "```" + after.partition("```")[2], "utf-8")
    else:
        assert after.partition("```")[0] == printed


def test_the_page_has_the_shares(root: Path) -> None:
    text = (root / "docs/reported.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| (\d+) \| (\d+) \| (0\.\d\d) \| (0\.\d\d) \|", text)
    assert {(int(s), int(q)): (float(i), float(c)) for s, q, i, c in rows} == SHARES


def test_how_many_differences_survive_in_a_printed_table(root: Path) -> None:
    table = root / "studies/reported/fewstab_random.csv"
    pairs = reported(table, ways=5, queries=15, tasks=3000).differences
    counts = [sum(getattr(p, kind) for p in pairs) for kind in ("tasks", "images", "classes")]
    text = " ".join((root / "docs/reported.md").read_text(encoding="utf-8").split())
    tasks, images, classes = counts
    said = f"{tasks} are significant for other tasks, {images} for new images, and {classes} for"
    assert len(pairs) == 270
    assert f"{said} new classes" in text
