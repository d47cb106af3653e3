"""Tasks that differ in their numbers of classes, shots and queries: of logs, and of releases."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from commands import invoke, printed
from golden_inputs import write_columns
from msgspec.structs import replace
from recorded import in_run
from results_repository import Repository
from scipy import stats
from scipy.stats import chisquare

import fslbench_data as fb
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, leave_one_out
from benchmark_spec import errors
from benchmark_spec.protocol import TaskSetName
from builders.baselines import run_head
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.release.release import load_release
from fslbench_data.sampling.episodes import LEAST_WAYS, MOST_SUPPORT
from fslbench_data.scoring.sql import connect

CLASSES, IMAGES, LOGGED = 14, 40, 300
OF_CLASS = dict.fromkeys([f"c{c:02}" for c in range(CLASSES)], IMAGES)


def _log(methods=("one", "two"), seed=0):
    """Rows of episodes of 5 to 10 ways, 1 to 6 shots a class and 4 to 8 queries."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=(len(methods), CLASSES, IMAGES)) / 2
    rows = []
    for task in range(LOGGED):
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


def _ids(classes, images):
    return [[f"c{c:02}/{i:02}" for i in own] for c, own in zip(classes, images, strict=True)]


@pytest.fixture(scope="module")
def log():
    return _log()


@pytest.fixture(scope="module")
def report(log):
    return fb.interval(log, class_sizes=OF_CLASS)


@pytest.mark.slow
def test_every_command_takes_them(log, report, tmp_path):
    columns = {name: [row[name] for row in log] for name in log[0]}
    path = write_columns(tmp_path / "log.jsonl", columns)
    own = fb.open_log(path, class_sizes=OF_CLASS)
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


def test_it_is_the_sum_over_pairs_of_tasks():
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


def test_tasks_of_one_shape_have_nearly_the_errors_of_the_usual_formula():
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


def test_few_tasks_with_a_class_give_a_bound():
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
def test_what_is_wrong_with_a_task(change, said):
    log = _log(("one",))
    change(log[3])
    with pytest.raises(errors.SchemaError, match=rf"{said}(.|\n)*data row 4"):
        fb.interval(log, class_sizes=OF_CLASS)


def test_what_is_wrong_with_tasks_of_different_numbers(log):
    uneven = [row for row in log if "c00" in row["class_ids"] or row["task"] % 4]
    groups = {f"{c}/{i:02}": f"{c}/{i // 2}" for c in OF_CLASS for i in range(IMAGES)}
    for rows, more, said in (
        (uneven, {"class_sizes": OF_CLASS | {"c99": 40}}, r"not drawn uniformly|c00"),
        (log, {"class_sizes": OF_CLASS, "groups": groups}, "different numbers"),
    ):
        with pytest.raises(errors.TaskLogError, match=said):
            fb.interval(rows, **more)


def test_of_inductive_methods_it_counts_which_queries_were_right(log, report):
    told = fb.interval(log, class_sizes=OF_CLASS, inductive=True)
    for known, whole in zip(told.scores, report.scores, strict=True):
        assert (known.by_queries, whole.by_queries) == (True, False)
        assert known.accuracy == whole.accuracy
    own, of_tasks = (r.comparisons[0].intervals["images"].difference for r in (told, report))
    assert 0.7 * of_tasks.halfwidth < own.halfwidth != of_tasks.halfwidth
    assert invoke("plan", "--inductive").exit_code == 2


SIZES, TASKS = [12, 15, 20, 9, 14, 16, 11, 13], 120
NAME = TaskSetName.parse("episodes-7w10s3q")
OWNER = np.repeat(range(8), SIZES)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    writer = ReleaseWriter(folder := tmp_path_factory.mktemp("episodes") / "r", "r", "1.0.0", "R.")
    about = About("A", "https://example.org", "CC0", "@misc{x}", redistribution="features")
    writer.add_dataset("toy", about, list("abcdefgh"), SIZES)
    writer.add_tasks("toy", NAME, *draw_task_set("toy", NAME, SIZES, tasks=TASKS), drawn=True)
    centres = 1.5 * np.random.default_rng(1).normal(size=(8, 5))
    x = centres[OWNER] + np.random.default_rng(0).normal(size=(sum(SIZES), 5))
    writer.add_features("toy", "net", iter([x.astype(np.float16)]), {"backbone": "net"})
    with_tasks = writer.so_far()
    for head in ("NCC", "RidgeRegression"):
        results = run_head(with_tasks, head, "net", ["toy"])
        writer.add_results(results, {"head": head, "features": "net"})
    writer.finish()
    return load_release(folder)


