"""Halves of characters and scripts: what is split, the intervals, and shares of known truth."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmark_spec.protocol import Protocol

PROTOCOL = Protocol(5, 1, 1)


@pytest.fixture
def halving() -> ModuleType:
    """Halves and intervals."""
    return import_module("studies.scripts.halving")


@pytest.fixture
def shares() -> ModuleType:
    """Shares and tables."""
    return import_module("studies.scripts.shares")


def characters(halving: ModuleType, scripts: int, of_script: int, groups: int = 4) -> Any:
    """Scripts with equally many characters, of which each has groups of 2 images."""
    classes = scripts * of_script
    owner = np.repeat(np.arange(classes), 2 * groups)
    return halving.Characters(owner, np.arange(owner.size) // 2, np.arange(classes) % scripts)


def test_what_the_question_names_is_split(halving: ModuleType) -> None:
    data = characters(halving, 9, 4)
    script = data.scripts[data.owner]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        groups = halving.split(data, "images", rng)
        assert (groups[::2] == groups[1::2]).all()
        np.testing.assert_array_equal(np.bincount(data.owner, groups), np.full(36, 4))
        classes = halving.split(data, "classes", rng).reshape(36, 8)
        assert (classes == classes[:, :1]).all()
        np.testing.assert_array_equal(np.bincount(data.scripts, classes[:, 0]), np.full(9, 2))
        scripts = halving.split(data, "superclasses", rng)
        inside = np.unique(script[scripts])
        assert inside.size in (4, 5)
        assert not np.isin(script[~scripts], inside).any()


def test_one_over_is_in_either_half(halving: ModuleType) -> None:
    sizes = {
        int(halving.halve(np.zeros(9, int), np.random.default_rng(seed)).sum())
        for seed in range(20)
    }
    assert sizes == {4, 5}


def test_characters_with_too_few_groups_take_no_part(halving: ModuleType) -> None:
    data = characters(halving, 9, 4)
    data.groups[:8] = data.groups[0]
    np.testing.assert_array_equal(data.having(4).classes, np.arange(1, 36))
    assert data.having(5).classes.size == 0


def test_a_half_has_the_intervals_of_a_plain_recomputation(halving: ModuleType) -> None:
    """Scripts are left out one after another; the variance is a sum over pairs of tasks."""
    data = characters(halving, 14, 3)
    rng = np.random.default_rng(3)
    inside = halving.split(data, "superclasses", rng)
    half = halving.Characters(np.where(inside, data.owner, -1), data.groups, data.scripts)
    effect = rng.normal(size=(2, 14))

    def answer(images: Any, protocol: Protocol) -> Any:
        of_task = effect[:, data.scripts[data.owner[images[..., 0]]]].mean(axis=2)
        return of_task + 0.2 * rng.normal(size=of_task.shape)

    tasks = halving.draw(half, PROTOCOL, 250, 0, answer)
    assert inside[tasks.images].all()
    made = halving.judge(half, tasks)

    scripts = np.unique(data.scripts[half.classes])
    members = data.scripts[tasks.class_ids]
    for value, position in (
        (tasks.y[0], (0, 0)),
        (tasks.y[1], (1, 1)),
        (tasks.y[0] - tasks.y[1], (0, 1)),
    ):
        d = value - value.mean()
        loads = np.array([w / w.sum() for w in [~(members == s).any(axis=1) for s in scripts]])
        loads -= loads.mean(axis=0)
        g = scripts.size
        total = (g - 1) / g * sum((load @ d) ** 2 for load in loads)
        alone = (g - 1) / g * sum(load[b] ** 2 * d[b] ** 2 for load in loads for b in range(250))
        variance = max(total - alone, 0) + d @ d / (250 * 249)
        tau, z = np.sqrt(2 / (g - 1)) * alone, stats.norm.ppf(0.975)
        inner = variance + (z**2 + 1) / 4 * tau**2 / (variance + 2 * tau)
        assert made[0][position] == pytest.approx(value.mean())
        width = stats.t.ppf(0.975, g - 1) * np.sqrt(inner)
        assert width > made[2][position]
        assert made[3][position] == pytest.approx(width)


def test_a_script_is_left_out_of_the_half_that_has_it(halving: ModuleType) -> None:
    data = characters(halving, 8, 3)
    tasks = halving.draw(data, PROTOCOL, 300, 0, lambda images, _: images[None, :, 0, 0] % 7 / 7)
    whole = halving.judge(data, tasks)
    less = halving.judge_without(data, tasks, whole, 2)
    rest = data.among(data.scripts != 2)
    rows = (data.scripts[tasks.class_ids] != 2).all(axis=1)
    np.testing.assert_array_equal(less, halving.judge(rest, tasks.where(rows)))
    assert less[0, 0, 0] == tasks.y[0, rows].mean()
    np.testing.assert_array_equal(halving.judge_without(rest, tasks, whole, 2), whole)


@pytest.mark.slow
def test_halves_of_one_set_are_two_samples(halving: ModuleType, shares: ModuleType) -> None:
    """Forty populations of normal scripts: superclasses hold their level, classes do not."""
    data = characters(halving, 18, 3)
    effect = np.random.default_rng(5).normal(size=(40, 18))

    def answer(images: Any, protocol: Protocol) -> Any:
        return effect[:, data.scripts[data.owner[images[..., 0]]]].mean(axis=2)

    held = halving.halvings(data, "superclasses", PROTOCOL, answer, splits=8, tasks=300)
    assert held.sizes[:2] == (9, 27)
    assert held.sizes[2] > 200
    value, error = shares.share(lambda h, k: shares.together(h, k, pairs=False), held, 3)
    assert shares.expected(9) == pytest.approx(96.5, abs=0.05)
    assert value == pytest.approx(shares.expected(9), abs=2.5)
    assert 0.3 < error < 3
    width = shares.relative_width(held, 3, pairs=False)
    assert width == pytest.approx(stats.t.ppf(0.975, 8) / 1.96, abs=0.15)
    classes, _ = shares.share(lambda h, k: shares.together(h, k, pairs=False), held, 2)
    assert classes < 88


def test_shares_by_hand(halving: ModuleType, shares: ModuleType) -> None:
    def half(difference: float, width: float) -> Any:
        one = np.zeros((4, 2, 2))
        one[0] = [[0.5, difference], [-difference, 0.5]]
        one[1:] = width
        return one

    whole = np.array(
        [
            [half(0.3, 0.1), half(-0.2, 0.1)],  # reversed
            [half(0.3, 0.1), half(0.2, 0.25)],  # not repeated
            [half(0.3, 0.2), half(-0.1, 0.2)],  # contradicted
            [half(0.1, 0.2), half(-0.1, 0.2)],  # nothing is claimed
        ]
    )
    held = halving.Halvings((9, 9, 9), whole, np.stack([whole, whole]))
    names = ("conclusive", "not_repeated", "contradicted", "reversed_")
    values = [shares.share(getattr(shares, name), held, 1)[0] for name in names]
    assert values == pytest.approx([50.0, 100.0, 75.0, 50.0])
    pairs, error = shares.share(lambda h, k: shares.together(h, k, pairs=True), held, 1)
    assert pairs == 50.0
    assert error == pytest.approx(100 * np.std([0, 1, 0, 1], ddof=1) / 2)
    near, apart = np.array([0.02, 0.01 + 0.25**2, 0.08, 0.08]), np.array([0.5, 0.1, 0.4, 0.2])
    ratio = np.sqrt(near.mean() / np.square(apart).mean()) / stats.norm.ppf(0.975)
    assert shares.relative_width(held, 1, pairs=True) == pytest.approx(ratio)
    whole[0, 0, 3] = np.nan
    assert np.isnan(shares.share(shares.conclusive, held, 3)[0])


def test_the_jackknife_is_that_of_a_mean(shares: ModuleType) -> None:
    """Of the mean of twelve numbers, and none of what every halving adds at random."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    without = (x.sum() - x) / 11
    every = np.full(400, 2.0)
    variance = x.var(ddof=1) / 12
    plain = [(every * one, every) for one in without]
    assert shares.jackknife(plain) == pytest.approx(variance)
    common = rng.normal(size=400)
    common -= common.mean()
    noisy = [(every * (one + common), every) for one in without]
    assert shares.jackknife(noisy) == pytest.approx(variance)
    noisy = [(every * (one + rng.normal(size=400)), every) for one in without]
    assert shares.jackknife(noisy) == pytest.approx(variance, abs=0.05)
    noise = [(every * rng.normal(size=400), every) for _ in without]
    assert shares.jackknife(noise) < 0.02


