"""fslbench plan, on the embedded digits: tasks that share no image, and pooled ones."""

import csv
import json
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from commands import invoke, printed
from msgspec.structs import replace
from recorded import in_run, recorded

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.counts import for_new_runs, run_terms
from analysis_sql.leave_one_out.leave_one_out import Influences
from analysis_sql.planning import planning
from analysis_sql.planning.query_size import estimate_difference, estimate_set
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError
from fslbench_data.render.plan_text import plan_csv, plan_json
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.planning import plan
from fslbench_data.scoring.score import score
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Method, Submission
from fslbench_data.submission.recorder import Recorder


@pytest.mark.slow
def test_a_pilot_is_its_answers_counted_with_loops(embedded):
    info = embedded.task_set_info("digits", "open-5w5s5q")
    found = [results.on([info]).table.to_pylist() for results in embedded.references()]
    answers = {rows[0]["method"]: rows for rows in found if rows}
    tasks = embedded.task_set("digits", "open-5w5s5q")
    x, sums, squares = (np.zeros((len(tasks), 5), int) for _ in range(3))
    for task, a, b in zip(tasks, answers["pixels/NCC"], answers["pixels/MatchingNet"], strict=True):
        for label, p, q in zip(task.query_label, a["correct"], b["correct"], strict=True):
            x[task.task_id, label] += p
            sums[task.task_id, label] += p - q
            squares[task.task_id, label] += abs(p - q)
    pair = plan(method="pixels/NCC", versus="pixels/MatchingNet", queries=[2, 5, 7, 10])
    assert pair.sets[0].estimate == estimate_difference(sums, squares, 5)
    alone = plan(queries=[5]).sets[0]
    assert (alone.pilot.name, alone.estimate) == ("pixels/NCC", estimate_set(x, 5))


def test_without_predictions_there_is_only_the_accuracy(embedded, example):
    counts = replace(example, table=example.table.drop_columns(["predictions"]))
    alone = plan(counts, queries=[5]).sets[0]
    assert alone.estimate == plan(example, queries=[5]).sets[0].estimate
    neither = replace(counts, table=counts.table.drop_columns(["class_correct"]))
    with pytest.raises(SubmissionError, match=r"queries of each class[\s\S]*class_correct"):
        plan(neither, queries=[5])


def test_a_prefix_is_a_pilot_too(embedded, example):
    rows = example.table.to_pylist()
    names = [row["task_set"] == "open-5w5s5q" and row["task_id"] < 12 for row in rows]
    key = ("pixels/Ridge", "digits", "open-5w5s5q")
    bound = type(example.bindings[key])(example.bindings[key].fingerprint, 12)
    some = Submission(example.table.filter(pa.array(names)), example.methods, {key: bound})
    found = plan(some, versus="pixels/LR", queries=[5]).sets[0]
    assert found.estimate.tasks == 12


NCC = {"method": "pixels/NCC", "versus": "pixels/NCC"}


@pytest.mark.parametrize(
    ("kind", "said", "asked"),
    [
        (SubmissionError, "plan cub with", {"datasets": "cub"}),
        # the only open set has one query
        (SubmissionError, "luck of queries", {"shot": 1, "datasets": "digits"}),
        (UnknownNameError, "pixels/NCC", {"method": "pixels/NC"}),
        (UnknownNameError, "data set", {"datasets": "digit"}),
        (SubmissionError, "differ from itself", {"versus": "pixels/NCC"}),
        (SpecError, "no such protocol", {"way": 1}),
        (SpecError, "no such protocol", {"queries": [0]}),
        (UnknownNameError, "suite", {"suite": "closed"}),
        (SpecError, "1.0 is not a power", {"queries": [5], "power": 1.0}),
        (SpecError, "0.05 is not a power", {"queries": [5], "power": 0.05}),
        (SpecError, "0.9 is not a power", {"queries": [5], "level": 0.1, "power": 0.9}),
        (SpecError, "level", {"queries": [5], "level": 1.0}),
        (SubmissionError, "suites closed or pooled", {"suite": "pooled", "queries": [3]}),
        (UnknownNameError, "data set", {"suite": "pooled", "datasets": "digit"}),
        (SpecError, "1 tasks", {"suite": "pooled", "tasks": [1]}),
        (SubmissionError, "differ from itself", {"suite": "pooled", **NCC}),
        (SpecError, "plan pooled ones", {"tasks": [1000]}),
    ],
)
def test_what_cannot_be_planned(kind, said, asked):
    with pytest.raises(kind, match=said):
        plan(**asked)


