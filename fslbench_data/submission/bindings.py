"""What a submission says of its methods, and of the tasks that they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta, Struct

from benchmark_spec.naming import check_text

METADATA_KEY = b"fslbench"

GroupKey = tuple[str, str, str]
"""Method, data set and task set: what one group of rows answers."""


@dataclass(frozen=True)
class Method:
    """A method's name and what its authors say of it, a line each.

    Raises a SpecError if a text is not printable or very long.
    """

    name: str
    description: str = ""
    backbone: str = ""
    link: str = ""
    transductive: bool = False
    """Whether it uses a task's queries together: balanced queries then leak, and tables mark it."""
    trained: bool | None = None
    """False where nothing is trained before the tasks, so that there are no runs to differ; None
    where nothing is said of it."""

    def __post_init__(self) -> None:
        for what in ("description", "backbone", "link"):
            check_text(getattr(self, what), f"the method's {what}")


class Stopping(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule by which a method stopped answering a set: a confidence sequence was conclusive.

    It is compared with `versus`, task by task, at that level; the sequence's assumption is
    ``bounded`` (:mod:`analysis_sql.intervals.stopping`).
    """

    versus: str
    level: Annotated[
        float, Meta(ge=0.01, le=0.999999, description="a number from 0.01 to 0.999999")
    ]


@dataclass(frozen=True)
class Binding:
    """Which tasks a group of rows answers, by the task set's fingerprint.

    Attributes
    ----------
    tasks
        Number m of tasks where only tasks 0..m-1 are answered; None for the whole set.
    stopping
        The rule that chose m while it ran; None where there was no such rule.
    of_release
        Whether m is the choice of the release's maker, made before anyone compares with it.  No
        file says so: it is a release that says it of its own results.
    """

    fingerprint: str
    tasks: int | None = None
    stopping: Stopping | None = None
    of_release: bool = field(default=False, compare=False)
