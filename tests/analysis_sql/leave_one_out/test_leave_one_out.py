"""All pairs against one by one, against plain loops, by simulation; and what tasks must be."""

from typing import Any

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks, values_on
from scipy import stats
from scipy.stats import norm, t

from analysis_sql.comparisons import Verdict
from analysis_sql.intervals.counts import Counts, RightQueries
from analysis_sql.leave_one_out.design import FITTED, LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign
from analysis_sql.leave_one_out.leave_one_out import (
    FirstTasks,
    Influences,
    LeftOutKind,
    leave_one_out,
)
from analysis_sql.multiple_comparisons import ahead_p, lead
from benchmark_spec.errors import SpecError

SUPERCLASSES = np.repeat(np.arange(6), 2)


@pytest.fixture(scope="module")
def drawn():
    return uniform_tasks([20, 30] * 6, 300, 4, 6, 0)


@pytest.fixture(scope="module")
def design(drawn):
    return TaskDesign.of(*drawn, superclass_of_class=SUPERCLASSES)


@pytest.fixture(scope="module")
def y(drawn):
    ids, images, _ = drawn
    y = values_on(ids, images, 8, 1)
    y[1] = y[0] + 1e-5 * (y[2] - 0.7)  # hardly differs
    y[5], y[6], y[7] = y[0], y[0] + 0.1, 0.5
    return y


def test_all_pairs_are_pairs_one_by_one(design, y):
    whole = leave_one_out(design, y, 0.95)
    for i in range(len(y)):
        for j in range(len(y)):
            one = leave_one_out(design, (y[i] if i == j else y[i] - y[j])[None], 0.95)
            assert whole.mean[i, j] == pytest.approx(one.mean[0, 0], abs=1e-14)
            for kind in LEFT_OUT:
                pair, alone = getattr(whole, kind), getattr(one, kind)
                if (i, j) not in ((0, 5), (5, 0)):  # identical only as a pair
                    width = alone.halfwidth[0, 0]
                    assert pair.halfwidth[i, j] == pytest.approx(width, rel=1e-8, abs=1e-12)
                    assert pair.p[i, j] == pytest.approx(alone.p[0, 0], abs=1e-8)
                    assert pair.df[i, j] == pytest.approx(alone.df[0, 0], rel=1e-6)


def test_pairs_that_hardly_differ_by_class_keep_their_digits():
    """Sums of fourth powers of what classes add to them are a millionth of a method's own."""
    ids, images, owner = uniform_tasks([40] * 15, 300, 5, 10, 0)
    y = values_on(ids, images, 1, 0)
    y = np.concatenate([y, y + 5e-4 * np.random.default_rng(1).normal(size=y.shape)])
    design = TaskDesign.of(ids, images, owner)
    pair = leave_one_out(design, y, 0.95).classes
    one = leave_one_out(design, y[:1] - y[1:], 0.95).classes
    assert pair.df[0, 1] == pytest.approx(one.df[0, 0], rel=1e-9)
    assert pair.halfwidth[0, 1] == pytest.approx(one.halfwidth[0, 0], rel=1e-9)


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_what_cannot_be_estimated_is_never_nan(design, y, kind):
    result = leave_one_out(design, y, 0.95)
    spread = getattr(result, kind)
    for array in (spread.halfwidth, spread.p, spread.df, spread.monte_carlo_share):
        assert not np.isnan(array).any()
    for pair, width, mean in (((0, 5), 0, 0), ((6, 0), np.inf, 0.1), ((7, 7), np.inf, 0.5)):
        assert (spread.halfwidth[pair], spread.p[pair]) == (width, 1)
        assert result.mean[pair] == pytest.approx(mean)
    assert 0 < spread.halfwidth[0, 1] < 1e-4


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_p_is_where_the_interval_just_touches_zero(design, y, kind):
    p = getattr(leave_one_out(design, y, 0.95), kind).p
    for i, j in ((2, 3), (3, 4), (0, 4)):
        if not 1e-5 < p[i, j] < 0.98:
            continue
        at = leave_one_out(design, y, 1 - p[i, j])
        assert abs(at.mean[i, j]) == pytest.approx(getattr(at, kind).halfwidth[i, j], rel=1e-8)


