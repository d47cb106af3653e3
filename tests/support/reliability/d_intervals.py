"""Plans and intervals."""

from __future__ import annotations

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import relative_halfwidths
from analysis_sql.intervals.bounds import near_perfect
from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import interval
from analysis_sql.intervals.power import detectable_difference_of
from analysis_sql.planning.query_size import estimate_set
from analysis_sql.planning.variance_budget import LikelyComponents, detectable_open
from fslbench_data.scoring.planning import Results
from fslbench_data.scoring.score import score
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


@attempt(
    "what can be detected, planned for the pilot's own tasks where its α is below 0, and scored"
)
def _(world: World) -> str:
    names = ("efficientnet_lite0-pca128/LR", "efficientnet_lite0-pca128/NCC")
    results = Results.of(None, world.embedded)
    (info, *_) = results.pilot_sets(names, 5, 5)
    pilot = results.pilot(info, *names)
    design = ClassDesign.of(world.embedded.task_set(info.dataset, str(info.name)).class_ids)
    variance = pilot.components.between_tasks(design, info.protocol.query)
    planned = 100 * float(detectable_difference_of(design.tasks, variance))
    report = score(release=world.embedded, datasets=info.dataset, task_sets=str(info.name))
    (found,) = report.sets
    row, column = sorted(found.methods.index(name) for name in names)
    columns = np.flatnonzero(found.asked[row]).tolist()
    scored = found.evidence_of(row)[columns.index(column)].detectable
    return f"α {'below' if pilot.estimate.alpha < 0 else 'above'} 0: {planned:.3f} and {scored:.3f}"


@attempt("200 pilots of 31 tasks of 10 classes: is the true detectable difference in their range?")
def _(world: World) -> str:
    design = ClassDesign.of(world.embedded.task_set("digits", "open-5w5s5q").class_ids)
    rng = np.random.default_rng(0)
    effect, luck, held = 0.1, 0.06, 0
    between = design.tasks * (design.way - design.concentration) / (design.tasks - 1)
    within = luck**2 + (0.25 - effect**2 - luck**2) / 25
    true = float(detectable_difference_of(design.tasks, effect**2 / 25 * between + within))
    for _ in range(200):
        p = 0.5 + rng.normal(0, effect, 10)[design.members] + rng.normal(0, luck, (design.tasks, 1))
        x = rng.binomial(5, np.clip(p, 0, 1))
        likely = LikelyComponents.of(design, x, estimate_set(x, 5))
        low, high = likely.range(detectable_open(likely, [design], 5, 0.95, 0.8), 0.95)
        held += low <= true <= high
    return f"in {held / 2:.0f} % of the ranges of 95 %"


@attempt("an accuracy of 99 % on 13 tasks of 25 queries, 2,000 data sets, tasks not all equal")
def _(world: World) -> str:
    x = np.random.default_rng(0).binomial(25, 0.99, (2000, 13))
    both = np.zeros(2)
    x = x[(x != x[:, :1]).any(axis=1)]
    for counts in x:
        found = interval(Moments.of(counts, 25), "open", 0.95)
        bounds = near_perfect(found, 25)
        inside = abs(found.mean - 99) <= (found.halfwidth or 0)
        both += inside, bounds.low <= 99 <= bounds.high if bounds else inside
    open_, exact = 100 * both / len(x)
    return f"the open interval holds {open_:.0f} %, the bounds beside it {exact:.0f} %"
