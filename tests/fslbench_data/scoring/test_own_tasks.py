"""Intervals of a researcher's own tasks: numbers, how they were drawn, and what is refused."""

import csv
import json
import re
from itertools import combinations

import numpy as np
import own_logs
import pytest
from commands import printed
from golden_inputs import joined, write_columns
from own_logs import estimates
from scipy import stats
from scipy.stats import kstest

import fslbench_data as fb
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from benchmark_spec.errors import (
    DoubledTaskError,
    FSLBenchWarning,
    MissingTaskError,
    NoIntervalError,
    TaskLogError,
)
from benchmark_spec.version import __version__
from fslbench_data.render.log_text import notes
from fslbench_data.render.log_text import sentence as log_sentence
from fslbench_data.render.plan_text import plan_json
from fslbench_data.render.report_formats import json_pieces, render_csv
from fslbench_data.scoring.own_tasks import class_draws, pair_draws, unit_draws, unseen_images
from fslbench_data.scoring.task_log import COUNTS

LOG = own_logs.log()
SIZES = dict.fromkeys(range(15), 60)
GROUPS = {1000 * c + i: f"{c}/{i // 3}" for c in range(15) for i in range(60)}
ABOVE = {c: c // 2 for c in range(15)}
UNSEEN = own_logs.log(tasks=300, images=200, seed=3)


def _expected(log, images=60, *more):
    """What the statistics give of a log's arrays, for 15 classes of so many images."""
    tasks = len(set(log["task"]))
    classes = np.array(log["class_ids"])[:tasks]
    ids = np.array(log["image_ids"])[:tasks] % 1000 + images * classes[:, :, None]
    y = (np.array(log["n_correct"]) / 25).reshape(-1, tasks)
    design = TaskDesign.of(classes, ids, np.repeat(np.arange(15), images), *more)
    return leave_one_out(design, y, 0.95)


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
    own = _expected(log, images, *design)
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
    shown = fb.interval(renamed, class_sizes={f"class {c}": 60 for c in range(15)})
    before, after = estimates(fb.interval(LOG)), estimates(shown)
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
    """Where all tasks have all classes, where all tasks are right, and where both is so."""
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
    """Disjoint tasks have a bound alone, and it is said why."""
    rng = np.random.default_rng(0)
    pools = {c: rng.permutation(600).tolist() for c in range(8)}
    log = []
    for task in range(40):
        chosen = rng.permutation(8)[:2].tolist()
        ids = [[1000 * c + pools[c].pop() for _ in range(3)] for c in chosen]
        row = ("m", task, chosen, ids, 1 + task % 2, 4)
        log.append(dict(zip(own_logs.ROW, row, strict=True)))
    with pytest.raises(TaskLogError, match="100 % of the 240 images were seen once only"):
        fb.interval(log)
    shown = fb.interval(log, class_sizes=dict.fromkeys(range(8), 600))
    images, classes = estimates(shown)["m", ""].values()
    # v_mc of ones and twos of four, 40 tasks; rho = 2·3/(8·600) for images
    v_mc = 100**2 * (1 / 8) ** 2 / 39
    bound = stats.t.ppf(0.975, 39) * np.sqrt(v_mc * (1 + 40 / 800 / (1 - 1 / 800)))
    assert images["halfwidth"] == pytest.approx(bound, rel=1e-6)
    assert images["is_bound"]
    assert classes["halfwidth"] > images["halfwidth"]
    assert "in 0.05 tasks on average" in shown.sets[0].units.bounded["images"]


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


def _with_classes(classes, rng):
    """A log of tasks of these classes (600, 5), with images that are drawn uniformly."""
    images = [1000 * c[:, None] + np.argsort(rng.random((5, 60)))[:, :10] for c in classes]
    ids = {"class_ids": classes.tolist() * 3, "image_ids": [own.tolist() for own in images] * 3}
    return own_logs.log() | ids


@pytest.mark.parametrize("alphabets", [True, False])
def test_classes_that_are_drawn_together_are_noticed(alphabets):
    """As one of three alphabets, or a window."""
    rng = np.random.default_rng(5)
    start = 5 * rng.integers(3, size=600) if alphabets else rng.integers(15, size=600)
    log = _with_classes((start[:, None] + np.arange(5)) % 15, rng)
    with pytest.raises(TaskLogError, match=r"uniformly \(pairs of classes: .* together is"):
        fb.interval(log)


def test_classes_that_are_preferred_are_noticed():
    rng, weights = np.random.default_rng(4), np.ones(15)
    weights[3] = 2
    drawn = [rng.choice(15, 5, replace=False, p=weights / 16) for _ in range(600)]
    with pytest.raises(TaskLogError, match=r"not drawn uniformly \(classes: .*class '3' is\s+in"):
        fb.interval(_with_classes(np.array(drawn), rng))


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
    noise = level.var(ddof=1) / 600
    square = stats.t.isf(0.025, 2) ** 2
    assert v > noise
    assert alone**2 < square * noise  # the width is that of the runs alone
    width = np.sqrt(max(alone**2 + square * (v - noise), square * v))
    assert pair["halfwidth"] == pytest.approx(width, rel=1e-5)


def test_runs_of_other_numbers_of_tasks_are_named():
    log = _runs(own_tasks=True)
    with pytest.warns(FSLBenchWarning, match="runs of a, b have 50 to 200 tasks"):
        fb.interval([row for row in own_logs.rows(log) if row["seed"] < 2 or row["task"] < 50])


def test_images_that_are_preferred_are_noticed():
    """A sampler that draws from the first 40 of each class's 60 images."""
    log = own_logs.log(images=40)
    assert fb.interval(log).log.warnings == ()
    with pytest.raises(TaskLogError, match="images within classes: chi-square") as caught:
        fb.interval(log, class_sizes=SIZES)
    assert "random.sample" in caught.value.fix
    for task, ids in zip(log["task"], log["image_ids"], strict=True):
        for own in ids if task % 6 == 0 else ():
            own[:] = [i - 1 if i % 10 == 9 and i - 1 not in own else i for i in own]
    with pytest.warns(FSLBenchWarning, match="may not have been drawn uniformly .images within"):
        fb.interval(log)


def test_images_that_are_dealt_are_told():
    """Each image once before any comes again: more even than drawing anew."""
    rng = np.random.default_rng(6)
    hands = {c: [] for c in range(15)}
    dealt = []
    for classes in LOG["class_ids"][:600]:
        for c in classes:
            hands[c] = hands[c] or (1000 * c + rng.permutation(60)).tolist()
        dealt.append([[hands[c].pop() for _ in range(10)] for c in classes])
    with pytest.warns(FSLBenchWarning, match="more evenly than at random"):
        fb.interval(LOG | {"image_ids": dealt * 3}, class_sizes=SIZES)


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
    """Which queries were right counts, too; it was refused, because of runs that there are none."""
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
    for trained, word in ((None, "raining runs"), (False, "uns")):
        log = fb.open_log(_runs(), class_sizes=SIZES, trained=trained)
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
