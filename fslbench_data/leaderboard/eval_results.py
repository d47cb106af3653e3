"""A method's results as the Hub's model pages show them: ``.eval_results/fslbench.yaml``."""

from __future__ import annotations

from typing import Any

from analysis_sql.interval_kinds import BESIDE
from benchmark_spec.errors import HubNotFoundError, MissingPackageError, SubmissionError
from benchmark_spec.naming import benchmark_task_id
from fslbench_data.hub.calls import hub_errors
from fslbench_data.hub.download import fetch
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score

PATH = ".eval_results/fslbench.yaml"


def entries(report: Report, method: str, source_url: str) -> list[dict[str, Any]]:
    """Make one entry a task set with a headline metric: a method's mean accuracy, in percent.

    The entry's notes give the interval's kind and half-width, the level and T.  `source_url` says
    where the per-task results are.  Raises a SubmissionError if the release is not on the Hub, or
    the method has no score with an interval.
    """
    try:
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    except ImportError:
        raise MissingPackageError(
            "this huggingface_hub does not know evaluation results",
            fix="pip install --upgrade huggingface_hub",
        ) from None

    repo_id, _, commit = report.signature.hub.partition("@")
    if not repo_id:
        raise SubmissionError(
            f"release {report.signature.release} is not on the Hub, so that a model's results "
            "cannot name it",
            fix="leave --model out, or answer a release that is there",
        )
    results = [
        EvalResultEntry(
            dataset_id=repo_id,
            task_id=benchmark_task_id(set_report.scored.dataset, set_report.scored.task_set),
            value=round(score.accuracy.mean, 4),
            dataset_revision=commit,
            source_url=source_url,
            source_name="per-task results",
            notes=_notes(score),
        )
        for set_report in report.sets
        if set_report.interval_kind == "open"
        for score in set_report.scores
        if score.method == method and _has_interval(score)
    ]
    if not results:
        raise SubmissionError(
            f"{method} has no accuracy with an interval on a task set that reuses no image",
            expected="all tasks of an open set, or as many as were fixed beforehand, two or more",
            fix="leave --model out",
        )
    return eval_result_entries_to_yaml(results)


def merged(repo_id: str, new: list[dict[str, Any]]) -> bytes:
    """Add entries to the model's file; entries of other task sets or benchmarks are kept.

    Returns the file, or nothing if it has all entries already, wherever their per-task results are.
    Raises a SubmissionError if the model's file is not a list of results.
    """
    import yaml

    kept: list[dict[str, Any]] = []
    try:
        text = fetch(repo_id, PATH, "main", repo_type="model").read_bytes()
    except HubNotFoundError:
        text = b""
        with hub_errors("looking at the model", repo_id):
            from fslbench_data.hub.calls import api

            api().model_info(repo_id)  # so that only the file may be missing
    try:
        present = yaml.safe_load(text) or []
        if all(_without_source(entry) in map(_without_source, present) for entry in new):
            return b""
        about = {_key(entry) for entry in new}
        kept = [entry for entry in present if _key(entry) not in about]
    except (yaml.YAMLError, TypeError, KeyError, AttributeError, RecursionError):
        raise SubmissionError(
            f"{PATH} of {repo_id} is not a list of results",
            expected="entries with dataset: {id, task_id}",
            fix="mend it on the model's page first",
        ) from None
    return yaml.safe_dump([*kept, *new], sort_keys=False, allow_unicode=True).encode()


def _key(entry: dict[str, Any]) -> tuple[str, str]:
    return str(entry["dataset"]["id"]), str(entry["dataset"].get("task_id", ""))


def _without_source(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "source"}


def _has_interval(score: Score) -> bool:
    return score.accuracy.halfwidth is not None and score.ordinary


def _notes(score: Score) -> str:
    """Kind, half-width, level and T of the interval, and of other kinds that there are."""
    level = f"{100 * score.accuracy.level:.8g} %"
    text = f"open interval (new images of these classes) ± {score.accuracy.halfwidth:.2f}"
    for kind, beside in BESIDE.items():
        interval = score.intervals.get(kind)
        if interval is not None and interval.halfwidth is not None:
            text += f", {kind} interval ({beside.about}) ± {interval.halfwidth:.2f}"
    marks = ", transductive" if score.transductive else ""
    return f"percent correct; {text}, level {level}, T = {score.accuracy.tasks} tasks{marks}"
