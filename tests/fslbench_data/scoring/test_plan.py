"""fslbench plan, on the embedded digits."""

import csv
import json
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from analysis_sql.planning.query_size import estimate_difference, estimate_set
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError
from fslbench_data.cli import main
from fslbench_data.cli.options import parse_queries
from fslbench_data.release.release import Release
from fslbench_data.render.plan_text import plan_csv, plan_json
from fslbench_data.scoring.pilot import Results
from fslbench_data.scoring.planning import Plan, plan
from fslbench_data.scoring.score import score
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission


@pytest.fixture(scope="module")
def pair() -> Plan:
    return plan(method="pixels/NCC", versus="pixels/MatchingNet", queries=[2, 5, 7, 10])


@pytest.fixture(scope="module")
def answers(embedded: Release) -> dict[str, list[dict[str, object]]]:
    """Rows of each reference method of digits on open-5w5s5q."""
    info = embedded.task_set_info("digits", "open-5w5s5q")
    answers = [results.on([info]).table.to_pylist() for results in embedded.references()]
    return {rows[0]["method"]: rows for rows in answers if rows}


def test_a_pilot_is_its_answers_counted_with_loops(
    embedded: Release, answers: dict[str, list[dict[str, object]]], pair: Plan
) -> None:
    tasks = embedded.task_set("digits", "open-5w5s5q")
    x, sums, squares = (np.zeros((len(tasks), 5), int) for _ in range(3))
    for task, a, b in zip(tasks, answers["pixels/NCC"], answers["pixels/MatchingNet"], strict=True):
        for label, p, q in zip(task.query_label, a["predictions"], b["predictions"], strict=True):
            d = int(p == label) - int(q == label)
            x[task.task_id, label] += p == label
            sums[task.task_id, label] += d
            squares[task.task_id, label] += abs(d)
    assert pair.sets[0].pilot.estimate == estimate_difference(sums, squares, 5)
    alone = plan(queries=[5]).sets[0].pilot
    assert (alone.method, alone.versus, alone.estimate) == ("pixels/NCC", "", estimate_set(x, 5))


def test_the_mean_is_the_scored_one(embedded: Release, pair: Plan, example: Submission) -> None:
    report = score(example, embedded, task_sets="open-5w5s5q", against="pixels/NCC")
    (c,) = report.comparisons
    found = plan(example, versus="pixels/NCC", queries=[5]).sets[0].pilot
    assert found.method == "pixels/Ridge"
    assert found.mean == pytest.approx(c.difference.mean)
    # the parts add up to the variance that the reported width is made of
    assert 100 * found.estimate.variance**0.5 / 31**0.5 * 2.0422725 == pytest.approx(
        c.difference.halfwidth
    )


def test_without_predictions_there_is_only_the_accuracy(
    embedded: Release, example: Submission
) -> None:
    counts = Submission(
        example.table.drop_columns(["predictions"]), example.methods, example.bindings
    )
    alone = plan(counts, queries=[5]).sets[0].pilot
    assert alone.estimate == plan(example, queries=[5]).sets[0].pilot.estimate
    with pytest.raises(SubmissionError, match=r"which queries each is right on[\s\S]*predictions"):
        plan(counts, versus="pixels/LR", queries=[5])
    neither = Submission(
        counts.table.drop_columns(["class_correct"]), example.methods, example.bindings
    )
    with pytest.raises(SubmissionError, match=r"queries of each class[\s\S]*class_correct"):
        plan(neither, queries=[5])


def test_a_prefix_is_a_pilot_too(embedded: Release, example: Submission) -> None:
    table = example.table
    names = [row["task_set"] == "open-5w5s5q" and row["task_id"] < 12 for row in table.to_pylist()]
    key = ("pixels/Ridge", "digits", "open-5w5s5q")
    bound = type(example.bindings[key])(example.bindings[key].fingerprint, 12)
    some = Submission(table.filter(pa.array(names)), example.methods, {key: bound})
    found = plan(some, versus="pixels/LR", queries=[5]).sets[0].pilot
    assert found.estimate.tasks == 12


