"""The figures on the number of queries and of tasks of Lafargue et al. (TMLR 2024), made anew.

``python examples/paper_figures.py 2 -o figure2.svg`` prints the numbers as a table and draws them:

2  the variance of the mean accuracy against the number of queries Q;
3  closed and open intervals as the number of tasks T grows;
4  the width of the open interval against Q, of the features in the package;
5  the best Q against the number of shots S.

Figures 2, 3 and 5 are of the paper's synthetic example (``examples/query_size.py``), where lines
are exact and points are simulated. ``studies/paper_figures`` shows and explains them. Drawing
needs the extra ``report``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from line_figure import Figure, draw, table
from numpy.typing import NDArray
from query_size import PER_CLASS, SHOTS, all_tasks, exact, task_counts, tasks_of
from scipy.special import ndtr, ndtri

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.planning.query_size import best_query, estimate_set, width_factors

Floats = NDArray[np.float64]
LEVEL = 0.95
Z = float(ndtri((1 + LEVEL) / 2))


def variances(seeds: int) -> Figure:
    """Compute figure 2: variance of the mean accuracy over new images, points squared.

    The line is equation 7, K/(NC)·(αQ + β/Q + γ), with α, β and γ by quadrature. Points are the
    variance of the means of `seeds` task sets, whose T are whole numbers.
    """
    rows = []
    for shot in SHOTS:
        model, rng = exact(shot), np.random.default_rng(shot)
        for query in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50):
            tasks = tasks_of(query, shot)
            images = new_images(rng, seeds, tasks * (shot + query))
            right = task_counts_of_all(images, shot, query)
            squares = (100 * (right - right.mean()) / (2 * query)) ** 2
            of_task = model.way / (model.way * PER_CLASS)
            by_formula = model.alpha * query + model.beta / query + model.gamma
            rows.append(
                {
                    "series": f"S = {shot}",
                    "x": query,
                    "line": 1e4 * of_task * by_formula,
                    "point": squares.sum() / (seeds - 1),
                    "error": squares.std() / np.sqrt(seeds),
                }
            )
    caption = (
        f"Two classes, N(-1, 1) and N(1, 1), {PER_CLASS} images each, nearest class mean. Lines: "
        f"equation 7, exact; points: variance of the means of {seeds} open task sets of new images."
    )
    names = "queries a class, Q", "variance of the mean, points²"
    return Figure("Variance of the mean accuracy", caption, *names, rows, "xy")


def task_counts_of_all(images: Floats, shot: int, query: int) -> Floats:
    """Return the mean number of right answers a task of each set of images (seeds, 2, N)."""
    seeds, _, number = images.shape
    flat = images.transpose(1, 0, 2).reshape(2, seeds * number)
    return np.asarray(task_counts(flat, shot, query).sum(axis=1).reshape(seeds, -1).mean(axis=1))


def new_images(rng: np.random.Generator, seeds: int, number: int) -> Floats:
    """Draw so many new images of both classes, so many times: (seeds, 2, number)."""
    return rng.standard_normal((seeds, 2, number)) + np.array([[-1.0], [1.0]])


SHOT, QUERY = 5, 15
"""Of figure 3: the field's habit."""


def accuracy(shot: int) -> float:
    """Return the accuracy over new images, by quadrature."""
    middle = ndtri((np.arange(20_000) + 0.5) / 20_000) / np.sqrt(2 * shot)
    swapped = ndtr(-np.sqrt(2 * shot))
    right = float((ndtr(1 + middle) + ndtr(1 - middle)).mean() / 2)
    return float((1 - swapped) * right + swapped * (1 - right))


