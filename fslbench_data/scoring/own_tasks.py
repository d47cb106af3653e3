"""Intervals of a researcher's own random tasks, which reuse images; no release is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fslbench_data.scoring.own_release import open_log
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score


def interval(
    log: object,
    *,
    class_sizes: Mapping[object, int] | str | Path | None = None,
    groups: object = None,
    superclasses: object = None,
    trained: bool | None = None,
    level: float = 0.95,
) -> Report:
    """Compute what new images and new classes might change about means over random tasks.

    It is :func:`fslbench_data.score` of a log.

    Parameters
    ----------
    log, class_sizes, groups, superclasses, trained
        As of :func:`fslbench_data.open_log`.
    level
        Such as 0.95.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log, or with how tasks were drawn.
    """
    own = open_log(
        log, class_sizes=class_sizes, groups=groups, superclasses=superclasses, trained=trained
    )
    return score(own, level=level)
