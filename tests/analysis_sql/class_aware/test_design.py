"""Class-aware intervals by hand, against plain dense algebra, and by simulation."""

from typing import Any

import numpy as np
import pytest
from class_aware_interval import class_aware_interval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixtures_of, p_values, relative_halfwidths
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import interval
from benchmark_spec.errors import SpecError

Array = np.ndarray[Any, Any]


def membership(ids: Array) -> Array:
    """Z, a column for each class that occurs."""
    classes = sorted(set(ids.reshape(-1).tolist()))
    return np.array([[float(c in row) for c in classes] for row in ids.tolist()])


def plain(ids: Array, y: Array, level: float) -> float:
    """The half-width of one y, written out: dense matrices, narrow steps of ln g, a root finder."""
    z = membership(ids)
    tasks = len(y)
    n = z.sum(axis=0)
    v = n @ n / tasks**2
    centred = z - z.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred)
    lam = singular**2
    k = int((lam > 1e-9 * lam.max()).sum())
    lam = lam[:k]
    residual = y - y.mean()
    u = left[:, :k].T @ residual
    rss = 0.0 if k == tasks - 1 else residual @ residual - u @ u
    logs, se = np.empty(4128), np.empty(4128)
    for step in range(4128):
        x = np.exp(-16.125 + (step + 0.5) / 128)
        g = x / lam.mean()
        q = np.sum(u**2 / (1 + g * lam)) + rss
        log = -(tasks - 1) / 2 * np.log(q) - 0.5 * np.sum(np.log(1 + g * lam))
        log += 0.5 * np.log(x)
        log -= np.log(1 + x / 16) if k == tasks - 1 else 0.5 * np.log(1 + x)
        logs[step], se[step] = log, np.sqrt(q / (tasks - 1) * (g * v + 1 / tasks))
    weight = np.exp(logs - logs.max())

    def excess(h: float) -> float:
        outside = weight @ (2 * stats.t.sf(h / se, tasks - 1))
        return float(outside / weight.sum() - (1 - level))

    widest = se.max() * stats.t.isf((1 - level) / 2, tasks - 1)
    return float(optimize.brentq(excess, 0.0, widest * 1.01, xtol=1e-13, rtol=1e-13))


def random_ids(rng: np.random.Generator, tasks: int, classes: int, way: int) -> Array:
    return np.array([rng.permutation(classes)[:way] for _ in range(tasks)])


def width(ids: Array, x: Array, level: float = 0.95, unit: int = 100) -> float | None:
    return class_aware_interval(ClassDesign.of(ids), x, unit, level).halfwidth


def test_three_tasks_of_three_classes_by_hand() -> None:
    """Tasks {a,b}, {a,c}, {b,c}: Z = J - a permutation, so Z_c Z_c' = I - J/3, λ = 1, 1.

    Then k = 2 = T - 1, rss = 0 and λ̄ = 1.  With Σu² = |y - ȳ|² = D,  q(g) = D/(1+g), so that
    L(g) = q^(-1) (1+g)^(-1) = 1/D whatever g: these tasks say nothing of g, and the weights are
    the prior's, sqrt(g)/(1+g/16).  n = 2, 2, 2, v = 12/9 = 4/3 and
    se_g² = D/(1+g)/2 · (4g/3 + 1/3) = D/6 · (1+4g)/(1+g).
    With 2 degrees of freedom P(t > x) = 1/2 - x/(2 sqrt(2+x²)).
    """
    ids = np.array([[0, 1], [0, 2], [1, 2]])
    design = ClassDesign.of(ids)
    assert design.eigenvalues == pytest.approx([1.0, 1.0])
    assert design.concentration == pytest.approx(4 / 3)
    x = np.array([3, 5, 4])  # of 5: 60, 100, 80 %: D = 800 points²
    found = class_aware_interval(design, x, 5, 0.95)
    assert (found.kind, found.mean, found.tasks, found.constant) == ("class-aware", 80, 3, False)

    # between the widths for no class effect (the open interval's) and for nothing else
    assert 4.302653 * np.sqrt(800 / 6) < found.halfwidth < 4.302653 * np.sqrt(800 / 6 * 4)
    assert found.halfwidth == pytest.approx(plain(ids, 20.0 * x, 0.95), rel=2e-6)

    # and as the integral over ln g has it
    def part(s: float, h: float) -> float:
        w = np.exp(s / 2) / (1 + np.exp(s) / 16) / (4 * np.pi)
        r = h / np.sqrt(800 / 6 * (1 + 4 * np.exp(s)) / (1 + np.exp(s)))
        return float(w * (1 - r / np.sqrt(2 + r * r)))

    outside = integrate.quad(part, -60, 60, args=(found.halfwidth,))[0]
    assert outside == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(
    ("tasks", "classes", "way"),
    [(2, 4, 2), (4, 3, 2), (6, 20, 5), (12, 7, 5), (30, 6, 2), (40, 43, 5), (100, 9, 3), (5, 7, 5)],
)
@pytest.mark.parametrize("level", [0.01, 0.95, 0.999999])
def test_against_plain_dense_algebra(tasks: int, classes: int, way: int, level: float) -> None:
    rng = np.random.default_rng(tasks * classes)
    ids = random_ids(rng, tasks, classes, way)
    if len(np.unique(np.sort(ids, axis=1), axis=0)) == 1:
        pytest.skip("all tasks have the same classes")
    effect = rng.normal(0, 5, classes)
    x = np.round(60 + effect[ids].sum(axis=1) + rng.normal(0, 8, tasks)).astype(int)
    # at extreme levels much depends on where the grid ends, if nothing else ends it
    close = 1e-5 if level < 0.99 else 3e-3
    assert width(ids, x, level) == pytest.approx(plain(ids, x.astype(float), level), rel=close)


