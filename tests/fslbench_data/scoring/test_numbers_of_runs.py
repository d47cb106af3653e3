"""Methods of any numbers of runs in one file: every output against exact fractions."""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm, sqrt
from statistics import mean, variance

import numpy as np
import pyarrow as pa
import pytest
from class_aware_interval import class_aware_interval
from hypothesis import given, settings
from hypothesis import strategies as st
from independent_validator import Facts, refusal
from scipy import stats
from toy_release import toy_release

import fslbench_data as fb
from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparisons import Verdict
from analysis_sql.engine import run_query
from benchmark_spec.errors import DoubledTaskError, TooLargeError
from fslbench_data.render.figures import rows
from fslbench_data.scoring.sql import connect
from fslbench_data.submission.model import Binding, Submission
from fslbench_data.validation.validate import validate

DATASET, TASK_SET = "birds", "open-2w1s2q"
QUERIES = 4


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "release"
    return toy_release(folder, {DATASET: [12, 18, 15, 21, 9, 15]}, {"open": None})


@pytest.fixture(scope="module")
def info(release):
    found = release.task_set_info(DATASET, TASK_SET)
    assert found.n_tasks >= 7
    return found


def _submission(info, methods):
    """Methods by name: correct queries (runs, tasks)."""
    parts, bindings = [], {}
    for name, counts in methods.items():
        runs, tasks = counts.shape
        key = name, info.dataset, str(info.name)
        columns = {
            "task_id": np.tile(np.arange(tasks, dtype=np.int32), runs),
            "n_correct": counts.ravel().astype(np.int16),
            "n_query": np.full(counts.size, info.protocol.n_query, np.int16),
            "run": np.repeat(np.arange(runs), tasks).astype(str),
        }
        named = zip(("method", "dataset", "task_set"), key, strict=True)
        parts.append(pa.table({name: [of] * counts.size for name, of in named} | columns))
        bindings[key] = Binding(info.fingerprint, None, None)
    return Submission(pa.concat_tables(parts), {}, bindings)


@dataclass(frozen=True)
class Exact:
    """A mean over tasks in fractions, from the definition.

    `terms` are, of each method, the variance of its mean over R runs (percentage points squared)
    and R - 1; none of a method with one run.
    """

    values: tuple[Fraction, ...]
    terms: tuple[tuple[float, int], ...] = ()

    @property
    def mean(self):
        return mean(self.values)

    @property
    def variance(self):
        return variance(self.values)

    @property
    def constant(self):
        return len({*self.values}) == 1

    @property
    def halfwidth(self):
        """In percentage points, at 95 %."""
        n = len(self.values)
        return self.with_runs(100 * float(stats.t.isf(0.025, n - 1)) * sqrt(self.variance / n))

    def with_runs(self, halfwidth):
        """Widen a half-width by that of the runs, with Satterthwaite's degrees of freedom."""
        square = sum(v**2 / degrees for v, degrees in self.terms)
        if not square:
            return halfwidth
        v = sum(v for v, _ in self.terms)
        most = len(self.terms) * min(degrees for _, degrees in self.terms)
        return sqrt(halfwidth**2 + float(stats.t.isf(0.025, min(v**2 / square, most))) ** 2 * v)

    @property
    def verdict(self):
        if self.constant and self.mean == 0:
            return Verdict.IDENTICAL
        if abs(100 * self.mean) > self.halfwidth:  # of a constant, too: there are seven tasks
            return Verdict.BETTER if self.mean > 0 else Verdict.WORSE
        return Verdict.NOT_ESTIMABLE if self.constant else Verdict.INCONCLUSIVE


def _exact(counts, n_query):
    runs = counts.shape[0]
    values = tuple(Fraction(int(x), runs * n_query) for x in counts.sum(axis=0))
    if runs == 1:
        return Exact(values)
    means = 100 * counts.mean(axis=1) / n_query
    if np.ptp(counts.sum(axis=1)) == 0:
        return Exact(values)
    return Exact(values, ((float(means.var(ddof=1)) / runs, runs - 1),))


