"""Heads of known reliance: ``python -m studies.truth.heads RAW WORK``.

RAW is a folder of packages (`fslbench-build fetch glyphs_sample emoji`), WORK keeps their pixels
and what has been computed.  Written is ``heads.json``: Spearman's correlation of each measure and
λ, by data, population and seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.protocol import Protocol
from builders.sampling.counterfactual import versions
from fslbench_data.release.release import load_release
from fslbench_data.sampling.draw import DrawnTasks
from fslbench_data.tasks import groups_of
from studies.common import Array
from studies.truth.measures import (
    MEASURES,
    counterfactual_tasks,
    in_all_values,
    ladder_tasks,
    measures_of,
    ordered,
)
from studies.truth.trained import arguments, pixels_of

RESULTS = Path(__file__).with_name("heads.json")
SEEDS = range(20)
RELIANCE = np.arange(9) / 8
NOISE = 0.3
"""Of the first population, relative to the content."""
DIMENSIONS, OF_DRAWING = 40, 8
LEVELS = {"equal": 1.0, "three quarters": 0.75, "half": 0.5}
"""Where accuracy lies between chance and that of the greatest reliance."""
VALUES = {"20w1s5q": 200, "5w1s15q": 40}
"""Of a planted attribute, by protocol: so many that K classes draw different ones."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Content, style and noise of the images of tasks, each (T, K, S+Q, D)."""

    shot: int
    content: Array
    style: Array
    noise: Array

    def correct(self, reliance: float, noise: float) -> Array:
        """Count the correct queries (T, K) of the nearest class mean."""
        z = self.content + np.float32(reliance) * self.style + np.float32(noise) * self.noise
        tasks, way, _, width = z.shape
        mean = z[:, :, : self.shot].mean(axis=2)
        query = z[:, :, self.shot :].reshape(tasks, -1, width)
        near = (mean**2).sum(axis=2)[:, None] - 2 * query @ mean.transpose(0, 2, 1)
        answer = near.argmin(axis=2).reshape(tasks, way, -1)
        counts: Array = (answer == np.arange(way)[:, None]).sum(axis=2)
        return counts


@dataclass(frozen=True, eq=False)
class Data:
    """Images with known parts, and tasks of them: a ladder and counterfactuals.

    `level` are other random tasks, to set the noise by.  `rows` gives the content, style and noise
    of positions (T, K, n) in classes (T, K).
    """

    tasks: Mapping[str, DrawnTasks]
    level: DrawnTasks
    rows: Callable[[str, Array, Array], tuple[Array, Array, Array]]

    def codes(self, step: str) -> Codes:
        """Gather the codes of a set of tasks."""
        tasks = self.level if step == "level" else self.tasks[step]
        positions = np.concatenate([tasks.support, tasks.query], axis=2)
        parts = self.rows(step, tasks.class_ids, positions)
        return Codes(tasks.protocol.shot, *(part.astype(np.float32) for part in parts))


def unit(codes: Array, by: Array | None = None) -> Array:
    """Scale codes (N, D) so that vectors, those of `by`, have a mean square of one."""
    of = codes if by is None else by
    scaled: Array = codes / np.sqrt((of**2).sum(axis=1).mean())
    return scaled


