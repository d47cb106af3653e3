"""A researcher's own tasks: every form of log, numbers, how they were drawn, what is refused."""

import csv
import json
import re
from decimal import Decimal
from itertools import combinations

import numpy as np
import own_logs
import pandas as pd
import polars
import pyarrow as pa
import pytest
from commands import printed
from golden_inputs import joined, write_columns
from own_logs import estimates
from scipy import stats
from scipy.stats import kstest

import benchmark_spec.catalogue as known
import fslbench_data as fb
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from benchmark_spec.errors import (
    AccuracyError,
    CountError,
    DoubledTaskError,
    FSLBenchWarning,
    MethodNameError,
    MissingTaskError,
    NoIntervalError,
    SchemaError,
    TaskLogError,
    UnknownNameError,
    UnreadableError,
)
from benchmark_spec.version import __version__
from fslbench_data.render.log_text import notes
from fslbench_data.render.log_text import sentence as log_sentence
from fslbench_data.render.plan_text import plan_json
from fslbench_data.render.report_formats import json_pieces, render_csv
from fslbench_data.scoring.own_tasks import class_draws, pair_draws, unit_draws, unseen_images
from fslbench_data.scoring.task_log import COUNTS, TaskLog
from fslbench_data.validation.log_source import numbers_by_id

