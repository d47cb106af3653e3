"""Pages with printed tables hold what their commands print."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fslbench_data.cli import main

PRINTED = "<!-- printed -->\n"
PAGES = {"reference_results": 3, "bias_results": 4, "paper_table": 1}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), [(p, i) for p, n in PAGES.items() for i in range(n)])
def test_the_page_is_what_the_commands_print(root: Path, page: str, number: int) -> None:
    text = (root / f"docs/{page}.md").read_text(encoding="utf-8")
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
    assert shown.strip() == printed.strip()
