"""Numbers."""

from __future__ import annotations

import numpy as np

from analysis_sql.best import lead, one_sided_p_new_classes
from analysis_sql.class_effects import ClassDesign
from analysis_sql.contest import contest
from analysis_sql.new_classes import ForNewClasses, p_values
from analysis_sql.pairs import Counts
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt


@attempt("a difference of 20 points on each of 11 tasks, 8 of which share no class")
def _(world: World) -> str:
    classes = np.arange(40).reshape(8, 5)
    design = ClassDesign.of(np.vstack([classes, classes[:3]]))
    counts = Counts(np.array([[9] * 11, [7] * 11]), np.array([11, 11]), 10)
    verdict = ForNewClasses(design, counts, 0.95).compare(0, np.array([1]))[0].verdict
    (p,) = p_values(design, counts, np.array([0]), np.array([1]))
    behind = Counts(counts.correct[1:], counts.tasks[1:], counts.unit)
    (one_sided,) = one_sided_p_new_classes(design, lead(counts.correct[0], 10, behind))
    tied = contest(("a", "b"), counts, "open", 0.95, design).tied_new_classes
    return (
        f"verdict for new classes `{verdict}`; p = 2^{np.log2(p):g}, one-sided "
        f"2^{np.log2(one_sided):g}; not told from the best: {', '.join(tied or ())} alone"
    )