LOG = own_logs.log()
SIZES = dict.fromkeys(range(15), 60)
GROUPS = {1000 * c + i: f"{c}/{i // 3}" for c in range(15) for i in range(60)}
ABOVE = {c: c // 2 for c in range(15)}
UNSEEN = own_logs.log(tasks=300, images=200, seed=3)


@pytest.mark.parametrize(
    ("log", "images", "options", "design"),
    [
        (LOG, 60, {"class_sizes": SIZES, "superclasses": ABOVE}, (None, np.arange(15) // 2)),
        (LOG, 60, {"groups": GROUPS}, (np.arange(900) // 3,)),
        (UNSEEN, 200, {"class_sizes": dict.fromkeys(range(15), 200)}, ()),
    ],
)
def test_the_numbers_are_those_of_the_statistics(log, images, options, design):
    shown = fb.interval(log, **options)
    tasks = len(set(log["task"]))
    classes = np.array(log["class_ids"])[:tasks]
    ids = np.array(log["image_ids"])[:tasks] % 1000 + images * classes[:, :, None]
    y = (np.array(log["n_correct"]) / 25).reshape(-1, tasks)
    of_classes = np.repeat(np.arange(15), images)
    own = leave_one_out(TaskDesign.of(classes, ids, of_classes, *design), y, 0.95)
    assert shown.sets[0].units.groups == ("groups" in options)
    methods, found = ("weak", "strong", "strong too"), estimates(shown)
    assert [*found] == [*((method, "") for method in methods), *combinations(methods, 2)]
    places = [(0, 0), (1, 1), (2, 2), *combinations(range(3), 2)]
    for kinds, (i, j) in zip(found.values(), places, strict=True):
        assert {*kinds} == {"images", "classes", *options} - {"class_sizes", "groups"}
        for kind, row in kinds.items():
            spread = getattr(own, kind)
            assert abs(row["value"] - 100 * own.mean[i, j]) < 1e-12
            assert abs(row["halfwidth"] - 100 * spread.halfwidth[i, j]) < 1e-8
            if i != j:
                assert row["p"] == pytest.approx(spread.p[i, j], rel=1e-8)
                assert row["verdict"] == ("0" if spread.p[i, j] > 0.05 else "-")


def test_images_that_no_task_shows():
    seen = len({i for ids in UNSEEN["image_ids"] for own in ids for i in own})
    assert seen < 3000
    known = fb.interval(UNSEEN, class_sizes=dict.fromkeys(range(15), 200)).log
    assert (known.images, known.unseen) == (seen, 3000 - seen)
    # small classes that are never drawn may have sizes, too
    assert fb.interval(LOG, class_sizes={**SIZES, 99: 9}).log.classes == 15
    with pytest.warns(FSLBenchWarning, match="of the images are in no task, by estimate"):
        fb.interval(own_logs.log(images=200, tasks=216))


def test_names_and_order_of_rows_change_nothing():
    rows = own_logs.rows(LOG)
    for row in rows:
        row["class_ids"] = [f"class {c}" for c in row["class_ids"]]
        row["image_ids"] = [f"{n}.png" for own in row["image_ids"] for n in own]
    renamed = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    renamed_sizes = {f"class {c}": 60 for c in range(15)}
    shown = fb.interval(renamed, class_sizes=renamed_sizes)
    assert str(fb.interval(rows, class_sizes=renamed_sizes).signature) == str(shown.signature)
    seen = fb.interval(LOG)
    assert ["|sizes:seen" in str(each.signature) for each in (seen, shown)] == [True, False]
    before, after = estimates(seen), estimates(shown)
    assert len(after) == len(before)
    for pair, kinds in after.items():
        sign = 1 if pair in before else -1
        for kind, row in kinds.items():
            other = before[pair[::sign]][kind]
            assert row["value"] == pytest.approx(sign * other["value"], abs=1e-12)
            assert row["halfwidth"] == pytest.approx(other["halfwidth"], abs=1e-8)


def test_groups_from_which_one_image_each_is_drawn():
    """Images are then not equally likely where groups differ in size; groups are."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 6, (12, 30))
    log = []
    for task in range(1500):
        chosen = rng.permutation(12)[:4]
        ids = [
            [int(1000 * c + 10 * g + rng.integers(sizes[c, g])) for g in rng.permutation(30)[:8]]
            for c in chosen
        ]
        row = ("m", task, chosen.tolist(), ids, int(rng.integers(10, 21)), 20)
        log.append(dict(zip(own_logs.ROW, row, strict=True)))
    places = [(c, g, i) for c, g in np.ndindex(12, 30) for i in range(sizes[c, g])]
    groups = {1000 * c + 10 * g + i: f"{c}/{g}" for c, g, i in places}
    assert fb.interval(log, groups=groups).log.warnings == ()
    with pytest.raises(TaskLogError, match="images within classes: chi-square"):
        fb.interval(log)


def test_identical_methods_and_constant_ones():
    twin = [{**row, "method": "twin"} for row in own_logs.rows(LOG) if row["method"] == "weak"]
    perfect = [{**row, "method": "all right", "n_correct": 25} for row in twin]
    found = estimates(fb.interval([*own_logs.rows(LOG), *twin, *perfect]))
    assert found["weak", "twin"]["images"]["verdict"] == "="
    assert found["all right", ""]["images"]["halfwidth"] is None
    assert found["weak", "all right"]["classes"]["verdict"] == "-"


def test_a_constant_difference_is_judged_by_the_tasks_that_the_pool_would_make():
    """900 images make 18 tasks of 50, 15 classes three of 5: p is 2^-17 and 2^-2."""
    rows = [row for row in own_logs.rows(LOG) if row["method"] == "weak"]
    less = [{**row, "method": "less", "n_correct": row["n_correct"] - 1} for row in rows]
    assert min(row["n_correct"] for row in rows) > 0
    found = estimates(fb.interval([*rows, *less], class_sizes=SIZES))["weak", "less"]
    assert found["images"]["value"] == pytest.approx(4.0)
    p = [found[kind]["p"] for kind in ("images", "classes")]
    assert p == pytest.approx([2.0**-17, 0.25], rel=1e-8)
    assert found["images"]["halfwidth"] is None
    assert [found[kind]["verdict"] for kind in ("images", "classes")] == ["+", "?"]


def test_a_kind_of_interval_that_there_is_not_says_why():
    shown = fb.interval(own_logs.log(classes=5, tasks=60, images=12, per_class=6))
    for found in (shown.scores[0], shown.comparisons[0]):
        said = "^there is no interval of kind 'classes': every task has all 5 classes\n"
        with pytest.raises(NoIntervalError, match=said) as caught:
            found.intervals["classes"]
        assert isinstance(caught.value, KeyError)
        assert "one of closed, images" in caught.value.expected
        assert found.intervals.get("classes") is None
        with pytest.raises(KeyError, match="these tasks have none"):
            found.intervals["class"]
    (missing,) = json.loads("".join(json_pieces(shown)))["log"]["missing"]
    assert {missing["interval"]: missing["reason"]} == shown.sets[0].units.missing


@pytest.mark.parametrize("classes", [5, 8])
@pytest.mark.parametrize("better", [0.0, 9.0])
def test_no_text_has_holes(classes, better, tmp_path):
    methods = {"a": better, "b": 9.0}
    log = own_logs.log(classes=classes, tasks=60, images=12, per_class=6, methods=methods)
    path = write_columns(tmp_path / "x.jsonl", log)
    for form in ("table", "markdown", "latex"):
        text = printed("interval", path, "--format", form)
        assert not re.search(r"\. \.|± \?|\? \(\?\)", text)


def test_reasons_name_classes_as_the_log_does():
    log = own_logs.log(classes=6, way=5, tasks=150)
    log["class_ids"] = [[f"kind {c}" for c in ids] for ids in log["class_ids"]]
    found = fb.interval(log)
    assert "tasks are without class kind " in found.sets[0].units.bounded["classes"]
    assert estimates(found)["weak", ""]["classes"]["is_bound"]
    (told,) = json.loads("".join(json_pieces(found)))["bounds"]
    assert (told["interval"], told["reason"]) == ("classes", found.sets[0].units.bounded["classes"])
    for rows in (
        found.scores.to_arrow().to_pylist(),
        csv.DictReader(render_csv(found).splitlines()[1:]),
        csv.DictReader(fb.table(found, kind="new classes").csv().splitlines()[1:]),
    ):
        told = {row["interval"]: str(row["is_bound"]) for row in rows}
        assert told.pop("classes") == "True"
        assert {*told.values()} <= {"False"}


def test_images_that_never_recur():
    """Tasks that share no image have Student's interval; as soon as one recurs it is a bound."""
    rng = np.random.default_rng(0)
    pools = {c: rng.permutation(600).tolist() for c in range(8)}
    log = []
    for task in range(40):
        chosen = rng.permutation(8)[:2].tolist()
        ids = [[1000 * c + pools[c].pop() for _ in range(3)] for c in chosen]
        row = ("m", task, chosen, ids, 1 + task % 2, 4)
        log.append(dict(zip(own_logs.ROW, row, strict=True)))
    shown = fb.interval(log)
    (score,) = shown.scores
    sd = 100 * (1 / 8) * np.sqrt(40 / 39)
    assert (score.task_set, [*score.intervals]) == ("own_open-2w1s2q", ["open", "class-aware"])
    assert score.accuracy.halfwidth == pytest.approx(stats.t.ppf(0.975, 39) * sd / np.sqrt(40))
    assert "none in two tasks" in str(shown)
    assert "tasks that share no image" in " ".join(str(shown).split())
    names = [image for row in log for ids in row["image_ids"] for image in ids]
    in_tasks = {image: f"{place // 3}" for place, image in enumerate(names)}
    sizes = dict.fromkeys(range(8), 600)
    grouped = fb.interval(log, groups=in_tasks, class_sizes=sizes)
    assert [s.intervals for s in grouped.scores] == [s.intervals for s in shown.scores]
    shared = in_tasks | {names[-1]: in_tasks[names[0]]}
    with pytest.raises(TaskLogError, match=r"has images of class|no group is known"):
        fb.interval(log, groups=shared, class_sizes=sizes)
    log[-1]["image_ids"][0][0] = next(  # of the same class in an earlier task
        row["image_ids"][row["class_ids"].index(log[-1]["class_ids"][0])][0]
        for row in log
        if log[-1]["class_ids"][0] in row["class_ids"]
    )
    with pytest.raises(TaskLogError, match="100 % of the 239 images were seen once only"):
        fb.interval(log)
    shown = fb.interval(log, class_sizes=dict.fromkeys(range(8), 600))
    assert "at most for new images and new classes" in " ".join(str(shown).split())
    images, classes = estimates(shown)["m", ""].values()
    # v_mc of ones and twos of four, 40 tasks; rho = 2·3/(8·600) for images
    v_mc = 100**2 * (1 / 8) ** 2 / 39
    bound = stats.t.ppf(0.975, 39) * np.sqrt(v_mc * (1 + 40 / 800 / (1 - 1 / 800)))
    assert images["halfwidth"] == pytest.approx(bound, rel=1e-6)
    assert images["is_bound"]
    assert classes["halfwidth"] > images["halfwidth"]
    assert "in 0.05 tasks on average" in shown.sets[0].units.bounded["images"]


def test_runs_on_tasks_that_share_no_image():
    """Two runs of 12 and 10 tasks, by hand: Student's within runs, and that of the runs."""
    shares, runs = np.resize([1, 2, 2, 3], 22) / 4, np.repeat([0, 1], [12, 10])
    log = {
        "method": ["m"] * 22, "task": range(22), "run": runs.tolist(), "class_ids": [[0, 1]] * 22,
        "image_ids": np.arange(132).reshape(22, 2, 3).tolist(), "accuracy": shares.tolist(),
    }  # fmt: skip
    with pytest.warns(FSLBenchWarning, match="runs of m have 10 to 12 tasks"):
        (score,) = fb.interval(log).scores
    assert [*score.intervals] == ["open"]
    first, second = 100 * shares[:12], 100 * shares[12:]
    noise = (12 * first.var(ddof=1) + 10 * second.var(ddof=1)) / 22**2
    v = (first.mean() - second.mean()) ** 2 / 2 * (12**2 + 10**2) / 22**2
    h, t = stats.t.ppf(0.975, 21) * np.sqrt(noise), stats.t.ppf(0.975, 1)
    expected = max(np.sqrt(h**2 + t**2 * max(v - noise, 0)), t * np.sqrt(v))
    assert score.accuracy.halfwidth == pytest.approx(expected)


def test_a_log_of_tasks_that_share_no_image_equals_the_open_set(embedded, example):
    info = embedded.task_set_info("digits", "open-5w5s5q")
    (group,) = (group for group in fb.validate(example).groups if group.info == info)
    log = []
    for task, right in zip(embedded.task_table(info).to_pylist(), group.counts, strict=True):
        queries = np.array(task["query"])[np.argsort(task["query_label"], kind="stable")]
        ids = {"support_ids": task["support"], "query_ids": queries.tolist()}
        row = {"method": "m", "task": task["task_id"], "class_ids": task["class_ids"], **ids}
        log.append({**row, "n_correct": int(right), "n_query": 25})
    (score,) = fb.interval(log).scores
    (own,) = (s for s in fb.score(example, task_sets=["open-5w5s5q"], references=False).scores)
    for kind in ("open", "class-aware"):
        assert score.intervals[kind].halfwidth == pytest.approx(own.intervals[kind].halfwidth)
        assert score.intervals[kind].mean == pytest.approx(own.intervals[kind].mean)


def _draw(rng, tasks, classes, images):
    drawn = np.argsort(rng.random((tasks, classes)), axis=1)[:, :5]
    numbers = np.argsort(rng.random((tasks, 5, images)), axis=2)[:, :, :10]
    return drawn, numbers + images * drawn[:, :, None]


def test_p_values_of_uniform_draws_are_uniform():
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(12), 30)
    of_classes, of_pairs, of_images, seldom = [], [], [], []
    for _ in range(300):
        classes, images = _draw(rng, 80, 12, 30)
        of_classes.append(class_draws(classes, 12).p)
        of_pairs.append(pair_draws(classes, 12).p)
        of_images.append(unit_draws(classes, images, owner, "images").p)
        seldom.append(unit_draws(classes[:2], images[:2], owner, "images").p)
    for p in (of_classes, of_pairs, of_images):
        assert kstest(p, "uniform").pvalue > 0.01
    assert np.mean(np.array(seldom) < 0.01) < 0.04  # images that are in a third of a task each


def test_pairs_of_classes_that_are_rare():
    """Of 60 classes, 100 tasks show a pair .56 times: squares of counts are no chi-square."""
    rng = np.random.default_rng(3)
    p = [pair_draws(np.argsort(rng.random((100, 60)), axis=1)[:, :5], 60).p for _ in range(300)]
    assert np.mean(np.array(p) < 0.01) < 0.04


def test_classes_that_are_drawn_together_or_preferred_are_noticed():
    """As one of three alphabets, or a window; or one twice as often as others."""
    rng, weights = np.random.default_rng(5), np.ones(15)
    weights[3] = 2
    starts = 5 * rng.integers(3, size=600), rng.integers(15, size=600)
    drawn = [(start[:, None] + np.arange(5)) % 15 for start in starts]
    drawn.append(np.array([rng.choice(15, 5, False, weights / 16) for _ in range(600)]))
    said = ["pairs of classes: .* together is"] * 2 + [r"classes: .*class '3' is\s+in"]
    for classes, text in zip(drawn, said, strict=True):
        images = [1000 * c[:, None] + np.argsort(rng.random((5, 60)))[:, :10] for c in classes]
        ids = {"class_ids": classes.tolist() * 3, "image_ids": [own.tolist() for own in images] * 3}
        with pytest.raises(TaskLogError, match=rf"not drawn uniformly \({text}"):
            fb.interval(LOG | ids)


def _runs(*, own_tasks=False):
    """Three runs of two methods, on the same tasks or each on tasks of its own."""
    better = ({"a": by, "b": 0.02 - by} for by in (0.0, 0.03, 0.06))
    parts = [
        own_logs.log(methods=of_run, tasks=200, seed=own_tasks * run)
        for run, of_run in enumerate(better)
    ]
    return {**joined(parts), "seed": [run for run in range(3) for _ in range(400)]}


def test_runs_on_the_same_tasks_by_hand():
    log = _runs()
    shown = fb.interval(log, class_sizes=SIZES)
    y = np.array(log["n_correct"]).reshape(3, 2, 200) / 25
    means = {name: values[:400] for name, values in log.items() if name not in ("seed", *COUNTS)}
    means["accuracy"] = y.mean(axis=0).ravel().tolist()
    plain = fb.interval(means, class_sizes=SIZES)
    assert [score.runs for score in shown.scores] == [3, 3]
    found, before = (estimates(each) for each in (shown, plain))
    terms = (100 * y.mean(axis=2)).var(axis=0, ddof=1) / 3
    for pair, v, w in (
        (("a", ""), terms[0], terms[0] ** 2 / 2),
        (("a", "b"), terms.sum(), (terms**2).sum() / 2),
    ):
        of_runs, alone = found[pair]["images"], before[pair]["images"]
        assert of_runs["value"] == pytest.approx(alone["value"])
        width = np.sqrt(alone["halfwidth"] ** 2 + stats.t.isf(0.025, v**2 / w) ** 2 * v)
        assert of_runs["halfwidth"] == pytest.approx(width, rel=1e-5)
    assert of_runs["p"] > 2 * alone["p"]


def test_runs_on_tasks_of_their_own_by_hand():
    log = _runs(own_tasks=True)
    shown = fb.interval(log, class_sizes=SIZES)
    assert [score.accuracy.tasks for score in shown.scores] == [600, 600]
    y = 4 * np.array(log["n_correct"]).reshape(3, 2, 200)
    apart = y[:, 0] - y[:, 1]
    v = apart.mean(axis=1).var(ddof=1) / 3
    pair = estimates(shown)["a", "b"]["images"]
    assert shown.comparisons[0].run_error == pytest.approx(np.sqrt(v))
    spread = y[:, 0].mean(axis=1).std(ddof=1)
    assert shown.scores[0].run_spread == pytest.approx(spread)
    assert shown.scores[0].run_error == pytest.approx(spread / np.sqrt(3))
    assert pair["value"] == pytest.approx(apart.mean())
    level = (apart - apart.mean(axis=1, keepdims=True)) * 200 / 199 + apart.mean()
    columns = {name: values for name, values in log.items() if name not in ("seed", *COUNTS)}
    first = np.arange(1200).reshape(3, 2, 200)[:, 0].ravel()
    rest = {name: [values[i] for i in first] for name, values in columns.items()}
    rest |= {"task": list(range(600)), "accuracy": (0.5 + level.ravel() / 200).tolist()}
    alone = 2 * fb.interval(rest, class_sizes=SIZES).scores[0].intervals["images"].halfwidth
    noise = apart.var(axis=1, ddof=1).mean() / 600
    usual = 1.96 * np.sqrt(y[:, 0].var(axis=1, ddof=1).mean() / 600)
    assert shown.scores[0].accuracy.halfwidth == pytest.approx(usual, rel=1e-3)
    square = stats.t.isf(0.025, 2) ** 2
    assert v > noise
    assert alone**2 < square * noise  # the width is that of the runs alone
    width = np.sqrt(max(alone**2 + square * (v - noise), square * v))
    assert pair["halfwidth"] == pytest.approx(width, rel=1e-5)


def test_runs_of_other_numbers_of_tasks_are_named():
    log = _runs(own_tasks=True)
    with pytest.warns(FSLBenchWarning, match="runs of a, b have 50 to 200 tasks"):
        fb.interval([row for row in own_logs.rows(log) if row["seed"] < 2 or row["task"] < 50])


def test_runs_that_are_named_as_methods_are_noticed():
    named = LOG | {"method": [f"m_seed{len(name)}" for name in LOG["method"]]}
    assert "m_seed10: if they are runs of one method" in str(fb.interval(named))


def test_images_that_are_preferred_are_noticed():
    """A sampler that draws from the first 40 of each class's 60 images."""
    log = own_logs.log(images=40)
    assert fb.interval(log).log.warnings == ()
    with pytest.raises(TaskLogError, match="images within classes: chi-square") as caught:
        fb.interval(log, class_sizes=SIZES)
    assert "random.sample" in caught.value.fix
    with pytest.raises(TaskLogError, match=r"of the split .*: 1,800 of its 2,400 images are in no"):
        fb.interval(log, class_sizes=dict.fromkeys(SIZES, 160))
    for task, ids in zip(log["task"], log["image_ids"], strict=True):
        for own in ids if task % 6 == 0 else ():
            own[:] = [i - 1 if i % 10 == 9 and i - 1 not in own else i for i in own]
    with pytest.warns(FSLBenchWarning, match="may not have been drawn uniformly .images within"):
        fb.interval(log)


def test_the_number_of_images_that_no_task_shows():
    rng = np.random.default_rng(7)
    errors, owner = [], np.repeat(np.arange(12), 50)
    for _ in range(200):
        _, images = _draw(rng, 60, 12, 50)
        times = np.bincount(images.ravel(), minlength=600)
        seen = times > 0
        errors.append(unseen_images(times[seen], owner[seen]) - (~seen).sum())
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(200) + 0.05 * 0.25 * 600 * 0.01
    assert np.std(errors) > 0


ROWS = own_logs.rows(LOG)
FIRST = ROWS[0]
CLASS = FIRST["class_ids"]
OTHER = next(row for row in ROWS[1:] if row["class_ids"] != CLASS)
PLACES = 100 * np.arange(5)[:, None]
RUNS = _runs()


def _with(at, **values):
    return [*ROWS[:at], {**ROWS[at], **values}, *ROWS[at + 1 :]]


@pytest.mark.parametrize(
    ("log", "error", "said"),
    [
        (_with(0, class_ids=[*CLASS[:4], CLASS[0]]), TaskLogError, f"class '{CLASS[0]}' twice"),
        (
            _with(4, image_ids=[[own[0]] * 2 + own[2:] for own in ROWS[4]["image_ids"]]),
            TaskLogError,
            r"has image '\d+' twice\n.*data row 5",
        ),
        (_with(0, class_ids=CLASS[::-1]), TaskLogError, r"is of class '\d+' in one task and of cl"),
        (
            [{**row, "image_ids": np.array(row["image_ids"]) % 1000 + PLACES} for row in ROWS],
            TaskLogError,
            "number images over the whole data set",
        ),
        ([*ROWS, FIRST], DoubledTaskError, "weak answers task '0' twice\n.*data rows 1, 1801"),
        (ROWS[:-1], MissingTaskError, "strong too lacks tasks that weak answers: 599"),
        (
            [row for row in ROWS if row["method"] == "weak" or row["task"] > 1],
            MissingTaskError,
            "strong lacks tasks that weak answers: 0, 1",
        ),
        (
            _with(700, class_ids=OTHER["class_ids"], image_ids=OTHER["image_ids"]),
            TaskLogError,
            "strong answers 1 of its 600 tasks with other classes or images",
        ),
        ({**RUNS, "seed": [0] * 1200}, DoubledTaskError, "name training runs in a column `run`"),
        (own_logs.rows(RUNS)[:-5], MissingTaskError, "run '2' of b lacks tasks that run '0' of b"),
        (
            {name: values * 2 for name, values in LOG.items()} | {"task": [*range(3600)]},
            TaskLogError,
            "tasks '0' and '1800' are the same, as are 600 of 1200",
        ),
        (own_logs.log(images=400, tasks=300), TaskLogError, r"(?s)seen once only.*--class-sizes"),
    ],
)
def test_what_is_wrong_is_said(log, error, said):
    with pytest.raises(error, match=said):
        fb.interval(log)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"class_sizes": {0: 60}},
            r"the class sizes lack 14 classes of the log: '1', [\s\S]*fix: they name '0': give "
            "class and n_images of all classes, under the names of the log",
        ),
        ({"class_sizes": {**SIZES, 15: 60}}, "class '15' is in 0 tasks where"),
        (
            {"class_sizes": {**SIZES, 4: 59}},
            "class '4' has 59 images by the class sizes, and tasks",
        ),
        ({"groups": {0: "a"}}, r"the groups lack 899 images[\s\S]*give image and group of all"),
        (
            {"groups": {1000 * c + i: i // 3 for c in range(15) for i in range(60)}},
            "group '0' has images of class '0' and, such as '1000', of class '1'",
        ),
        ({"superclasses": {0: "a"}}, r"the superclasses lack[\s\S]*give class and superclass of"),
    ],
)
def test_what_is_wrong_beside_a_log_is_said(options, said):
    with pytest.raises(TaskLogError, match=said):
        fb.interval(ROWS, **options)


def test_groups_of_images_that_nobody_knows():
    log = own_logs.log(images=200, tasks=300)
    groups = {i: i for ids in log["image_ids"] for own in ids for i in own}
    with pytest.raises(TaskLogError, match="no group is known"):
        fb.interval(log, groups=groups, class_sizes=dict.fromkeys(range(15), 200))


@pytest.mark.parametrize("methods", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_any_number_of_methods_takes_thirty_lines_at_eighty_characters(tmp_path, methods):
    names = {f"method {i}": 0.01 * i for i in range(methods)}
    path = write_columns(tmp_path / "log.jsonl", own_logs.log(methods=names, tasks=120))
    lines = printed("interval", path, COLUMNS="80").splitlines()
    assert max(map(len, lines[:-1])) <= 80  # but for the signature
    assert len(lines) <= 30
    assert any("more notes: --format markdown" in line for line in lines)
    cut = [line for line in lines if "more rows left out: --format csv gives all" in line]
    assert len(cut) == (2 if methods == 40 else 0)
    assert any(line.startswith("One training run") for line in lines)
    everything = printed("interval", path, "--format", "markdown")
    assert "taken on trust" in everything  # a note that has no room
    assert not any("taken on trust" in line for line in lines)


def _of_run(method, run, seed, shots=lambda task, place: 2):
    """Rows of a run with 60 tasks of its own, of 4 of 8 classes and 5 of 20 images."""
    rng, rows = np.random.default_rng(seed), []
    for task in range(60):
        chosen = rng.choice(8, 4, replace=False)
        images = [(20 * c + rng.choice(20, 5, replace=False)).tolist() for c in chosen]
        support = [own[: shots(task, k)] for k, own in enumerate(images)]
        queries = [own[shots(task, k) :] for k, own in enumerate(images)]
        right = [int(rng.random() < 0.7) for own in queries for _ in own]
        ids = {"class_ids": chosen.tolist(), "support_ids": support, "query_ids": queries}
        rows.append({"method": method, "run": run, "task": task, **ids, "correct": right})
    return rows


OWN_SIZES = dict.fromkeys(range(8), 20)


def _sets(log):
    return [[*s.methods] for s in fb.interval(log, class_sizes=OWN_SIZES).sets]


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
def test_runs_that_number_tasks_of_their_own_from_zero():
    """Compared with those of another method where they are the same, run by run."""
    first, second = _of_run("a", "1", 0), _of_run("a", "2", 1)
    others, both = [_of_run("b", f"{i}", 1 + i) for i in (1, 2, 3)], [*first, *second]
    same, lacking = ([{**row, "method": "b"} for row in rows] for rows in (both, first[:-1]))
    apart = [[row for run in others[:runs] for row in run] for runs in (2, 3, 1)]
    for other in (*apart, same[: len(first)]):
        assert _sets([*both, *other]) == [["a"], ["b"]]
    assert _sets([*both, *same]) == [["a", "b"]]
    with pytest.raises(MissingTaskError, match="b lacks tasks that run '1' of a answers: 59"):
        _sets([*both, *lacking])


def test_seeds_of_what_trains_nothing_name_tasks_anew():
    log = [row for seed in range(2) for row in _of_run("a", f"{seed}", seed)]
    rows = [{**row, "method": m, "correct": row["correct"][::s]} for m, s in (("a", 1), ("b", -1))
            for row in log]  # fmt: skip
    said = {"class_sizes": OWN_SIZES, "trained": False, "inductive": True}
    found = fb.interval(rows, **said)
    assert found.log is not None
    assert (found.log.warnings, found.log.runs_apart) == ((), False)
    named = [{**row, "task": f"{row['run']}-{row['task']}", "run": "0"} for row in rows]
    other = fb.interval(named, **said)
    for one, same in zip(found.scores, other.scores, strict=True):
        assert (one.by_queries, one.run_error, one.accuracy) == (True, 0.0, same.accuracy)
        assert one.intervals["images"] == same.intervals["images"]
    (pair,), (same,) = found.comparisons, other.comparisons
    assert pair.difference == same.difference


def test_runs_of_what_trains_nothing_are_not_called_training_runs():
    two = [row for row in own_logs.rows(_runs()) if row["seed"] < 2]
    for trained, word in ((None, "raining runs"), (False, "uns")):
        log = fb.open_log(two, class_sizes=SIZES, trained=trained)
        found = fb.score(log)
        texts = "\n".join(notes(found, log.release.facts["log"])), "\n".join(fb.table(log).notes)
        for text in (*texts, plan_json(fb.plan(log, method="a"))):
            assert ("raining runs" in text) is (trained is None)
            assert word in text


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
def test_what_is_said_of_methods_is_said_once_for_all_task_sets():
    runs = ["a1", "b1", "c1", "c2", "d1", "d2"]
    rows = [row for seed, name in enumerate(runs) for row in _of_run(*name, seed)]
    found = fb.interval(rows, class_sizes=OWN_SIZES)
    assert [[*each.methods] for each in found.sets] == [["a"], ["b"], ["c"], ["d"]]
    assert found.log is not None
    told = notes(found, found.log)
    (one,), (several,) = ([n for n in told if n.startswith(s)] for s in ("One tr", "Training runs"))
    assert one.startswith("One training run each of a, b:")
    assert ": c 2, d 2; two hardly tell how much runs differ" in several
    told = " ".join(log_sentence(found, found.log).split())
    assert told.endswith("and for training anew (runs: c 2, d 2); a, b are one trained model each "
                         f"(FSLBench {__version__}).")  # fmt: skip


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
def test_classes_that_differ_in_shots_alone():
    """Their tasks are episodes, whichever comes first; support is what is logged."""
    shots = ((1, 2, 2, 3), (2, 1, 2, 3), (3, 2, 1, 2))
    log, found = _of_run("a", "1", 0, lambda task, place: shots[task % 3][place]), []
    for rows in (log, log[1:] + log[:1], log[2:] + log[:2]):
        numbered = [{**row, "task": task} for task, row in enumerate(rows)]
        own = fb.open_log(numbered, class_sizes=OWN_SIZES, inductive=True)
        (info,) = own.release.task_sets
        assert info.name.suite == "episodes"
        support = [[len(own) for own in row["support_ids"]] for row in numbered]
        tasks = own.release.task_set(info.dataset, str(info.name))
        assert [[len(own) for own in task.support] for task in tasks] == support
        (score,) = fb.score(own).scores
        found.append(score.intervals["images"].halfwidth)
    assert found == pytest.approx([found[0]] * 3)


def test_runs_of_few_tasks_of_their_own_are_refused():
    """A seed for each task is no training run: its tasks would be taken for one model's."""
    log = _runs(own_tasks=True)
    log["seed"] = [f"{s}-{t // 5}" for s, t in zip(log["seed"], log["task"], strict=True)]
    with pytest.raises(TaskLogError, match="has 5 tasks, which no other run has") as caught:
        fb.interval(log, class_sizes=SIZES)
    assert "--no-training" in caught.value.fix
    assert fb.interval(log, class_sizes=SIZES, trained=False).scores


def test_runs_of_other_names_and_another_order_are_paired_by_their_tasks():
    log = _runs(own_tasks=True)
    pair = estimates(fb.interval(log, class_sizes=SIZES))["a", "b"]["images"]
    names, again = {"a": "012", "b": "zyx"}, own_logs.rows(log)
    for row in again:
        row["run"] = names[row["method"]][row.pop("seed")]
    found = estimates(fb.interval(again, class_sizes=SIZES))
    assert found["a", "b"]["images"] == pytest.approx(pair)


def test_a_plan_leaves_out_what_tasks_of_their_own_make_runs_differ_by():
    """Runs that differ by their tasks alone: more tasks narrow the interval, not more runs."""
    own = fb.open_log(_runs(own_tasks=True), class_sizes=SIZES)
    (found,) = fb.plan(own, method="a", suite="pooled").sets
    (score,) = (s for s in fb.score(own).scores if s.method == "a")
    noise = 3 * score.accuracy.halfwidth**2 / 1.959964**2
    (spread,) = found.pilot.runs.spreads
    assert spread == pytest.approx(max(score.run_spread**2 - noise, 0.0) ** 0.5)


FEW = own_logs.log(tasks=7, classes=8, images=20, per_class=6)
_REST = ("n_correct", "n_query")


def _read(source):
    (log,) = TaskLog.read(source)
    return log


def _joined(ids):
    """Ids of each class as one list a task."""
    return [[i for own in of_task for i in own] for of_task in ids]


def _flat(columns):
    return columns | {"image_ids": _joined(columns["image_ids"])}


def _texts(columns):
    """The same with padded texts for ids, which sort as the numbers do."""
    images = [[[f"{i:06}.png" for i in own] for own in ids] for ids in columns["image_ids"]]
    classes = [[f"c{c:02}" for c in ids] for ids in columns["class_ids"]]
    return columns | {"class_ids": classes, "image_ids": images}


def _check(log):
    """It is FEW, whatever the ids are called."""
    assert (log.methods, len(log.tasks)) == (("weak", "strong", "strong too"), 7)
    assert log.method.tolist() == [0] * 7 + [1] * 7 + [2] * 7
    assert log.task.tolist() == [*range(7)] * 3
    order = {c: i for i, c in enumerate(sorted({c for ids in FEW["class_ids"] for c in ids}))}
    assert log.class_ids.tolist() == [[order[c] for c in ids] for ids in FEW["class_ids"]]
    flat = np.array(FEW["image_ids"])
    assert np.array_equal(np.unique(flat)[log.image_ids], flat)
    assert np.allclose(log.y, np.array(FEW["n_correct"]) / 25, atol=0)


def _roles(columns):
    """The same with the first image of every class for support, the others in one list."""
    told = own_logs.with_roles(columns, 1)
    return told | {"query_ids": _joined(told["query_ids"])}


def _cells(columns):
    """The same with lists as texts, as a CSV file that was converted has them."""
    return columns | {k: [json.dumps(v) for v in columns[k]] for k in ("class_ids", "image_ids")}


def _shares(columns):
    shares = [count / 25 for count in columns["n_correct"]]
    return {k: v for k, v in columns.items() if k not in _REST} | {"accuracy": shares}


@pytest.mark.parametrize("form", [dict, _flat, _texts, _roles, _cells, _shares])
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "rows", "columns", "arrow"])
def test_every_form_gives_the_same(kind, form, tmp_path):
    columns = form(FEW)
    sources = {
        "parquet": lambda: write_columns(tmp_path / "x.parquet", columns),
        "csv": lambda: str(write_columns(tmp_path / "x.csv", columns)),
        "jsonl": lambda: write_columns(tmp_path / "x.jsonl", columns),
        "rows": lambda: own_logs.rows(columns),
        "columns": lambda: columns,
        "arrow": lambda: pa.table(columns),
    }
    _check(_read(sources[kind]()))


FRAMES = {
    "large lists of string views": lambda _: polars.DataFrame(_texts(FEW)),
    "columns of arrays": lambda _: {name: np.array(values) for name, values in FEW.items()},
    "rows with arrays": lambda _: [
        {**row, "image_ids": np.array(row["image_ids"])} for row in own_logs.rows(FEW)
    ],
    "another order of an index": lambda _: pd.DataFrame(_flat(FEW)).assign(loss=0.5)[::-1][::-1],
    "polars": lambda table: polars.from_arrow(table),
    "arrays in cells": lambda table: _arrays(table.to_pandas()),
    "of Arrow": lambda table: table.to_pandas().convert_dtypes(dtype_backend="pyarrow"),
    "categories": lambda table: table.to_pandas().astype({"method": "category"}),
    "nullable": lambda table: table.to_pandas().convert_dtypes(),
    "an index with names of columns": lambda table: table.to_pandas().rename_axis("run"),
}


def _arrays(frame):
    """A frame whose cells are arrays, of images (K, m)."""
    return frame.assign(image_ids=[np.stack(list(ids)) for ids in frame["image_ids"]])


@pytest.mark.parametrize("kind", FRAMES)
def test_whatever_speaks_arrow_is_a_log(kind):
    _check(_read(FRAMES[kind](pa.table(FEW))))


def test_what_is_no_table_is_refused_as_of_submissions():
    for source, said in ((polars.DataFrame, "class DataFrame"), (3, "int"), (iter(()), "tuple_")):
        with pytest.raises(SchemaError, match=f"the log is a {said}"):
            _read(source)


@pytest.mark.parametrize("name", ["step", "shots", "run", "__index_level_0__", None])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_index_is_left_alone(name, ending, tmp_path):
    if ending == "csv" and name in ("run", "shots"):
        pytest.skip("CSV does not say that a column is the index")
    frame = pd.DataFrame(_flat(FEW))
    frame.index = frame.index[::-1] % 4  # which pandas writes as a column
    path = tmp_path / f"x.{ending}"
    frame = frame.rename_axis(name)
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path)
    _check(_read(path))


