"""README and docs say what is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmark_spec import errors
from fslbench_data.cli import main
from fslbench_data.release.release import Release


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def test_the_result_on_the_front_page_is_what_the_command_prints(readme: str, root: Path) -> None:
    printed = CliRunner().invoke(main, ["score", str(root / "examples/my_results.parquet")]).stdout
    shown = " ".join(_blocks(readme, "text")[0].split())
    assert shown in " ".join(printed.split())


def test_the_two_commands_stand_where_ci_looks_for_them(readme: str) -> None:
    commands = [line for line in readme.splitlines() if line.startswith("python3 -m venv ")]
    assert len(commands) == 2
    assert commands[0].endswith("score examples/my_results.parquet")
    assert commands[1].endswith("pytest -n auto")


def test_the_python_example_runs(readme: str, tmp_path: Path) -> None:
    (code,) = _blocks(readme, "python")
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = out.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["groceries", "openclipart"]
    assert (tmp_path / "my_method.parquet").exists()


def test_numbers_of_tasks_in_the_readme(readme: str, embedded: Release) -> None:
    tasks = [s.n_tasks for s in embedded.task_sets if s.name.suite == "open"]
    assert f"too few images are left: {min(tasks)} to {max(tasks)} tasks" in readme


def test_every_error_in_the_docs_exists(root: Path) -> None:
    text = (root / "docs/submissions.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b[A-Z]\w+Error\b", text))
    assert named
    assert named <= set(vars(errors))
    own = set(vars(errors))
    raised_by_submissions = {
        name
        for name in own
        if isinstance(vars(errors)[name], type)
        and issubclass(vars(errors)[name], errors.SubmissionError)
    }
    assert raised_by_submissions - named == {"SubmissionError"}  # the family's head


def test_links_lead_somewhere(root: Path) -> None:
    for page in (root / "README.md", *(root / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), (page, link)