def test_what_is_no_pilot(example, toy):
    runs = merge([in_run(example, run) for run in "12"])
    looks = {"pixels/Ridge": Method("pixels/Ridge", transductive=True)}
    for pilot, kind, said, asked in (
        (None, SubmissionError, "no reference results", {"release": toy}),
        (replace(example, methods=looks), SubmissionError, "transductive", {}),
        (
            replace(runs, table=runs.table.drop_columns(["predictions"])),
            SubmissionError,
            r"which queries each is right on[\s\S]*predictions",
            {},
        ),
        (runs, SpecError, "1 training runs cannot be planned", {"runs": 1}),
        (
            example,
            SubmissionError,
            r"one training run[\s\S]*4 of them",
            {"versus": "pixels/LR", "runs": 4},
        ),
    ):
        with pytest.raises(kind, match=said):
            plan(pilot, **asked)


def test_a_q_with_a_single_task():
    text = printed("plan", "--queries", "5,170", "--format", "csv")
    _, row, *_ = csv.DictReader(text.splitlines()[1:])
    assert (row["tasks"], row["open"], row["open_share_images"]) == ("1.0", "", "")
    content = json.loads(printed("plan", "--queries", "5,170", "--format", "json"))
    assert content["datasets"][0]["rows"][1]["open"] is None


def test_a_best_q_at_an_end_may_lie_beyond_it():
    for queries, said in (("20,21", "20 or fewer (95 % CI: 1 or more)"), ("99", "unknown from 99")):
        text = printed("plan", "--dataset", "digits", "--queries", queries)
        assert f"best queries per class for this accuracy: {said}" in text


@pytest.mark.parametrize("number", [0, 1])
def test_the_page_has_what_the_command_prints(root, number):
    page = (root / "docs/planning.md").read_text(encoding="utf-8")
    block = page.split("```")[1::2][number].strip()
    command, _, shown = block.partition("\n")
    assert command.startswith("$ fslbench plan ")
    assert " ".join(shown.split()) == " ".join(printed(*command.split()[2:]).split())


def _of_runs(release):
    """Methods whose runs answer so many queries rightly, by the luck of each query."""
    rng = np.random.default_rng(3)
    tasks = release.task_set("digits", "open-5w5s5q")
    parts = []
    for name, runs in {"a": [0.9, 0.85, 0.7], "b": [0.7, 0.66]}.items():
        luck = rng.random((len(tasks), tasks.query_label.shape[1]))
        for run, level in enumerate(runs):
            recorder = Recorder(name)
            for task in tasks:
                right = luck[task.task_id] + 0.2 * rng.random(luck.shape[1]) < 1.1 * level
                recorder.add(task, np.where(right, task.query_label, (task.query_label + 1) % 5))
            parts.append(in_run(recorder.submission(), str(run)))
    return merge(parts)


def _as_reported(runs, of_tasks):
    """Widen a half-width by what the pilot's runs show, in place of what they may show."""
    return float(for_new_runs(of_tasks, run_terms(runs.spreads, runs.numbers).sum(), 0.95))


def test_a_plan_for_the_pilots_tasks_says_what_its_report_says(embedded, monkeypatch):
    submission = _of_runs(embedded)
    report = score(submission, embedded, references=False)
    (c,) = report.comparisons
    own = ClassDesign.of(embedded.task_set("digits", "open-5w5s5q").class_ids)
    monkeypatch.setattr(planning, "designs", lambda *_, **__: [own])
    (both,) = plan(submission, embedded, method="a", versus="b", queries=[5]).sets
    (row,) = both.rows
    assert both.pilot.mean == pytest.approx(c.difference.mean)
    assert both.pilot.runs.numbers == (3, 2)
    assert row.open_of_tasks is not None
    width = _as_reported(both.pilot.runs, row.open_of_tasks)
    assert width == pytest.approx(c.difference.halfwidth, rel=1e-9)
    assert row.open == both.pilot.runs.widen(row.open_of_tasks, 0.95)
    assert row.open > 1.5 * row.open_of_tasks
    evidence = report.sets[0].evidence_of(0)[0]
    times = evidence.detectable / c.difference.halfwidth
    assert row.detectable_open == pytest.approx(times * row.open, rel=1e-6)
    aware = c.intervals["class-aware"].difference.halfwidth
    found = _as_reported(both.pilot.runs, row.class_aware_of_tasks)
    assert found == pytest.approx(aware, rel=0.25)  # simulated from estimates
    (alone,) = plan(submission, embedded, method="a", queries=[5]).sets
    (mine,) = (s for s in report.scores if s.method == "a")
    width = _as_reported(alone.pilot.runs, alone.rows[0].open_of_tasks)
    assert width == pytest.approx(mine.accuracy.halfwidth, rel=1e-9)