def test_an_index_that_is_needed_is_read(tmp_path):
    frame = pd.DataFrame(FEW).set_index(["task", "method"])
    frame.to_parquet(tmp_path / "x.parquet")
    _check(_read(tmp_path / "x.parquet"))


@pytest.mark.parametrize("gap", [None, float("nan")])
@pytest.mark.parametrize("kind", ["pandas", "columns"])
def test_the_advice_on_names_of_several_kinds_leads_on(kind, gap):
    """Texts are made of all there are, and then the empty one is named."""
    tasks = [gap, 3, "x", *FEW["task"][3:]]
    make = (lambda c: c) if kind == "columns" else pd.DataFrame
    with pytest.raises(SchemaError, match="row 3") as told:
        _read(make(FEW | {"task": tasks}))
    assert "wherever there is one: str(value)" in told.value.fix
    texts = [value if value is gap else str(value) for value in tasks]
    with pytest.raises(SchemaError, match="'task' is empty in data row 1"):
        _read(make(FEW | {"task": texts}))


def test_texts_that_look_like_dates(tmp_path):
    dates = [[f"2020-01-{c + 1:02}" for c in ids] for ids in FEW["class_ids"]]
    log = _read(write_columns(tmp_path / "x.jsonl", FEW | {"class_ids": dates}))
    assert log.classes[0] == "2020-01-01"
    _check(log)


