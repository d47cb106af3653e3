"""Plans: by hand, against the Gaussian example's exact widths, and against full simulation."""

import math
from types import ModuleType

import pytest
from full_checks import check_module
from scipy import stats

from analysis_sql.intervals.power import detectable_factor
from analysis_sql.planning.planning import plan
from analysis_sql.planning.variance_budget import Components
from benchmark_spec.errors import SpecError


@pytest.fixture
def plans() -> ModuleType:
    return check_module("plans")


PARTS = Components(classes=4e-4, images=8e-4, queries=0.017)


def test_widths_by_hand() -> None:
    """10 classes of 100 images, S = Q = 5: u = 10, and balanced sets use every class 10 times.

    T = 20, V = 10·100/400 = 2.5, R = (100 - 50)/19; σ_e² = 8e-4 + 0.0034 = 0.0042.
    """
    (row,) = plan(
        PARTS, [100] * 10, way=5, shot=5, queries=[5], suite="balanced", level=0.99, power=0.9
    )
    assert row.tasks == (20, 20, 20)
    s2 = 4e-4 * 50 / 19 + 0.0042
    assert row.open == pytest.approx(100 * stats.t.isf(0.005, 19) * math.sqrt(s2 / 20))
    closed = 4e-4 * 5 * (1 - 5 / 10) + 0.0042
    assert row.closed == pytest.approx(100 * stats.norm.isf(0.005) * math.sqrt(closed / 600))
    factor = detectable_factor(20, 0.99, 0.9)
    assert row.detectable_open == pytest.approx(100 * factor * math.sqrt(s2 / 20))
    total = 4e-4 * 2.5 + 0.0042 / 20
    assert row.budget.classes == pytest.approx(1e-3 / total)
    assert row.budget.queries == pytest.approx(0.0034 / 20 / total)
    assert row.open_budget.classes == pytest.approx(4e-4 * 50 / 19 / s2)


@pytest.mark.parametrize("shot", [1, 5, 20])
def test_the_gaussian_example(example: ModuleType, shot: int) -> None:
    """Both classes in all tasks: T and open widths are exact; nothing is told of new classes."""
    model = example.exact(shot)
    rows = plan(
        Components(0.0, model.alpha, model.w), [500, 500], way=2, shot=shot, queries=example.QUERIES
    )
    exact = example.exact_widths(shot)
    for row in rows:
        assert set(row.tasks) == {example.tasks_of(row.query, shot)}
        assert row.open == pytest.approx(exact[row.query])
        assert row.class_aware is None
        assert row.detectable_class_aware is None
        assert row.detectable_open > row.open


@pytest.mark.parametrize("effect", [0.0, 4e-4, 4e-3])
@pytest.mark.parametrize(("number", "size", "seeds"), [(7, 120, 3), (15, 100, 1), (43, 200, 1)])
def test_class_aware_widths_and_power_are_those_of_whole_results(
    effect: float, number: int, size: int, seeds: int, plans: ModuleType
) -> None:
    """Mean half-width within 4 %, power at the planned difference within 3 points, of 1500 sets.

    ``python -m studies.checks plans`` has more sets of more designs.
    """
    row, width, power = plans.simulated(effect, number, size, 1500 // seeds, seeds)
    assert row.class_aware == pytest.approx(width, rel=0.04)
    assert abs(power - 0.8) < 0.03


def test_a_class_used_once_makes_all_kinds_equal() -> None:
    (row,) = plan(PARTS, [10] * 40, way=5, shot=5, queries=[5])
    assert row.tasks == (8, 8, 8)
    assert row.class_aware == row.open
    assert row.detectable_class_aware == row.detectable_open


@pytest.mark.parametrize(("effect", "luck"), [(0.0, 0.0), (0.1, 0.06)])
def test_the_range_holds_what_the_pilot_estimates_badly(
    effect: float, luck: float, plans: ModuleType
) -> None:
    """95 % ranges of 40 pilots of about 32 tasks of 10 classes, of 500 in the check."""
    opened, aware = plans.in_ranges(plans.of_binomials(effect, luck), [178] * 10, 5, 40, 1)
    assert opened > 0.9
    assert aware > 0.9


def test_what_cannot_be_planned() -> None:
    rows = plan(PARTS, [20] * 6, way=5, shot=5, queries=[5, 15, 16])
    assert [row.query for row in rows] == [5, 15]  # 21 images of a class there are not
    assert rows[1].tasks == (1, 1, 1)
    assert (rows[1].open, rows[1].class_aware, rows[1].detectable_open) == (None, None, None)
    with pytest.raises(SpecError, match="no 5-way 5-shot task can be drawn from 6 classes"):
        plan(PARTS, [20] * 6, way=5, shot=5, queries=[16])
    nothing = plan(Components(0.0, 0.0, 0.0), [50] * 9, way=5, shot=5, queries=[5])[0]
    assert (nothing.open, nothing.class_aware, nothing.detectable_class_aware) == (None, None, None)
