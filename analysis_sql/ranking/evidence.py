"""What stands beside an interval: p-values, what could have been found, what zeros leave open."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparison.verdicts import paired_p
from analysis_sql.intervals.bounds import Saturation, saturation
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.power import detectable_difference
from analysis_sql.intervals.sign_flip import sign_flip
from benchmark_spec.protocol import IntervalKind

FEW_TASKS = 50
"""Below so many tasks the sign-flip test stands beside Student's interval."""

POWER = 0.8
"""How often the detectable difference is found; at levels of at most 20 % none is told."""


@dataclass(frozen=True)
class Evidence:
    """What stands beside the interval of a paired difference."""

    p: float | None
    """Two-sided, of the test whose interval it is; None where T < 2."""
    p_sign_flip: float | None
    """Of few tasks only (below :data:`FEW_TASKS`): the exact sign-flip test, about new images of
    these classes, tasks taken as independent; None where one of the two has several training runs,
    of which it knows nothing."""
    detectable: float | None
    """The smallest true difference that these tasks would show four times in five, for new images
    of these classes, the tasks' standard deviation taken as true (percentage points); None where it
    cannot be told."""
    identical: Saturation | None
    """Where the two agree on every task: on how many others they may differ."""


def evidence(
    differences: Counts, kind: IntervalKind, level: float, design: ClassDesign | None
) -> list[Evidence]:
    """Gather the evidence of P pairs of methods from their differences on T tasks, T at least 1."""
    correct, tasks = differences.correct, differences.correct.shape[1]
    moments = differences.moments()
    few = design is not None and 2 <= tasks < FEW_TASKS
    alone = few & (differences.run_variance == 0)
    shares = np.asarray(paired_p(moments, kind), float)
    detectable = np.full(shares.shape, np.nan)
    if 1.0 - level < POWER:
        detectable[:] = detectable_difference(moments, level)
    identical = np.asarray(moments.all_zero)
    bound = zeros(design, tasks, level) if identical.any() else None
    return [
        Evidence(
            p=_or_none(shares[i]),
            p_sign_flip=sign_flip(d).p if alone[i] else None,
            detectable=_or_none(detectable[i]),
            identical=bound if identical[i] else None,
        )
        for i, d in enumerate(correct)
    ]


NO_EVIDENCE = Evidence(None, None, None, None)
"""Of results that were stopped by what they showed."""


def _or_none(value: float) -> float | None:
    return None if isnan(value) else float(value)


def zeros(design: ClassDesign | None, tasks: int, level: float) -> Saturation | None:
    """What T tasks without an error, or without a difference, leave open; None for closed sets."""
    if design is None or tasks < 1:
        return None
    return saturation(tasks, design.prefix(tasks).disjoint_tasks, level)
