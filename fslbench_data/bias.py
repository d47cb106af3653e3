"""What methods lose on attribute-biased tasks: the steps of a ladder, and the gaps between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from analysis_sql.spurious_bias import Counts, Gap, StepScore, gap, step_score
from benchmark_spec.errors import SubmissionError
from benchmark_spec.protocol import COUNTERFACTUAL, LADDER, IntervalKind, suite_of
from fslbench_data.naming import names_of
from fslbench_data.release import Release, load_release
from fslbench_data.scores import Signature
from fslbench_data.scoring import score
from fslbench_data.submission.checks import Validated, validate
from fslbench_data.submission.model import Submission, merge
from fslbench_data.submission.per_class import class_counts, rows_of
from fslbench_data.tasks import TaskSetInfo


@dataclass(frozen=True)
class MethodBias:
    """A method on the steps of a ladder that it answered.

    Attributes
    ----------
    steps
        Scores by step, in the order of the ladder.
    gaps
        From each step to the next, and from the first to the last, over the tasks that were
        answered on both: ``(before, after, gap)``.
    """

    method: str
    is_reference: bool
    steps: dict[str, StepScore]
    gaps: tuple[tuple[str, str, Gap], ...]


@dataclass(frozen=True)
class LadderReport:
    """The methods on one ladder.

    Attributes
    ----------
    dataset, name
        Of the data set, and of the ladder, such as ``open_*_titles-5w5s5q``.
    kind
        Of the intervals: ``open`` where no image is used twice.
    left_out
        Methods that do not say which classes they answer rightly, have several runs or stopped
        themselves.
    """

    dataset: str
    name: str
    kind: IntervalKind
    methods: tuple[MethodBias, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class BiasReport:
    """What `fslbench score --bias` shows."""

    signature: Signature
    ladders: tuple[LadderReport, ...]


def bias(
    submission: Submission | str | Path | None = None,
    release: Release | None = None,
    *,
    datasets: str | Sequence[str] = (),
    task_sets: str | Sequence[str] = (),
    level: float = 0.95,
    allow_unbound: bool = False,
) -> BiasReport:
    """Worst-class accuracies and gaps of the methods of a submission, beside the references.

    Parameters
    ----------
    submission, release, datasets, task_sets, level, allow_unbound
        As :func:`fslbench_data.score` takes them.

    Raises
    ------
    SubmissionError
        If no task set of a ladder is answered.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    release = load_release() if release is None else release
    references = merge(release.references()) if release.methods else None
    if submission is not None and not isinstance(submission, Submission):
        submission = Submission.read(submission)
    report = score(
        submission,
        release,
        datasets=names_of(datasets),
        task_sets=names_of(task_sets),
        level=level,
        allow_unbound=allow_unbound,
    )
    parts = [
        validate(part, release, taken=taken, allow_unbound=allow_unbound)
        for part, taken in ((submission, release.methods), (references, ()))
        if part is not None
    ]
    wanted = {str(each.scored) for each in report.sets}
    ladders = _ladders([info for info in release.task_sets if str(info) in wanted])
    if not ladders:
        raise SubmissionError(
            "no task set that is made with attributes of images is answered",
            where=f"release {release}",
            expected="task sets such as biased_titles-5w5s5q and random_titles-5w5s5q",
            fix="see `fslbench info` for those that the release has",
        )
    return BiasReport(
        report.signature,
        tuple(_ladder(name, infos, parts, release, level) for name, infos in ladders.items()),
    )


def _ladders(infos: Sequence[TaskSetInfo]) -> dict[str, list[TaskSetInfo]]:
    """Task sets of one ladder together, in the order of its steps."""
    order = [*LADDER, *COUNTERFACTUAL]
    found: dict[str, list[TaskSetInfo]] = {}
    for info in infos:
        suite = suite_of(info.name.suite)
        if suite.attributes:
            name = suite.name.replace(f"{suite.step}_", "*_", 1)
            family = "" if suite.step in LADDER else " counterfactual"
            found.setdefault(f"{info.dataset}/{name}-{info.protocol}{family}", []).append(info)
    for each in found.values():
        each.sort(key=lambda info: order.index(suite_of(info.name.suite).step))
    return found


def _ladder(
    name: str, infos: list[TaskSetInfo], parts: list[Validated], release: Release, level: float
) -> LadderReport:
    kind = infos[0].name.interval
    left_out: list[str] = []
    methods = []
    for part in parts:
        for method in part.methods:
            answered = [info for info in infos if _answered(part, method, info)]
            if not answered:
                continue
            counts = {
                suite_of(info.name.suite).step: _counts(part, method, info, release)
                for info in answered
            }
            known = {step: found for step, found in counts.items() if found is not None}
            if len(known) < len(counts):
                left_out.append(method)
                continue
            queries = infos[0].protocol.query
            methods.append(
                MethodBias(
                    method,
                    method in release.methods,
                    {step: step_score(c, queries, kind, level) for step, c in known.items()},
                    tuple(_gaps(known, queries, kind, level)),
                )
            )
    dataset, _, ladder = name.partition("/")
    return LadderReport(dataset, ladder, kind, tuple(methods), tuple(left_out))


def _answered(part: Validated, method: str, info: TaskSetInfo) -> bool:
    return any(group.method == method for group in part.on(info.dataset, str(info.name)))


def _counts(part: Validated, method: str, info: TaskSetInfo, release: Release) -> Counts | None:
    """Correct queries of each class (T, K); None where they are not said, or not of one run."""
    groups = part.on(info.dataset, str(info.name))
    (group,) = (group for group in groups if group.method == method)
    binding = part.submission.bindings.get((method, info.dataset, str(info.name)))
    if len(group.runs) > 1 or (binding is not None and binding.stopping is not None):
        return None
    rows = rows_of(part.submission, method, info)
    return class_counts(rows, release.task_set(info.dataset, str(info.name)))


def _gaps(
    known: dict[str, Counts], queries: int, kind: IntervalKind, level: float
) -> Iterator[tuple[str, str, Gap]]:
    steps = list(known)
    pairs = list(pairwise(steps))
    if len(steps) > 2:
        pairs.append((steps[0], steps[-1]))
    for before, after in pairs:
        common = min(len(known[before]), len(known[after]))
        a, b = known[before][:common], known[after][:common]
        yield before, after, gap(a, b, queries, kind, level)
