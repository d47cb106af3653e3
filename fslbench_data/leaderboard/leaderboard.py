"""Check the files of a results repository and rank the methods of the accepted ones."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.intervals.intervals import check_level
from benchmark_spec.errors import (
    FSLBenchError,
    HubError,
    ResultsError,
    SubmissionError,
    TooLargeError,
    UnknownNameError,
    listing,
)
from benchmark_spec.naming import one_line
from fslbench_data.files import EXPECTED, FIX, POINTER, is_lfs_pointer, sha256_of
from fslbench_data.leaderboard.repository import (
    ENDING,
    IGNORED,
    LooseFiles,
    ResultsFiles,
    list_submissions,
    submission_name,
)
from fslbench_data.leaderboard.standing import Entry, Standing, ranked
from fslbench_data.release.release import Release
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.sandbox.limits import LIMITS
from fslbench_data.scoring.designs import designs_of, estimable
from fslbench_data.scoring.scores import Signature
from fslbench_data.scoring.selection import reference_results
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo, names_of, task_set_names
from fslbench_data.validation.rules import fits
from fslbench_data.validation.validate import Validated, validate


class Accepted(Struct, frozen=True, eq=False):
    """A file that answers a release, by its path in the repository and its SHA-256 (hex).

    `release` is the position of the release, `content` a SHA-256 of the results in any form of the
    file.  `copies` are digests of other files with the same results, if it is not known which came
    first.  Of two files, that of the smaller `arrival` came first.
    """

    name: str
    digest: str
    release: int
    results: tuple[Entry, ...]
    content: str
    copies: tuple[str, ...] = ()
    arrival: int = 0

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of all files with these results."""
        return (self.digest, *self.copies)


_IS_POINTER = f"it is {POINTER}"


class Rejected(Struct, frozen=True):
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


def unfetched(rejected: Sequence[Rejected], total: int) -> str:
    """Say how many of `total` submissions are pointers, and what to do; empty if none is."""
    pointers = sum(file.what == _IS_POINTER for file in rejected)
    if not pointers:
        return ""
    number = f"All {total}" if pointers == total > 1 else f"{pointers} of {total}"
    verb = "is a pointer" if pointers == 1 else "are pointers"
    noun = "submission" if total == 1 else "submissions"
    return f"{number} {noun} {verb} of Git LFS, not the files themselves: run `{FIX}` first."


def check_submission(
    files: ResultsFiles | LooseFiles, name: str, releases: Sequence[Release]
) -> Accepted | Rejected:
    """Check a file of a repository, without trusting any earlier check.

    The file's name must be the SHA-256 of its bytes; :func:`answered` finds the release.  Raises a
    HubError only if the file cannot be fetched.
    """
    path = None
    try:
        path = files.path(name)
        digest = _checked_digest(name, path)
        submission = replace(read_untrusted(path), source="the file")
        position = answered(submission, releases)
        results = entries_of(validate(submission, releases[position]))
    except HubError:
        raise
    except FSLBenchError as error:
        return _rejection(name, error, path)
    except Exception as error:
        return _rejection(name, SubmissionError(f"it cannot be checked: {error!r}"), path)
    return Accepted(name, digest, position, results, _content(results))


