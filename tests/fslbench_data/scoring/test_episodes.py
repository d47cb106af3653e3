"""Logs whose tasks differ in their numbers of classes, shots and queries."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import invoke
from golden_inputs import write_columns
from scipy import stats

import fslbench_data as fb
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, leave_one_out
from benchmark_spec.errors import NoIntervalError, SchemaError, TaskLogError

CLASSES, IMAGES, TASKS = 14, 40, 300
SIZES = dict.fromkeys([f"c{c:02}" for c in range(CLASSES)], IMAGES)


def _log(methods: tuple[str, ...] = ("one", "two"), seed: int = 0) -> list[dict[str, Any]]:
    """Rows of episodes of 5 to 10 ways, 1 to 6 shots a class and 4 to 8 queries."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=(len(methods), CLASSES, IMAGES)) / 2
    rows = []
    for task in range(TASKS):
        way, query = int(rng.integers(5, 11)), int(rng.integers(4, 9))
        classes = rng.permutation(CLASSES)[:way]
        shots = rng.integers(1, 7, way)
        drawn = [rng.permutation(IMAGES)[: shot + query] for shot in shots]
        row = {"task": task, "class_ids": [f"c{c:02}" for c in classes]}
        row["support_ids"] = _ids(classes, [own[:-query] for own in drawn])
        row["query_ids"] = _ids(classes, [own[-query:] for own in drawn])
        for number, method in enumerate(methods):
            seen = [ease[number, c, own] for c, own in zip(classes, drawn, strict=True)]
            logits = [own[:-query].mean() + own[-query:] for own in seen]
            right = rng.random((way, query)) < 1 / (1 + np.exp(-np.array(logits)))
            rows.append({"method": method, **row, "correct": right.astype(int).tolist()})
    return rows


def _ids(classes: np.ndarray, images: list[np.ndarray]) -> list[list[str]]:
    return [[f"c{c:02}/{i:02}" for i in own] for c, own in zip(classes, images, strict=True)]


@pytest.fixture(scope="module")
def log() -> list[dict[str, Any]]:
    return _log()


@pytest.fixture(scope="module")
def report(log: list[dict[str, Any]]) -> fb.Report:
    return fb.interval(log, class_sizes=SIZES)


def test_each_has_intervals_for_images_and_classes(report: fb.Report) -> None:
    (task_set,) = report.sets
    assert task_set.scored.task_set == "episodes-10w6s8q"
    for score in task_set.scores:
        kinds = ("closed", "images", "classes")
        usual, images, classes = (score.intervals[kind].halfwidth for kind in kinds)
        assert 0 < usual < images <= classes
    (comparison,) = task_set.comparisons
    assert comparison.intervals["images"].difference.halfwidth
    with pytest.raises(NoIntervalError, match="superclasses"):
        comparison.intervals["superclasses"]


@pytest.mark.slow
def test_every_command_takes_them(
    log: list[dict[str, Any]], report: fb.Report, tmp_path: Path
) -> None:
    columns = {name: [row[name] for row in log] for name in log[0]}
    path = write_columns(tmp_path / "log.jsonl", columns)
    own = fb.open_log(path, class_sizes=SIZES)
    assert fb.score(own).scores[0].intervals["images"] == report.scores[0].intervals["images"]
    assert "300 tasks of up to 10 classes and up to 14 images of each" in str(report)
    assert "one" in fb.table(own).markdown()
    assert "svg" in fb.plot("forest", own, datasets="log", task_sets="episodes-10w6s8q").svg
    sql = "SELECT len(class_ids), len(support) FROM tasks WHERE task_id = 0"
    with fb.connect(submissions=own) as connection:
        (sizes,) = connection.sql(sql).fetchall()
    assert sizes == (len(log[0]["class_ids"]), sum(map(len, log[0]["support_ids"])))
    found = invoke("plan", "--pilot", f"{path}::one", "--versus", "two")
    assert "differ in their numbers" in found.stderr


def test_it_is_the_sum_over_pairs_of_tasks() -> None:
    """Against the module's formula, written out."""
    rng = np.random.default_rng(2)
    sizes = np.array([6, 9, 7, 12, 8])
    start = np.cumsum(sizes) - sizes
    ids, images = np.full((50, 4), -1), np.full((50, 4, 6), -1)
    for b in range(50):
        way = int(rng.integers(2, 5))
        ids[b, :way] = rng.permutation(5)[:way]
        for k in range(way):
            m = int(rng.integers(2, 7))
            c = ids[b, k]
            images[b, k, : min(m, sizes[c])] = start[c] + rng.permutation(sizes[c])[:m]
    owner = np.repeat(np.arange(5), sizes)
    y = rng.random((1, 50))
    design = EpisodeDesign.of(ids, images, owner)
    design = EpisodeDesign(ids, images, owner, design.labels, {"superclasses": ""}, {})
    r, ways = design.residuals(y)[0], (ids >= 0).sum(1)
    most = (images >= 0).sum((1, 2)) / ways
    shape = np.stack([np.ones(50), ways, 1 / ways, most, 1 / most], axis=1)
    shares = (ids[:, :, None] == np.arange(5)).any(1) / ways[:, None]
    for kind, fit in (("classes", shape), ("images", np.hstack([shape, shares]))):
        expected = y[0] - fit @ np.linalg.lstsq(fit, y[0])[0]
        assert design.residuals(y, kind)[0] == pytest.approx(expected, abs=1e-10)
    each = {
        (int(b), int(ids[b, k])): int((images[b, k] >= 0).sum()) for b, k in np.argwhere(ids >= 0)
    }
    total = 0.0
    for c in range(5):
        having = [b for b in range(50) if (b, c) in each]
        left = [b for b in having if each[b, c] < sizes[c]]
        scale = (sum(1 / ways[b] for b in having) / sum(1 / ways[b] for b in left)) ** 2
        for image in range(start[c], start[c] + sizes[c]):
            x = np.zeros(50)
            for b in left:
                p = each[b, c] / sizes[c]
                x[b] = (float(image in images[b]) - p) / (1 - p)
            pairs = (x @ r) ** 2 - (x**2) @ (r**2)
            total += scale * (sizes[c] - 1) / sizes[c] * pairs / (50 * 49)
    assert Influences(design, y).variance("images")[0] == pytest.approx(total, rel=1e-10)
    r = design.residuals(y, "classes")[0]
    p = ways[:, None] / 5
    x = ((ids[:, :, None] == np.arange(5)).any(1) - p) / (1 - p)
    pairs = ((x.T @ r) ** 2 - (x**2).T @ (r**2)).sum()
    expected = 4 / 5 * pairs / (50 * 49)
    assert Influences(design, y).variance("classes")[0] == pytest.approx(expected, rel=1e-10)


