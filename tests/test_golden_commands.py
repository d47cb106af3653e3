"""What every command prints and writes is what it printed before; see tests/golden/commands."""

import json
import tomllib
from pathlib import Path
from typing import Any

import golden_commands
import golden_inputs
import golden_refusals
import pytest

import fslbench_data as fb

CASES: list[dict[str, Any]] = tomllib.loads(
    (golden_commands.FOLDER / "cases.toml").read_text(encoding="utf-8")
)["case"]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(c, id=c["name"], marks=[pytest.mark.slow] if c.get("slow") else [])
        for c in CASES
    ],
)
def test_commands(
    case: dict[str, Any], tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    text = golden_commands.transcript(case["commands"], tmp_path, root)
    golden_commands.check(case["name"], text, tuple(case.get("needs", ())))


def _refusals(tmp_path: Path, root: Path, files: list[str]) -> str:
    return golden_commands.transcript(
        [f"fslbench validate {name}" for name in files], tmp_path, root
    )


def _file_name(name: str) -> str:
    return name.replace(" ", "-").replace("'", "")


@pytest.mark.parametrize("name", [*golden_refusals.ROWS][::12])
def test_rows_that_are_refused(
    name: str, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the command prints some of the errors that test_refusals.py has one by one."""
    monkeypatch.chdir(tmp_path)
    files = []
    for ending in golden_refusals.ENDINGS.get(name, golden_refusals.ALL):
        files.append(f"x.{ending}")
        golden_refusals.write_rows(name, tmp_path / files[-1])
    text = _refusals(tmp_path, root, files)
    golden_commands.check(f"refusals/{_file_name(name)}", text, ("pyarrow",))


@pytest.mark.slow
def test_what_python_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.chdir(tmp_path)
    parts = []

    def keep(title: str, value: Any) -> None:
        text = json.dumps(golden_commands.plain(value), indent=1, ensure_ascii=False)
        text = golden_commands.normalised(f"{text}\n", tmp_path, root)
        parts.append(f"--- {title}\n{golden_commands.shortened(text)}")

    for name in ("my_results.parquet", "three.parquet", "prefix.parquet", "runs.parquet"):
        golden_inputs.INPUTS[name](tmp_path / name)
        submission = fb.Submission.read(name)
        report = fb.score(submission)
        valid = fb.validate(submission, fb.load_release())
        shown = [repr(submission), repr(report), str(report.signature), repr(valid.methods)]
        keep(name, shown)
        keep("groups", [(g.method, str(g.info), g.tasks, g.queries_per_task, g.bound, g.runs,
                         g.run_spread, int(g.counts.sum())) for g in valid.groups])  # fmt: skip
        keep("first score", report.scores[0])
        keep("first comparisons", list(report.comparisons)[:2])
        keep("verdicts", [str(c.verdict) for c in report.comparisons])
        keep("counts of verdicts", report.verdict_counts)
    release = fb.load_release()
    keep("release", [str(release), release.methods, release.datasets, release.backbones])
    keep("task set", release.task_set_info("cub", "published-5w5s5q"))
    keep("names", [sorted(fb.__all__), dir(fb)])
    planned = fb.plan(release=release, datasets="digits", queries=(3, 5))
    keep("plan", planned)
    with fb.connect(release, ["three.parquet"]) as connection:
        asked = "SELECT method, mean FROM accuracies WHERE dataset = 'digits' ORDER BY ALL LIMIT 5"
        keep("sql", connection.execute(asked).fetchall())
    golden_commands.check("python", "".join(parts))
