"""Plans and intervals."""

from __future__ import annotations

import numpy as np

from analysis_sql.class_aware import relative_halfwidths
from analysis_sql.class_effects import ClassDesign
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt


@attempt("new classes where 14 tasks of 15 classes differ by their classes alone, 2,000 data sets")
def _(world: World) -> str:
    design = ClassDesign.of(
        world.embedded.task_set("aircraft", "published-5w10s7q").class_ids,
    )
    rng = np.random.default_rng(0)
    effects = rng.normal(size=(2000, design.classes)) * np.sqrt(10 / design.typical)
    y = effects[:, design.members].sum(axis=2) + rng.normal(size=(2000, design.tasks))
    norm2 = y.var(axis=1) * design.tasks
    width = relative_halfwidths(design, design.coordinates(y), norm2, 0.95) * np.sqrt(norm2)
    return f"95 % intervals hold {100 * np.mean(np.abs(y.mean(axis=1)) <= width):.0f} %"