def test_tasks_of_one_shape_have_nearly_the_errors_of_the_usual_formula() -> None:
    rng, owner = np.random.default_rng(1), np.repeat(np.arange(20), 60)
    ids = np.array([rng.permutation(20)[:5] for _ in range(600)])
    images = (
        60 * ids[..., None] + rng.permuted(np.tile(np.arange(60), (600, 5, 1)), axis=2)[..., :6]
    )
    right = rng.binomial(1, 0.7, (2, 600, 20)).astype(np.uint8)
    usual = TaskDesign.of(ids, images, owner, shots=2)
    episodes = EpisodeDesign.of(ids, images, owner, shots=np.full(ids.shape, 2))
    for kind in ("images", "classes"):
        scales = [design.jackknives[kind].scale for design in (usual, episodes)]
        assert scales[0] == pytest.approx(scales[1], rel=0.05)
    one, other = (
        design.queries.sums(
            design.residuals(right.mean(2)), [RightQueries(own, 1) for own in right]
        )
        for design in (usual, episodes)
    )
    assert one.own[1] == pytest.approx(other.own[1], rel=0.1)
    large = EpisodeDesign.of(ids, 100 * images, np.repeat(owner, 100))
    assert "images are in 0.15 tasks on average" in large.bounded["images"]


def test_few_tasks_with_a_class_give_a_bound() -> None:
    ids = np.array([[0, 1, -1], [0, 1, 2], [1, 0, -1]])
    images = np.full((3, 3, 2), -1)
    for b, k in np.argwhere(ids >= 0):
        images[b, k] = 10 * ids[b, k] + np.array([b, 5])
    design = EpisodeDesign.of(ids, images, np.repeat(np.arange(4), 10))
    assert "class 3 is in 0 tasks" in design.bounded["images"]
    # 3 tasks, of which class 0 is in all with 2 of 10 images; 7 of 12 classes are in a task
    assert design.bound("images") == pytest.approx(1 + 3 * 0.2 / 0.8)
    assert design.bound("classes") == pytest.approx(1 + 3 * (7 / 12) / (5 / 12))
    assert [design.disjoint_tasks(kind) for kind in ("images", "classes")] == [3, 1]
    y = np.array([0.5, 0.6, 0.8])
    found = leave_one_out(design, y[None], 0.95)
    assert found.images is not None
    error = np.sqrt(design.bound("images") * y.var(ddof=1) / 3)
    assert found.images.halfwidth[0, 0] == pytest.approx(stats.t.ppf(0.975, 2) * error)
    assert [design.bound_freedom(kind) for kind in ("images", "classes")] == [2.0, 2.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row["support_ids"].pop(), "lists in support_ids and"),
        (lambda row: row["query_ids"][0].clear(), "a task has no query images"),
        (lambda row: row["correct"].pop(), "query_ids and"),
        (lambda row: row["class_ids"].append("c99"), "class_ids"),
    ],
)
def test_what_is_wrong_with_a_task(change: Any, said: str) -> None:
    log = _log(("one",))
    change(log[3])
    with pytest.raises(SchemaError, match=rf"{said}(.|\n)*data row 4"):
        fb.interval(log, class_sizes=SIZES)


def test_what_is_wrong_with_tasks_of_different_numbers(log: list[dict[str, Any]]) -> None:
    uneven = [row for row in log if "c00" in row["class_ids"] or row["task"] % 4]
    groups = {f"{c}/{i:02}": f"{c}/{i // 2}" for c in SIZES for i in range(IMAGES)}
    for rows, more, said in (
        (uneven, {"class_sizes": SIZES | {"c99": 40}}, r"not drawn uniformly|c00"),
        (log, {"class_sizes": SIZES, "groups": groups}, "different numbers"),
    ):
        with pytest.raises(TaskLogError, match=said):
            fb.interval(rows, **more)


def test_of_inductive_methods_it_counts_which_queries_were_right(
    log: list[dict[str, Any]], report: fb.Report
) -> None:
    told = fb.interval(log, class_sizes=SIZES, inductive=True)
    for known, whole in zip(told.scores, report.scores, strict=True):
        assert (known.by_queries, whole.by_queries) == (True, False)
        assert known.accuracy == whole.accuracy
    own, of_tasks = (r.comparisons[0].intervals["images"].difference for r in (told, report))
    assert 0.7 * of_tasks.halfwidth < own.halfwidth != of_tasks.halfwidth
    assert invoke("plan", "--inductive").exit_code == 2