def endless_variance(shot: int, points: int = 160) -> float:
    """Return the variance over new images of the mean over endlessly many tasks of the same images.

    It is that of a U-statistic of 500 images a class, to first order: an image moves the mean as
    one of S support images, and as a query. By quadrature over quantiles.
    """
    normal = ndtri((np.arange(points) + 0.5) / points)
    x = normal - 1.0
    low = ((x - (shot - 1)) / shot)[:, None] + normal * np.sqrt(shot - 1) / shot
    low, high = low[:, :, None], 1.0 + normal / np.sqrt(shot)
    middle = (low + high) / 2
    right = (ndtr(1 + middle) + ndtr(1 - middle)) / 2
    as_support = np.where(high > low, right, 1 - right).mean(axis=(1, 2))
    upward, above = ndtr(np.sqrt(2 * shot)), ndtr(-x * np.sqrt(2 * shot))
    as_query = upward * above + (1 - upward) * (1 - above)
    return float(2 * np.var(shot * as_support + as_query / 2) / PER_CLASS)


def tasks_growing(seeds: int) -> Figure:
    """Compute figure 3: half-widths by T, and how often the closed interval holds the accuracy.

    Needed is 1.96 standard deviations of the closed mean over new images,
    sqrt(V + (v - V)/T), where v is the variance of a task and V that of endlessly many tasks.
    """
    grid = np.array([25, 50, 100, 300, 600, 1000, 3000])
    v, endless, truth = exact(SHOT).task_variance(QUERY), endless_variance(SHOT), accuracy(SHOT)
    rng = np.random.default_rng(SHOT)
    means, widths = np.empty((2, seeds, len(grid)))
    opened = []
    for seed in range(seeds):
        (images,) = new_images(rng, 1, PER_CLASS)
        right = task_counts(images, SHOT, QUERY).sum(axis=1)
        opened.append(float(halfwidths(Moments.of(right, 2 * QUERY), "open", LEVEL)))
        drawn = np.concatenate([images[c][positions(rng, int(grid[-1]))] for c in (0, 1)], axis=1)
        tasks = drawn.reshape(len(drawn), 2, -1).transpose(1, 0, 2).reshape(2, -1)
        right = task_counts(tasks, SHOT, QUERY).sum(axis=1)
        for i, some in enumerate(grid):
            means[seed, i] = right[:some].mean() / (2 * QUERY)
            widths[seed, i] = halfwidths(Moments.of(right[:some], 2 * QUERY), "closed", LEVEL)
    closed = 100 * Z * np.sqrt(v / grid)
    needed = 100 * Z * np.sqrt(endless + (v - endless) / grid)
    held = (np.abs(100 * (means - truth)) <= widths).mean(axis=0)
    rows = [
        {
            "series": name,
            "x": int(t),
            "line": line[i],
            "point": point[i],
            "holds, %": 100 * (2 * ndtr(Z * closed[i] / needed[i]) - 1)
            if name == "closed"
            else None,
            "held, %": 100 * held[i] if name == "closed" else None,
        }
        for name, line, point in (
            ("closed", closed, widths.mean(axis=0)),
            ("needed", needed, 100 * Z * means.std(axis=0, ddof=1)),
        )
        for i, t in enumerate(grid)
    ]
    whole = tasks_of(QUERY, SHOT)
    factor = width_factors({QUERY: whole}, LEVEL)[QUERY]
    exact_open = 100 * factor * np.sqrt(v)
    rows.append({"series": "open", "x": whole, "line": exact_open, "point": np.mean(opened)})
    caption = (
        f"Two classes, N(-1, 1) and N(1, 1), {PER_CLASS} images each, S = {SHOT}, Q = {QUERY}; "
        f"{seeds} draws of new images. Needed: {Z:.2f} standard deviations of the closed mean over "
        f"new images. Open: all of the images, once each, T = {whole}. Lines: exact."
    )
    names = "tasks, T", "half-width, points"
    return Figure("Closed and open intervals as tasks grow", caption, *names, rows, "xy")