def _changed_at(name, value, at=3):
    return FEW | {name: [*FEW[name][:at], value, *FEW[name][at + 1 :]]}


def _without(*names, **more):
    return {k: v for k, v in FEW.items() if k not in names} | more


def _of(accuracies):
    return _without(*_REST, accuracy=accuracies)


WRONG = {
    "queries alone": (
        FEW | {"image_ids": [[own[1:] for own in ids] for ids in FEW["image_ids"]]},
        "n_query is 25 and a task has 25 images: 0 of support for 5 classes",
    ),
    "shots that do not fit": (
        FEW | {"shots": ["3"] * 21},
        "a task has 30 images: 5 of support for 5 classes and 3 shots",
    ),
    "shots of other support": (_roles(FEW) | {"shots": [3.0] * 21}, "has 1 support_ids of each"),
    "fewer queries than counted": (
        _roles(FEW) | {"query_ids": [[own[1:4] for own in ids] for ids in FEW["image_ids"]]},
        "n_query is 25 and a task has 15 query_ids",
    ),
    "support alone": (
        {k: v for k, v in _roles(FEW).items() if k != "query_ids"},
        "misses the column query_ids",
    ),
    "both ways": (FEW | _roles(FEW), "says twice which images"),
    "missing": (
        _without("image_ids", "method"),
        "misses the columns method, support_ids, query_ids",
    ),
    "half the counts": (_without("n_query"), "misses the column n_query"),
    "no result": (_without(*_REST), "misses the column correct"),
    "accuracies alone": (
        _without("class_ids", "image_ids", *_REST, accuracy=[0.5] * 21),
        "fslbench score takes accuracies alone",
    ),
    "two results": (_without(accuracy=[0.5] * 21), "says twice"),
    "no rows": ({k: [] for k in FEW}, "but no rows", UnreadableError),
    "null method": (_changed_at("method", None), "data row 4"),
    "formula": (_changed_at("method", "=1"), "'=1'", MethodNameError),
    "number as method": (_without("method", method=[1.5] * 21), "column 'method'"),
    "null list": (_changed_at("class_ids", None), "class_ids is null.*\n.*data row 4"),
    "null id": (_changed_at("class_ids", [1, 2, None, 4, 5]), "class_ids is null.*\n.*data row 4"),
    "another K": (
        _changed_at("class_ids", [1, 2, 3]),
        "5 lists in image_ids and 3 class_ids.*\n.*data row 4",
    ),
    "another m": (
        _flat(FEW) | {"image_ids": [*_flat(FEW)["image_ids"][:20], [1, 2]]},
        "a task has 2 image_ids and 5 class_ids.*\n.*data row 21",
    ),
    "ragged": (
        _changed_at("image_ids", [[1, 2, 3, 4], [5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]]),
        "n_query is 25 and a task has 15 images.*\n.*data row 4",
    ),
    "mixed ids": (
        _changed_at("class_ids", ["a", "b", "c", "d", "e"]),
        r"'class_ids' holds values of several kinds(?s:.*)row 4(?s:.*)\[str\(i\) for i in ids\]",
    ),
    "tasks by number and by name": (
        _changed_at("task", "t3"),
        r"'task' holds a int and then a str(?s:.*)row 4(?s:.*)str\(value\)",
    ),
    "columns of different length": (FEW | {"task": FEW["task"][:-1]}, "no table can be made"),
    "fractional ids": (
        FEW | {"class_ids": [[c + 0.5 for c in ids] for ids in FEW["class_ids"]]},
        r"holds lists of double[^~]*, not \[3\.0, 0\.0\]",
    ),
    "no lists": (FEW | {"image_ids": list(range(21))}, "'image_ids' holds int64"),
    "empty lists": (FEW | {"class_ids": [[]] * 21}, "class_ids"),
    "too many right": (_changed_at("n_correct", 26), "above n_query.*\n.*data row 4", CountError),
    "below 0": (_changed_at("n_correct", -1), "below 0.*\n.*data row 4", CountError),
    "no queries": (_changed_at("n_query", 0), "n_query is not above 0.*\n.*data row 4", CountError),
    "a fraction as count": (_changed_at("n_correct", 0.9), "n_correct is fractional", CountError),
    "NaN": (_of([0.5] * 20 + [float("nan")]), "data row 21", AccuracyError),
    "percentages": (_of([81.2] * 21), "divide all of them by 100", AccuracyError),
    "mixed units": (_of([81.2] * 20 + [0.8]), "but the 1 row between 0 and 1", AccuracyError),
    "a loss": (_of([-3.0] * 21), "bring the statistic to 0 to 1", AccuracyError),
    "a word": (_of(["0.5"] * 20 + ["good"]), "'good'.*\n.*row 21"),
}