def _nearest(support, query, rng):
    means = np.stack([own.mean(axis=0) for own in support])
    return ((query[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)


@pytest.fixture(scope="module")
def answers(release):
    found = fb.evaluate(_nearest, release, features="net", name="mine", trained=False)
    assert found.methods["mine"].inductive
    return found


def test_the_published_rule():
    sizes = [3, 30, 200, 8, 60, 12, 25]
    name = TaskSetName.parse("episodes-7w100s10q")
    table, _ = draw_task_set("d", name, sizes, seed=5, tasks=300)
    part, _ = draw_task_set("d", name, sizes, seed=5, tasks=9)
    assert table.slice(0, 9) == part
    ways, classes, ratios, owner = [], np.zeros(7), [], np.repeat(np.arange(7), sizes)
    for row in table.to_pylist():
        images, labels = row["support"] + row["query"], row["support_label"] + row["query_label"]
        assert len({*row["class_ids"]}) == len(row["class_ids"])
        assert len({*images}) == len(images)
        assert owner[images].tolist() == [row["class_ids"][k] for k in labels]
        n = np.array(sizes)[row["class_ids"]]
        shots = np.bincount(row["support_label"], minlength=n.size)
        query = np.bincount(row["query_label"], minlength=n.size)
        assert (query == min(10, n.min() // 2)).all()
        assert shots.min() >= 1
        assert (shots <= n - query).all()
        assert shots.sum() <= MOST_SUPPORT + n.size
        ways.append(n.size)
        classes[row["class_ids"]] += 1 / n.size
        free = (shots > 3) & (shots < n - query)
        of_size = shots[free] / n[free]
        ratios += np.log(of_size / of_size.max(initial=0)).tolist()
    assert chisquare(np.bincount(ways)[LEAST_WAYS:]).pvalue > 0.01
    assert chisquare(classes).pvalue > 0.01
    assert -2 * np.log(2) - 0.4 < min(ratios) < -0.7  # weights between a half and two


@pytest.mark.slow
def test_every_image_is_as_likely(release):
    shown = np.zeros(sum(SIZES))
    for task in release.task_set("toy", str(NAME)):
        for place, own in enumerate(task.support):
            queries = task.query[task.query_label == place]
            share = (len(own) + len(queries)) / SIZES[task.class_ids[place]]
            shown[own], shown[queries] = shown[own] + 1 / share, shown[queries] + 1 / share
    for c in range(8):
        assert np.ptp(shown[c == OWNER]) < 1.2 * shown[c == OWNER].mean()
    assert not verify(Path(release.files.where)).problems
    assert release.load_dataset(f"tasks-{NAME}", "toy").num_rows == TASKS


def test_a_release_and_a_log_give_the_same(release, answers):
    other = fb.evaluate(
        lambda support, query, rng: _nearest([own[:1] for own in support], query, rng),
        release, features="net", name="first shots", trained=False,
    )  # fmt: skip
    found = fb.score([answers, other], release, references=False).sets[0]
    tasks, rows = release.task_set("toy", str(NAME)), []
    for row in answers.table.to_pylist() + other.table.to_pylist():
        task = tasks[row["task_id"]]
        right = np.array(row["predictions"]) == task.query_label
        queries = [task.query_label == k for k in range(task.class_ids.size)]
        rows.append(
            {
                "method": row["method"],
                "task": task.task_id,
                "class_ids": task.class_ids.tolist(),
                "support_ids": [own.tolist() for own in task.support],
                "query_ids": [task.query[own].tolist() for own in queries],
                "correct": np.concatenate([right[own] for own in queries]).tolist(),
            }
        )
    log = fb.open_log(rows, class_sizes=dict(enumerate(SIZES)), trained=False, inductive=True)
    logged = fb.score(log).sets[0]
    assert found.methods == logged.methods
    for kind in ("closed", "images", "classes"):
        pairs = [*zip(found.scores, logged.scores, strict=True)]
        intervals = [(one.intervals[kind], same.intervals[kind]) for one, same in pairs]
        if kind != "closed":
            (one,), (same,) = found.comparisons, logged.comparisons
            intervals.append((one.intervals[kind].difference, same.intervals[kind].difference))
        for interval, of_log in intervals:
            assert interval.mean == pytest.approx(of_log.mean, abs=1e-10)
            assert interval.halfwidth == pytest.approx(of_log.halfwidth, abs=1e-10)


def test_runs_are_means_of_accuracies(release, answers):
    runs = [in_run(answers, str(i)) for i in range(2)]
    (score, *_), (one, *_) = (fb.score(some, release).sets[0].scores for some in (runs, answers))
    assert score.runs == 2
    assert score.accuracy.mean == pytest.approx(one.accuracy.mean)
    assert score.run_means == pytest.approx({"0": one.accuracy.mean, "1": one.accuracy.mean})


def test_a_leaderboard_of_episodes_says_what_a_score_says(release, answers, tmp_path):
    repository = Repository(tmp_path)
    repository.add(answers)
    (found,) = leaderboard(repository.files, [release]).boards[0].sets
    rows = {row.method: row for row in found.rows}
    counts = replace(answers, table=answers.table.drop_columns(["predictions", "class_correct"]))
    (scored,) = fb.score(counts, release).sets
    own, *references = scored.scores  # a board takes no queries into account
    assert rows["mine"].intervals["images"].accuracy == own.intervals["images"]
    for score in references:
        of_board = rows[score.method].intervals["images"].accuracy
        assert of_board.mean == score.intervals["images"].mean
    pairs = [pair for pair in scored.comparisons if found.leader in (pair.method, pair.versus)]
    assert pairs
    for pair in pairs:
        sign = 1 if pair.versus == found.leader else -1
        other = pair.method if sign > 0 else pair.versus
        behind = rows[other].intervals["images"].difference
        apart = pair.intervals["images"].difference
        assert behind.mean == pytest.approx(sign * apart.mean, abs=1e-10)
        assert behind.halfwidth == pytest.approx(apart.halfwidth, abs=1e-10)


def test_accuracies_of_episodes_are_imported(release, answers, tmp_path):
    right, asked = (np.array(answers.table[name]) for name in ("n_correct", "n_query"))
    np.save(tmp_path / "mine.npy", right / asked)
    source, made = str(tmp_path / "mine.npy"), str(tmp_path / "mine.parquet")
    asks = ["--method", "mine", "--task-set", f"toy/{NAME}", "-o", made]
    folder = release.files.where
    printed("import-accuracies", source, *asks, "--release", folder)
    imported = fb.Submission.read(made)
    assert imported.table["n_correct"].to_pylist() == right.tolist()
    assert imported.table["n_query"].to_pylist() == asked.tolist()
    info = release.task_set_info("toy", str(NAME))
    for values, queries, said in (
        (right / asked, {}, "differ in queries"),
        (right / asked + 1e-3, {"queries": asked}, "number of queries"),
        (right / asked, {"queries": asked[1:]}, "shape"),
    ):
        with pytest.raises(errors.AccuracyError, match=said):
            fb.Submission.from_accuracies(values, info, "mine", **queries)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda row, _: row.update(n_query=row["n_query"] + 1), errors.QueryCountError),
        (lambda row, _: row.update(n_correct=30), errors.CountError),
        (lambda row, _: row["predictions"].pop(), errors.PredictionError),
        (lambda row, _: row["class_correct"].append(0), errors.PredictionError),
        (lambda row, _: row["predictions"].__setitem__(0, 7), errors.PredictionError),
        (lambda row, _: row["predictions"].__setitem__(0, None), errors.PredictionError),
        (lambda row, other: row.update(predictions=other["predictions"]), errors.FSLBenchError),
        (lambda row, _: row.update(n_correct=row["n_correct"] - 1), errors.FSLBenchError),
        (lambda row, _: row["class_correct"].reverse(), errors.ContradictionError),
        (lambda row, _: row.update(task_id=120), errors.FSLBenchError),
        (lambda row, _: row.update(task_id=4), errors.FSLBenchError),
    ],
)
def test_hostile_rows_are_refused(release, answers, change, kind):
    rows = answers.table.to_pylist()
    change(*rows[3:5])
    table = pa.Table.from_pylist(rows, answers.table.schema)
    with pytest.raises(kind, match="row"):
        fb.score(replace(answers, table=table), release)


def test_what_cannot_be_drawn_or_run(release):
    for name, sizes, said in (
        ("episodes-9w10s3q", SIZES, "up to 9 of 8"),
        ("episodes-4w10s3q", SIZES, "up to 4"),
        ("episodes-128w10s3q", [9] * 200, "5 ways to 127"),  # labels are int8
        ("episodes-8w10s5000q", SIZES, "up to 40000 queries"),
        (str(NAME), [1, *SIZES], "1 images"),
    ):
        with pytest.raises(errors.SamplingError, match=said):
            draw_task_set("toy", TaskSetName.parse(name), sizes, tasks=3)
    with pytest.raises(errors.SamplingError, match="have groups"):
        draw_task_set("toy", NAME, SIZES, tasks=3, groups=np.zeros(sum(SIZES), np.int64))
    with pytest.raises(errors.SpecError, match="no batch"):
        fb.evaluate(_nearest, release, features="net", batch=2)
    with pytest.raises(errors.FSLBenchError, match="different shots"):
        run_head(release, "LR", "net", ["toy"])


@pytest.mark.slow
def test_every_command(release, answers, tmp_path):
    answers.write(path := tmp_path / "mine.parquet")
    for arguments, said in (
        (["validate", path], "predictions and class_correct checked"),
        (["score", path], "up to 7-way"),
        (["score", path, "--details"], "leave-one-out"),
        (["compare", path, "net/NCC"], "net/NCC"),
        (["table", path], "episodes-7w10s3q"),
        (["plot", "forest", path, "-o", tmp_path / "f.svg"], ""),
        (["report", path, "-o", tmp_path / "page"], ""),
    ):
        result = invoke(*arguments, "--release", release.files.where)
        assert result.exit_code == 0, (arguments, result.output)
        assert said in result.output


def test_sql_takes_tasks_of_different_sizes_as_the_scores_do(release, answers):
    connection = connect(release, answers)
    scores = connection.execute(
        "SELECT a.mean - s.mean FROM accuracies AS a JOIN scores AS s "
        "USING (dataset, task_set, method) WHERE s.interval = 'images'"
    ).fetchall()
    pairs = connection.execute(
        "SELECT d.difference - c.difference FROM differences AS d JOIN comparisons AS c "
        "USING (dataset, task_set, method, versus) WHERE c.interval = 'images'"
    ).fetchall()
    assert (len(scores), len(pairs)) == (3, 2)
    assert all(abs(apart) < 1e-9 for (apart,) in (*scores, *pairs))
    tasks = release.task_set("toy", str(NAME))
    right, asked = np.zeros(8), np.zeros(8)
    for row in answers.table.to_pylist():
        task = tasks[row["task_id"]]
        right[task.class_ids] += row["class_correct"]
        asked[task.class_ids] += np.bincount(task.query_label, minlength=len(task.class_ids))
    found = connection.execute(
        "SELECT class_name, accuracy FROM class_accuracies WHERE method = 'mine' ORDER BY ALL"
    ).fetchall()
    assert found == [("abcdefgh"[c], pytest.approx(100 * right[c] / asked[c])) for c in range(8)]


def test_sql_of_logs_without_counts_of_queries():
    """Their views are empty in place of an error; of episodes with `correct` they are there."""
    rows = _log(("m",))
    counted = connect(submissions=rows)
    (found,) = counted.execute("SELECT mean, deviation FROM accuracies").fetchall()
    each = [100 * np.mean(row["correct"]) for row in rows]
    assert found == pytest.approx((np.mean(each), np.std(each, ddof=1)))
    bare = [{k: v for k, v in r.items() if k != "correct"} | {"accuracy": 0.5 + r["task"] % 2 / 4}
            for r in rows]  # fmt: skip
    for view in ("accuracies", "differences", "hard_tasks"):
        assert connect(submissions=bare).execute(f"FROM {view}").fetchall() == []
