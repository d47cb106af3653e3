"""Whether a file of a results repository is accepted: which release it answers, or why not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import (
    FSLBenchError,
    HubError,
    ResultsError,
    SubmissionError,
    TooLargeError,
)
from benchmark_spec.naming import one_line
from fslbench_data.files import sha256_of
from fslbench_data.leaderboard.repository import (
    ENDING,
    IS_POINTER,
    ResultsFiles,
    check_is_no_pointer,
    submission_name,
)
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import LIMITS, Limits, read_untrusted
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rules import fits
from fslbench_data.validation.validate import Validated, validate


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One method's answers to one task set: all that a leaderboard needs of them.

    Counts are correct queries of each task, summed over runs, int16 or int32.  `stopped` is the
    method that a run was compared with while it ran, if it stopped by a rule; of a `prefix` the
    submitter chose how many tasks are answered; `of_one_model` is one training run of a method that
    may differ from run to run.
    """

    method: str
    info: TaskSetInfo
    counts: NDArray[np.integer]
    runs: int
    run_spread: float | None
    stopped: str | None
    transductive: bool
    prefix: bool = False
    of_one_model: bool = False

    @property
    def ordinary(self) -> bool:
        """Whether the number of tasks was fixed before the results were known."""
        return self.stopped is None and not self.prefix

    @property
    def queries_per_task(self) -> int:
        """Queries in a task, over all runs."""
        return self.info.protocol.n_query * self.runs


@dataclass(frozen=True, eq=False)
class Accepted:
    """A file that answers a release, by its path in the repository and its SHA-256 (hex).

    Of the release it is the position; `content` is a SHA-256 of the results, however they are
    written; `also` are digests of other files with the same results that may have come at the same
    time.
    """

    name: str
    digest: str
    release: int
    results: tuple[Result, ...]
    content: str
    also: tuple[str, ...] = ()
    came: int = 0

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of all files with these results."""
        return (self.digest, *self.also)


@dataclass(frozen=True)
class Rejected:
    """A file that is not scored, and why; every text is one short, printable line."""

    name: str
    what: str
    where: str = ""
    expected: str = ""
    fix: str = ""

    @property
    def reason(self) -> str:
        """What is wrong, and where."""
        return one_line(f"{self.what} ({self.where})" if self.where else self.what)

    @property
    def is_pointer(self) -> bool:
        """Whether the file is a pointer of Git LFS."""
        return self.what == IS_POINTER


def check_submission(
    files: ResultsFiles, name: str, releases: Sequence[Release], limits: Limits = LIMITS
) -> Accepted | Rejected:
    """Check a file of a repository, without trust in any check before.

    The file's name must be the SHA-256 of its bytes; :func:`answered` finds the release.  Raises a
    HubError only if the file could not be fetched.
    """
    path = None
    try:
        path = files.path(name)
        digest = _checked_digest(name, path, limits)
        submission = replace(read_untrusted(path, limits), source="the file")
        number = answered(submission, releases)
        results = results_of(validate(submission, releases[number]))
    except HubError:
        raise  # about the file, or a release's tables
    except FSLBenchError as error:
        return _rejection(name, error, path)
    except Exception as error:
        return _rejection(name, SubmissionError(f"it cannot be checked: {error!r}"), path)
    return Accepted(name, digest, number, results, _content(results))


def results_of(validated: Validated) -> tuple[Result, ...]:
    """Return the results of a valid submission, or of a release's reference methods."""
    submission = validated.submission
    results = []
    for group in validated.groups:
        info, method = group.info, submission.methods.get(group.method)
        binding = submission.bindings.get((group.method, info.dataset, str(info.name)))
        result = Result(
            method=group.method,
            info=info,
            counts=group.counts,
            runs=max(len(group.runs), 1),
            run_spread=group.run_spread,
            stopped=binding.stopping.versus if binding is not None and binding.stopping else None,
            transductive=method is not None and method.transductive,
            prefix=validated.is_prefix(group),
            of_one_model=validated.of_one_model(group),
        )
        results.append(result)
    return tuple(results)


def _rejection(name: str, error: FSLBenchError, path: Path | None) -> Rejected:
    """Turn an error into a rejection, which does not tell the file's path on this machine."""
    texts = [error.what, error.where, error.expected, error.fix]
    if path is not None:
        texts = [text.replace(str(path), "the file") for text in texts]
    return Rejected(one_line(name), *map(one_line, texts))


