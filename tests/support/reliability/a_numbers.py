"""Numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.told_apart import contest, lead
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Submission
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt


@attempt("a difference of 20 points on each of 11 tasks, 8 of which share no class")
def _(world: World) -> str:
    classes = np.arange(40).reshape(8, 5)
    design = ClassDesign.of(np.vstack([classes, classes[:3]]))
    counts = Counts(np.array([[9] * 11, [7] * 11]), np.array([11, 11]), 10)
    verdict = (
        NEW_CLASSES.pairs(design, counts, 0.95).columns(0, np.array([1])).intervals()[0].verdict
    )
    (p,) = NEW_CLASSES.p_values(design, counts, np.array([0]), np.array([1]))
    (one_sided,) = NEW_CLASSES.one_sided_p(design, lead(counts.some([0]), counts.some([1])))
    tied = contest(("a", "b"), counts, "open", {"class-aware": design}).at(0.95).tied["class-aware"]
    return (
        f"verdict for new classes `{verdict}`; p = 2^{np.log2(p):g}, one-sided "
        f"2^{np.log2(one_sided):g}; not told from the best: {', '.join(tied)} alone"
    )


def _scored(world: World, *runs: int) -> str:
    """Methods of so many runs on digits: whose mean is highest, and whether all are exact."""
    info = world.embedded.task_set_info("digits", "open-5w10s7q")
    rng = np.random.default_rng(0)
    tables, means = [], {}
    for number in runs:
        counts = rng.binomial(35, 0.75, (number, info.n_tasks))
        means[f"m{number}"] = Fraction(100 * int(counts.sum()), 35 * counts.size)
        columns = {
            "method": [f"m{number}"] * counts.size,
            "dataset": [info.dataset] * counts.size,
            "task_set": [str(info.name)] * counts.size,
            "task_id": pa.array(np.tile(np.arange(info.n_tasks), number), pa.int32()),
            "n_correct": pa.array(counts.reshape(-1), pa.int16()),
            "n_query": pa.array(np.full(counts.size, 35), pa.int16()),
            "run": np.repeat(np.arange(number), info.n_tasks).astype(str),
            "fingerprint": [info.fingerprint] * counts.size,
        }
        tables.append(pa.table(columns))
    report = score(Submission(pa.concat_tables(tables)), world.embedded, references=False)
    exact = all(s.accuracy.mean == float(means[s.method]) for s in report.scores) and all(
        abs(c.difference.mean - float(means[c.method] - means[c.versus])) < 1e-14
        for c in report.comparisons
    )
    ties = report.sets[0].ties
    assert ties is not None
    right = ties.best == max(means, key=lambda name: means[name])
    return (
        f"highest mean: {ties.best}, which is {'right' if right else 'wrong'}; all means and "
        f"differences {'are' if exact else 'are not'} those of fractions"
    )


@attempt("methods of 29, 31, 37, 41 and 53 runs in one file")
def _(world: World) -> str:
    return _scored(world, 29, 31, 37, 41, 53)


@attempt("methods of 997, 991 and 983 runs in one file")
def _(world: World) -> str:
    return _scored(world, 997, 991, 983)


@attempt("more runs of a method than whole numbers of 63 bits can compare")
def _(world: World) -> str:
    return _scored(world, 2138, 3)