@pytest.mark.parametrize(("tasks", "classes"), [(31, 10), (600, 20), (600, 43), (300, 4)])
def test_classes_that_determine_everything_count_as_so_many(tasks: int, classes: int) -> None:
    """One method never recognises a class, and else both agree: Student's with k degrees."""
    rng = np.random.default_rng(tasks + classes)
    ids = random_ids(rng, tasks, classes, 3)
    x = -25 * (ids == 0).any(axis=1)
    design = ClassDesign.of(ids)
    y = x[None] / 75
    slopes = np.square(design.coordinates(y)).sum(axis=0) / design.eigenvalues
    error = 100 * np.sqrt(design.concentration * slopes.sum() / design.rank)
    expected = error * stats.t.isf(0.025, design.rank)
    assert width(ids, x, unit=75) == pytest.approx(expected, rel=1e-3)
    moments = Counts(x[None], np.array([tasks]), 75).moments()
    (p,) = p_values(mixtures_of(design, design.coordinates(x[None]), moments.norm2), moments)
    score = -100 * y.mean() / error
    assert p == pytest.approx(2 * stats.t.sf(score, design.rank), rel=1e-3)
    # a query more that is wrong does not make a small p of a large one
    x[np.flatnonzero(x)[0]] -= 1
    assert width(ids, x, unit=75) == pytest.approx(expected, rel=2e-2)


def test_each_class_once_is_the_open_interval() -> None:
    ids = np.arange(40).reshape(8, 5)
    x = np.array([20, 25, 18, 22, 25, 19, 24, 21])
    found = class_aware_interval(ClassDesign.of(ids), x, 25, 0.95)
    assert found.halfwidth == interval(Moments.of(x, 25), "open", 0.95).halfwidth
    assert class_aware_interval(ClassDesign.of(ids), np.full(8, 4), 25, 0.95).halfwidth is None


def test_what_leaves_no_interval() -> None:
    ids = np.array([[0, 1, 2], [2, 0, 1], [1, 0, 2], [0, 1, 2]])
    assert ClassDesign.of(ids).obstacle == "all tasks have the same classes"
    assert ClassDesign.of(ids[:1]).obstacle == "fewer than 2 tasks"
    with pytest.raises(SpecError, match="confidence level"):
        width(np.array([[0, 1], [0, 2]]), np.array([4, 5]), 1.0)


@st.composite
def sets(draw: st.DrawFn) -> tuple[Array, Array]:
    classes = draw(st.integers(2, 9))
    way = draw(st.integers(1, min(classes, 4)))
    tasks = draw(st.integers(1, 14))
    order = st.permutations(range(classes)).map(lambda p: p[:way])
    ids = np.array(draw(st.lists(order, min_size=tasks, max_size=tasks)))
    x = draw(st.lists(st.integers(0, 10), min_size=tasks, max_size=tasks))
    return ids, np.array(x)


@given(sets(), st.data())
@settings(max_examples=40)
def test_what_changes_nothing(given_set: tuple[Array, Array], data: st.DataObject) -> None:
    ids, x = given_set
    found = width(ids, x)
    order = np.array(data.draw(st.permutations(range(len(x)))))
    names = np.array(data.draw(st.permutations(range(10, 40))))
    same = {
        "task order": width(ids[order], x[order]),
        "names and number of classes": width(names[ids], x),
        "a constant": width(ids, x + 3),
        "sign": width(ids, -x),
        "unit": width(ids, 7 * x, unit=700),
    }
    for what, value in same.items():
        if found is None:
            assert value is None, what
        else:
            assert value == pytest.approx(found, rel=1e-7), what
    there_is_none = len(set(x.tolist())) == 1 or ClassDesign.of(ids).obstacle is not None
    assert (found is None) == there_is_none
    assert found is None or 0 < found < np.inf


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([0, 1]), "does not hold"),
        (np.zeros((0, 5), int), "does not hold"),
        (np.array([[0.0, 1.0]]), "does not hold"),
        (np.array([[0, 1], [2, 2]]), "task 1 has a class twice"),
    ],
)
def test_arrays_that_are_no_classes(ids: Array, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ClassDesign.of(ids)


@pytest.mark.parametrize(
    ("tasks", "classes", "strength"), [(60, 10, 3), (11, 16, 10), (14, 15, 10), (17, 30, 10)]
)
@pytest.mark.parametrize(("skewed", "least"), [(False, 0.93), (True, 0.90)])
def test_coverage_over_new_classes(
    tasks: int, classes: int, strength: float, skewed: bool, least: float
) -> None:
    """4000 sets; where k = T - 1 effects are all but everything (λ̄g = 10).

    There a prior centred at 1 covers 90 to 92 % of normal effects and 87 to 90 % of exponential
    ones.  For new classes the open interval falls short everywhere.
    """
    rng = np.random.default_rng([tasks, classes])
    design = ClassDesign.of(random_ids(rng, tasks, classes, 5))
    assert (design.rank == tasks - 1) == (strength == 10)
    effects = (
        rng.exponential(size=(4000, classes)) - 1 if skewed else rng.normal(size=(4000, classes))
    )
    effects = effects[:, design.members].sum(axis=2) * np.sqrt(strength / design.typical)
    y = effects + rng.normal(size=(4000, tasks))
    norm2 = y.var(axis=1) * tasks
    width = relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), 0.95) * np.sqrt(
        norm2
    )
    error = np.abs(y.mean(axis=1))
    assert least < (error <= width).mean() < 0.97
    assert (error <= stats.t.isf(0.025, tasks - 1) * stats.sem(y, axis=1)).mean() < 0.85