_OF_JSON = (float, int, str, list, dict)


@pytest.mark.parametrize(
    "others",
    [
        [0.5, "nan"],
        [{"lr": 0.1, "sizes": [1, {"a": 2}]}, None],
        ["x", ["x", "y"]],
        [2**70, True],
        ["2020-01-01T00:00:00", 5],
        [np.zeros((2, 2)), b"\xff"],
        [Decimal("1.50"), object()],
        [[[1], [2, 3]], []],
    ],
)
@pytest.mark.parametrize("name", ["note", "seed", "shots"])
@pytest.mark.parametrize("kind", ["jsonl", "rows", "columns", "pandas"])
def test_other_columns_are_left_alone(kind, name, others, tmp_path):
    columns = FEW | {name: [*others, *([others[0]] * 19)]}
    if kind == "jsonl" and not isinstance(others[0], _OF_JSON):
        pytest.skip("JSON does not have such values")
    sources = {
        "jsonl": lambda: write_columns(tmp_path / "x.jsonl", columns),
        "rows": lambda: own_logs.rows(columns),
        "columns": lambda: columns,
        "pandas": lambda: pd.DataFrame(_flat(columns)),
    }
    _check(_read(sources[kind]()))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_log_is_said(name):
    columns, said, *error = WRONG[name]
    with pytest.raises(*error or [SchemaError], match=said):
        _read(columns)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv", "method,task\nm,0\n".encode("utf-16"), "is in UTF-16"),
        ("x.csv", b'method,task,class_ids\nm,0,"[1\n', "a quote does not stand around a cell"),
        ("x.csv", b"method,task,class_ids,image_ids,accuracy\nm,0,1 2,1,0.5\n", "ids is '1 2'"),
        ("x.csv", b"method,task,task\nm,0,1\n", "doubles column 'task'"),
        ("x.parquet", b"PAR1 no more", "cannot be read as parquet"),
        ("x.jsonl", b'{"method": "m"\n', "is not one object"),
        ("x.jsonl", b'{"task": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", "nested 5001 deep"),
    ],
)
def test_files_that_are_refused(file, content, said, tmp_path):
    (tmp_path / file).write_bytes(content)
    with pytest.raises((UnreadableError, SchemaError), match=said):
        _read(tmp_path / file)