def _checked_digest(name: str, path: Path, limits: Limits) -> str:
    """Return the file's SHA-256, which must be its name; too large a file is not read."""
    if not name.endswith(ENDING):
        raise ResultsError(
            f"the file does not end in {ENDING}",
            expected="a Parquet file",
            fix="make one of it with fslbench merge FILE -o NEW.parquet; fslbench submit does so "
            "by itself",
        )
    try:
        size = path.stat().st_size
        if size > limits.file_bytes:
            raise TooLargeError(
                f"the file has {size} bytes",
                expected=f"at most {limits.file_bytes}",
                fix="split it into several files",
            )
        check_is_no_pointer(path)
        digest = sha256_of(path)
    except OSError as error:
        raise ResultsError(f"it cannot be opened: {error.strerror}") from None
    if name != submission_name(digest):
        raise ResultsError(
            "its name is not the SHA-256 of its bytes",
            expected=submission_name(digest),
            fix="rename it; a file that changes is another submission and has another name",
        )
    return digest


def answered(submission: Submission, releases: Sequence[Release]) -> int:
    """Find the first release whose task sets and fingerprints the submission names.

    Returns its position, or 0 if there is none: validation by that release then says what is wrong.
    """
    named = {(d, s, bound.fingerprint) for (_, d, s), bound in submission.bindings.items()}
    table = submission.table.select(
        [n for n in ("dataset", "task_set", "fingerprint") if n in submission.table.column_names]
    )
    for row in table.group_by(table.column_names).aggregate([]).to_pylist():
        named.add((row["dataset"], row["task_set"], row.get("fingerprint")))
    for number, release in enumerate(releases):
        infos = {(info.dataset, str(info.name)): info for info in release.task_sets}
        if all(
            (d, s) in infos and (fingerprint is None or fits(fingerprint, infos[d, s]))
            for d, s, fingerprint in named
        ):
            return number
    return 0


def _content(results: Sequence[Result]) -> str:
    """Return a SHA-256 of results that does not depend on their order."""
    parts = []
    for r in results:
        about = (r.method, r.info.text, r.runs, r.run_spread, r.stopped, r.transductive)
        counts = hashlib.sha256(np.ascontiguousarray(r.counts, "<i8").tobytes()).hexdigest()
        parts.append(f"{about!r} {counts}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


MOST_VALUES = 250_000_000
"""Counts that are held in memory, two bytes each, of all submissions together."""


def check_all(
    sources: Sequence[tuple[ResultsFiles, str]],
    releases: Sequence[Release],
    limits: Limits,
    tell: Callable[[str], None],
    came: Mapping[str, int],
) -> tuple[list[Accepted], list[Rejected]]:
    """Check files by repository and name, the first to come first.

    Files with the same results under the same names of methods are one entry; those that came
    later than the first of them are rejected.  Where nothing tells which came first, the entry
    holds all of them, since anybody can choose what a file is called.  `came` numbers files as the
    repositories' history does; one that it lacks came last, and of these one of a later repository
    last.
    """
    last = max(came.values(), default=-1) + 1
    stage = {files.where: number for number, (files, _) in reversed(list(enumerate(sources)))}

    def turn(source: tuple[ResultsFiles, str]) -> tuple[int, int]:
        return came.get(source[1], last), stage[source[0].where]

    accepted: dict[tuple[int, str], Accepted] = {}
    turns: dict[str, tuple[int, int]] = {}
    rejected: list[Rejected] = []
    held = 0
    for number, source in enumerate(sorted(sources, key=turn)):
        files, name = source
        if number % 50 == 0:
            tell(f"submission {number + 1} of {len(sources)}")
        one = check_submission(files, name, releases, limits)
        if isinstance(one, Rejected):
            rejected.append(one)
            continue
        turns[name] = turn(source)
        key = (one.release, one.content)
        first = accepted.get(key)
        if first is not None and turns[first.name] == turns[name]:
            accepted[key] = replace(first, also=(*first.also, one.digest))
        elif first is not None:
            what = "it says what another submission says, which came first"
            rejected.append(Rejected(name, what, first.name, "each result once", "leave it out"))
        elif held + (values := sum(len(result.counts) for result in one.results)) > MOST_VALUES:
            what = f"with it the submissions hold more than {MOST_VALUES:,} counts"
            fix = "keep results of several releases or data sets in several repositories"
            rejected.append(Rejected(name, what, "", "what fits into memory", fix))
        else:
            held += values
            accepted[key] = replace(one, came=turns[name][0])
    return list(accepted.values()), rejected
