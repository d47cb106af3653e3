"""Select the validated results, reference methods and task sets to compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import (
    SpecError,
    SubmissionError,
    UnknownNameError,
    listing,
    quoted,
)
from benchmark_spec.schemas import SUBMISSION
from fslbench_data.release.release import AnyRelease, Release
from fslbench_data.scoring.open_log import open_log
from fslbench_data.scoring.own_release import OwnLog
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Method, Source, Submission
from fslbench_data.submission.reading import is_log, several_logs
from fslbench_data.tasks import TaskSetInfo, names_of, task_set_names
from fslbench_data.validation.rules import RULES
from fslbench_data.validation.validate import Validated
from fslbench_data.validation.validate import validate as by_rules

CUT = "…"
"""What outputs put for the middle of a long name."""

MOST_LISTED = 12
"""Methods of one short name that an error lists at most."""


def features_of(name: str, about: Method | None) -> str:
    """Return the features that a method declares, else those that its name begins with."""
    return (about and about.backbone) or name.rpartition("/")[0]


def features_in(submission: Submission, names: Iterable[str]) -> frozenset[str]:
    """Return the known features of some methods of a submission."""
    declared = submission.methods
    return frozenset(features_of(name, declared.get(name)) for name in names) - {""}


def whole_names(
    texts: Iterable[str],
    names: Collection[str],
    features: Collection[str] = (),
    *,
    where: str = "",
    fix: str = "",
) -> tuple[str, ...]:
    """Return the methods that several names mean, each once; see :func:`whole_name`."""
    meant = (whole_name(text, names, features, where=where, fix=fix) for text in texts)
    return tuple(dict.fromkeys(meant))


def whole_name(
    text: str,
    names: Collection[str],
    features: Collection[str] = (),
    *,
    where: str = "",
    fix: str = "",
) -> str:
    """Return the method that a whole or short name means.

    ``NCC`` means any method whose name ends with ``/NCC``; of several, the one on these features.
    ``clip…/NCC`` means any that begins and ends so.  Raises an UnknownNameError with `where` and
    `fix`, or a SpecError if several could be meant.
    """
    if text in names:
        return text
    fitting = [name for name in names if _fits(text, name)]
    on_features = {f"{backbone}/{text}" for backbone in features}
    meant = [name for name in fitting if name in on_features] or fitting
    if not meant:
        raise UnknownNameError("method", text, names, where=where, fix=fix)
    if len(meant) > 1:
        raise SpecError(
            f"{quoted(text)} could be any of {len(meant)} methods",
            where=where,
            expected=f"one of {listing(meant, MOST_LISTED)}",
            fix="give the whole name, or more of its end",
        )
    return meant[0]


def _fits(text: str, name: str) -> bool:
    """Return whether a text can stand for a method's name."""
    first, cut, last = text.partition(CUT)
    if not cut:
        return bool(text) and name.endswith(f"/{text}")
    return len(name) > len(first + last) > 0 and name.startswith(first) and name.endswith(last)


Names = str | Sequence[str]
"""One name or several."""

Sources = Source | OwnLog | Sequence[Source | OwnLog]
"""Results, a file or frame of them, or several; or a log of one's own tasks."""


class Selection(Struct, frozen=True):
    """The requested methods and task sets, as :func:`fslbench_data.score` describes them."""

    against: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    task_sets: tuple[str, ...] = ()
    level: float = 0.95
    allow_unbound: bool = False
    references: bool = True

    def __post_init__(self) -> None:
        check_level(self.level)

    @classmethod
    def of(
        cls,
        methods: Names = (),
        datasets: Names = (),
        task_sets: Names = (),
        level: float = 0.95,
        *,
        against: Names = (),
        allow_unbound: bool = False,
        references: bool = True,
    ) -> Selection:
        """Make a selection of names, each one or several."""
        chosen = tuple(dict.fromkeys(names_of(methods)))
        sets = names_of(datasets), names_of(task_sets)
        return cls(names_of(against), chosen, *sets, level, allow_unbound, references)


