"""Markdown and LaTeX of every table; citations; shell completion."""

import csv
import json
import shlex
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from commands import printed
from recorded import in_run, recorded
from typesetting import typeset

from fslbench_data.release.release import load_release
from fslbench_data.render.latex import latex
from fslbench_data.render.report_formats import render_csv
from fslbench_data.render.table import Column, Table, markdown, right
from fslbench_data.scoring.score import score
from fslbench_data.submission.merging import merge

NASTY = Table(
    "A & B_1: 50 % of {x}",
    (Column("method", itemgetter(0)), right("n", itemgetter(1))),
    (("a|b*c_d<e>", "+1.0 ± 0.5"), ('$x^2$ \\ ~ # "q" é', "-0.3"), ("dinov2-5w", "-")),
    ("A note: 100 %.",),
)


def test_markdown_escapes() -> None:
    assert markdown([NASTY], "a--b") == (
        "<!-- a- -b -->\n\n"
        "**A & B\\_1: 50 % of \\{x\\}**\n\n"
        "| method | n |\n| --- | ---: |\n"
        "| a\\|b\\*c\\_d\\<e\\> | +1.0 ± 0.5 |\n"
        '| \\$x^2\\$ \\\\ \\~ \\# "q" é | -0.3 |\n'
        "| dinov2-5w | - |\n\n"
        "A note: 100 %.\n"
    )


def test_latex_escapes() -> None:
    text = latex([NASTY], "sig")
    assert text.startswith("% sig\n\n% needs \\usepackage{booktabs}\n\n\\begin{table}\n")
    assert r"\label{tab:a-b-1}" in text
    assert r"\caption{A \& B\_1: 50 \% of \{x\}. A note: 100 \%.}" in text
    assert r"a\textbar{}b*c\_d\textless{}e\textgreater{} & $+$1.0 $\pm$ 0.5 \\" in text
    assert r"\$x\textasciicircum{}2\$ \textbackslash{} \textasciitilde{} \#" in text
    assert r"dinov2-5w & $-$ \\" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["score MINE --details", "compare MINE pixels/LR", "info", "sql 'FROM accuracies'"]
)
def test_latex_compiles(command: str, root: Path, tmp_path: Path) -> None:
    words = shlex.split(command.replace("MINE", str(root / "examples/my_results.parquet")))
    text = printed(*words, "--format", "latex") + latex([NASTY], "sig")
    typeset(tmp_path, text, r"\documentclass{article}\usepackage[T1]{fontenc}")


def test_csv_says_of_training_runs_what_json_says(tmp_path: Path) -> None:
    said = {"several": None, "one": True, "fixed": False}
    parts = []
    rng = np.random.default_rng(0)
    tasks = load_release().task_set("digits", "open-5w5s5q")
    for name, run in (("several", "0"), ("several", "1"), ("one", "0"), ("fixed", "0")):
        own = recorded(tasks, rng.binomial(25, 0.7, len(tasks)), name, trained=said[name])
        parts.append(in_run(own, run))
    path = tmp_path / "runs.parquet"
    merge(parts).write(path)
    content = json.loads(printed("score", str(path), "--format", "json"))
    rows = list(csv.DictReader(printed("score", str(path), "--format", "csv").splitlines()[1:]))
    trained = {score["method"]: score["trained"] for score in content["scores"]}
    assert {name: trained[name] for name in said} == said
    comparisons = {(c["method"], c["versus"]): c for c in content["comparisons"]}
    for row in rows:
        method, versus = row["method"], row["versus"]
        comparison = comparisons[method, versus]
        assert [row["trained"], row["versus_trained"]] == [
            "" if trained[name] is None else str(trained[name]) for name in (method, versus)
        ]
        told = {"": [], "method": [method], "versus": [versus], "both": [method, versus]}
        assert comparison["of_one_model"] == told[row["of_one_model"]]
        error = float(row["run_error"]) if row["run_error"] else None
        assert error == comparison["run_error"]
    assert {row["of_one_model"] for row in rows} == {"", "method", "versus"}
    # a method alone: what training anew adds to its own mean
    alone = render_csv(score(merge(parts[:2]), references=False))
    (row, *_) = csv.DictReader(alone.splitlines()[1:])
    error = next(s["run_error"] for s in content["scores"] if s["method"] == "several")
    assert (row["versus"], float(row["run_error"])) == ("", pytest.approx(error))
