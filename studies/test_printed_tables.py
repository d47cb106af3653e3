"""Pages with printed tables hold what their commands print; FSLBENCH_REGENERATE=1 writes them."""

import os
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from fslbench_data.cli import main

PRINTED = "<!-- printed -->\n"
PAGES = {"studies/reference_results/README": 3, "studies/bias/README": 4, "docs/figures": 1}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), [(p, i) for p, n in PAGES.items() for i in range(n)])
def test_the_page_is_what_the_commands_print(root: Path, page: str, number: int) -> None:
    text = (root / f"{page}.md").read_text(encoding="utf-8")
    before = text.split(PRINTED)[:-1]
    assert len(before) == PAGES[page]
    command = before[number].rpartition("```sh\n")[2].partition("```\n")[0]
    program, *arguments = shlex.split(command)
    assert program == "fslbench"
    result = CliRunner().invoke(main, [*arguments, "--format", "markdown"])
    assert result.exit_code == 0, result.output
    printed = result.stdout
    if printed.startswith("<!--"):  # the signature
        printed = printed.split("-->\n\n", 1)[1]
    shown = text.split(PRINTED)[number + 1].partition("<!-- /printed -->")[0]
    if "FSLBENCH_REGENERATE" in os.environ:
        parts = text.split(PRINTED)
        parts[number + 1] = f"{printed.strip()}\n\n" + parts[number + 1].removeprefix(shown)
        (root / f"{page}.md").write_text(PRINTED.join(parts), encoding="utf-8")
        return
    assert shown.strip() == printed.strip(), "FSLBENCH_REGENERATE=1 writes it anew"


@pytest.mark.slow
def test_what_of_the_excess_is_the_levels(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what the page says of it are figures of that table."""
    import_module("studies.bias.excess").main()
    table = capsys.readouterr().out.strip()
    page = (root / "studies/bias/README.md").read_text(encoding="utf-8")
    assert table in page
    claims = page.partition("## What the embedded")[2]
    said = re.findall(r"\(([-+]?\d+\.\d ± \d+\.\d)\)", claims.partition("\n## ")[0])
    figures = [
        f"{float(mean):+.1f} ± {float(half):.1f}"
        for mean, half in re.findall(r"([-+]\d+\.\d+) ± (\d+\.\d+)", table)
    ]
    assert len(said) >= 6
    assert not set(said) - set(figures)
