"""Which queries were right: from logs and submissions to intervals, and what is refused."""

import json
from itertools import product

import numpy as np
import pytest
from commands import invoke
from golden_inputs import write_columns
from msgspec.structs import replace

import fslbench_data as fb
from benchmark_spec.errors import ContradictionError, FSLBenchWarning, SchemaError, SpecError

CLASSES, IMAGES, WAY, SHOT, QUERY, TASKS = 10, 60, 4, 1, 5, 120


def _nearest(support, query, rng=None):
    return np.square(query[:, None] - support.mean(axis=1)).sum(-1).argmin(axis=1)


def _log(methods, runs=1, seed=0, size=IMAGES):
    """Rows of nearest means on some of eight dimensions; of runs, whose images move."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(CLASSES, 1, 8)) + rng.normal(size=(CLASSES, size, 8))
    tasks = []
    for _ in range(TASKS):
        chosen = rng.permutation(CLASSES)[:WAY]
        tasks.append((chosen, np.array([rng.permutation(size)[: SHOT + QUERY] for _ in chosen])))
    rows = []
    for (method, dimensions), run in product(methods.items(), range(runs)):
        seen = (images + 0.3 * rng.normal(size=images.shape) * (runs > 1))[..., :dimensions]
        for task, (chosen, numbers) in enumerate(tasks):
            shown, ids = seen[chosen[:, None], numbers], 1000 * chosen[:, None] + numbers
            near = _nearest(shown[:, :SHOT], shown[:, SHOT:].reshape(-1, dimensions))
            row = {"method": method, "run": run, "task": task, "class_ids": chosen.tolist()}
            row |= {"support_ids": ids[:, :SHOT].tolist(), "query_ids": ids[:, SHOT:].tolist()}
            rows.append(
                row | {"correct": (near == np.repeat(range(WAY), QUERY)).astype(int).tolist()}
            )
    return rows


SIZES = dict.fromkeys(range(CLASSES), IMAGES)
METHODS = {"eight": 8, "six": 6}


def _width(report, method=0):
    return report.sets[0].scores[method].intervals["images"].halfwidth


@pytest.mark.parametrize("runs", [1, 3])
def test_a_log_of_inductive_methods_is_narrower(runs):
    log = _log(METHODS, runs)
    whole = fb.interval(log, class_sizes=SIZES)
    known = fb.interval(log, class_sizes=SIZES, inductive=True)
    assert [s.by_queries for s in (*whole.scores, *known.scores)] == [False] * 2 + [True] * 2
    assert [s.accuracy for s in whole.scores] == [s.accuracy for s in known.scores]
    assert _width(known) < 0.95 * _width(whole)
    classes = [r.scores[0].intervals["classes"].halfwidth for r in (known, whole)]
    assert _width(known) <= classes[0] <= classes[1]
    texts = [" ".join(str(report).split()) for report in (known, whole)]
    assert "uses which queries were right." in texts[0]
    assert ("and the column correct" in texts[1]) is (runs == 1)


def test_forms_of_correct(tmp_path):
    log = _log({"eight": 8})
    by_class = [np.reshape(row["correct"], (WAY, QUERY)) for row in log]
    columns = {name: [row[name] for row in log] for name in log[0]}
    expected = _width(fb.interval(log, class_sizes=SIZES, inductive=True))
    for same in (
        [{**row, "correct": own.tolist()} for row, own in zip(log, by_class, strict=True)],
        [{**row, "correct": own == 1} for row, own in zip(log, by_class, strict=True)],
        write_columns(tmp_path / "log.csv", columns),
        write_columns(tmp_path / "log.parquet", columns),
    ):
        found = _width(fb.interval(same, class_sizes=SIZES, inductive=True))
        assert found == pytest.approx(expected, rel=1e-12)


def test_counts_and_accuracies_beside_it_must_agree():
    log = _log({"eight": 8})
    counted = [{**row, "n_correct": sum(row["correct"]), "n_query": WAY * QUERY} for row in log]
    shares = [{**row, "accuracy": np.float32(np.mean(row["correct"]))} for row in log]
    expected = fb.interval(log, class_sizes=SIZES, inductive=True)
    for same in (counted, shares):
        assert _width(fb.interval(same, class_sizes=SIZES, inductive=True)) == _width(expected)
    with pytest.raises(ContradictionError, match=r"n_correct is .*where correct has"):
        fb.interval([{**counted[0], "n_correct": 1 + counted[0]["n_correct"] % 5}, *counted[1:]])
    with pytest.raises(ContradictionError, match="data row 1"):
        fb.interval([{**shares[0], "accuracy": 0.999}, *shares[1:]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"correct": [1] * 19}, "20 query_ids and 19 entries|20 and 19 correct"),
        ({"correct": [2] * 20}, "correct holds 2"),
        ({"correct": None}, "correct. holds null"),
        ({"correct": ["yes"] * 20}, "correct"),
        ({"correct": [0.5] * 20}, "a list of integers, 1 or 0, or of Booleans"),
        ({"support_ids": None, "query_ids": None, "image_ids": np.ones((4, 6))}, "support_ids"),
    ],
)
def test_what_is_wrong_with_it(change, said):
    log = [{**row, **change} for row in _log({"eight": 8})]
    if "image_ids" in change:
        log = [{k: v for k, v in row.items() if v is not None} for row in log]
    with pytest.raises(SchemaError, match=said):
        fb.interval(log, class_sizes=SIZES)


@pytest.mark.parametrize(
    ("left_out", "size", "said"),
    [("correct", IMAGES, "without the column correct"), ("", 12, "takes tasks as a whole, though")],
)
def test_where_saying_inductive_changes_nothing_it_says_so(left_out, size, said):
    rows = _log({"eight": 8}, size=size)
    if left_out:
        rows = [row | {"accuracy": float(np.mean(row.pop(left_out)))} for row in rows]
    with pytest.warns(FSLBenchWarning, match=said):
        report = fb.interval(rows, class_sizes=dict.fromkeys(range(CLASSES), size), inductive=True)
    assert report.log is not None
    assert any(said in text for text in report.log.warnings)


def _submission(name, **about):
    """Nearest means of features on a closed set, recorded with predictions."""
    release = fb.load_release()
    features = release.features("digits", "pixels").astype(float)
    recorder = fb.Recorder(name, **about)
    for task in release.task_set("digits", "closed-5w5s5q"):
        mean = features[task.support].mean(axis=1)
        near = np.square(features[task.query][:, None] - mean).sum(-1).argmin(axis=1)
        recorder.add(task, near)
    return recorder.submission()


def test_a_file_beside_changes_no_number_of_a_pair(root):
    """References count which queries were right, whatever methods are compared with them."""
    example = fb.Submission.read(root / "examples/my_results.parquet")  # it has predictions
    plain = _submission("plain", trained=False)
    alone, both = (
        fb.score(files, task_sets=["closed-5w5s5q"], datasets="digits")
        for files in (plain, [plain, example])
    )
    assert any(score.by_queries for score in alone.scores)
    for kind in ("scores", "comparisons"):
        one, other = (getattr(report, kind).to_arrow().to_pylist() for report in (alone, both))
        mine = {*example.methods}
        assert one == [r for r in other if not {r["method"], r.get("versus")} & mine]


def _of_all(support, query, rng):
    if len(query) < 25:
        raise ValueError("all queries, please")
    return _nearest(support, query, rng)


def _soft_kmeans(support, query, rng):
    """One step of soft k-means: few answers depend on other queries."""
    nearest = np.eye(len(support))[_nearest(support, query, rng)] * 0.5
    sums = support.sum(axis=1) + nearest.T @ query
    moved = sums / (support.shape[1] + nearest.sum(axis=0))[:, None]
    return np.square(query[:, None] - moved).sum(-1).argmin(axis=1)


@pytest.mark.parametrize(
    ("method", "task_set", "found"),
    [
        (_nearest, "closed-5w5s5q", True),
        (_soft_kmeans, "closed-5w5s5q", False),
        (_of_all, "closed-5w5s5q", None),
        (_nearest, "open-5w5s5q", None),  # no image recurs
    ],
)
@pytest.mark.parametrize("batch", [None, 2])
def test_evaluate_looks_whether_a_method_is_inductive(method, task_set, found, batch):
    def batched(supports, queries, rng):
        return [method(*each, rng) for each in zip(supports, queries, strict=True)]

    how = {"datasets": "digits", "task_sets": task_set, "features": "pixels", "max_tasks": 40}
    made = fb.evaluate(batched if batch else method, name="mine", batch=batch, **how)
    assert made.methods["mine"].inductive is found


def test_evaluate_looks_when_all_is_answered():
    """A method may keep something of its calls: no answer comes after a question of this kind."""
    seen = []

    def counting(support, query, rng):
        seen.append(len(query))
        return _nearest(support, query, rng)

    how = {"datasets": "digits", "features": "pixels", "max_tasks": 5, "name": "mine"}
    fb.evaluate(counting, task_sets=["closed-5w1s1q", "closed-5w5s5q"], **how)
    assert seen[:10] == [5] * 5 + [25] * 5
    assert seen[10:] == 5 * [5, *5 * [1]] + 5 * [25, *5 * [5]]


def test_what_is_said_of_methods_in_files(root, tmp_path):
    mine = _submission("mine", inductive=True, trained=False)
    mine.write(tmp_path / "said.parquet")
    rows = mine.to_arrow().drop_columns(["predictions", "class_correct"]).to_pylist()
    tasks = fb.load_release().task_set("digits", "closed-5w5s5q")
    right = np.array(mine.table["predictions"].to_pylist()) == tasks.query_label
    told = [{**row, "correct": own.tolist()} for row, own in zip(rows, right, strict=True)]
    path = tmp_path / "bare.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in told))

    def score(file, *options):
        given = ["score", str(tmp_path / file), "--format", "json", *options]
        return json.loads(invoke(*given).stdout)

    said, bare = score("said.parquet"), score("bare.jsonl", "--inductive", "--no-training")
    assert said["scores"] == bare["scores"]
    assert said["comparisons"] == bare["comparisons"]
    known, whole = fb.score(tmp_path / "said.parquet"), fb.score(_submission("mine", trained=False))
    assert (known.scores[0].by_queries, whole.scores[0].by_queries) == (True, False)
    together = fb.score(_submission("mine", trained=False, inductive=False))
    assert together.scores[0].by_queries is None  # and --inductive is not proposed
    with pytest.raises(SpecError, match="some queries changed"):
        _submission("mine", trained=False, inductive=False).declare(inductive=True)
    assert known.scores[0].accuracy == whole.scores[0].accuracy
    assert _width(known) < _width(whole)
    counts = replace(mine, table=mine.table.drop_columns(["predictions"]))
    with pytest.warns(FSLBenchWarning, match="inductive changes nothing without the column corr"):
        assert _width(fb.score(counts.declare(inductive=True))) == _width(whole)
    (tmp_path / "together.jsonl").write_text(path.read_text().replace("false", "true"))
    refused = invoke("score", str(tmp_path / "together.jsonl"), "--inductive")
    assert "said to be transductive and inductive" in refused.stderr
    rows = mine.to_pandas().assign(inductive=True, transductive=True)
    with pytest.raises(SpecError, match="said to be transductive and inductive"):
        fb.score(rows)
    by_image = tmp_path / "images.csv"
    by_image.write_text("method,dataset,task_set,task_id,image_id,predicted\nm,digits,x,0,0,0\n")
    refused = invoke("score", by_image, "--no-training")
    assert "not of rows of images" in refused.stderr
    assert "none is given" in invoke("score", "--inductive").stderr