def entries_of(validated: Validated) -> tuple[Entry, ...]:
    """Return the results of a valid submission, or of a release's reference methods."""
    submission = validated.submission
    entries = []
    for group in validated.groups:
        info, method = group.info, submission.methods.get(group.method)
        binding = submission.bindings.get((group.method, info.dataset, str(info.name)))
        entry = Entry(
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
        entries.append(entry)
    return tuple(entries)


def _rejection(name: str, error: FSLBenchError, path: Path | None) -> Rejected:
    """Turn an error into a rejection that hides the file's path on this machine."""
    texts = [error.what, error.where, error.expected, error.fix]
    if path is not None:
        texts = [text.replace(str(path), "the file") for text in texts]
    return Rejected(one_line(name), *map(one_line, texts))


def _checked_digest(name: str, path: Path) -> str:
    """Return the file's SHA-256; raise a ResultsError if it is not its name, or it is too large."""
    if not name.endswith(ENDING):
        raise ResultsError(
            f"the file does not end in {ENDING}",
            expected="a Parquet file of results on a release's tasks: a log of one's own tasks, or "
            "accuracies alone, cannot be ranked",
            fix="make one of a CSV or JSON Lines file with fslbench merge FILE -o NEW.parquet; "
            "fslbench submit does so by itself",
        )
    try:
        size = path.stat().st_size
        if size > LIMITS.file_bytes:
            raise TooLargeError(
                f"the file has {size} bytes",
                expected=f"at most {LIMITS.file_bytes}",
                fix="split it into several files",
            )
        if is_lfs_pointer(path):
            raise ResultsError(_IS_POINTER, expected=EXPECTED, fix=FIX)
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
    """Find the first release that has all task sets and fingerprints of the submission.

    Returns its position, or 0 if there is none: validation by that release then says what is wrong.
    """
    claims = {(*key[1:], binding.fingerprint) for key, binding in submission.bindings.items()}
    names = [n for n in ("dataset", "task_set", "fingerprint") if n in submission.columns]
    for row in submission.table.select(names).group_by(names).aggregate([]).to_pylist():
        claims.add((row["dataset"], row["task_set"], row.get("fingerprint")))

    for position, release in enumerate(releases):
        infos = {(info.dataset, str(info.name)): info for info in release.task_sets}
        if all(
            (dataset, task_set) in infos
            and (fingerprint is None or fits(fingerprint, infos[dataset, task_set]))
            for dataset, task_set, fingerprint in claims
        ):
            return position
    return 0


def _content(results: Sequence[Entry]) -> str:
    """Return a SHA-256 of results that does not depend on their order."""
    lines = []
    for entry in results:
        key = entry.method, entry.info.text
        about = (*key, entry.runs, entry.run_spread, entry.stopped, entry.transductive)
        lines.append(f"{about!r} {hashlib.sha256(entry.content).hexdigest()}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


MOST_VALUES = 250_000_000
"""Counts of all submissions together that fit into memory, two bytes each."""


def check_all(
    sources: Sequence[tuple[ResultsFiles | LooseFiles, str]],
    releases: Sequence[Release],
    progress: Callable[[str], None],
    arrivals: Mapping[str, int],
) -> tuple[list[Accepted], list[Rejected]]:
    """Check files by repository and name, in the order of their arrival.

    Files with the same results under the same names of methods are one entry; those that came
    later than the first of them are rejected.  If it is not known which came first, the entry
    holds all of them, since anybody can choose the name of a file.  `arrivals` numbers the files in
    the repositories' history; others came last, in the order of the repositories.
    """
    last = max(arrivals.values(), default=-1) + 1
    repositories = [*dict.fromkeys(files.where for files, _ in sources)]

    def turn(source: tuple[ResultsFiles | LooseFiles, str]) -> tuple[int, int]:
        files, name = source
        return arrivals.get(name, last), repositories.index(files.where)

    accepted: dict[tuple[int, str], Accepted] = {}
    turns: dict[str, tuple[int, int]] = {}
    rejected: list[Rejected] = []
    held = 0
    for number, source in enumerate(sorted(sources, key=turn)):
        files, name = source
        if number % 50 == 0:
            progress(f"submission {number + 1} of {len(sources)}")
        checked = check_submission(files, name, releases)
        if isinstance(checked, Rejected):
            rejected.append(checked)
            continue
        turns[name] = turn(source)
        key = (checked.release, checked.content)
        first = accepted.get(key)
        if first is not None and turns[first.name] == turns[name]:
            accepted[key] = replace(first, copies=(*first.copies, checked.digest))
        elif first is not None:
            what = "it says what another submission says, which came first"
            rejected.append(Rejected(name, what, first.name, "each result once", "leave it out"))
        elif held + (values := sum(len(result.counts) for result in checked.results)) > MOST_VALUES:
            what = f"with it the submissions hold more than {MOST_VALUES:,} counts"
            fix = "keep results of several releases or data sets in several repositories"
            rejected.append(Rejected(name, what, "", "what fits into memory", fix))
        else:
            held += values
            arrival, _ = turns[name]
            accepted[key] = replace(checked, arrival=arrival)
    return list(accepted.values()), rejected


Wanted = Callable[[int, TaskSetInfo], bool]
"""Whether a task set of the release at this position gets a table."""


class Board(Struct, frozen=True, eq=False):
    """The table of one release: only submissions that answer its own tasks.

    `submissions` are the SHA-256 of the files, in the order of their arrival, else by name;
    `arrivals` numbers them from 0; `sets` are the task sets that some method answers.
    """

    release: str
    signature: Signature
    submissions: tuple[str, ...]
    arrivals: tuple[int, ...]
    sets: tuple[Standing, ...]

    @property
    def submissions_digest(self) -> str:
        """SHA-256 (hex) of the submissions' digests, a line each, after their arrival, if known."""
        lines: Iterable[str] = self.submissions
        if any(self.arrivals):
            pairs = zip(self.arrivals, self.submissions, strict=True)
            lines = (f"{arrival} {digest}" for arrival, digest in pairs)
        return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()

    @property
    def of_submissions(self) -> str:
        """The part of the signature about the submissions."""
        return f"submissions:{len(self.submissions)}#{self.submissions_digest[:12]}"

    def __str__(self) -> str:
        return f"{self.signature}|{self.of_submissions}"


_MOST_LEFT_OUT = 3


class Leaderboard(Struct, frozen=True, eq=False):
    """The tables of all releases, newest first, and the files that are in none.

    `left_out` are answered task sets that are made with attributes of images and not requested.
    """

    title: str
    boards: tuple[Board, ...]
    rejected: tuple[Rejected, ...]
    ignored: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def left_out_text(self) -> str:
        """The answered task sets without a table, and how to see them; empty if all have one."""
        if not self.left_out:
            return ""
        sets = listing(self.left_out, _MOST_LEFT_OUT)
        return f"not shown, made with attributes of images: {sets}; --task-set chooses"

    @property
    def files_left_out(self) -> dict[str, list[tuple[str, str]]]:
        """Names of the refused and of the ignored files, with the reasons."""
        refused = [(file.name, file.reason) for file in self.rejected]
        return {"refused": refused, "ignored": [(name, IGNORED) for name in self.ignored]}

    @property
    def signature(self) -> str:
        """The signatures of all tables, one part per release: the first line of every output."""
        return " + ".join(str(board) for board in self.boards)


def leaderboard(
    files: ResultsFiles,
    releases: Sequence[Release],
    *,
    title: str = "",
    datasets: str | Sequence[str] = (),
    task_sets: str | Sequence[str] = (),
    level: float = 0.95,
    progress: Callable[[str], None] = lambda _: None,
) -> Leaderboard:
    """Read, check and rank all submissions of a results repository.

    Every file is checked again, and a rejected one does not affect the others.  Raises a
    ResultsError if there is no release, an UnknownNameError if none has a requested data set or
    task set.

    Parameters
    ----------
    releases
        The releases that submissions may answer, newest first (:func:`answered`).
    datasets, task_sets
        Only these; by default all that are answered, except those made with attributes of images.
    progress
        Called with the name of each step.
    """
    check_level(level)
    if not releases:
        raise ResultsError("no release is given", expected="at least one whose tasks are answered")
    names, ignored = list_submissions(files)
    sources = [(files, name) for name in names]
    accepted, rejected = check_all(sources, releases, progress, files.arrivals(names))
    datasets, task_sets = names_of(datasets), task_set_names(task_sets)
    wanted = _wanted(releases, datasets, task_sets)
    boards = boards_of(accepted, releases, wanted, level=level, progress=progress)
    infos = [] if task_sets else [entry.info for file in accepted for entry in file.results]
    left_out = dict.fromkeys(
        info.text
        for info in infos
        if info.name.attributes and (not datasets or info.dataset in datasets)
    )
    return Leaderboard(title, boards, tuple(rejected), ignored, tuple(left_out))


def _wanted(
    releases: Sequence[Release], datasets: Sequence[str], task_sets: Sequence[str]
) -> Wanted:
    """Return the predicate of requested task sets; raise an UnknownNameError for unknown names."""
    infos = [info for release in releases for info in release.task_sets]
    for kind, requested, available in (
        ("data set", datasets, dict.fromkeys(info.dataset for info in infos)),
        ("task set", task_sets, dict.fromkeys(str(info.name) for info in infos)),
    ):
        for name in requested:
            if name not in available:
                where = "the releases of the leaderboard"
                raise UnknownNameError(kind, name, available, where=where)

    def wanted(_: int, info: TaskSetInfo) -> bool:
        chosen = str(info.name) in task_sets if task_sets else not info.name.attributes
        return chosen and (not datasets or info.dataset in datasets)

    return wanted


def boards_of(
    accepted: Sequence[Accepted],
    releases: Sequence[Release],
    wanted: Wanted,
    *,
    level: float,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Board, ...]:
    """Make the tables of the newest release, and of older ones that some file answers."""
    boards = []
    for position in sorted({file.release for file in accepted} | {0}):
        release = releases[position]
        files = [file for file in accepted if file.release == position]
        files.sort(key=lambda file: (file.arrival, file.name))
        entries = _entries(release, files)
        infos = [i for i in release.task_sets if i.text in entries and wanted(position, i)]
        sets = []
        for info in infos:
            progress(str(info))
            designs, units = estimable(*designs_of(release, info))
            if info.name.whole:  # its intervals need more than counts
                missing = dict.fromkeys(designs, "leaderboards keep no answers to single queries")
                designs, units = {}, replace(units, missing={**missing, **units.missing})
            standing = ranked(info, info.name.interval, entries[info.text], level, designs, units)
            sets.append(standing)
        places = {arrival: i for i, arrival in enumerate(sorted({f.arrival for f in files}))}
        board = Board(
            release=str(release),
            signature=Signature.of(release, infos, level),
            submissions=tuple(digest for file in files for digest in file.digests),
            arrivals=tuple(places[file.arrival] for file in files for _ in file.digests),
            sets=tuple(sets),
        )
        boards.append(board)
    return tuple(boards)


def _entries(release: Release, accepted: Sequence[Accepted]) -> dict[str, list[Entry]]:
    """List the results on a release by task set, those of the references first."""
    references = reference_results(release, counts_only=True)
    methods = [
        (method, file.digest)
        for file in accepted
        for method in dict.fromkeys(entry.method for entry in file.results)
    ]
    labels = dict(zip(methods, unique_labels(methods, release.methods), strict=True))
    entries: dict[str, list[Entry]] = defaultdict(list)
    for entry in () if references is None else entries_of(references):
        entries[entry.info.text].append(entry)
    for file in accepted:
        origin = {"source": file.digest, "copies": file.copies, "arrival": file.arrival}
        for entry in file.results:
            label = labels[entry.method, file.digest]
            entries[entry.info.text].append(replace(entry, method=label, **origin))
    return entries


_DIGITS = 8
_ALL_DIGITS = 64
_LABEL = re.compile(rf"\([0-9a-f]{{{_DIGITS},{_ALL_DIGITS}}}\)$")


def unique_labels(methods: Sequence[tuple[str, str]], taken: Iterable[str]) -> list[str]:
    """Return different labels of methods, each given by its name and its file's digest.

    Names that differ from another only in case, accents, blanks or punctuation, and names with
    other letters than Latin ones or such digits at their end, get the first eight digits of the
    file's digest behind them, or as many as distinguish them: ``ProtoNet (1a2b3c4d)``.  No label is
    a `taken` one, the name of a reference method.
    """
    taken = set(taken)
    plain = [_plain(name) for name, _ in methods]
    seen = Counter([*plain, *map(_plain, taken)])
    digits = [
        0 if simple.isascii() and seen[simple] == 1 and not _LABEL.search(name) else _DIGITS
        for simple, (name, _) in zip(plain, methods, strict=True)
    ]
    while True:
        labels = [
            f"{name} ({digest[:n_digits]})" if n_digits else name
            for (name, digest), n_digits in zip(methods, digits, strict=True)
        ]
        count = Counter(labels)
        clashes = [i for i, label in enumerate(labels) if count[label] > 1 or label in taken]
        if all(digits[i] == _ALL_DIGITS for i in clashes):
            return labels
        for i in clashes:
            digits[i] = min(max(2 * digits[i], _DIGITS), _ALL_DIGITS)


def _plain(name: str) -> str:
    """Return a name without case, accents and punctuation; between digits it is one point."""
    text = unicodedata.normalize("NFKD", name).casefold()
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    punctuation = r"[^\w*+#&%@]+"  # ProtoNet* is not ProtoNet
    text = re.sub(rf"(?<=\d){punctuation}(?=\d)", ".", text)
    return re.sub(rf"(?<!\d){punctuation}|{punctuation}(?!\d)|_", "", text) or text
