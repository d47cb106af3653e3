"""The first paper's figures: lines against integrals taken another way, points against lines."""

import importlib
import re

import numpy as np
import pytest
from scipy import integrate, stats


@pytest.fixture(scope="module")
def figures(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "examples")
        yield importlib.import_module("paper_figures")


@pytest.fixture(scope="module")
def page(root):
    return (root / "studies/paper_figures/README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def model(root):
    return (root / "studies/query_size/model.md").read_text(encoding="utf-8")


def _right(low, high):
    middle = (low + high) / 2
    right = (stats.norm.cdf(middle, -1) + stats.norm.sf(middle, 1)) / 2
    return np.where(high > low, right, 1 - right)


def test_the_accuracy_by_a_double_integral(figures):
    step = 0.02
    grid = np.arange(-350, 351) * step
    for shot in (1, 5):
        sd = shot**-0.5
        low, high = (grid * sd - 1)[:, None], (grid + step / 2) * sd + 1  # none is another
        chance = stats.norm.pdf(grid)[:, None] * stats.norm.pdf(grid + step / 2)
        by_sums = (_right(low, high) * chance).sum() * step**2
        assert figures.accuracy(shot) == pytest.approx(by_sums, abs=1e-4)


@pytest.mark.slow
def test_what_endless_tasks_leave_by_an_integral(figures):
    """One shot: what an image does as the support, and as a query, each by its own integral."""

    def moved(x):
        def of_support(high):
            return float(_right(x, high) * stats.norm.pdf(high, 1))

        as_support, _ = integrate.quad(of_support, -7, 9, points=[x], limit=200)
        upward = stats.norm.cdf(2, scale=2**0.5)
        above = stats.norm.sf(x, scale=2**-0.5)
        return float(as_support + (upward * above + (1 - upward) * (1 - above)) / 2)

    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    values = np.array([moved(node - 1) for node in nodes])
    variance = weights @ values**2 - (weights @ values) ** 2
    assert figures.endless_variance(1) == pytest.approx(2 * variance / 500, rel=0.02)


@pytest.mark.slow
def test_closed_intervals_shrink_and_the_error_does_not(figures):
    rows = figures.tasks_growing(150).rows
    closed = [row for row in rows if row["series"] == "closed"]
    needed = [row for row in rows if row["series"] == "needed"]
    for narrow, wide in zip(closed, needed, strict=True):
        tasks = narrow["x"]
        assert narrow["line"] == pytest.approx(closed[0]["line"] * (closed[0]["x"] / tasks) ** 0.5)
        few = 0.5 / tasks**0.5  # deviations of few tasks are low on average
        assert narrow["point"] == pytest.approx(narrow["line"], rel=0.02 + few)
        assert wide["point"] == pytest.approx(wide["line"], rel=4 / 300**0.5)
        chance = narrow["holds, %"] / 100
        spread = 4 * (chance * (1 - chance) / 150) ** 0.5
        assert narrow["held, %"] / 100 == pytest.approx(chance, abs=spread + 0.02)
    assert [row["x"] for row in needed][-1] == 3000
    limit = 196 * figures.endless_variance(5) ** 0.5
    assert limit < needed[-1]["line"] < 1.01 * limit
    (opened,) = (row for row in rows if row["series"] == "open")
    assert opened["x"] == 500 // 20
    assert opened["line"] > needed[-1]["line"]
    assert opened["point"] == pytest.approx(opened["line"], rel=0.06)


def test_a_drawing_says_what_it_shows(figures, tmp_path):
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    figure = figures.best_queries(20)
    figures.draw(figure, tmp_path / "five.svg")
    svg = (tmp_path / "five.svg").read_text(encoding="utf-8")
    for text in (figure.title, figure.x, figure.y, "t and whole T", "20 task sets of Q = 10"):
        assert text in svg
    assert svg.count("<path") > 20
    with pytest.raises(Exception, match="names no format"):
        figures.draw(figure, tmp_path / "five.gif")


@pytest.mark.slow
@pytest.mark.parametrize("number", ["2", "5"])
def test_the_page_holds_what_the_script_prints(number, figures, page):
    make, usual = figures.FIGURES[number]
    assert f"\n\n{figures.table(make(usual))}\n" in page


SIMULATED = ("simulated", "held, %", "mean of estimates", "their sd", "jackknife's sd")
SIMULATED += ("interval holds the best Q", "has an upper end", "observed ±")


def _exact(table):
    """The columns of a table of Markdown that are not simulated."""
    lines = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
    kept = [i for i, name in enumerate(lines[0]) if not name.endswith(SIMULATED)]
    assert len(kept) > 1
    return [[cells[i] if i < len(cells) else "" for i in kept] for cells in (lines[0], *lines[2:])]


def test_pages_hold_the_lines_that_are_exact(figures, page, model):
    """Few draws; ``python -m studies.checks printed_pages`` makes all points again, too."""
    of_model = "\n".join(importlib.import_module("query_size").tables(3)).split("\n\n")
    assert len(of_model) == 3
    for text, made in (
        (page, figures.table(figures.tasks_growing(5))),
        *((model, t) for t in of_model),
    ):
        start = text.index(f"{made.splitlines()[0]}\n")
        assert _exact(made) == _exact(text[start:].partition("\n\n")[0])


@pytest.mark.slow
def test_the_widths_on_features_are_those_of_query_size(figures, model, monkeypatch):
    """Of photographs; ``python -m studies.checks printed_pages`` sweeps drawings, too."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    photographs = [each for each in figures.FEATURES if each[0] == "groceries"]
    monkeypatch.setattr(figures, "FEATURES", photographs)
    rows = figures.widths_on_features(20).rows
    section = model.partition("## On photographs and drawings")[2]
    lines = re.findall(r"^\| (groceries) \| (\d+) \| (.*) \| (\d+) \(", section, re.M)
    assert len(lines) == 3
    for dataset, shot, widths, best in lines:
        series = f"{dataset}, S = {shot}, Q* = {best}"
        at = {row["x"]: row["point"] for row in rows if row["series"] == series}
        assert [f"{at[query]:.2f}" for query in (1, 2, 5, 10, 15)] == widths.split(" | ")