class Selected(Struct, frozen=True, eq=False):
    """The results that are compared, and on which task sets.

    Attributes
    ----------
    release, selection
        The release of the task sets, and what was requested.
    results, references
        Results of the submission, and of the reference methods, if they take part.
    infos
        The task sets, in the release's order.
    left_out
        Task sets made with attributes that are also answered, but read only with ``--bias``.
    alone
        Whether `results` are the reference methods', since there is no submission.
    """

    release: Release
    selection: Selection
    results: Validated
    references: Validated | None
    infos: tuple[TaskSetInfo, ...]
    left_out: tuple[TaskSetInfo, ...] = ()
    alone: bool = False

    @property
    def parts(self) -> tuple[Validated, ...]:
        """The submission's results, then the references'."""
        return (self.results, *([self.references] if self.references else ()))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of all methods, also of reference methods without results on these task sets."""
        references = self.release.methods if self.references else ()
        return tuple(dict.fromkeys((*self.results.methods, *references)))

    def on_ladders(self) -> Selected:
        """Select the same methods on the task sets made with attributes."""
        ladders = tuple(i for i in (*self.infos, *self.left_out) if i.name.attributes)
        results, references = self.results, self.references
        if self.alone:
            results = _references_alone(self.release, ladders)
        elif references:
            references = reference_results(self.release, ladders)
        return replace(self, infos=ladders, left_out=(), results=results, references=references)


def select(
    submission: Sources | None,
    release: Release,
    selection: Selection | None = None,
    *,
    only_ladders: bool = False,
) -> Selected:
    """Read and check results, and choose methods and task sets.

    Task sets made with attributes of images are chosen only if they are named, or if nothing else
    is answered; with `only_ladders` only they are.  Without a submission, the reference methods are
    compared.
    """
    selection = selection or Selection()
    if isinstance(submission, list | tuple) and not submission:
        submission = None
    own = log_of(submission)
    if own is not None:
        release, selection = own.release, replace(selection, references=False)
    with_references = selection.references and submission is not None
    taken = release.methods if with_references else ()
    if own is not None:
        results = own.answers
    elif submission is None:
        results = _references_alone(release, sets_named(release.task_sets, selection))
        if not results.groups or any(_unknown(_answered(results, release), selection)):
            results = _references_alone(release, None)
        taken = release.methods
    else:
        sources = cast("Source | Sequence[Source]", submission)
        allow_unbound = selection.allow_unbound
        results = by_rules(sources, release, taken=taken, allow_unbound=allow_unbound)
    names = dict.fromkeys([*results.methods, *taken])
    features = features_in(results.submission, [*results.methods, *results.submission.methods])
    fix = "name methods of the file or reference methods of the release"
    selection = replace(
        selection,
        against=whole_names(selection.against, names, features, where="--against", fix=fix),
        methods=whole_names(selection.methods, names, features, where="--method"),
    )
    infos = _requested_sets(_answered(results, release), selection)
    ladders = [info for info in infos if info.name.attributes]
    others = [info for info in infos if info not in ladders]
    left_out: list[TaskSetInfo] = []
    if only_ladders:
        infos = ladders
    elif others and not selection.task_sets:
        infos, left_out = others, ladders
    references = reference_results(release, infos) if with_references else None
    alone = submission is None
    return Selected(release, selection, results, references, tuple(infos), tuple(left_out), alone)


_COUNT_COLUMNS = (*SUBMISSION.names, "fingerprint", "run", "transductive", "inductive")


def reference_results(
    release: Release, infos: Collection[TaskSetInfo] | None = None, *, counts_only: bool = False
) -> Validated | None:
    """Return the reference methods' results on some task sets and their closed twins, or on all.

    None if the release has no reference methods; without groups if they answer none of these.  With
    `counts_only` there are no single answers, which take three times as long to check.
    """
    if infos is not None:
        texts = {f"{i.dataset}/{name}" for i in infos for name in (i.name, i.name.closed_twin)}
        infos = tuple(info for info in release.task_sets if info.text in texts)
    return _reference_results(release, infos, counts_only)


@lru_cache(maxsize=8)  # scoring again, or planning after it, uses the same methods
def _reference_results(
    release: Release, infos: tuple[TaskSetInfo, ...] | None, counts_only: bool
) -> Validated | None:
    submissions = release.references(infos)
    if not submissions:
        return None
    # unless their files say otherwise, they are classifiers on fixed features: nothing is trained
    merged = merge([submission.declare(trained=False) for submission in submissions])
    if counts_only:
        kept = [name for name in merged.columns if name in _COUNT_COLUMNS]
        merged = replace(merged, table=merged.table.select(kept))
    if not merged.table.num_rows:
        return Validated(merged, (), are_references=True)
    # the results in the package were checked when it was made
    rules = () if release.files.of_package else RULES
    return replace(by_rules(merged, release, taken=(), rules=rules), are_references=True)


def _references_alone(release: Release, infos: Collection[TaskSetInfo] | None) -> Validated:
    references = reference_results(release, infos)
    if references is None:
        raise SubmissionError(
            f"release {release} has no reference methods to compare with each other",
            fix="name a file of results",
        )
    return replace(references, are_references=False)


def _answered(results: Validated, release: Release) -> list[TaskSetInfo]:
    """Return the task sets that are answered, in the release's order."""
    answered = {group.info.text for group in results.groups}
    return [info for info in release.task_sets if info.text in answered]