def positions(rng: np.random.Generator, tasks: int) -> NDArray[np.int64]:
    """Draw S + Q different images of a class for each task: (tasks, S + Q)."""
    drawn = rng.integers(PER_CLASS, size=(tasks, SHOT + QUERY))
    while (twice := (np.diff(np.sort(drawn, axis=1), axis=1) == 0).any(axis=1)).any():
        drawn[twice] = rng.integers(PER_CLASS, size=(int(twice.sum()), SHOT + QUERY))
    return drawn


FEATURES = (
    ("groceries", "efficientnet_lite0-pca128"),
    ("openclipart", "efficientnet_lite0-pca128"),
)


def widths_on_features(seeds: int) -> Figure:
    """Compute figure 4: the open interval against Q on the features in the package, 5 ways, NCC."""
    from builders.query_size.sweep import QuerySets, sweep
    from fslbench_data import load_release

    release, rows = load_release(), []
    for dataset, backbone in FEATURES:
        for shot in (1, 5, 10):
            how = {"way": 5, "shot": shot, "suite": "open"}
            sets = QuerySets.of(release, dataset, backbone, "NCC", **how)
            swept = sweep(sets, range(1, 16), seeds=seeds, level=LEVEL)
            rows += [
                {
                    "series": f"{dataset}, S = {shot}, Q* = {swept.choice.best}",
                    "x": row.query,
                    "line": row.model,
                    "point": row.observed,
                    "error": row.observed_error,
                }
                for row in swept.rows
            ]
    caption = (
        f"5 ways, nearest class mean, {100 * LEVEL:g} % open intervals; {seeds} task sets a point. "
        "Lines: the fitted model."
    )
    names = "queries a class, Q", "half-width, points"
    title = "Open interval against the number of queries"
    return Figure(title, caption, *names, rows, names=("model", "observed"))


def best_queries(seeds: int) -> Figure:
    """Compute figure 5: the Q of the narrowest open interval against S.

    The formula is sqrt(β/α); the best Q has Student's t and whole T, too. Points are the best Q by
    α and w as they are estimated from `seeds` task sets of Q = 10 together.
    """
    rows = []
    for shot in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20):
        model, rng, tasks = exact(shot), np.random.default_rng(shot), tasks_of(10, shot)
        factors = width_factors(all_tasks(shot), LEVEL)
        images = new_images(rng, 1, seeds * tasks * (shot + 10))[0]
        found = estimate_set(task_counts(images, shot, 10), 10)
        best = best_query(model.w / model.alpha, factors)
        formula = float(np.sqrt(model.beta / model.alpha))
        rows += [
            {"series": "sqrt(β/α)", "x": shot, "line": formula, "point": None},
            {
                "series": "t and whole T",
                "x": shot,
                "line": best,
                "point": best_query(found.w / found.alpha, factors) if found.alpha > 0 else None,
                "T": all_tasks(shot)[best],
            },
        ]
    caption = (
        f"Two classes, N(-1, 1) and N(1, 1), {PER_CLASS} images each. Lines: exact; points: by "
        f"estimates from {seeds} task sets of Q = 10."
    )
    return Figure("The best number of queries", caption, "shots, S", "best Q", rows, "y")


FIGURES: dict[str, tuple[Callable[[int], Figure], int]] = {
    "2": (variances, 2000),
    "3": (tasks_growing, 1000),
    "4": (widths_on_features, 20),
    "5": (best_queries, 3000),
}
"""By number, with how many times each is drawn."""


def main() -> None:
    """Print a figure's numbers, and draw it if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", choices=[*FIGURES])
    parser.add_argument("-o", "--output", type=Path, help="file to draw: .svg, .pdf or .png")
    parser.add_argument("--seeds", type=int, help="how many times each is drawn")
    asked = parser.parse_args()
    make, usual = FIGURES[asked.figure]
    figure = make(asked.seeds or usual)
    sys.stdout.write(f"**{figure.title}.** {figure.caption}\n\n{table(figure)}")
    if asked.output:
        draw(figure, asked.output)


if __name__ == "__main__":
    main()