def test_tables_of_two_columns(tmp_path):
    (path := tmp_path / "sizes.csv").write_text("class,n_images,more\n3,20,x\n5,21,y\n")
    (other := tmp_path / "sizes.json").write_text('{"3": 20, "5": 21}')
    forms = [
        path, str(other), {3: 20, 5: 21}, {"class": [3, 5], "n_images": [20, 21]},
        pa.table({"class": ["3", "5"], "n_images": [20, 21]}), {np.int64(3): np.int64(20), 5: 21},
    ]  # fmt: skip
    for form in forms:
        assert numbers_by_id(form, "class", "n_images", "sizes") == {"3": 20, "5": 21}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({3: 0}, "of class '3' is '0'"),
        ({3: 2.5}, "n_images is 2.5\n"),
        ({3: 20.0}, "n_images is 20.0\n(?s:.*)not as 60.0"),
        ({3: True}, "n_images is True\n"),
        ({None: 2}, "class is empty\n"),
        ({3: "many"}, "is 'many'"),
        ({"class": [3, 3], "n_images": [1, 1]}, "stands there twice"),
        (pa.table({"class": [3]}), "misses the column n_images"),
        ({3: None}, "is empty"),
        ('{"3": 20, "4": 0}', r"of class '4' is '0'\n.*sizes\.json"),
        ('{"3": 20, "3": 30}', r"'3' stands there twice\n.*sizes\.json"),
        *[(text, "JSON") for text in ("[1]", "{", "[" * 100_000)],
    ],
)
def test_sizes_that_are_refused(content, said, tmp_path):
    if isinstance(content, str):
        (path := tmp_path / "sizes.json").write_text(content)
        content = path
    with pytest.raises(UnreadableError if said == "JSON" else SchemaError, match=said):
        numbers_by_id(content, "class", "n_images", "sizes")