@pytest.mark.slow
def test_the_tables_have_a_row_for_every_question(
    halving: ModuleType, shares: ModuleType, root: Path
) -> None:
    pytest.importorskip("torch", reason="needs the extra `builders`")
    command = import_module("studies.scripts.__main__")
    data = characters(halving, 16, 3, groups=6)
    features = np.random.default_rng(0).normal(size=(data.owner.size, 4))
    features += 3 * np.random.default_rng(1).normal(size=(48, 4))[data.owner]
    both = {"some": features, "half": features[:, :2]}
    answer = command.answering(both, ("NCC",))
    results = command.run(data, PROTOCOL, answer, 2, 300)
    assert [len(held.whole) for held in results.values()] == [2, 2, 2]
    assert results["classes"].whole.shape == (2, 2, 4, 2, 2)
    lines = list(shares.tables(results))
    rows = [line.split(" | ") for line in lines if line.startswith(("| i", "| c", "| s"))]
    names = ["| images", "| classes", "| superclasses"]
    assert [row[0] for row in rows[:6]] == names * 2
    assert all(" ± " in cell and cell.endswith(("|", ")")) for row in rows[:6] for cell in row[2:])
    assert [row[0] for row in rows[6:]] == [name for name in names for _ in range(3)]
    assert [row[1] for row in rows[6:]] == ["images", "classes", "superclasses"] * 3
