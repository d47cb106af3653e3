"""fslbench plan --suite pooled, on the embedded digits."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.render.pooled_plan_text import pooled_plan_csv, pooled_plan_json
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.pooled_planning import PooledPlan, plan_pooled

PAIR = {"method": "pixels/NCC", "versus": "pixels/MatchingNet"}


@pytest.fixture(scope="module")
def pair() -> PooledPlan:
    return plan_pooled(**PAIR, datasets="digits", tasks=[1000])


def test_its_tasks_are_planned_as_they_are_reported(embedded: Release, pair: PooledPlan) -> None:
    (one,) = pair.sets
    info = one.info
    assert str(info) == "digits/pooled-5w5s5q"
    rows = {}
    for submission in embedded.references():
        table = submission.on([info]).table
        if table.num_rows and (name := table["method"][0].as_py()) in PAIR.values():
            rows[name] = table["n_correct"].to_pylist()
    y = (np.array(rows["pixels/NCC"]) - np.array(rows["pixels/MatchingNet"])) / 25
    own = Influences(left_out_design(embedded, info), y[None]).own(0.95)
    assert one.mean == pytest.approx(100 * y.mean())
    widths = {row.kind: row.halfwidth for row in one.plan.rows if row.tasks == y.size}
    assert widths["images"] == pytest.approx(100 * own.images.halfwidth[0, 0], rel=1e-2)
    assert widths["classes"] == pytest.approx(100 * own.classes.halfwidth[0, 0], rel=1e-9)
    assert "superclasses" not in widths


def test_numbers_of_tasks(pair: PooledPlan) -> None:
    (one,) = pair.sets
    assert one.usual == min(max(one.noiseless, one.stable), 4000)
    numbers = {600, 1000, one.noiseless, one.stable, one.usual}
    assert {row.tasks for row in one.plan.rows} == {*numbers, None}


def test_command_is_the_function(pair: PooledPlan) -> None:
    base = ["plan", "--suite", "pooled", "--dataset", "digits", "--tasks", "1000"]
    base += ["--pilot", PAIR["method"], "--versus", PAIR["versus"]]
    outputs = {
        form: CliRunner().invoke(main, [*base, "--format", form]).stdout
        for form in ("json", "csv", "table")
    }
    assert outputs["json"] == pooled_plan_json(pair)
    assert outputs["csv"] == pooled_plan_csv(pair)
    rows = list(csv.DictReader(outputs["csv"].splitlines()[1:]))
    assert rows[-1]["tasks"] == ""
    content = json.loads(outputs["json"])["datasets"][0]
    assert [row["halfwidth"] for row in content["rows"]] == [float(r["halfwidth"]) for r in rows]
    assert "Half the width of endless tasks" in outputs["table"]


def test_an_accuracy_has_nothing_to_detect() -> None:
    (one,) = plan_pooled(method="pixels/NCC", datasets="digits", queries=[5]).sets
    assert {row.detectable for row in one.plan.rows} == {None}


def test_what_is_refused(embedded: Release) -> None:
    with pytest.raises(SubmissionError, match="suites closed or pooled"):
        plan_pooled(queries=[3])
    with pytest.raises(UnknownNameError, match="data set"):
        plan_pooled(datasets="digit")
    with pytest.raises(SpecError, match="1 tasks"):
        plan_pooled(tasks=[1])
    with pytest.raises(SubmissionError, match="differ from itself"):
        plan_pooled(method="pixels/NCC", versus="pixels/NCC")
    result = CliRunner().invoke(main, ["plan", "--tasks", "1000"])
    assert result.exit_code == 2
    assert "--suite pooled" in result.output
