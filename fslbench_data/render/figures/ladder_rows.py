"""What figures show of attribute-biased tasks, as rows of plain values."""

from __future__ import annotations

from collections.abc import Sequence

from analysis_sql.interval_kinds import ESTIMANDS
from benchmark_spec.errors import SubmissionError
from benchmark_spec.protocol import COUNTERFACTUAL, LADDER
from fslbench_data.render.figures.rows import Figure, Row, ends, placed, tasks_text
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.scoring.bias_report import LadderReport


def ladder(report: LadderReport, level: float, methods: Sequence[str] = ()) -> Figure:
    """Accuracy and wAcc of methods on the steps of a ladder."""
    rows = [
        {
            "method": method.method,
            "step": step,
            "measure": measure,
            "mean": interval.mean,
            **ends(interval),
            "shown": plus_minus(interval),
        }
        for method in report.methods
        if not methods or method.method in methods
        for step, of in method.steps.items()
        for measure, interval in (("accuracy", of.accuracy), ("wAcc", of.worst))
    ]
    _check_shown(rows, report)
    title = f"{report.dataset}/{report.name}: accuracy and worst-class accuracy by step"
    return Figure("ladder", title, ladder_caption(report, level), placed(rows))


def worst(report: LadderReport, level: float, methods: Sequence[str] = ()) -> Figure:
    """Accuracy against wAcc on the last step of a ladder."""
    steps = {step for method in report.methods for step in method.steps}
    last = next(s for s in reversed((*LADDER, *COUNTERFACTUAL)) if s in steps)
    rows = [
        {
            "method": method.method,
            "named": method.method,
            "accuracy": of.accuracy.mean,
            **ends(of.accuracy),
            "worst": of.worst.mean,
            **{f"worst_{end}": value for end, value in ends(of.worst).items()},
        }
        for method in report.methods
        if (of := method.steps.get(last)) and (not methods or method.method in methods)
    ]
    _check_shown(rows, report)
    title = f"{report.dataset}/{report.name}, {last}: accuracy and worst-class accuracy"
    return Figure("worst", title, ladder_caption(report, level), tuple(rows))


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
    left_out = f" Not shown, without counts by class: {', '.join(report.left_out)}."
    caption = f"{100 * level:.8g} % intervals, {report.kind} ({about}). {tasks_text(tasks)} a step."
    return caption + (left_out if report.left_out else "")