def test_roles_are_told():
    told, untold = _read(_roles(FEW)), _read(FEW)
    assert (told.roles, untold.roles) == (True, False)
    assert (told.shots == 1).all()
    assert not untold.shots.any()
    for shots in (1, "one"):  # those that fit, and what is no number
        _check(_read(FEW | {"shots": [shots] * 21}))


def _again(columns, times, **more):
    return {**{name: values * times for name, values in columns.items()}, **more}


@pytest.mark.parametrize("name", ["run", "seed", "trial", "fold"])
@pytest.mark.parametrize("kind", [int, str])
def test_training_runs(name, kind):
    values = [kind(run) for run in (7, 3) for _ in range(21)]
    log = _read(_again(FEW, 2, **{name: values}))
    assert (log.runs, log.run_column) == (("7", "3"), name)
    assert log.run.tolist() == [0] * 21 + [1] * 21


def test_floats_of_pandas_name_runs_and_tasks():
    frame = pd.DataFrame(_again(_flat(FEW), 2, run=[1.0] * 21 + [2.0] * 21))
    assert _read(frame).runs == ("1", "2")
    numbered = frame.assign(task=[*range(21), *range(21)])
    read = [_read(each).tasks for each in (numbered, numbered.astype({"task": float}))]
    assert read[0] == read[1] == tuple(map(str, range(21)))