def _requested_sets(infos: Collection[TaskSetInfo], selection: Selection) -> list[TaskSetInfo]:
    """Return the answered task sets that are requested; refuse names that fit none."""
    for kind, name, known in _unknown(infos, selection):
        raise UnknownNameError(kind, name, known, where="what the submission answers")
    chosen = sets_named(infos, selection)
    if infos and not chosen:  # the task sets named are of other data sets
        names = dict.fromkeys(str(info.name) for info in _of_named_datasets(infos, selection))
        where = f"what the submission answers of {listing(selection.datasets)}"
        raise UnknownNameError("task set", selection.task_sets[0], names, where=where)
    return chosen


def _of_named_datasets(
    infos: Collection[TaskSetInfo], selection: Selection
) -> Collection[TaskSetInfo]:
    """Return the task sets of the data sets that a selection names, or all if that leaves none."""
    return [info for info in infos if info.dataset in selection.datasets] or infos


def sets_named(infos: Collection[TaskSetInfo], selection: Selection) -> list[TaskSetInfo]:
    """Return the task sets that a selection names, or all if it names none."""
    task_sets = task_set_names(selection.task_sets)
    return [
        info
        for info in infos
        if (not selection.datasets or info.dataset in selection.datasets)
        and (not task_sets or str(info.name) in task_sets)
    ]


def _unknown(
    infos: Collection[TaskSetInfo], selection: Selection
) -> Iterator[tuple[str, str, Collection[str]]]:
    """Yield each name of a selection that fits no task set: its kind, itself, names to choose."""
    datasets = dict.fromkeys(info.dataset for info in infos)
    for name in selection.datasets:
        if name not in datasets:
            yield "data set", name, datasets
    names = {str(info.name) for info in infos}
    choice = dict.fromkeys(str(info.name) for info in _of_named_datasets(infos, selection))
    for name in selection.task_sets:
        if not {*task_set_names(name), name} & names:  # one step of a ladder is enough
            yield "task set", name, choice


def validate(
    submission: Sources,
    release: AnyRelease = None,
    *,
    taken: Collection[str] | None = None,
    allow_unbound: bool = False,
) -> Validated:
    """Check a submission, or several as one, against a release; or a log of one's own tasks.

    Parameters
    ----------
    submission
        A submission, a file, or a frame of pandas or polars; or several, which
        :func:`fslbench_data.merge` joins.  Or a log, as :func:`fslbench_data.open_log` takes or
        returns it, for which the other parameters change nothing.
    release
        The release that was answered, or what :func:`fslbench_data.load_release` opens; None is the
        one inside the package.
    taken
        Names that a method may not have; by default those of the release's reference methods.
    allow_unbound
        Accept answers without a fingerprint.

    Raises
    ------
    FSLBenchError
        Its kind says which rule is broken; of several, it names the file and its rows.
    """
    own = log_of(submission)
    if own is not None:
        return own.answers
    sources = cast("Source | Sequence[Source]", submission)
    return by_rules(sources, release, taken=taken, allow_unbound=allow_unbound)


def beside_a_log(sources: Sequence[str]) -> SubmissionError:
    """Return the error of logs that are given together with other results."""
    return SubmissionError(
        "a log of one's own tasks stands beside other results",
        where=listing(sources, 4),
        expected="one log, or several files or frames of logs: only methods on the same tasks "
        "are compared",
        fix="give the logs by themselves, and the others by themselves; several logs in Python: "
        "fb.open_log([one, other])",
    )


def log_of(sources: object, **options: Any) -> OwnLog | None:
    """Return the log that is given in place of submissions, if any; refuse logs beside others.

    `options` are further ones of :func:`open_log`.
    """
    several = several_logs(sources) or [sources]
    logs = [source for source in several if isinstance(source, OwnLog) or is_log(source)]
    if not logs:
        return None
    if len(several) == 1 and isinstance(logs[0], OwnLog):
        return logs[0]
    if len(logs) < len(several) or any(isinstance(log, OwnLog) for log in logs):
        raise beside_a_log([str(source) for source in several])
    return open_log(sources, **options)