def _plain(drawn, x, level):
    """The formulas one sum at a time, for one row of values."""
    ids, images, owner = drawn
    tasks, way = ids.shape
    m, classes = images.shape[2], int(owner.max()) + 1
    z = norm.ppf((1 + level) / 2)
    noise = ((x - x.mean()) ** 2).sum() / (tasks * (tasks - 1))
    member = np.zeros((tasks, classes))
    np.put_along_axis(member, ids, 1.0, axis=1)
    u = x - member @ np.linalg.lstsq(member, x, rcond=None)[0]
    v = tot = s1 = s2 = 0.0
    for c in range(classes):
        own = np.flatnonzero(owner == c)
        f = (way / classes) ** 2 * m**2 * (own.size - 1) / (own.size - m) ** 2
        of_class = u[member[:, c] == 1]
        p_c = (of_class.sum() ** 2 - (of_class**2).sum()) / (of_class.size * (of_class.size - 1))
        terms, totals = [], []
        for i in own.tolist():
            inside = u[(images == i).any((1, 2))]
            n = inside.size
            if n >= 2:
                terms.append((inside.sum() ** 2 - (inside**2).sum()) / (n * (n - 1)) - p_c)
                totals.append((inside.sum() / n) ** 2)
                s1, s2 = s1 + f / (own.size * n), s2 + (f / (own.size * n)) ** 2
        v, tot = v + f * np.mean(terms), tot + f * np.mean(totals)
    tau = tot * np.sqrt(2 / (s1**2 / s2 * (1 - classes / owner.size)))
    whole = max(v, 0) + noise
    widths = {"images": z * np.sqrt(whole + (z * z + 1) / 4 * tau**2 / (whole + 2 * tau))}
    for kind, labels in (("classes", np.arange(classes)), ("superclasses", SUPERCLASSES)):
        units = labels.max() + 1
        inside = np.stack([(labels[ids] == g).any(1) for g in range(units)], axis=1)
        share = ~inside / (~inside).sum(0)
        without = share.T @ x
        tot = (units - 1) / units * ((without - without.mean()) ** 2).sum()
        chance = (share - share.mean(1, keepdims=True)) ** 2
        v = tot - (units - 1) / units * (((x - x.mean()) ** 2) @ chance.sum(1))
        tau, whole = (tot - v) * np.sqrt(2 / (units - 1)), max(v, 0) + noise
        d = without - without.mean()
        g2 = (d**4).mean() / (d**2).mean() ** 2 - 3
        k = (units - 1) / ((units - 2) * (units - 3)) * ((units + 1) * g2 + 6)
        df = 1 / (1 / (units - 1) + (max(k, 0) + 2) / (2 * units))
        q = t.ppf((1 + level) / 2, units - 1 if kind == "superclasses" else df)
        h = q * np.sqrt(whole + (z * z + 1) / 4 * tau**2 / (whole + 2 * tau))
        widths[kind] = max(h, *widths.values())
    return widths


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_the_formulas_one_sum_at_a_time(drawn, design, y, level):
    result = leave_one_out(design, y, level)
    for i, j in ((2, 2), (3, 3), (2, 3), (4, 0)):
        for kind, width in _plain(drawn, y[i] if i == j else y[i] - y[j], level).items():
            assert getattr(result, kind).halfwidth[i, j] == pytest.approx(width, rel=1e-9)


GROUPED = [30, 24, 36, 30, 27, 33]


@pytest.fixture(scope="module")
def grouped():
    return uniform_tasks(GROUPED, 400, 3, 5, 3)


