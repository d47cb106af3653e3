"""Open a release, iterate its tasks, record and score a submission.

>>> import fslbench_data as fb
>>> release = fb.load_release()
>>> report = fb.score(fb.Submission.read("my_results.parquet"), release)  # doctest: +SKIP
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmark_spec.version import __version__

if os.path.expanduser("~") == "~":  # noqa: PTH111 - pathlib would be imported for it
    # Without HOME and an entry of the user, as in containers, Altair cannot be imported, and
    # huggingface_hub keeps its cache in a folder called "~" in the current one.
    os.environ["HOME"] = "/nonexistent"

if TYPE_CHECKING:
    from fslbench_data.evaluation.adapters import easyfsl, sklearn
    from fslbench_data.evaluation.loop import evaluate
    from fslbench_data.release.release import Release, load_release
    from fslbench_data.render.figures.plot import plot
    from fslbench_data.render.page.make import report_page
    from fslbench_data.render.paper import table
    from fslbench_data.scoring.compare import compare
    from fslbench_data.scoring.open_log import open_log
    from fslbench_data.scoring.planning import plan
    from fslbench_data.scoring.report import Report
    from fslbench_data.scoring.reported import reported
    from fslbench_data.scoring.score import interval, score
    from fslbench_data.scoring.selection import validate
    from fslbench_data.scoring.sql import connect
    from fslbench_data.submission.merging import merge
    from fslbench_data.submission.model import Submission
    from fslbench_data.submission.recorder import Recorder
    from fslbench_data.tasks import Task, TaskSet
    from fslbench_data.torch.task_logs import log_tasks
    from fslbench_data.torch.task_sampler import TaskSampler

__all__ = [
    "Recorder",
    "Release",
    "Report",
    "Submission",
    "Task",
    "TaskSampler",
    "TaskSet",
    "__version__",
    "compare",
    "connect",
    "easyfsl",
    "evaluate",
    "interval",
    "load_release",
    "log_tasks",
    "merge",
    "open_log",
    "plan",
    "plot",
    "report_page",
    "reported",
    "score",
    "sklearn",
    "table",
    "validate",
]

_HOMES = {
    "Recorder": "submission.recorder",
    "Release": "release.release",
    "Report": "scoring.report",
    "Submission": "submission.model",
    "Task": "tasks",
    "TaskSampler": "torch.task_sampler",
    "TaskSet": "tasks",
    "compare": "scoring.compare",
    "connect": "scoring.sql",
    "easyfsl": "evaluation.adapters",
    "evaluate": "evaluation.loop",
    "interval": "scoring.score",
    "load_release": "release.release",
    "log_tasks": "torch.task_logs",
    "merge": "submission.merging",
    "open_log": "scoring.open_log",
    "plan": "scoring.planning",
    "plot": "render.figures.plot",
    "report_page": "render.page.make",
    "reported": "scoring.reported",
    "score": "scoring.score",
    "sklearn": "evaluation.adapters",
    "table": "render.paper",
    "validate": "scoring.selection",
}

_WRITERS = {
    ("fslbench_data.scoring.report", "Report", "as_text"): "render.summary_text.report_text",
    ("fslbench_data.scoring.report", "Report", "as_html"): "render.summary_text.report_html",
    ("fslbench_data.scoring.report", "Report", "as_json"): "render.report_formats.report_json",
    ("fslbench_data.scoring.planning", "Plan", "as_text"): "render.plan_text.plan_text",
    ("fslbench_data.scoring.reported", "Reported", "as_text"): "render.reported_text.reported_text",
    ("analysis_sql.comparisons", "Comparison", "as_text"): ("render.interval_text.comparison_text"),
}
"""What writes the results of scoring, which itself imports no rendering."""


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    for (module, result, how), writer in _WRITERS.items():
        if module in sys.modules:
            setattr(getattr(sys.modules[module], result), how, _writer(writer))
    globals()[name] = value
    return value


def _writer(path: str) -> Callable[[object], str]:
    """Return the function at a path below this package, which is imported when it is called."""
    module, name = path.rsplit(".", 1)
    return lambda result: getattr(import_module(f"{__name__}.{module}"), name)(result)