def noise_of(rows: int, rng: np.random.Generator) -> Array:
    """Draw noise (N, D) of mean square one."""
    noise: Array = rng.normal(size=(rows, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    return noise


def with_planted_style(
    content: Array, sizes: Array, copies: int, seed: int, asked: str = "20w1s5q"
) -> Data:
    """Give drawings (N, D), of classes in a row, values by chance: `copies` images of each."""
    rng = np.random.default_rng((1, seed))
    protocol, values = Protocol.parse(asked), VALUES[asked]
    style = unit(rng.normal(size=(values, DIMENSIONS)))
    noise, first = noise_of(len(content), rng), np.cumsum(sizes) - sizes
    value = np.array([rng.permutation(values)[:copies] for _ in range(len(content))])
    words = [[f"value {v}"] for v in value.ravel()]
    label = f"values {seed}"
    ladder = ladder_tasks(words, sizes * copies, protocol, seed, label)
    objects = in_all_values(sizes, values)
    changed = counterfactual_tasks(objects, protocol, seed, label)

    def rows(step: str, classes: Array, positions: Array) -> tuple[Array, Array, Array]:
        of_object = values if step in changed else copies
        drawing = first[classes][..., None] + positions // of_object
        shown = positions % of_object
        which = shown if step in changed else value[drawing, shown]
        return content[drawing], style[which], noise[drawing]

    level = ladder_tasks(words, sizes * copies, protocol, 1000 + seed, label)["random"]
    return Data(ladder | changed, level, rows)


def planted(protocol: str, seed: int) -> Data:
    """Make 100 classes of 200 images: content and style are Gaussian codes."""
    rng = np.random.default_rng((2, seed))
    sizes = np.full(100, 200)
    of_class = np.repeat(rng.normal(size=(100, DIMENSIONS)), sizes, axis=0)
    own = np.sqrt(2) * rng.normal(size=of_class.shape)
    return with_planted_style(unit(of_class + own), sizes, 1, seed, protocol)


def components(pixels: Array, by: Array) -> Array:
    """Project images (N, ...) on the principal components of those in `by`, (N, D)."""
    flat = pixels.reshape(len(pixels), -1) / 255
    centred = flat - flat[by].mean(axis=0)
    _, vectors = np.linalg.eigh(centred[by].T @ centred[by])
    projected: Array = centred @ vectors[:, -DIMENSIONS:]
    return projected


def planted_glyphs(pixels: Array, seed: int) -> Data:
    """Take the characters as content, and Gaussian codes as style."""
    label = load_release().images("glyphs_sample").column("class_id").to_numpy()
    content = unit(components(pixels, np.arange(len(pixels))))
    return with_planted_style(content, np.bincount(label), OF_DRAWING, seed)


def directions(x: Array, label: Array, words: list[list[str]]) -> Array:
    """Find orthonormal directions (D, r): differences of class means with and without a word."""
    found = []
    for word in sorted({word for of_image in words for word in of_image}):
        has = np.array([word in of_image for of_image in words])
        apart = [
            x[(label == c) & has].mean(axis=0) - x[(label == c) & ~has].mean(axis=0)
            for c in np.unique(label)
            if 1 < (has & (label == c)).sum() < (label == c).sum() - 1
        ]
        if apart:
            found.append(np.mean(apart, axis=0))
    vectors, sizes, _ = np.linalg.svd(np.array(found).T, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-6 * sizes[0]])


def with_own_style(
    pixels: Array, dataset: str, attribute: str, ways: tuple[int, int], seed: int
) -> Data:
    """Part images into content and style by the other half of the classes, and draw of this one.

    `ways` are of the ladder, by the table ``style``, and of counterfactuals, by `attribute`.
    """
    release, rng = load_release(), np.random.default_rng((3, seed))
    images, style = release.images(dataset), release.attributes(dataset, "style")
    label = images.column("class_id").to_numpy()
    order = rng.permutation(int(label.max()) + 1)
    half = np.isin(label, order[: order.size // 2])
    ours, theirs = np.flatnonzero(half), np.flatnonzero(~half)
    words = style.column("attributes").to_pylist()
    x = components(pixels, theirs)
    basis = directions(x[theirs], label[theirs], [words[i] for i in theirs])
    leaning = x @ basis @ basis.T
    content, style_code = unit(x - leaning, (x - leaning)[theirs]), unit(leaning, leaning[theirs])
    noise, sizes = noise_of(len(x), rng), np.bincount(label[ours])
    sizes = sizes[sizes > 0]
    first = np.cumsum(sizes) - sizes
    draw = partial(ladder_tasks, [words[i] for i in ours], sizes)
    protocols = [Protocol.parse(f"{way}w1s5q") for way in ways]
    table = release.attributes(dataset, attribute).take(ours)
    objects = versions(table, sizes.tolist(), groups_of(images)[ours], dataset)
    label_of = f"{dataset} {seed}"
    tasks = draw(protocols[0], seed, label_of)
    tasks = tasks | counterfactual_tasks(objects, protocols[1], seed, label_of)

    def rows(step: str, classes: Array, positions: Array) -> tuple[Array, Array, Array]:
        row = ours[first[classes][..., None] + positions]
        return content[row], style_code[row], noise[row]

    return Data(tasks, draw(protocols[0], 1000 + seed, label_of)["random"], rows)


def noise_for(codes: Codes, reliance: float, accuracy: float) -> float:
    """Find by bisection the noise with which so great a share of queries is right."""
    low, high = 0.0, 64.0
    for _ in range(18):
        middle = (low + high) / 2 if high < 4 else np.sqrt(max(low, 0.25) * high)
        right = codes.correct(reliance, middle).mean() / (codes.content.shape[2] - codes.shot)
        low, high = (middle, high) if right > accuracy else (low, middle)
    return float((low + high) / 2)


def methods(data: Data) -> Iterator[dict[str, Any]]:
    """Give all methods: reliance, level, and their measures."""
    codes = {step: data.codes(step) for step in data.tasks}
    level = data.codes("level")
    way, query = level.content.shape[1], level.content.shape[2] - level.shot
    most = float(level.correct(RELIANCE[-1], NOISE).mean() / query)
    for name, share in {"fixed": None, **LEVELS}.items():
        for reliance in RELIANCE:
            noise = NOISE
            if share is not None:
                noise = noise_for(level, reliance, 1 / way + share * (most - 1 / way))
            correct = {step: of.correct(reliance, noise) for step, of in codes.items()}
            right = {step: 100 * float(n.mean()) / query for step, n in correct.items()}
            about = {"reliance": float(reliance), "level": name, "noise": noise}
            yield about | {"accuracy": right, "measures": measures_of(correct, query)}


def populations(made: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Take the populations of the design out of all methods."""
    by_level = {name: [m for m in made if m["level"] == name] for name in ("fixed", *LEVELS)}
    third = len(RELIANCE) // 3
    rising = list(LEVELS)[::-1]
    return {
        "fixed": by_level["fixed"],
        "equal": by_level["equal"],
        "mixed": [m for name in LEVELS for m in by_level[name]],
        "opposed": [by_level[rising[i // third]][i] for i in range(len(RELIANCE))],
    }


def result_of(made: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Correlate each measure with λ, by population."""
    results = {}
    for name, members in populations(made).items():
        truth = np.array([m["reliance"] for m in members])
        values = {of: np.array([m["measures"][of] for m in members]) for of in MEASURES}
        results[name] = {of: ordered(v, truth) for of, v in values.items()}
    return results


def main() -> None:
    """Compute what is not yet in WORK, and write the results."""
    raw, work = arguments(__doc__)
    glyphs, emoji = pixels_of("glyphs_sample", raw, work), pixels_of("emoji", raw, work, "RGB")
    makers: dict[str, Callable[[int], Data]] = {
        "planted": partial(planted, "20w1s5q"),
        "glyphs, planted": partial(planted_glyphs, glyphs),
        "glyphs": partial(with_own_style, glyphs, "glyphs_sample", "bold", (5, 5)),
        "emoji": partial(with_own_style, emoji, "emoji", "style", (4, 10)),
        "planted, 5 ways": partial(planted, "5w1s15q"),
    }
    results: dict[str, Any] = {name: {} for name in makers}
    for seed in SEEDS:
        for name, make in makers.items():
            path = work / f"{name}-{seed}.json"
            if not path.exists():
                path.write_text(json.dumps([*methods(make(seed))]))
                print(path.name, flush=True)
            made = json.loads(path.read_text())
            results[name][str(seed)] = {
                "spearman": result_of(made),
                "accuracy": {
                    level: [m["accuracy"] for m in made if m["level"] == level]
                    for level in ("fixed", *LEVELS)
                },
            }
    lines = [f"{json.dumps(name)}: {json.dumps(of)}" for name, of in summary(results).items()]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def summary(results: Mapping[str, Any]) -> dict[str, Any]:
    """Round, and keep of accuracies the means over seeds."""

    def means(of: list[list[dict[str, float]]]) -> list[dict[str, float]]:
        return [
            {step: round(float(np.mean([m[i][step] for m in of])), 2) for step in of[0][i]}
            for i in range(len(RELIANCE))
        ]

    return {
        name: {
            "spearman": {
                population: {
                    measure: [round(s["spearman"][population][measure], 4) for s in seeds.values()]
                    for measure in MEASURES
                }
                for population in ("fixed", "equal", "mixed", "opposed")
            },
            "accuracy": {
                level: means([s["accuracy"][level] for s in seeds.values()])
                for level in ("fixed", *LEVELS)
            },
        }
        for name, seeds in results.items()
    }


if __name__ == "__main__":
    main()