def test_groups_of_one_are_images(grouped):
    """By the one-each formulas exactly; a group for itself may be said with -1."""
    ids, images, owner = grouped
    y = values_on(ids, images, 3, 4)
    plain = leave_one_out(TaskDesign.of(ids, images, owner), y, 0.95)
    for groups in (np.arange(owner.size), np.full(owner.size, -1)):
        same = leave_one_out(TaskDesign.of(ids, images, owner, groups), y, 0.95)
        np.testing.assert_allclose(same.images.halfwidth, plain.images.halfwidth, rtol=1e-12)


def test_groups_by_the_formulas_one_sum_at_a_time(grouped):
    ids, images, owner = grouped
    starts = np.random.default_rng(5).random(owner.size) < 0.5
    starts[np.flatnonzero(np.diff(owner, prepend=-1))] = True
    groups = np.cumsum(starts) - 1
    x = values_on(ids, images, 1, 4)[0]
    design = TaskDesign.of(ids, images, owner, groups)
    assert design.unit == "groups"
    assert not design.membership.one_each
    tasks, way, m, classes = *images.shape, len(GROUPED)
    member = np.zeros((tasks, classes))
    np.put_along_axis(member, ids, 1.0, axis=1)
    u = x - member @ np.linalg.lstsq(member, x, rcond=None)[0]
    v = tot = 0.0
    for c in range(classes):
        inside = np.flatnonzero(member[:, c])
        own = np.unique(groups[owner == c])
        k = np.stack([(groups[images[inside]] == g).sum((1, 2)) for g in own])
        mu = m * np.array([(groups == g).sum() for g in own]) / GROUPED[c]
        e = k - k.mean(1, keepdims=True)
        used = (k > 0).sum(1) >= 2
        s2, s4 = (e**2).sum(1), (e**4).sum(1)
        factor = (way / classes) ** 2 * (own.size - 1) / own.size
        w = factor * mu**2 * (mu**2).sum() / (mu[used] ** 2).sum()
        slope = e @ u[inside]
        p = (slope**2 - (e**2) @ u[inside] ** 2) / (s2**2 - s4)
        chi = ((mu / s2)[:, None] * e)[used].sum(0)
        rest = (chi @ u[inside]) ** 2 - (chi**2) @ u[inside] ** 2
        v += (w * p)[used].sum() - factor / own.size * rest
        tot += (w * slope**2 / s2**2)[used].sum()
    influences = Influences(design, x[None])
    assert influences.variance("images")[0] == pytest.approx(v, rel=1e-9)
    assert influences.total("images")[0] == pytest.approx(tot, rel=1e-9)


COUNTED, QUERIES, METHODS = 400, 25, 5


