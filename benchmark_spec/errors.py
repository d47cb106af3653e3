"""The exceptions for all that can be wrong with a user's input.

An error says what is wrong, where, what was expected and how to fix it.  The command line prints it
without a traceback and exits with 2; libraries catch :class:`FSLBenchError` or a subclass.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, Self

LONGEST = 100
"""Characters of a quoted value that a message repeats."""

LONGEST_PART = 2000
"""Characters of each part of a message."""

LEAST_ALIKE = 0.6
"""Least similarity of a suggested name."""

_LONG_WORD = re.compile(r"[^\s/\\]{300,}")
"""A word longer than the names of files in a path."""


def printable(text: str) -> str:
    """Escape, as Python does, all characters but printable ones and line breaks.

    This removes commands of terminals and marks that turn the direction of writing.
    """
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def fitting(text: str) -> str:
    """Shorten the long words of a part of a message, and leave out the middle of a long part."""
    text = _LONG_WORD.sub(lambda word: f"{word[0][:LONGEST]}…", text)
    if len(text) <= LONGEST_PART:
        return text
    head, tail = text[: LONGEST_PART // 2], text[-LONGEST_PART // 4 :]
    return f"{head} … {len(text) - len(head) - len(tail)} characters … {tail}"


def listing(items: Sequence[object], most: int = 8) -> str:
    """Join items for a message, naming at most `most` and counting the rest."""
    text = ", ".join(str(item) for item in items[:most])
    left = len(items) - most
    return f"{text} and {left} more" if left > 0 else text


def many(number: int, what: str, plural: str = "") -> str:
    """Write a number and what it counts, in the plural unless it is one."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def rows(indices: Collection[int], most: int = 8) -> str:
    """Name at most `most` rows of data by their number, counted from 1 without a header."""
    first = ", ".join(str(int(index) + 1) for index in islice(indices, most))
    left = len(indices) - most
    more = f" and {left} more" if left > 0 else ""
    return f"data row{'s' if len(indices) != 1 else ''} {first}{more}"


def quoted(value: object, most: int = LONGEST) -> str:
    """Write a value from outside as Python does, cut short."""
    try:
        text = repr(value[: most + 1] if isinstance(value, str | bytes) else value)
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"


class FSLBenchError(Exception):
    """A problem that the user can fix; long quotations in its parts are cut short.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str, optional
        The file, rows or field in which it is wrong.
    expected : str, optional
        What would have been right.
    fix : str, optional
        What to do about it.

    All four are made :func:`printable`, since they often quote other programs and files.
    """

    def __init__(self, what: str, *, where: str = "", expected: str = "", fix: str = "") -> None:
        what, where, expected, fix = map(fitting, map(printable, (what, where, expected, fix)))
        self.what, self.where, self.expected, self.fix = what, where, expected, fix
        parts = [("where", where), ("expected", expected), ("fix", fix)]
        super().__init__("\n".join([what, *(f"  {k}: {v}" for k, v in parts if v)]))

    def __reduce__(self) -> tuple[Any, ...]:
        # subclasses have other arguments
        return _unpickled, (type(self), self.args, self.__dict__)

    def with_advice(self, *, expected: str = "", fix: str = "") -> Self:
        """Return the same error with another `expected` or `fix`."""
        error = type(self).__new__(type(self))
        FSLBenchError.__init__(
            error,
            self.what,
            where=self.where,
            expected=expected or self.expected,
            fix=fix or self.fix,
        )
        return error


def _unpickled(
    kind: type[FSLBenchError], args: tuple[Any, ...], state: dict[str, Any]
) -> Exception:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class FSLBenchWarning(UserWarning):
    """Something that the user may want to fix; the command line prints it and continues."""


class SpecError(FSLBenchError):
    """A protocol, task-set name or slug that does not have the specified form."""


class UnknownNameError(FSLBenchError):
    """A data set, task set, method or other name that does not exist; lists those that do."""

    def __init__(
        self, kind: str, name: str, valid: Iterable[str], *, where: str = "", fix: str = ""
    ) -> None:
        name, names = str(name)[:LONGEST], list(valid)
        close = _closest(name, names)
        super().__init__(
            f"unknown {kind} {quoted(name)}{f'; did you mean {close!r}?' if close else ''}",
            where=where,
            expected=f"one of {listing(names, most=8 if close else 40)}"
            if names
            else "there are none",
            fix=fix,
        )


