"""Training runs of one method, each evaluated by itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed
from msgspec.structs import replace

import fslbench_data as fb

HOW: dict[str, Any] = {
    "name": "mine",
    "datasets": "digits",
    "task_sets": "closed-5w1s1q",
    "features": "pixels",
    "max_tasks": 60,
}


def _trained(seed: int) -> Any:
    weights = np.random.default_rng(seed).random(64)

    def method(support: Any, query: Any, rng: Any) -> Any:
        apart = (query[:, None] - support.mean(axis=1)) * weights
        return np.square(apart).sum(axis=-1).argmin(axis=1)

    return method


def test_runs_that_are_evaluated_one_by_one_are_scored_together() -> None:
    runs = [fb.evaluate(_trained(seed), run=seed, **HOW) for seed in range(3)]
    report = fb.score(runs)
    (score,) = [s for s in report.scores if s.method == "mine"]
    means = [next(s for s in fb.score(run).scores if s.method == "mine") for run in runs]
    assert score.runs == 3
    assert [*score.run_means] == ["0", "1", "2"]
    assert [*score.run_means.values()] == [one.accuracy.mean for one in means]
    assert score.run_spread == pytest.approx(np.std([one.accuracy.mean for one in means], ddof=1))
    assert fb.merge(runs).to_arrow().column("run").unique().to_pylist() == ["0", "1", "2"]


@pytest.mark.parametrize(("said", "kept"), [(False, False), (True, True), ("resnet", None)])
def test_what_a_method_says_of_its_training_is_kept_if_it_is_yes_or_no(
    said: object, kept: bool | None
) -> None:
    (method := _trained(0)).trained = said
    assert fb.evaluate(method, **HOW | {"max_tasks": 2}).methods["mine"].trained is kept


def test_a_method_is_inductive_if_no_run_was_not() -> None:
    runs = [fb.evaluate(_trained(0), run=run, **HOW) for run in range(2)]
    for said, both in (
        ((True, None), True),
        ((True, False), False),
        ((None, False), False),
        ((None, None), None),
    ):
        of_runs = [
            replace(run, methods={"mine": replace(run.methods["mine"], inductive=inductive)})
            for run, inductive in zip(runs, said, strict=True)
        ]
        for order in (of_runs, of_runs[::-1]):
            assert fb.merge(order).methods["mine"].inductive is both


def test_the_command_names_a_run(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def mine(s, q, rng): return [0] * len(q)\n")
    given = ["evaluate", f"{tmp_path}/m.py:mine", "--features", "pixels", "--dataset", "digits"]
    given += ["--task-set", "closed-5w1s1q", "--max-tasks", "3", "--run", "b"]
    printed(*given, "-o", tmp_path / "m.parquet")
    table = fb.Submission.read(tmp_path / "m.parquet").to_arrow()
    assert table.column("run").unique().to_pylist() == ["b"]
