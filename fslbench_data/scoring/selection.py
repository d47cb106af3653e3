"""Who is compared, and on what: valid answers, the references beside them, and task sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark_spec.errors import SubmissionError, UnknownNameError
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission, merge
from fslbench_data.submission.streaming import open_submission
from fslbench_data.tasks import TaskSetInfo, task_set_names
from fslbench_data.validation.validate import Validated, validate


@dataclass(frozen=True, eq=False)
class Entrants:
    """The methods that are compared, and the task sets on which they are.

    Attributes
    ----------
    answers, references
        Of the submission, and of the reference methods beside it, if any.
    infos
        In the release's order.
    left_out
        Task sets made with attributes that are answered too, but read with ``--bias``.
    """

    answers: Validated
    references: Validated | None
    infos: tuple[TaskSetInfo, ...]
    left_out: tuple[TaskSetInfo, ...]

    @property
    def parts(self) -> tuple[Validated, ...]:
        """The submission's answers, then the references'."""
        return (self.answers, *([self.references] if self.references else ()))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of all that have results."""
        return tuple(dict.fromkeys(method for part in self.parts for method in part.methods))


def enter(
    submission: Submission | str | Path | None,
    release: Release,
    *,
    against: Sequence[str] = (),
    datasets: Sequence[str] = (),
    task_sets: Sequence[str] = (),
    allow_unbound: bool = False,
    references: bool = True,
    by_class: bool = False,
) -> Entrants:
    """Read, check and choose; the parameters are those of :func:`fslbench_data.score`.

    Task sets that are made with attributes of images are chosen only if they are named, or nothing
    else is answered: their steps hold the same images again and again, and are read together.

    Parameters
    ----------
    by_class
        Choose those task sets and no others, and read of the references which classes they
        answered rightly, not only how many queries.

    Raises
    ------
    SubmissionError, UnknownNameError
        If the answers are not valid, or no such method, data set or task set is answered.
    """
    if submission is None:
        submission, references = _references(release), False
    elif not isinstance(submission, Submission):
        submission = open_submission(submission)
    taken = release.methods if references else ()
    answers = validate(submission, release, taken=taken, allow_unbound=allow_unbound)
    known = reference_results(release, counts_only=not by_class) if references else None
    for name in against:
        if name not in (methods := [*answers.methods, *taken]):
            raise UnknownNameError(
                "method",
                name,
                methods,
                where="--against",
                fix="name methods of the file or reference methods of the release",
            )
    infos = _asked(answers, release, datasets, task_sets)
    ladders = [info for info in infos if info.name.attributes]
    others = [info for info in infos if info not in ladders]
    if by_class:
        return Entrants(answers, known, tuple(ladders), ())
    if task_sets or not others:
        return Entrants(answers, known, tuple(infos), ())
    return Entrants(answers, known, tuple(others), tuple(ladders))


def on_ladders(entrants: Entrants, release: Release) -> Entrants:
    """The same methods on the task sets made with attributes, as ``enter(..., by_class=True)``."""
    infos = (*entrants.infos, *entrants.left_out)
    known = reference_results(release, counts_only=False) if entrants.references else None
    ladders = tuple(info for info in infos if info.name.attributes)
    return Entrants(entrants.answers, known, ladders, ())


def reference_results(release: Release, *, counts_only: bool = True) -> Validated | None:
    """The reference methods' results, or None where a release has no such methods."""
    submissions = release.references(counts_only=counts_only)
    if not submissions:
        return None
    return replace(validate(merge(submissions), release, taken=()), are_references=True)


def _references(release: Release) -> Submission:
    found = release.references()
    if not found:
        raise SubmissionError(
            f"release {release} has no reference methods to compare with each other",
            fix="name a file of results",
        )
    return merge(found)


def _asked(
    answers: Validated, release: Release, datasets: Sequence[str], task_sets: Sequence[str]
) -> list[TaskSetInfo]:
    """The answered task sets that are asked for, in the release's order."""
    answered = {str(group.info) for group in answers.groups}
    infos = [info for info in release.task_sets if str(info) in answered]
    for kind, asked, there in (
        ("data set", datasets, dict.fromkeys(info.dataset for info in infos)),
        ("task set", task_sets, dict.fromkeys(str(info.name) for info in infos)),
    ):
        for name in asked:
            if not {*task_set_names(name), name} & {*there}:  # of a ladder, one step will do
                raise UnknownNameError(kind, name, there, where="what the submission answers")
    task_sets = task_set_names(task_sets)
    chosen = [
        info
        for info in infos
        if (not datasets or info.dataset in datasets)
        and (not task_sets or str(info.name) in task_sets)
    ]
    if not chosen:
        raise SubmissionError(
            "the submission answers no task set of these data sets",
            expected=", ".join(str(info) for info in infos),
        )
    return chosen


def read_all(files: Sequence[Path]) -> Submission | None:
    """Several files of results as one submission; None without any.

    Raises
    ------
    SubmissionError
        If one cannot be read, or two have the same method on the same tasks.
    """
    if not files:
        return None
    if len(files) == 1:
        return open_submission(files[0])
    read = [Submission.read(file) for file in files]
    return merge(read, ", ".join(map(str, files)))


def gather(
    files: Sequence[Path],
    release: Release,
    *,
    datasets: Sequence[str] = (),
    task_sets: Sequence[str] = (),
    allow_unbound: bool = False,
    by_class: bool = False,
) -> Entrants:
    """Read files and enter their methods beside the references; see :func:`enter`."""
    return enter(
        read_all(files),
        release,
        datasets=datasets,
        task_sets=task_sets,
        allow_unbound=allow_unbound,
        by_class=by_class,
    )


def methods_of(entrants: Entrants, names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once, if there are such methods.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    """
    for name in names:
        if name not in entrants.methods:
            raise UnknownNameError("method", name, entrants.methods, where="--method")
    return tuple(dict.fromkeys(names))