LEFT_ALONE = {
    "one value": [0] * 42,
    "does not tell all apart": [0] * 41 + [1],
    "of two kinds": [1] * 21 + ["b"] * 21,
    "lists": [[1]] * 42,
    "gaps": [1] * 21 + [None] * 21,
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_columns_that_name_no_runs(name, tmp_path):
    columns = _again(FEW, 2, seed=LEFT_ALONE[name])
    lines = write_columns(tmp_path / "x.jsonl", columns)
    for source in (columns, own_logs.rows(columns), lines):
        log = _read(source)
        assert (log.runs, log.run_column) == ((), "")
    once = {**FEW, "seed": [*LEFT_ALONE[name][:20], 5]}
    assert _read(once).run_column == ""  # no task repeats: a column like any other


def _drawn(sizes, tasks=300):
    """Tasks of 5 ways and 6 images a class, drawn from classes of these names and sizes."""
    rng, names = np.random.default_rng(0), [*sizes]
    log = {"method": ["A"] * tasks, "task": list(range(tasks))}
    classes = [rng.choice(len(names), 5, replace=False) for _ in range(tasks)]
    log["class_ids"] = [[names[c] for c in of] for of in classes]
    log["image_ids"] = [
        [(1000 * c + rng.choice(sizes[names[c]], 6, replace=False)).tolist() for c in of]
        for of in classes
    ]
    log["n_correct"], log["n_query"] = rng.integers(10, 26, tasks).tolist(), [25] * tasks
    return log


def test_seeds_of_which_each_has_tasks_of_its_own_are_told():
    with pytest.warns(FSLBenchWarning, match="seed has 3 values and is not read"):
        assert _read(_drawn(dict.fromkeys(range(9), 20)) | {"seed": [0, 1, 2] * 100}).runs == ()


MINI = {str(n): 600 for n in range(20)}


def test_the_splits_of_papers():
    splits = known.test_splits()
    assert (splits["miniimagenet"].classes, splits["miniimagenet"].images) == (20, 600)
    assert (splits["tieredimagenet"].classes, splits["tieredimagenet"].images) == (160, 954)
    assert (splits["isic"].classes, splits["isic"].images) == (7, 115)
    assert (splits["cropdisease"].classes, splits["cropdisease"].images) == (38, None)
    assert splits["cub"] is splits["cub_100_50_50"]
    assert splits["cub_meta_dataset"].sizes == splits["cub_140_30_30"].sizes
    assert known.test_split("CUB 130/20/50") == splits["cub_130_20_50"]
    assert known.test_split("CIFAR-FS") == splits["cifar_fs"]


def test_sizes_under_the_names_of_a_log():
    split = known.TestSplit({"a": 3, "b": 3, "c": 3})
    assert split.sizes_of(["b", "c"]) == {"a": 3, "b": 3, "c": 3}
    assert split.sizes_of(["0", "2"]) == {"0": 3, "2": 3, "a": 3}
    assert split.sizes_of(["0", "a"]) == {"0": 3, "a": 3, "b": 3}
    assert split.sizes_of("0123") == {"a": 3, "b": 3, "c": 3}
    assert known.TestSplit({"a": 3, "b": 4}).sizes_of(["0"]) == {"a": 3, "b": 4}


def test_data_sets_by_their_names():
    classes = fb.load_release().classes("digits")
    digits = {row["class_name"]: row["n_images"] for row in classes.to_pylist()}
    for name, sizes in (("miniImageNet", MINI), ("Digits", digits)):
        log = _drawn(sizes)
        named, given = (fb.interval(log, class_sizes=told) for told in (name, sizes))
        assert named.log.images + named.log.unseen == sum(sizes.values())
        assert estimates(named) == estimates(given)


def test_cub_by_the_names_of_its_classes():
    sizes = known.test_splits()["cub"].known
    log = _drawn(sizes, tasks=600)
    seen = {image for task in log["image_ids"] for of in task for image in of}
    assert fb.interval(log, class_sizes="CUB").log.unseen == 2953 - len(seen)
    log["class_ids"] = [[list(sizes).index(name) for name in of] for of in log["class_ids"]]
    with pytest.raises(TaskLogError, match="the class sizes lack 50 classes of the log"):
        fb.interval(log, class_sizes="CUB")


def test_names_that_give_no_sizes():
    for name in ("minimagenet", "cropdisease"):
        with pytest.raises(UnknownNameError, match="or give a file with the columns class and"):
            fb.interval(_drawn(MINI), class_sizes=name)
