"""Run a method over frozen tasks; return its results as a submission."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import to_builtins
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.stopping import ConfidenceSequence
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from benchmark_spec.manifest import Kind
from benchmark_spec.protocol import suite_of
from fslbench_data.evaluation.calling import Calls, MethodCallable, callable_name
from fslbench_data.evaluation.inputs import FeaturesOf, Inputs, input_kind, sizes_digest
from fslbench_data.evaluation.journal import Journal
from fslbench_data.evaluation.progress import Progress, progress_bar
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.submission.model import Stopping, Submission
from fslbench_data.submission.recorder import Recorder
from fslbench_data.tasks import TaskSet, TaskSetInfo, names_of, task_set_names
from fslbench_data.validation.rules import check_may_stop
from fslbench_data.validation.validate import validate


def evaluate(
    method: MethodCallable,
    release: AnyRelease = None,
    *,
    name: str | None = None,
    datasets: str | Sequence[str] = (),
    task_sets: str | Sequence[str] = (),
    features: str | FeaturesOf | None = None,
    images: str | Path | Literal[True] | None = None,
    transform: Callable[[Any], Any] | None = None,
    device: Any = None,
    seed: int = 0,
    batch: int | None = None,
    max_tasks: int | None = None,
    transductive: bool | None = None,
    trained: bool | None = None,
    run: str | int | None = None,
    description: str = "",
    journal: str | Path | None = None,
    show_progress: bool = False,
    stop_when_conclusive: str | Submission | None = None,
    stop_level: float = 0.95,
    on_stop: Callable[[int], None] = lambda _: None,
) -> Submission:
    """Run a method over the tasks of a release.

    Parameters
    ----------
    method : callable
        ``method(support, query, rng) -> predictions``: support float32 (K, S, D) and query float32
        (K·Q, D), or lists of paths of images: copies under hashed names, removed after the call.
        Predictions are integers (K·Q,) in 0..K-1, the position of the class in the task; on tasks
        of all classes (`allway` sets) they may be scores (K·Q, K), which also give intervals for
        new classes.  `rng` is a generator of the task's own.  Query labels are never passed;
        queries stand in their frozen order.  If it is a network of PyTorch, or holds one in an
        attribute, the network is put in evaluation mode, with a warning if it was not.
    release
        Or what :func:`fslbench_data.load_release` opens; None is the one inside the package.
    name
        Of the method in the submission; by default the callable's.
    datasets, task_sets
        Which task sets; by default all with inputs.
    features, images
        One of the two.  `features` is the name of a backbone of the release, or a function that
        gives the array (N, ...) of a data set's images, for those that `datasets` names; `images`
        is the folder of the images, or True for pictures that the release holds.
    transform
        With `images`: makes a tensor of a picture, an RGB image of Pillow.  The method then gets
        tensors of PyTorch, support (K, S, ...) and query (K·Q, ...), and no files.
    device
        Give tensors of PyTorch on this device, such as ``"cuda"``, instead of arrays; the method
        may return a tensor.  It should seed random numbers of PyTorch from `rng`.
    seed
        Seed of `rng` and of the names of images, which depend on the seed and the task alone.
    batch
        Call the method with B tasks at once: support (B, K, S, D), query (B, K·Q, D),
        predictions (B, K·Q).  The last batch of a set may be smaller.
    max_tasks
        Run only the first few tasks of each set; the submission declares it.
    transductive
        Whether the method uses the queries together; balanced queries then leak, and tables
        mark it.  By default the callable's attribute `transductive`, or False.
    trained
        False for a method that trains nothing before the tasks; by default the callable's attribute
        `trained`, or None.
    run
        Which training run of the method this is, if there are several.
    journal
        File that keeps every finished task, so that a stopped run resumes where it was.  It is left
        in place; remove it when the submission has been written.
    show_progress
        Show a progress bar on standard error, where that is a terminal, or in a notebook's cell.
    stop_when_conclusive
        Name of a reference method, or results of one method on the same sets.  Each task set stops
        as soon as a confidence sequence of the difference from that method is conclusive, which is
        valid after every task (:mod:`analysis_sql.intervals.stopping`; new images of these classes,
        tasks taken as independent).  The submission declares the rule, and reports show the
        sequence's interval.
    stop_level
        Confidence level of the sequence.
    on_stop
        Called with the number of finished tasks if the run is interrupted.

    Returns
    -------
    Submission
        With predictions and per-class counts; the same bytes however often it was resumed.  The
        method is marked inductive, which makes intervals for new images narrower, if queries of the
        first dozen tasks of up to three sets get the same predictions without the queries of other
        classes, and in another order.

    Raises
    ------
    MethodFailedError
        If the method raises; names the task and the lines.  Finished tasks are in the journal.
    PredictionError
        If it returns anything but predictions; names the task.
    MissingPackageError
        If tensors are requested without PyTorch.
    DriftError
        If classes drift along a task set that is to be stopped early.
    """
    release = load_release(release)
    folder = images if images is None or images is True else Path(images)
    if (features is None) == (images is None):
        raise _no_inputs(release, names_of(datasets))
    device_name, opened = input_kind(features, folder, transform, device)
    if (batch is not None and batch < 1) or (max_tasks is not None and max_tasks < 1):
        raise SpecError("a batch, and a number of tasks, is at least 1")
    if transductive is None:
        transductive = bool(getattr(method, "transductive", False))
    if trained is None:
        trained = getattr(method, "trained", None)
    label, backbone = name or callable_name(method), features if isinstance(features, str) else ""
    if sys.modules.get("torch") is not None:  # else there are no networks
        from fslbench_data.torch.easyfsl_methods import set_evaluation_mode

        set_evaluation_mode(method, label)
    recorder = Recorder(
        label,
        description=description,
        backbone=backbone,
        transductive=transductive,
        trained=trained if isinstance(trained, bool) else None,
        run=run,
    )
    if callable(features) and not names_of(datasets):
        raise SpecError("a function of features needs to know which data sets", fix="datasets=")
    infos = _chosen(release, names_of(datasets), task_set_names(task_sets), features, images)
    run_identity = {
        "method": label,
        "release": release.manifest.digest,
        "features": backbone or ("arrays" if features else "images"),
        "seed": seed,
        "batch": batch,
        **({} if run is None else {"run": str(run)}),
        **({"device": device_name} if device_name else {}),
    }
    if batch is not None and any(info.name.varies for info in infos):
        raise SpecError(
            "episodes differ in shape, and make no batch", fix="leave batch out, or these task sets"
        )
    if folder is not None and journal is not None:
        named = dict.fromkeys(info.dataset for info in infos)
        run_identity["pictures"] = sizes_digest(release, named, folder)
    counts = {info: min(info.n_tasks, max_tasks or info.n_tasks) for info in infos}
    rule, rival_counts = None, dict[TaskSetInfo, NDArray[np.int64]]()
    if stop_when_conclusive is not None:
        rule, rival_counts = _rival(stop_when_conclusive, release, infos, check_level(stop_level))
        run_identity["stopping"] = to_builtins(rule)
        counts = {info: min(count, len(rival_counts[info])) for info, count in counts.items()}
    protocols = {str(info): info.protocol for info in infos}
    reusing = [i for i in infos if suite_of(i.name.suite).uniform and not transductive]
    checked = reusing[:: max(1, (len(reusing) + 2) // 3)]  # up to three of them
    to_check: list[tuple[Inputs, TaskSet, int]] = []
    path = None if journal is None else Path(journal)
    with (
        closing(Journal(path, run_identity, protocols)) as log,
        progress_bar(sum(counts.values()), show=show_progress) as progress,
    ):
        calls = Calls(method, label, log, seed, batch)
        try:
            for info, count in counts.items():
                tasks = release.task_set(info.dataset, str(info.name))
                inputs = opened(release, info.dataset, seed)
                rival = rival_counts.get(info)
                answers = _answers(calls, inputs, tasks, count, progress, rule, rival)
                predictions = [answer[0] for answer in answers]
                second = [answer[1] for answer in answers if len(answer) > 1]
                all_second = len(second) == len(predictions)
                recorder.add_task_set(tasks, predictions, second if all_second else None)
                if rule is not None:
                    recorder.stopped(info, rule)
                if info in checked:
                    to_check.append((inputs, tasks, len(answers)))
            # at the end, since a method may keep something of its calls
            checks = [calls.is_inductive(*tasks_run) for tasks_run in to_check]
        except KeyboardInterrupt:
            on_stop(len(log.answers))
            raise
    submission = recorder.submission()
    inductive = None if None in checks or not checks else all(checks)
    about = replace(submission.methods[label], inductive=inductive)
    return replace(submission, methods={label: about})


def _answers(
    calls: Calls,
    inputs: Inputs,
    tasks: TaskSet,
    count: int,
    progress: Progress,
    rule: Stopping | None,
    rival: NDArray[np.int64] | None,
) -> list[Sequence[list[int]]]:
    """Answer the first `count` tasks of a set, or until a rule stops; see `answers` of Journal.

    `rival` are the numbers of correct queries of the method that the rule names.
    """
    answers = []
    sequence = ConfidenceSequence(tasks.info.protocol.n_query, rule.level) if rule else None
    for group, resumed in calls.predict(inputs, tasks, count):
        progress(len(group), resumed=resumed)
        for task in group:
            answers.append(answer := calls.log.answers[str(tasks.info), task.task_id])
            if sequence is not None and rival is not None:
                n_correct = int((np.array(answer[0]) == task.query_label).sum())
                state = sequence.update(n_correct - int(rival[task.task_id]))
        if sequence is not None and state.conclusive_at is not None:
            break
    return answers


def _rival(
    versus: str | Submission, release: Release, infos: Sequence[TaskSetInfo], level: float
) -> tuple[Stopping, dict[TaskSetInfo, NDArray[np.int64]]]:
    """Return the rule of stopping, and the rival's numbers of correct queries on each task set.

    `versus` names a reference method of the release, or holds the results of one method; `level`
    is the confidence sequence's.
    """
    if isinstance(versus, str):
        versus = release.reference(versus)
    results = validate(versus, release, taken=())
    if len(results.methods) != 1:
        raise SubmissionError(
            f"the results to compare with are of {len(results.methods)} methods", expected="one"
        )
    rule, counts = Stopping(results.methods[0], float(level)), {}
    for info in infos:
        check_may_stop(info, release, rule.level)
        groups = results.on(info.dataset, str(info.name))
        if not groups:
            raise SpecError(
                f"{rule.versus} has no results on {info}",
                fix="choose task sets that it answered, or run without stopping",
            )
        if len(groups[0].runs) > 1:
            raise SpecError(f"{rule.versus} has several runs on {info}", expected="one")
        counts[info] = np.asarray(groups[0].counts, np.int64)
    return rule, counts


def _no_inputs(release: Release, datasets: Sequence[str]) -> SpecError:
    """Return the error for a method without inputs, which names the features that there are."""
    backbones = [
        name
        for name in release.backbones
        if {*datasets} <= {*release.datasets_with("features", name)}
    ]
    return SpecError(
        "a method is run on features or on images",
        where=f"{listing(datasets)} of {release}" if datasets else str(release),
        expected=f"features {listing(backbones) or 'of your own'}, or images",
        fix=f"give --features {backbones[0] if backbones else 'B'}, or --images [DIR]; in Python "
        "features= or images=",
    )


def _chosen(
    release: Release,
    datasets: Sequence[str],
    task_sets: Sequence[str],
    features: str | FeaturesOf | None,
    images: str | Path | Literal[True] | None,
) -> list[TaskSetInfo]:
    """Return the task sets to run: those requested, or all with inputs in the release.

    Sets of all classes and of episodes are run only if they are requested, or are all there is.
    """
    for dataset in datasets:
        if dataset not in release.datasets:
            fix = "if it is of another release, name that: --release; in Python release="
            raise UnknownNameError(
                "data set", dataset, release.datasets, where=str(release), fix=fix
            )
    kind: Kind = "features" if images is None else "pictures" if images is True else "images"
    backbone, where = features if isinstance(features, str) else "", f"release {release}"
    having = tuple(datasets) if callable(features) else release.datasets_with(kind, backbone)
    if not having and images is True:
        raise SpecError(
            "the release holds no pictures",
            where=where,
            expected="pictures in the release, or a folder of them",
            fix="name the folder that holds the images: --images FOLDER; in Python images=FOLDER",
        )
    if not having:
        raise UnknownNameError("features", backbone, release.backbones, where=where)
    chosen = datasets or having
    wanted = [info for info in release.task_sets if info.dataset in chosen]
    if not wanted:
        raise SpecError(
            f"there are no tasks of {listing(chosen)}",
            where=f"{where}, {backbone or kind}",
            expected="inputs of a data set that has task sets",
            fix="name a release that has tasks for these inputs: --release; in Python release=",
        )
    names = list(dict.fromkeys(str(info.name) for info in wanted))
    for task_set in task_sets:
        if task_set not in names:
            raise UnknownNameError("task set", task_set, names, where=", ".join(chosen))
    if task_sets:
        return [info for info in wanted if str(info.name) in task_sets]
    usual = [i for i in wanted if not (i.name.varies or i.name.whole)]
    return usual or wanted
