"""`score --matrix`: methods against methods, the same verdicts as everywhere else."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import fslbench_data as fb
from benchmark_spec.errors import SubmissionError
from fslbench_data.cli import main
from fslbench_data.render.verdict_views import matrices

TURNED = {"+": "-", "-": "+"}


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["score", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def _cells(markdown: str) -> dict[tuple[str, str, str], str]:
    """Marks by task set, row and column."""
    marks = {}
    for block in markdown.split("\n**")[1:]:
        lines = [
            [cell.strip().replace("\\", "") for cell in line.split("|")[1:-1]]
            for line in block.splitlines()
            if line.startswith("|")
        ]
        head, _, *rows = lines
        names = dict(row[0].split(" ", 1) for row in rows)
        dataset = block.partition(":")[0].replace("\\", "")
        for row in rows:
            for number, text in zip(head[1:], row[1:], strict=True):
                column = names.get(number, number)
                marks[dataset, names[row[0].split()[0]], column] = text
    return marks


def test_every_mark_is_the_verdict_of_the_lines() -> None:
    chosen = ["--dataset", "groceries", "--task-set", "open-5w5s5q"]
    cells = _cells(_run(*chosen, "--matrix", "--format", "markdown"))
    lines = [*csv.DictReader(_run(*chosen, "--format", "csv").splitlines()[1:])]
    by_pair: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for line in lines:
        by_pair.setdefault((line["method"], line["versus"]), {})[line["interval"]] = line
    assert len(by_pair) == 120
    for (method, versus), kinds in by_pair.items():
        line = kinds["open"]
        verdicts = [line["verdict_closed"] or "·", line["verdict_direct"], line["verdict"]]
        verdicts.append(kinds["class-aware"]["verdict"])
        where = "groceries/open-5w5s5q"
        assert cells[where, method, versus] == "".join(verdicts)
        assert cells[where, versus, method] == "".join(TURNED.get(v, v) for v in verdicts)
    assert all(text == "" for (_, row, column), text in cells.items() if row == column)
    assert {text[0] for text in cells.values() if text} == {"+", "-", "0", "·"}


def test_the_counts_below_are_those_of_the_summary() -> None:
    chosen = ["--dataset", "groceries"]
    rows = json.loads(_run(*chosen, "--summary", "--format", "json"))["rows"]
    summary = {row["task set"]: row for row in rows}
    blocks = _run(*chosen, "--matrix", "--format", "markdown").split("\n**")[1:]
    assert len(blocks) > 6
    for block in blocks:
        row = summary[block.partition(":")[0]]
        total, counts = re.findall(r"Conclusive of (\d+) comparisons: (.*)\.", block)[0]
        assert int(total) == row["comparisons"]
        told = {name: int(number) for name, number in re.findall(r"([a-z ]+) (\d+)", counts)}
        told = {name.strip(): number for name, number in told.items()}
        if "usual intervals" in told:
            assert (told["new images"], told["separate intervals"]) == (
                row["paired"],
                row["direct"],
            )
            assert told["new classes"] == row["new classes (disjoint tasks)"]
            assert told["usual intervals"] == row["closed"]
        elif "same images only" in told:
            assert told["same images only"] == row["closed"]
            assert told["new images"] == row["new images (tasks that reuse images)"]
        else:  # no task set reuses images at its number of queries
            assert (told["new images"], told["separate intervals"]) == (
                row["paired"],
                row["direct"],
            )
            assert told["new classes"] == row["new classes (disjoint tasks)"]


def test_one_method_is_one_column_and_numbered_as_its_row(root: Path) -> None:
    mine = str(root / "examples/my_results.parquet")
    text = _run(mine, "--matrix", "--task-set", "open-5w5s5q", "--format", "markdown")
    assert [line for line in text.splitlines() if line.startswith("|")] == [
        "| method | 1 pixels/Ridge |",
        "| --- | --- |",
        "| 2 pixels/NCC | 0000 |",
        "| 3 pixels/MatchingNet | -0-0 |",
        "| 4 pixels/LR | 0000 |",
    ]


def test_signs_are_no_dashes_in_latex() -> None:
    chosen = ["--dataset", "groceries", "--task-set", "closed-5w5s5q"]
    text = _run(*chosen, "--matrix", "--format", "latex")
    table = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    assert "$-$$-$" in table
    assert "--" not in table


def test_machines_read_what_score_gives_them(root: Path) -> None:
    mine = str(root / "examples/my_results.parquet")
    for form in ("csv", "json"):
        assert _run(mine, "--matrix", "--format", form) == _run(mine, "--format", form)


def test_nothing_to_compare(root: Path) -> None:
    alone = fb.score(root / "examples/my_results.parquet", task_sets="open-5w5s5q")
    (each,) = alone.sets
    lonely = replace(alone, sets=(each.only(["pixels/Ridge"]),))
    with pytest.raises(SubmissionError, match="nothing to compare"):
        matrices(lonely)


def test_it_goes_with_no_other_view() -> None:
    result = CliRunner().invoke(main, ["score", "--matrix", "--counts"])
    assert result.exit_code == 2
    assert "--counts does not go with --matrix" in result.output
