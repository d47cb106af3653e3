"""fslbench plan --suite pooled, on the embedded digits."""

import csv
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.render.plan_text import plan_csv, plan_json
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.planning import Plan, plan
from fslbench_data.scoring.score import score
from fslbench_data.submission.merging import merge
from fslbench_data.submission.recorder import Recorder

plan_pooled = partial(plan, suite="pooled")
PAIR = {"method": "pixels/NCC", "versus": "pixels/MatchingNet"}


@pytest.fixture(scope="module")
def pair() -> Plan:
    return plan_pooled(**PAIR, datasets="digits", tasks=[1000])


def test_its_tasks_are_planned_as_they_are_reported(embedded: Release, pair: Plan) -> None:
    (one,) = pair.sets
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


def test_numbers_of_tasks(pair: Plan) -> None:
    (one,) = pair.sets
    assert one.usual == min(max(one.noiseless, one.stable), 4000)
    numbers = {600, 1000, one.noiseless, one.stable, one.usual}
    assert {row.tasks for row in one.rows} == {*numbers, None}


def test_rows_of_csv_and_json(pair: Plan) -> None:
    rows = list(csv.DictReader(plan_csv(pair).splitlines()[1:]))
    assert rows[-1]["tasks"] == ""
    (content,) = json.loads(plan_json(pair))["datasets"]
    assert [row["halfwidth"] for row in content["rows"]] == [float(r["halfwidth"]) for r in rows]


def test_an_accuracy_has_nothing_to_detect() -> None:
    (one,) = plan_pooled(method="pixels/NCC", datasets="digits", queries=[5]).sets
    assert {row.detectable for row in one.rows} == {None}


def test_what_is_refused(embedded: Release) -> None:
    with pytest.raises(SubmissionError, match="suites closed or pooled"):
        plan_pooled(queries=[3])
    with pytest.raises(UnknownNameError, match="data set"):
        plan_pooled(datasets="digit")
    with pytest.raises(SpecError, match="1 tasks"):
        plan_pooled(tasks=[1])
    with pytest.raises(SubmissionError, match="differ from itself"):
        plan_pooled(method="pixels/NCC", versus="pixels/NCC")
    with pytest.raises(SpecError, match="plan pooled ones"):
        plan(tasks=[1000])
    result = CliRunner().invoke(main, ["plan", "--tasks", "1000"])
    assert result.exit_code == 2
    assert "--suite pooled" in result.output


def test_training_runs_are_planned_as_they_are_reported(embedded: Release) -> None:
    info = embedded.task_set_info("digits", "closed-5w5s5q")
    rng = np.random.default_rng(1)
    level = {"a": rng.normal(0.85, 0.06, info.n_tasks), "b": rng.normal(0.84, 0.06, info.n_tasks)}
    parts = []
    for name, run, step in (("a", 0, 0.0), ("a", 1, 0.04), ("a", 2, -0.03), ("b", 0, 0.0)):
        recorder = Recorder(name)
        right = rng.binomial(25, np.clip(level[name] + step, 0, 1))
        recorder.add_counts(embedded.task_set("digits", "closed-5w5s5q"), right)
        own = recorder.submission()
        column = pa.array([str(run)] * own.table.num_rows)
        parts.append(replace(own, table=own.table.append_column("run", column)))
    pilot = merge(parts)
    (one,) = plan_pooled(pilot, embedded, method="a", versus="b").sets
    found = {row.kind: row for row in one.rows if row.tasks == info.n_tasks}
    (c,) = score(pilot, embedded, references=False).comparisons
    for kind in ("images", "classes"):
        width = c.intervals[kind].difference.halfwidth
        assert found[kind].halfwidth == pytest.approx(width, rel=1e-2)
        assert found[kind].of_tasks < 0.95 * found[kind].halfwidth
    more = plan_pooled(pilot, embedded, method="a", versus="b", runs=10).sets[0]
    wide = {row.kind: row.halfwidth for row in more.rows if row.tasks == info.n_tasks}
    assert found["images"].of_tasks < wide["images"] < found["images"].halfwidth
    with pytest.raises(SubmissionError, match="one training run"):
        plan_pooled(pilot, embedded, method="b", runs=3)