def test_what_is_no_pilot(embedded: Release, example: Submission, toy: Release) -> None:
    with pytest.raises(SubmissionError, match="plan cub with"):
        plan(datasets="cub")
    with pytest.raises(SubmissionError, match="luck of queries"):
        plan(shot=1, datasets="digits")  # the only open set has one query
    with pytest.raises(UnknownNameError, match="pixels/NCC"):
        plan(method="pixels/NC")
    with pytest.raises(UnknownNameError, match="data set"):
        plan(datasets="digit")
    with pytest.raises(SubmissionError, match="differ from itself"):
        plan(versus="pixels/NCC")
    with pytest.raises(SubmissionError, match="no reference results"):
        plan(release=toy)
    with pytest.raises(SpecError, match="no such protocol"):
        plan(way=1)
    with pytest.raises(SpecError, match="no such protocol"):
        plan(queries=[0])
    with pytest.raises(UnknownNameError, match="suite"):
        plan(suite="closed")
    looks = {"pixels/Ridge": Method("pixels/Ridge", transductive=True)}
    with pytest.raises(SubmissionError, match="transductive"):
        plan(Submission(example.table, looks, example.bindings))
    column = pa.array(["1"] * example.table.num_rows)
    second = example.table.append_column("run", column)
    again = example.table.append_column("run", pa.array(["2"] * example.table.num_rows))
    runs = Submission(pa.concat_tables([second, again]), example.methods, example.bindings)
    with pytest.raises(SubmissionError, match="2 runs"):
        plan(runs)
    both = [
        example.table.set_column(0, "method", pa.array([name] * example.table.num_rows))
        for name in ("one", "other")
    ]
    names = pa.concat_tables(both)
    with pytest.raises(SubmissionError, match=r"2 methods[\s\S]*FILE::METHOD"):
        Results.of(Submission(names), embedded, allow_unbound=True).only_method()


def test_balanced_sets_have_more_tasks(pair: Plan) -> None:
    balanced = plan(
        method="pixels/NCC", versus="pixels/MatchingNet", queries=[5, 10], suite="balanced"
    )
    rows = {row.query: row for row in pair.sets[0].rows}
    for row in balanced.sets[0].rows:
        assert len(set(row.tasks)) == 1
        assert row.tasks[0] >= max(rows[row.query].tasks)


def test_same_inputs_same_bytes(pair: Plan) -> None:
    again = plan(method="pixels/NCC", versus="pixels/MatchingNet", queries=(10, 7, 5, 2))
    assert plan_json(again) == plan_json(pair)
    assert plan_csv(again) == plan_csv(pair)


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["plan", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
def test_command(pair: Plan, root: Path, tmp_path: Path) -> None:
    base = ["--pilot", "pixels/NCC", "--versus", "pixels/MatchingNet", "--queries", "2,5,7,10"]
    assert _run(*base, "--format", "json") == plan_json(pair)
    rows = list(csv.DictReader(_run(*base, "--format", "csv").splitlines()[1:]))
    of_pixels, queries = ("digits", "glyphs_sample"), ("2", "5", "7", "10")
    assert [(row["dataset"], row["query"]) for row in rows] == [*product(of_pixels, queries)]
    assert float(rows[1]["detectable_open"]) == pair.sets[0].rows[1].detectable_open
    text = _run(*base)
    assert "pixels/NCC minus pixels/MatchingNet" in text
    assert f"{pair.sets[0].rows[1].class_aware:.2f}" in text
    path = tmp_path / "plan.txt"
    _run(*base, "-o", str(path))
    assert path.read_text(encoding="utf-8") == text
    file = str(root / "examples/my_results.parquet")
    assert "accuracy of pixels/Ridge" in _run(
        "--pilot", file, "--queries", "5", "--dataset", "digits"
    )
    named = _run("--pilot", f"{file}::pixels/Ridge", "--queries", "5", "--format", "json")
    content = json.loads(named)["datasets"][0]
    assert content["pilot"]["method"] == "pixels/Ridge"
    assert content["rows"][0]["detectable_open"] is None  # an accuracy is no difference
    alone = _run("--queries", "5", "--shot", "10")
    assert "need a second method: --versus" in alone


def test_a_q_with_a_single_task(pair: Plan) -> None:
    rows = list(csv.DictReader(_run("--queries", "5,170", "--format", "csv").splitlines()[1:]))
    assert (rows[1]["tasks"], rows[1]["open"], rows[1]["open_share_images"]) == ("1.0", "", "")
    content = json.loads(_run("--queries", "5,170", "--format", "json"))
    assert content["datasets"][0]["rows"][1]["open"] is None


def test_command_refuses_plainly(root: Path) -> None:
    for arguments, said in (
        (["--pilot", "pixels/NC"], "did you mean 'pixels/NCC'"),
        (["--pilot", "nowhere.parquet"], "there is no file nowhere.parquet"),
        (["--queries", "5-1"], "numbers of queries"),
        (["--power", "80"], "is not a power"),
        (["--queries", "500"], "can be drawn from 10 classes of 174 to 183 images"),
        (["--dataset", "cub"], "--pilot FILE"),
    ):
        result = CliRunner().invoke(main, ["plan", *arguments])
        assert result.exit_code == 2, arguments
        assert said in result.output
    assert parse_queries("1-3,7") == [1, 2, 3, 7]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_page_has_what_the_command_prints(root: Path, number: int) -> None:
    page = (root / "docs/planning.md").read_text(encoding="utf-8")
    block = page.split("```")[1::2][number].strip()
    command, _, shown = block.partition("\n")
    assert command.startswith("$ fslbench plan ")
    assert " ".join(shown.split()) == " ".join(_run(*command.split()[3:]).split())