def _closest(name: str, names: Sequence[str]) -> str:
    """Return the name that is most similar, or an empty text if none is similar.

    Names that agree up to their last slash are compared by what follows it, whole or its beginning:
    otherwise all of ``pixels/…`` would be similar.
    """
    from difflib import SequenceMatcher  # only where something is wrong

    before, _, last = name.lower().rpartition("/")

    def alike(other: str) -> float:
        other_before, _, other_last = other.lower().rpartition("/")
        if before != other_before:
            return SequenceMatcher(None, other.lower(), name.lower()).ratio()
        beginning = other_last[: len(last)] if len(last) > 3 else other_last
        whole, start = (SequenceMatcher(None, s, last).ratio() for s in (other_last, beginning))
        return max(whole, 0.95 * start)  # whole names first

    best = max(names, key=alike, default="")
    short = before and best.lower().rpartition("/")[0] == before  # such as LR
    return best if best and alike(best) >= (0.5 if short else LEAST_ALIKE) else ""


class ReleaseError(FSLBenchError):
    """A release that cannot be used."""


class ReleaseNotFoundError(ReleaseError):
    """No release where one was expected."""


class CorruptReleaseError(ReleaseError):
    """A release with files that differ from its manifest."""


class MovedTagError(ReleaseError):
    """A tag of a release that names another commit than it did."""


class HubError(FSLBenchError):
    """Something that the Hugging Face Hub refused, or that could not be done there."""


class HubNotFoundError(HubError):
    """No such repository, revision or file on the Hub, or none that this user may see."""


class HubAccessError(HubError):
    """Something on the Hub that this user may not do."""


class HubUnreachableError(HubError):
    """The Hub does not answer, or not as it should."""

    transient = False
    """Whether a transfer broke off, so that trying again at once is sensible."""


class HubXetError(HubUnreachableError):
    """The Hub's xet storage does not work; the same transfer by HTTP may."""


class SchemaError(FSLBenchError):
    """A table with missing, unknown or wrongly typed columns."""


class SubmissionError(FSLBenchError):
    """A submission that cannot be scored."""


class UnreadableError(SubmissionError):
    """A submission file that cannot be read at all."""


class TooLargeError(SubmissionError):
    """A submission beyond what may be read of a stranger's, or can be compared exactly."""


class MissingTaskError(SubmissionError):
    """Tasks that a submission leaves out."""


class DoubledTaskError(SubmissionError):
    """Tasks that a submission answers more than once."""


class UnknownTaskError(SubmissionError):
    """Task ids that a task set does not have."""


class CountError(SubmissionError):
    """Counts that are null, fractional, not numbers or out of range."""


class QueryCountError(SubmissionError):
    """``n_query`` other than K·Q of the task set."""


class PredictionError(SubmissionError):
    """Predictions or per-class counts of the wrong length or out of range."""


class ContradictionError(SubmissionError):
    """Counts that contradict the predictions or per-class counts of the same row."""


class FingerprintError(SubmissionError):
    """Results on other tasks than the release's."""


class DriftError(SubmissionError):
    """A rule to stop early on a task set with classes that drift along it."""


class UnboundError(SubmissionError):
    """Results that do not name the tasks they were made on."""


class MethodNameError(SubmissionError):
    """A method name that is taken, empty or not printable."""


class AccuracyError(SubmissionError):
    """Accuracies that no whole number of correct queries can give."""


class SamplingError(FSLBenchError):
    """A task set that cannot be drawn from the given class sizes."""


class SourceError(FSLBenchError):
    """A source of images that is not what it should be."""


class RefusedPictureError(SourceError):
    """A whole picture that is not read: of too many pixels, or of values without a known white."""


class EngineError(FSLBenchError):
    """Work that other processes or machines were to do and could not."""


class BackboneError(FSLBenchError):
    """A backbone with weights that are missing, are not the right ones, or do not fit it."""


class MissingPackageError(FSLBenchError):
    """A package that only an extra of the distribution installs."""


class MethodFailedError(FSLBenchError):
    """A method under evaluation that raised."""

    @classmethod
    def of(cls, what: str, error: BaseException, *, where: str = "", fix: str = "") -> Self:
        """Make the error for user code that raised `error`, even if its text cannot be printed."""
        try:
            text = str(error)
        except Exception:
            text = "its text cannot be printed"
        return cls(f"{what} raised {type(error).__name__}: {text}", where=where, fix=fix)


class TaskLogError(FSLBenchError):
    """A log of random tasks that no interval can be computed from."""


class NoIntervalError(FSLBenchError, KeyError):
    """A kind of interval that a mapping of them lacks, with the reason."""

    __str__ = Exception.__str__  # not quoted, as a key would be


class QueryError(FSLBenchError):
    """An SQL query that fails, or does what it may not."""


class ResultsError(FSLBenchError):
    """A results repository that is not laid out as it should be."""


class OutputError(FSLBenchError):
    """A result that cannot be written to the requested place."""
