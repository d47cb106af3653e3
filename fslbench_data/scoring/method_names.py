"""Methods by the short names that outputs print: without their features, or cut in the middle."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from benchmark_spec.errors import SpecError, UnknownNameError, listing, shown
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission

CUT = "…"
"""What an output puts for the middle of a long name."""

MOST_MEANT = 12
"""Methods of one short name that an error lists."""


def features_of(name: str, about: Method | None) -> str:
    """Return the features that a method says it rests on, or else what its name begins with."""
    return (about and about.backbone) or name.rpartition("/")[0]


def features_in(submission: Submission, names: Iterable[str]) -> frozenset[str]:
    """Return the features of some methods of a submission, as far as they are known."""
    abouts = submission.methods
    return frozenset(features_of(name, abouts.get(name)) for name in names) - {""}


def whole_names(
    texts: Iterable[str],
    names: Collection[str],
    features: Collection[str] = (),
    *,
    where: str = "",
    fix: str = "",
) -> tuple[str, ...]:
    """Return the methods that are meant, each once; see :func:`whole_name`."""
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
    """Return the method that a name means: the whole one, or a short one that fits one method.

    ``NCC`` is any method whose name ends with ``/NCC``; of several, the one on these features.
    ``clip…/NCC`` is any that begins and ends so.

    Parameters
    ----------
    names
        Of all methods that there are.
    features
        Those of the submission's own methods.
    where, fix
        What an error says.

    Raises
    ------
    UnknownNameError
        If no method has that name.
    SpecError
        If several could be meant.
    """
    if text in names:
        return text
    fitting = [name for name in names if _fits(text, name)]
    of_own = {f"{own}/{text}" for own in features}
    meant = [name for name in fitting if name in of_own] or fitting
    if not meant:
        raise UnknownNameError("method", text, names, where=where, fix=fix)
    if len(meant) > 1:
        raise SpecError(
            f"{shown(text)} could be any of {len(meant)} methods",
            where=where,
            expected=f"one of {listing(meant, MOST_MEANT)}",
            fix="give the whole name, or more of its end",
        )
    return meant[0]


def _fits(text: str, name: str) -> bool:
    """Whether a method's name can be printed so."""
    first, cut, last = text.partition(CUT)
    if not cut:
        return bool(text) and name.endswith(f"/{text}")
    return len(name) > len(first + last) > 0 and name.startswith(first) and name.endswith(last)