@pytest.fixture(scope="module")
def counted():
    return uniform_tasks([30] * 12, COUNTED, 4, 6, 0)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_methods_and_pairs_are_those_of_the_tasks_of_both(counted, name):
    """Of five; the last answered half of the tasks, the one before a number of its own."""
    declared = FirstTasks(TaskDesign.of(*counted, superclass_of_class=SUPERCLASSES))
    correct = np.rint(QUERIES * values_on(*counted[:2], METHODS, 1)).astype(np.int16)
    correct[2] = correct[0]
    answered = np.array([COUNTED, COUNTED, COUNTED, 123, COUNTED // 2])
    correct[np.arange(COUNTED) >= answered[:, None]] = 0
    counts = Counts(correct, answered, QUERIES)
    kind, versus = LeftOutKind(name), np.array([1, 2, 3, 4])
    own = kind.method_halfwidths(declared, counts, 0.95)
    found = kind.pairs(declared, counts, 0.95).columns(0, versus)
    p = kind.p_values(declared, counts, np.zeros(4, int), versus)
    for at, pair in enumerate(found.intervals()):
        j, tasks = at + 1, int(counts.tasks[at + 1])
        y = counts.correct[[0, j], :tasks] / QUERIES
        alone = getattr(leave_one_out(declared.whole.prefix(tasks), y, 0.95), name)
        assert own[j] == pytest.approx(100 * alone.halfwidth[1, 1], rel=1e-9)
        assert (pair.difference.tasks, pair.difference.kind) == (tasks, name)
        if j == 2:
            assert (pair.verdict, p[at]) == (Verdict.IDENTICAL, 1)
            continue
        width = 100 * alone.halfwidth[0, 1]
        assert found.halfwidth[2, at] == pytest.approx(width, rel=1e-9)
        assert (pair.verdict is Verdict.INCONCLUSIVE) == (abs(pair.difference.mean) <= width)
        assert p[at] == pytest.approx(alone.p[0, 1], abs=1e-9)
    one_sided = ahead_p(counts.differences([0, 1, 2], [1, 0, 0], COUNTED), name, declared)
    leads = counts.correct[0].sum() > counts.correct[1].sum()
    expected = (p[0] / 2, 1.0, 1.0) if leads else (1.0, p[0] / 2, 1.0)
    np.testing.assert_allclose(one_sided, expected, atol=1e-10)


def test_p_values_fall_to_0_and_are_never_missing(counted):
    noise = np.random.default_rng(0).integers(0, 100, COUNTED)
    ahead = [noise + more for more in range(0, 3000, 3)]
    counts = Counts.of([np.full(COUNTED, 5000), *(5000 - own for own in ahead)], [10_000] * 1001)
    kind, design = LeftOutKind("images"), FirstTasks(TaskDesign.of(*counted))
    first, others = np.zeros(1000, int), np.arange(1, 1001)
    two_sided = kind.p_values(design, counts, first, others)
    one_sided = ahead_p(lead(counts.select([0]), counts.select(others)), kind.name, design)
    for p in (two_sided, one_sided):
        assert (np.diff(p) <= 0).all()
        assert ((p > 0) & (p < 1e-299)).any()
        assert p[-1] == 0


def _five_classes(tasks, seed=0, size=60):
    return TaskDesign.of(*uniform_tasks([size] * 5, tasks, 5, 4, seed))


def test_few_tasks_do_not_tell_equal_methods_apart():
    rng = np.random.default_rng(5)
    p = []
    for seed in range(400):
        design = _five_classes(5, seed)
        if "images" in design.bounded:
            continue
        images = leave_one_out(design, rng.normal(size=(1, 5)) * 0.1, 0.95).images
        p.append(float(images.p[0, 0]))
    assert len(p) > 200
    assert np.mean(np.array(p) < 0.05) < 0.06
    assert np.mean(np.array(p) < 0.01) < 0.02


@pytest.mark.parametrize(("two_valued", "most"), [(False, 0.07), (True, 0.1)])
def test_few_classes_do_not_tell_equal_methods_apart(two_valued, most):
    """By the bound for new classes, where they are all that tasks differ by; with B - 1 .14."""
    rng, false = np.random.default_rng(0), []
    for seed in range(300):
        ids, images, owner = uniform_tasks([60] * 7, 100, 5, 4, seed)
        design = TaskDesign.of(ids, images, owner)
        assert "classes" in design.bounded
        effects = rng.choice([-1.0, 1.0], 7) if two_valued else rng.normal(size=7)
        found = leave_one_out(design, effects[ids].mean(axis=1)[None], 0.95).classes
        false.append(found.p[0, 0] < 0.05)
    assert np.mean(false) < most


@pytest.mark.parametrize(("tasks", "law"), [(29, stats.t(28)), (30, stats.norm)])
def test_the_quantile_is_students_below_thirty_tasks(tasks, law):
    design, y = _five_classes(tasks), np.random.default_rng(1).normal(size=(1, tasks))
    wide, narrow = (leave_one_out(design, y, level).images for level in (0.99, 0.9))
    assert wide.df[0, 0] == (28 if tasks < 30 else np.inf)
    at_p = leave_one_out(design, y, 1.0 - float(wide.p[0, 0])).images
    assert at_p.halfwidth[0, 0] == pytest.approx(abs(y.mean()), rel=1e-6)
    z = stats.norm.ppf([0.995, 0.95])
    least = law.ppf([0.995, 0.95]) / z  # beside what τ widens by
    assert wide.halfwidth[0, 0] / narrow.halfwidth[0, 0] > (least * z)[0] / (least * z)[1]


def test_constants_that_rounding_tells_apart_have_no_width():
    design = _five_classes(120)
    values = np.repeat(np.arange(10.0)[:, None] / 9.0, 120, axis=1)  # most are not their means
    found = leave_one_out(design, values, 0.95).images
    assert np.isinf(found.halfwidth).all()
    assert (found.p == 1.0).all()  # the sign test of disjoint tasks is what decides


CLASSES, SIZE, WAY, SHOTS, PER_CLASS, TASKS = 60, 8, 10, 1, 2, 100
RUNS = 60


def _estimates(seed, kind):
    """V of one draw of tasks, and that of all tasks, where effects of images add up."""
    groups_of, rng = 2 if kind == "groups" else 1, np.random.default_rng(seed)
    each = rng.normal(size=(2, CLASSES * SIZE // groups_of))
    support, query = np.repeat(each, groups_of, axis=1)
    of_class = 0.3 * rng.normal(size=CLASSES)
    ids, images, owner = uniform_tasks([SIZE] * CLASSES, TASKS, WAY, PER_CLASS, seed)
    asked = query[images[:, :, SHOTS:]] + of_class[ids][:, :, None]
    right = asked + support[images[:, :, :SHOTS]].mean(axis=2, keepdims=True)
    design: Any
    if kind == "episodes":
        design = EpisodeDesign.of(ids, images, owner, shots=np.full(ids.shape, SHOTS))
    else:
        groups = np.arange(owner.size) // groups_of if kind == "groups" else None
        design = TaskDesign.of(ids, images, owner, groups, shots=SHOTS)
    known = RightQueries(right.reshape(TASKS, -1), 1) if kind in ("queries", "episodes") else None
    y = right.mean(axis=(1, 2))
    influences = Influences(design, y[None], [known])
    share, noise = influences.own(0.95).images.monte_carlo_share[0, 0], np.var(y, ddof=1) / TASKS
    units = (support + query).reshape(CLASSES, -1, groups_of)[:, :, 0]
    truth = units.var(axis=1, ddof=0).sum() / CLASSES**2 / (units.shape[1] - 1)
    shown = noise / share - noise  # V, where it is above 0
    return float(influences.variance("images")[0] if known is None else shown), float(truth)


@pytest.mark.parametrize("kind", ["images", "groups", "queries", "episodes"])
def test_the_variance_of_images_is_not_fitted_away(kind):
    assert CLASSES > FITTED * TASKS
    found, truth = np.transpose([_estimates(seed, kind) for seed in range(RUNS)])
    error = found.std(ddof=1) / np.sqrt(RUNS)
    assert abs(found.mean() - truth.mean()) < 3.5 * error
    assert found.mean() > 0.75 * truth.mean()


def designed(sizes, tasks, way, per_class, **more):
    return TaskDesign.of(*uniform_tasks(sizes, tasks, way, per_class, 0), **more)


@pytest.mark.parametrize(
    ("made", "kinds", "reason"),
    [
        (((6,) * 8, 300, 4, 6), "images", "class 0 has 6 images, of which"),
        (((600,) * 8, 90, 4, 2), "images", "images are in 0.15 tasks on"),
        (((40,) * 40, 8, 4, 2), "images classes", "is in 0 tasks, fewer than 3"),
        (((20,) * 5, 100, 4, 4), "classes", "tasks are without class"),
        (((20,) * 9, 300, 4, 4), "", ""),
    ],
)
def test_reasons_why_there_is_a_bound_alone(made, kinds, reason):
    found = designed(list(made[0]), *made[1:])
    assert " ".join(found.bounded) == kinds
    assert all(reason in text for text in found.bounded.values())
    assert dict(found.why) == {"superclasses": "classes have no superclasses"}
    assert not {*found.bounded} & {*found.jackknives}


def test_reasons_why_there_is_no_interval():
    why = designed([20] * 4, 300, 4, 4).why
    assert dict(why) == dict.fromkeys(("classes", "superclasses"), "every task has all 4 classes")
    whole = designed([4] * 4, 300, 4, 4)  # every task has all images, too
    assert {*whole.why} == {"images", "classes", "superclasses"}
    assert not whole.bounded


def test_bounds_by_hand():
    # 600 tasks of 4 of 8 classes with 2 of 20 images each: rho = 4·2/(8·20) and 4/8
    made = designed([20] * 8, 600, 4, 2)
    assert made.bound("images") == pytest.approx(1 + 600 / 19)
    assert made.bound("classes") == pytest.approx(1 + 600)
    assert (made.bound_freedom("images"), made.bound_freedom("classes")) == (599.0, 7.0)
    # of the class with the fewest; bursts of s count as (Σs)²/Σs²
    assert designed([20] * 7 + [10], 600, 4, 2).bound("images") == pytest.approx(1 + 600 / 9)
    ids, images, owner = uniform_tasks([20] * 8, 600, 4, 2, 0)
    groups = np.where(np.arange(owner.size) % 20 < 10, 100 * owner, 100 * owner + 1)
    grouped = TaskDesign.of(ids, images, owner, groups)  # two bursts of ten
    assert grouped.bound("images") == pytest.approx(1 + 600 * 0.5 / 0.5)


def test_groups_must_lie_within_classes():
    """Leaving out a part of a group at a time would take its parts as independent."""
    ids, images, owner = uniform_tasks([20] * 9, 300, 4, 6, 0)
    groups = np.arange(owner.size) // 4
    assert "images" not in TaskDesign.of(ids, images, owner, groups).why
    groups[owner == 8] = groups[owner == 7]
    why = TaskDesign.of(ids, images, owner, groups).why
    assert set(why) == {"images", "classes", "superclasses"}
    assert all(text.startswith("groups have images of several classes") for text in why.values())
    alone = np.where(owner >= 7, -1, groups)
    assert "images" not in TaskDesign.of(ids, images, owner, alone).why


@pytest.mark.parametrize(
    ("superclasses", "reason"),
    [
        ([0, 0, 1, 1, 2, 2, 3, 3, 4], "5 superclasses: 6 are needed"),
        ([0, 0, 1, 1, 2, 2, 3, 4, -1], "classes have no superclasses"),
        ([0, 1, 2, 3, 4, 5, 5, 1, 0], ""),
    ],
)
def test_superclasses_must_be_six_and_of_every_class(superclasses, reason):
    made = designed([20] * 9, 600, 4, 4, superclass_of_class=np.array(superclasses))
    assert made.why.get("superclasses", "") == reason
    assert ("superclasses" in made.jackknives) == (not reason)


def test_classes_that_cannot_be_drawn_do_not_count():
    ids, images, owner = uniform_tasks([20] * 9, 300, 4, 6, 0)
    more = np.concatenate([owner, np.repeat([9, 10], [5, 3])])  # fewer than 6 images
    assert TaskDesign.of(ids, images, more).membership.class_names.size == 9


def test_a_task_that_uses_nearly_all_of_a_class_is_warned_of():
    assert not designed([40] * 9, 300, 4, 6).warnings
    (text,) = designed([8] * 9, 300, 4, 6).warnings
    assert text.startswith("a task uses 6 of the 8 images of class 0, nearly as much of 8 others")


@pytest.mark.parametrize(
    ("place", "other", "text"),
    [
        ((3, 1, 2), (3, 0, 0), "task 3 uses image"),
        ((4, 0, 1), (4, 0, 0), "task 4 has an image twice"),
        ((5, 1), (5, 0), "task 5 has a class twice"),
    ],
)
def test_tasks_that_cannot_be_are_refused(place, other, text):
    ids, images, owner = uniform_tasks([20] * 9, 50, 4, 6, 0)
    images[place] = images[other]
    if len(place) == 2:
        ids[place] = ids[other]
    with pytest.raises(SpecError, match=text):
        TaskDesign.of(ids, images, owner)