def _minus(a, b):
    values = tuple(x - y for x, y in zip(a.values, b.values, strict=True))
    return Exact(values, a.terms + b.terms)


def _close(found, expected, rel=1e-12):
    """Of means it is exact to float rounding."""
    assert found == pytest.approx(float(expected), rel=rel, abs=1e-300)


EXACT = 4e-16


def _counts(numbers, kinds, seed, info):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, QUERIES, info.n_tasks)
    found = {}
    for i, (runs, kind) in enumerate(zip(numbers, kinds, strict=False)):
        runs = _most_runs(info) if runs < 0 else runs
        if kind == "random":
            x = rng.binomial(QUERIES, rng.uniform(0.3, 0.9), (runs, info.n_tasks))
        else:  # the same in every run: equal accuracies whatever the number of runs
            x = np.tile(base + (kind == "ahead"), (runs, 1))
            if kind == "nearly":
                x[0, 0] += 1
        found[f"m{i}"] = x
    return found


def _most_runs(info):
    return isqrt(isqrt(2**63) // (info.n_tasks * QUERIES))


RUNS = st.integers(1, 12) | st.sampled_from([29, 31, 37, 41, 43, 47, 53, 983, 991, 997, 4999, -1])
KINDS = st.sampled_from(["random", "equal", "ahead", "nearly"])


@pytest.mark.slow
@settings(max_examples=8)
@given(
    numbers=st.lists(RUNS, min_size=3, max_size=4),
    kinds=st.lists(KINDS, min_size=4, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_every_output_against_fractions(release, info, numbers, kinds, seed):
    counts = _counts(numbers, kinds, seed, info)
    submission = _submission(info, counts)
    exact = {name: _exact(x, QUERIES) for name, x in counts.items()}
    report = fb.score(submission, release)
    _check_report(report, exact)
    _check_scatter(report.sets[0], exact)
    _check_new_classes(report, release, info, counts)
    _check_sql(submission, release, exact)


def _check_report(report, exact):
    for score in report.scores:
        _close(score.accuracy.mean, 100 * exact[score.method].mean, EXACT)
        _close(score.accuracy.halfwidth, exact[score.method].halfwidth)
        assert score.accuracy.constant == exact[score.method].constant
    assert len(report.comparisons) == len(exact) * (len(exact) - 1) // 2
    for c in report.comparisons:
        apart = _minus(exact[c.method], exact[c.versus])
        _close(c.difference.mean, 100 * apart.mean, EXACT)
        assert c.difference.tasks == len(apart.values)
        assert c.verdict is apart.verdict
        if c.verdict is Verdict.NOT_ESTIMABLE:
            assert c.difference.halfwidth is None
        else:
            _close(c.difference.halfwidth, apart.halfwidth)
    ties = report.sets[0].ties
    assert ties is not None
    assert ties.best == max(exact, key=lambda name: exact[name].mean)  # of equal means the first


def _check_scatter(each, exact):
    first, *_, second = exact
    points = [
        (row["first"], row["second"])
        for row in rows.scatter(each, first, second).rows
        if "tasks" in row
        for _ in range(row["tasks"])
    ]
    both = zip(exact[first].values, exact[second].values, strict=True)
    expected = np.array(sorted((float(100 * a), float(100 * b)) for a, b in both))
    assert np.array(sorted(points)) == pytest.approx(expected, rel=1e-15)


def _check_new_classes(report, release, info, counts):
    """The interval of the differences themselves, in one unit of the two methods."""
    design = ClassDesign.of(release.class_ids(info))
    exact = {name: _exact(x, QUERIES) for name, x in counts.items()}
    for c in report.comparisons:
        aware = c.intervals["class-aware"]
        x, y = (counts[name].sum(axis=0)[: c.difference.tasks] for name in (c.method, c.versus))
        units = [len(counts[name]) * QUERIES for name in (c.method, c.versus)]
        unit = lcm(*units)
        d = x * (unit // units[0]) - y * (unit // units[1])
        for found, values, of, own in (
            (aware.difference, d, unit, _minus(exact[c.method], exact[c.versus])),
            (aware.mean, x, units[0], exact[c.method]),
            (aware.versus_mean, y, units[1], exact[c.versus]),
        ):
            expected = class_aware_interval(design, values, of, 0.95)
            _close(found.mean, expected.mean, EXACT)
            if expected.halfwidth is None:
                assert found.halfwidth is None
            else:
                _close(found.halfwidth, own.with_runs(expected.halfwidth), rel=1e-8)


def _check_sql(submission, release, exact):
    with connect(release, submission) as connection:
        accuracies, differences, hard = (
            pa.Table.from_batches(run_query(connection, sql)).to_pylist()
            for sql in ("FROM accuracies", "FROM differences", "FROM hard_tasks ORDER BY task_id")
        )
    assert len(accuracies) == len(exact)
    for row in accuracies:
        of = exact[row["method"]]
        assert row["tasks"] == len(of.values)
        _close(row["mean"], 100 * of.mean, EXACT)
        _close(row["deviation"] ** 2, 10_000 * of.variance)
    assert len(differences) == len(exact) * (len(exact) - 1)
    for row in differences:
        apart = _minus(exact[row["method"]], exact[row["versus"]])
        assert row["tasks"] == len(apart.values)
        _close(row["difference"], 100 * apart.mean, EXACT)
        _close(row["deviation"] ** 2, 10_000 * apart.variance)
    for task, row in enumerate(hard):
        values = [e.values[task] for e in exact.values() if task < len(e.values)]
        assert row["methods"] == len(values)
        _close(row["mean"], 100 * mean(values))
        assert row["highest"] == pytest.approx(float(100 * max(values)), rel=1e-15)


@pytest.mark.parametrize("runs", [(29, 31, 37, 41, 53), (31, 37, 41, 43, 47), (997, 991, 983)])
def test_runs_that_once_overflowed(embedded, runs):
    info = embedded.task_set_info("digits", "open-5w10s7q")
    rng = np.random.default_rng(0)
    counts = {
        f"m{number}": rng.binomial(35, 0.75 + 0.02 * i, (number, info.n_tasks))
        for i, number in enumerate(runs)
    }
    report = fb.score(_submission(info, counts), embedded, references=False)
    exact = {name: _exact(x, 35) for name, x in counts.items()}
    _check_report(report, exact)
    _check_scatter(report.sets[0], exact)


@pytest.mark.slow
def test_runs_beyond_what_can_be_compared_exactly(release, info, tmp_path):
    most = _most_runs(info)
    assert 100 < most < 10_000
    few = _submission(info, {"m": np.full((most, info.n_tasks), 3)})
    assert len(validate(few, release).groups[0].runs) == most
    many = _submission(info, {"m": np.full((most + 1, info.n_tasks), 3)})
    for use in (lambda: fb.score(many, release), lambda: connect(release, many)):
        with pytest.raises(TooLargeError, match=f"has {most + 1} runs") as error:
            use()
        assert error.value.expected.startswith(f"at most {most} of {info.n_tasks} tasks")
    labels = release.task_set(DATASET, TASK_SET).query_label.tolist()
    facts = {(DATASET, TASK_SET): Facts(2, 2, info.n_tasks, info.fingerprint, labels)}
    for submission, reason in ((few, None), (many, "too many runs")):
        submission.write(tmp_path / "m.parquet")
        assert refusal(tmp_path / "m.parquet", facts, frozenset()) == reason


def test_sql_takes_no_method_of_two_files_for_runs(release, info):
    one, two = (_submission(info, {"m": np.full((1, info.n_tasks), n)}) for n in (3, 5))
    with pytest.raises(DoubledTaskError, match="in two submissions"):
        connect(release, [one, two])
