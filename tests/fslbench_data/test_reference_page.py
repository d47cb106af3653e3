"""The page on the reference results holds what its commands print."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fslbench_data.cli import main

BLOCKS = range(3)


@pytest.mark.parametrize("number", BLOCKS)
def test_the_page_is_what_the_commands_print(root: Path, number: int) -> None:
    page = (root / "docs/reference_results.md").read_text(encoding="utf-8")
    blocks = page.split("```sh\n")[1:]
    assert len(blocks) == len(BLOCKS)
    command, _, rest = blocks[number].partition("```\n")
    program, *arguments = shlex.split(command)
    assert program == "fslbench"
    result = CliRunner().invoke(main, [*arguments, "--format", "markdown"])
    assert result.exit_code == 0, result.output
    printed = result.stdout
    if printed.startswith("<!--"):  # the signature
        printed = printed.split("-->\n\n", 1)[1]
    shown = rest.split("<!-- printed -->\n")[1].split("<!-- /printed -->")[0]
    assert shown.strip() == printed.strip()
