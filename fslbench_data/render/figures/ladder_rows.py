"""What figures show of attribute-biased tasks, at any level, as rows of plain values."""

from __future__ import annotations

from collections.abc import Sequence

from analysis_sql.interval_kinds import ESTIMANDS
from benchmark_spec.errors import SubmissionError
from fslbench_data.render.figures.rows import Figure, Row, ends, placed, tasks_text
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.scoring.bias import LadderReport, step_of


def ladder(report: LadderReport, level: float, methods: Sequence[str] = ()) -> Figure:
    """Accuracy and wAcc of methods on the steps of a ladder; of all, or of some."""
    rows = [
        {
            "method": method,
            "step": step,
            "measure": measure,
            "mean": interval.mean,
            **ends(interval),
            "shown": plus_minus(interval),
        }
        for method, steps in report.answers.scores(level).items()
        if not methods or method in methods
        for step, of in steps.items()
        for measure, interval in (("accuracy", of.accuracy), ("wAcc", of.worst))
    ]
    _check_shown(rows, report)
    title = f"{report.dataset}/{report.name}: accuracy and worst-class accuracy by step"
    return Figure("ladder", title, ladder_caption(report, level), placed(rows))


def worst(report: LadderReport, level: float, methods: Sequence[str] = ()) -> Figure:
    """Accuracy on random tasks against wAcc on the last step; only some methods may be named.

    As Figures 5 and S1 of Zheng et al. (ECCV 2024); on the last step where no method answered
    random tasks.
    """
    scores = report.answers.scores(level)
    answered = {step for steps in scores.values() for step in steps}
    steps = map(step_of, reversed(report.answers.infos))
    last = next((step for step in steps if step in answered), "")
    first = "random" if "random" in answered else last
    rows = [
        {
            "method": method,
            "named": method if not methods or method in methods else OTHERS,
            "accuracy": on_first.accuracy.mean,
            **ends(on_first.accuracy),
            "worst": of.worst.mean,
            **{f"worst_{end}": value for end, value in ends(of.worst).items()},
        }
        for method, steps in scores.items()
        if (of := steps.get(last)) and (on_first := steps.get(first))
    ]
    _check_shown([row for row in rows if row["named"] != OTHERS], report)
    order = {name: i for i, name in enumerate(methods)}
    rows.sort(key=lambda row: order.get(str(row["named"]), len(order)))
    about = f"accuracy on {first} tasks, worst-class accuracy on {last} ones"
    title = f"{report.dataset}/{report.name}: {about}"
    return Figure("worst", title, ladder_caption(report, level), tuple(rows))


OTHERS = "other methods"
"""What a figure calls those that it does not name."""


def _check_shown(rows: Sequence[Row], report: LadderReport) -> None:
    if not rows:
        raise SubmissionError(
            f"none of these methods says which classes it answers rightly on {report.name}",
            where=report.dataset,
            expected="predictions, or class_correct, of one run",
            fix="choose other methods",
        )


def ladder_caption(report: LadderReport, level: float) -> str:
    """Level, kind of interval and number of tasks of a ladder."""
    about = ESTIMANDS[report.kind]
    tasks = [of.accuracy.tasks for method in report.methods for of in method.steps.values()]
    left_out = f" Not shown, without counts by class: {', '.join(report.answers.left_out)}."
    caption = f"{100 * level:.8g} % intervals, {report.kind} ({about}). {tasks_text(tasks)} a step."
    return caption + (left_out if report.answers.left_out else "")