plan_pooled = partial(plan, suite="pooled")
PAIR = {"method": "pixels/NCC", "versus": "pixels/MatchingNet"}


@pytest.fixture(scope="module")
def pooled():
    return plan_pooled(**PAIR, datasets="digits", tasks=[1000])


def test_its_tasks_are_planned_as_they_are_reported(embedded, pooled):
    (one,) = pooled.sets
    info = one.pilot.info
    assert str(info) == "digits/pooled-5w5s5q"
    rows = {}
    for submission in embedded.references():
        table = submission.on([info]).table
        if table.num_rows and (name := table["method"][0].as_py()) in PAIR.values():
            rows[name] = table["n_correct"].to_pylist()
    y = (np.array(rows["pixels/NCC"]) - np.array(rows["pixels/MatchingNet"])) / 25
    own = Influences(left_out_design(embedded, info), y[None]).own(0.95)
    assert one.pilot.mean == pytest.approx(100 * y.mean())
    widths = {row.kind: row.halfwidth for row in one.rows if row.tasks == y.size}
    assert widths["images"] == pytest.approx(100 * own.images.halfwidth[0, 0], rel=1e-2)
    assert widths["classes"] == pytest.approx(100 * own.classes.halfwidth[0, 0], rel=1e-9)
    assert "superclasses" not in widths


def test_rows_of_a_pooled_plan(pooled):
    (one,) = pooled.sets
    assert one.usual == min(max(one.noiseless, one.stable), 4000)
    numbers = {600, 1000, one.noiseless, one.stable, one.usual}
    assert {row.tasks for row in one.rows} == {*numbers, None}
    rows = list(csv.DictReader(plan_csv(pooled).splitlines()[1:]))
    assert rows[-1]["tasks"] == ""
    (content,) = json.loads(plan_json(pooled))["datasets"]
    assert [row["halfwidth"] for row in content["rows"]] == [float(r["halfwidth"]) for r in rows]
    (alone,) = plan_pooled(method="pixels/NCC", datasets="digits", queries=[5]).sets
    assert {row.detectable for row in alone.rows} == {None}
    assert "--suite pooled" in invoke("plan", "--tasks", 1000).output


def test_pooled_training_runs_are_planned_as_they_are_reported(embedded):
    info = embedded.task_set_info("digits", "closed-5w5s5q")
    rng = np.random.default_rng(1)
    level = {"a": rng.normal(0.85, 0.06, info.n_tasks), "b": rng.normal(0.84, 0.06, info.n_tasks)}
    parts = []
    for name, run, step in (("a", 0, 0.0), ("a", 1, 0.04), ("a", 2, -0.03), ("b", 0, 0.0)):
        right = rng.binomial(25, np.clip(level[name] + step, 0, 1))
        parts.append(in_run(recorded(info, right, name), str(run)))
    pilot = merge(parts)
    (one,) = plan_pooled(pilot, embedded, method="a", versus="b").sets
    found = {row.kind: row for row in one.rows if row.tasks == info.n_tasks}
    (c,) = score(pilot, embedded, references=False).comparisons
    for kind in ("images", "classes"):
        width = c.intervals[kind].difference.halfwidth
        assert _as_reported(one.pilot.runs, found[kind].of_tasks) == pytest.approx(width, rel=1e-2)
        assert found[kind].of_tasks < 0.95 * found[kind].halfwidth
    more = plan_pooled(pilot, embedded, method="a", versus="b", runs=10).sets[0]
    wide = {row.kind: row.halfwidth for row in more.rows if row.tasks == info.n_tasks}
    assert found["images"].of_tasks < wide["images"] < found["images"].halfwidth
    with pytest.raises(SubmissionError, match="one training run"):
        plan_pooled(pilot, embedded, method="b", runs=3)
