"""All classes at once: the statistics by hand, logs of predictions, and sets in a release."""

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from commands import invoke, printed
from golden_inputs import write_columns
from msgspec.structs import replace
from recorded import answered, in_run
from results_repository import Repository
from scipy.stats import t as student

import fslbench_data as fb
from analysis_sql.leave_one_out.all_ways import AllWaySums, Cells, squares_of_methods
from benchmark_spec.errors import (
    ContradictionError,
    DoubledTaskError,
    FSLBenchError,
    MethodNameError,
    MissingTaskError,
    PredictionError,
    SamplingError,
    SchemaError,
    SpecError,
    SubmissionError,
    UnknownNameError,
    UnknownTaskError,
)
from benchmark_spec.protocol import TaskSetName
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About, images_table
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.tables import leaderboard_tables
from fslbench_data.release.release import load_release
from fslbench_data.render.draws_text import rows, tables
from fslbench_data.render.interval_text import set_title
from fslbench_data.submission.recorder import Recorder
from studies.coverage.all_ways import spread

OWNER = np.repeat([0, 1, 2], [8, 12, 20])
ALIKE = np.array([8, 12, 20]) / 40


def _rows(log, **said):
    """Return what a log's report says of methods and of pairs, by the columns of CSV."""
    report = fb.interval(log, **said)
    return rows(report, report.log)


def _same(row, over, expected):
    """Reports settle half-widths and p-values to about ten digits."""
    assert row[f"{over}_mean"] == pytest.approx(100 * expected.mean, abs=1e-12)
    width, new = row[f"{over}_halfwidth"], row[f"{over}_new_classes_halfwidth"]
    assert width == pytest.approx(100 * expected.halfwidth, rel=1e-9)
    assert new is None
    if row["versus"]:
        assert row[f"{over}_p"] == pytest.approx(expected.p, rel=1e-6)


def _right(draws, seed=0):
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=OWNER.size)
    return (rng.normal(size=(draws, OWNER.size)) < 0.8 + easy).astype(float)


@pytest.mark.parametrize(("draws", "overlap"), [(4, 0.0), (5, 0.4), (1, 0.0)])
def test_the_formula_written_out(draws, overlap):
    x = _right(draws)
    if overlap:
        x[2] = np.where(np.arange(40) % 3 == 0, 1 - x[2], x[2])  # a draw unlike the others
    images, both, of_draws, freedom = 0.0, 0.0, 0.0, 0.0
    for c, w in enumerate(ALIKE):
        own = x[:, c == OWNER]
        n = own.shape[1]
        part = w**2 * own.mean(axis=0).var(ddof=1) / n
        images += part
        freedom += part**2 / (n - 1)
        if draws > 1:
            rest = own - own.mean(axis=0) - own.mean(axis=1, keepdims=True) + own.mean()
            both += w**2 * (rest**2).sum() / ((draws - 1) * (n - 1)) / (draws * n)
    if draws > 1:
        variance = x.mean(axis=1).var(ddof=1)
        of_draws = variance / draws
        if overlap:
            assert variance > draws * both
            of_draws += overlap / (1 - overlap) * (variance - draws * both)
    whole = max(images + max(of_draws - both, 0), of_draws)
    found = spread(x, OWNER, 0.95, overlap=overlap)
    assert found.mean == pytest.approx(x.mean())

    def square(level):
        t, own = (student.ppf(1 - (1 - level) / 2, df) for df in (draws - 1, images**2 / freedom))
        of_images = own**2 * images
        if draws == 1:
            return float(of_images)
        return float(max(of_images + t**2 * (of_draws - both), t**2 * of_draws))

    assert found.halfwidth == pytest.approx(np.sqrt(square(0.95)))
    assert square(1 - found.p) == pytest.approx(x.mean() ** 2)
    share = of_draws / whole if draws > 1 else np.nan
    assert found.draws == pytest.approx(share, nan_ok=True)


def test_what_never_varies():
    wrong = spread(np.zeros((3, 40)), OWNER, 0.95)
    assert (wrong.mean, wrong.halfwidth, wrong.p) == (0.0, 0.0, 1.0)
    assert np.isnan(spread(np.ones((3, 40)), OWNER, 0.95).halfwidth)


def test_an_image_that_some_draws_took_for_support():
    x = _right(4)
    x[0, 3] = x[2, 17] = np.nan
    found, whole = spread(x, OWNER, 0.95), spread(_right(4), OWNER, 0.95)
    assert found.halfwidth == pytest.approx(whole.halfwidth, rel=0.2)
    cells = [(~np.isnan(x[:, c == OWNER])).sum() for c in range(3)]
    of_class = [np.nanmean(x[:, c == OWNER], axis=1).mean() for c in range(3)]
    assert found.mean == pytest.approx(np.average(of_class, weights=cells))


def _scores(draws, seed, seen=(8, 12, 20, 9, 11)):
    """Scores (R, n, C) of five classes that are hard to tell apart, and the classes of images."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(seen)), seen)
    scores = rng.normal(size=(draws, owner.size, len(seen))) + rng.normal(size=(owner.size, 1))
    scores[:, np.arange(owner.size), owner] += 1.0
    return scores, owner


def _scored(method, scores, owner):
    rows = []
    for draw, own in enumerate(scores):
        best, second = np.argsort(-own, axis=1)[:, :2].T.tolist()
        for image, values in enumerate(zip(owner.tolist(), best, second, strict=True)):
            told = dict(zip(("class", "predicted", "second"), values, strict=True))
            rows.append({"method": method, "draw": draw, "image": image} | told)
    return rows


@pytest.mark.parametrize("alike", [True, False])
def test_new_classes_from_scores_without_each_class(alike):
    """A class is left out of scores and queries; nothing knows of second-best classes."""
    scores = {name: _scores(3, seed) for seed, name in enumerate(("one", "other"))}
    owner, every = scores["one"][1], list(range(5))
    weights = np.bincount(owner) if alike else np.ones(5)
    results, differences = _rows([row for name in scores for row in _scored(name, *scores[name])])
    kind = "images" if alike else "classes"

    def right(method, kept):
        return 1.0 * (np.array(kept)[scores[method][0][:, :, kept].argmax(axis=2)] == owner)

    def width(*of):
        def answers(kept):
            return sum(sign * right(method, kept) for sign, method in of)

        def mean(kept):
            parts = [answers(kept)[:, owner == c].mean(axis=1) for c in kept]
            return np.average(parts, axis=0, weights=weights[kept])

        both = 0.0
        for c in every:
            x = answers(every)[:, owner == c]
            rest = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
            part = (rest**2).sum() / (2 * (x.shape[1] - 1)) / x.size
            both += (weights[c] / weights.sum()) ** 2 * part
        apart = np.array([mean([c for c in every if c != left]).mean() for left in every])
        classes = 4 / 5 * ((apart - apart.mean()) ** 2).sum()
        of_draws, t = mean(every).var(ddof=1) / 3, student.ppf(0.975, 2)
        squares = student.ppf(0.975, 4) ** 2 * classes + t**2 * max(of_draws - both, 0)
        return float(100 * np.sqrt(max(squares, t**2 * of_draws)))

    for one in results:
        assert one[f"{kind}_new_classes_halfwidth"] == pytest.approx(width((1, one["method"])))
    (pair,) = differences
    new = pair[f"{kind}_new_classes_halfwidth"]
    assert new == pytest.approx(width((1, pair["method"]), (-1, pair["versus"])))
    assert new > pair[f"{kind}_halfwidth"]
    assert (pair[f"{kind}_new_classes_p"] < 0.05) == (abs(pair[f"{kind}_mean"]) > new)


def test_new_classes_where_draws_and_methods_leave_images_out():
    """A missing answer counts as if the image were not there, in both parts."""
    scores, owner = _scores(4, 5)
    log = _scored("one", scores, owner)
    without = [row for row in log if row["image"] % 7 or row["draw"] != 1]
    found, whole = (_rows(some)[0][0]["images_new_classes_halfwidth"] for some in (without, log))
    assert found == pytest.approx(whole, rel=0.2)
    assert found != whole
    shown = [{**row, "method": "no draws", "draw": None} for row in log if row["draw"] == 0]
    (pair,) = _rows([*without, *shown])[1]
    assert pair["images_new_classes_halfwidth"] > 0


def test_of_two_classes_nothing_is_said_of_new_ones():
    report = fb.interval(_scored("one", *_scores(3, 2, (20, 30))))
    assert report.sets[0].kinds == ("closed", "images")


def _columns(log):
    return {name: [row[name] for row in log] for name in log[0]}


def test_many_methods_take_thirty_lines_at_eighty_characters(tmp_path):
    log = [r for m in range(30) for r in _scored(f"adapter {m}", *_scores(2, m, (6, 6, 6)))]
    text = printed("score", write_columns(tmp_path / "log.jsonl", _columns(log)), COLUMNS="80")
    lines = text.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines[:-1])) <= 80  # but for the signature
    assert "Not corrected for multiple comparisons: 435 pairs" in text
    assert text.count("more rows left out: --format csv gives all") == 2


def _log(shots=None):
    """Rows of two methods with three draws each, and of one without draws, perhaps with shots."""
    rows = []
    for method, draws in (("adapter", 3), ("prompt", 3), ("zero-shot", 1)):
        for draw, own in enumerate(_right(draws, seed=len(method))):
            named = {"draw": draw, "shots": 16} if draws > 1 else {"draw": None, "shots": shots}
            for image, (label, right) in enumerate(zip(OWNER, own, strict=True)):
                predicted = f"c{label}" if right else f"c{(label + 1) % 3}"
                of_image = {"image": f"{image}.jpg", "class": f"c{label}", "predicted": predicted}
                rows.append({"method": method} | named | of_image)
    return rows


LOG = _log()


def test_without_a_draw_beside_draws_there_is_no_support():
    assert [one["draws"] for one in _rows(_log(16))[0]] == [3, 3, 0]


def test_as_many_right_answers_to_other_images_are_not_identical():
    rows = [row for row in LOG if row["method"] == "adapter" and row["draw"] == 0]
    same = [{**row, "method": "moved"} for row in rows]
    right = [row["predicted"] == row["class"] for row in rows]
    moved = [dict(row) for row in same]
    moved[right.index(False)]["predicted"] = moved[right.index(False)]["class"]
    moved[right.index(True)]["predicted"] = "none"
    for versus, verdict in ((moved, "0"), (same, "=")):
        found = fb.interval([*rows, *versus]).comparisons.to_arrow().to_pylist()
        (pair,) = (row for row in found if row["interval"] == "images")
        assert (pair["verdict"], pair["difference"]) == (verdict, 0)


def _each(**changed):
    return lambda rows: [row.update({n: of(row) for n, of in changed.items()}) for row in rows]


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda rows: rows.append(dict(rows[0])), DoubledTaskError, "twice in one draw"),
        (_each(second=lambda row: row["predicted"]), SchemaError, "second is 'c0', as predicted"),
        (_each(second=lambda row: 1), SchemaError, "second of adapter is never a class"),
        (lambda rows: rows[0].update(second="c9"), SchemaError, "'second' is empty"),
        (lambda rows: rows.pop(), MissingTaskError, "39 of 40 test images"),
        (lambda rows: rows[0].update({"class": "c1"}), SchemaError, "of two classes"),
        (lambda rows: rows[0].update(shots=2.5), SchemaError, "shots is 2.5"),
        (lambda rows: rows[1].update(shots="none"), SchemaError, "'shots' holds a int and then a"),
        (lambda rows: rows[1].update(draw="none"), SchemaError, "'draw' holds a int and then a"),
        (lambda rows: [row.pop("predicted") for row in rows], SchemaError, "misses the column"),
        (_each(predicted=lambda row: 1.5), SchemaError, "predicted"),
        (
            _each(predicted=lambda row: int(row["predicted"][1:])),
            SchemaError,
            r"(?s)predicted of adapter is never.*'0', '1', '2'.*'c0', 'c1'",
        ),
        (lambda rows: rows[0].update(method=""), MethodNameError, "it has 0 characters"),
        (lambda rows: [r.pop("shots") for r in rows], SchemaError, "without the number of shots"),
    ],
)
def test_what_is_refused(change, kind, said):
    rows = _log()
    change(rows)
    with pytest.raises(kind, match=said):
        fb.interval(rows, pool=None if "shots" in rows[0] else 8)


def test_categories_that_no_row_has():
    frame = pd.DataFrame(LOG)
    for name in ("method", "class", "predicted", "image"):
        kinds = [*dict.fromkeys(frame[name]), "nowhere"]
        frame[name] = pd.Categorical(frame[name], categories=kinds)
    assert fb.interval(frame).to_dict() == fb.interval(pd.DataFrame(LOG)).to_dict()


def test_whole_floats_are_the_integers():
    """Frames hold integers with gaps as floats, and NaN where there is no draw."""
    log, floats = [dict(row) for row in LOG], [dict(row) for row in LOG]
    for row, same in zip(log, floats, strict=True):
        for name in ("image", "class", "predicted"):
            row[name] = int(row[name].strip("c.jpg"))
            same[name] = float(row[name])
        same["draw"] = float("nan" if row["draw"] is None else row["draw"])
    table = pa.Table.from_pylist(floats)
    assert fb.interval(table).to_dict() == fb.interval(log).to_dict()


def test_what_is_not_compared_is_said():
    log = [row for row in LOG if (row["method"], row["draw"]) != ("prompt", 2)]
    report = fb.interval(log)
    pairs = [(c.method, c.versus) for c in report.comparisons]
    assert pairs == [("adapter", "zero-shot"), ("prompt", "zero-shot")]
    said = "ot compared, since their draws differ (0, 1, 2 and 0, 1): adapter - prompt"
    assert f"n{said}" in report.to_dict()["log"]["warnings"]
    assert f"N{said}." in " ".join(str(report).split())
    other = [{**row, "draw": row["draw"] + 1} if row["method"] == "prompt" else row for row in log]
    assert "(0, 1, 2 and 1, 2)" in str(fb.interval(other))
    twice = [{**row, "shots": shots} for row in log if row["shots"] for shots in (1, 16)]
    text = " ".join(str(fb.interval(twice)).split())
    assert "adapter - prompt at 1 shot, adapter - prompt at 16 shots." in text


def test_images_that_one_of_the_methods_leaves_out():
    """All are compared on what all answer, in every draw; tables and figures have one task set."""
    few = _lacking({"prompt": (3,)}, draws=(1, 2))
    report = fb.interval(few)
    text = " ".join(str(report).split())
    said = "On the 39 to 40 of 40 images a draw that all answer: adapter, prompt, zero-shot."
    assert said in text
    (task_set,) = report.sets
    assert task_set.methods == ("adapter", "prompt", "zero-shot")
    assert [column.heading for column in fb.table(report).content.columns] == ["16-shot"]
    own = [
        row
        for row in few
        if row["method"] != "adapter" or row["image"] != "3.jpg" or row["draw"] == 1
    ]  # no draw in which both answer it
    x, y = _right(3, seed=len("adapter")), _right(3, seed=len("prompt"))
    kept = np.arange(40) != 3
    _same(_rows(own)[1][0], "images", spread((x - y)[:, kept], OWNER[kept], 0.95))
    third = {"adapter": range(20, 30), "prompt": range(30, 40), "zero-shot": ()}
    apart = [
        row
        for row in LOG
        if row["draw"] != 1 or int(row["image"].removesuffix(".jpg")) not in third[row["method"]]
    ]
    alone = fb.interval(apart)
    assert [each.methods for each in alone.sets] == [("adapter",), ("prompt",), ("zero-shot",)]
    assert "a draw has no image of some class that all answer" in " ".join(str(alone).split())
    half = [row for row in LOG if row["draw"] != 1 or row["class"] != "c2"]
    with pytest.raises(MissingTaskError, match=r"adapter answers no image of class 'c2' in draw"):
        fb.interval(half)


def test_options_of_other_results(tmp_path):
    path = write_columns(tmp_path / "log.jsonl", _columns(LOG))
    for given, said in (
        (["--inductive"], "only a pool is to be told besides"),
        (["--no-training"], "only a pool is to be told besides"),
        (["--ways", "5"], "accuracies alone"),
    ):
        refused = invoke("score", path, *given)
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_against_one_method():
    pairs = [
        (c.method, c.versus) for c in fb.score(fb.open_log(LOG), against="adapter").comparisons
    ]
    assert pairs == [("prompt", "adapter"), ("zero-shot", "adapter")]
    with pytest.raises(UnknownNameError, match="nobody"):
        fb.score(fb.open_log(LOG), against="nobody")


def test_one_draw():
    report = fb.interval([row for row in LOG if row["draw"] in (0, None)])
    methods, pairs = tables(report, report.log)
    assert "draws" not in methods.title.rpartition("intervals")[2]
    assert [row[1] for row in map(methods.texts, methods.rows)] == ["1", "1", "none"]
    (said,) = [note for note in pairs.notes if note.startswith("One draw of adapter, prompt: ")]
    assert "± is for new test images with this one support, in differences too." in said
    (each,) = report.sets
    title = set_title(each.scored, each.units, each.level, each.displayed_kinds)
    assert title.startswith("1 draw, 95 % Student's t intervals (new test images with this one ")
    table = fb.table(report).markdown()
    assert "intervals for new test images with this one support (" in table
    assert "T = 1 draw." in table
    page = report._repr_html_()
    assert "(new test images with this one support)" in page
    assert ", 1 draw<" in page
    alone = [row for row in LOG if row["method"] == "zero-shot"]
    assert "none" in str(fb.interval(alone))
    unsaid = [{n: row[n] for n in ("method", "image", "class", "predicted")} for row in alone]
    assert "One draw of zero-shot: " in str(fb.interval(unsaid))


def test_all_right_in_every_class():
    """Then the mean over classes says nothing more, and no share of the draws is known."""
    report = fb.interval([{**row, "predicted": row["class"]} for row in LOG])
    methods, _ = tables(report, report.log)
    assert methods.names == ["method", "draws", "accuracy", "from draws"]
    assert [row[3] for row in map(methods.texts, methods.rows)] == ["n/a", "n/a", ""]


def _lacking(images, draws=(1,)):
    """Return the rows of LOG without some images, by method, in some draws."""
    return [
        row
        for row in LOG
        if row["draw"] not in draws or int(row["image"][:-4]) not in images.get(row["method"], ())
    ]


def _at(shots):
    """Return the rows of LOG at other shots, in whose draws 1 shot does worse."""
    wrong = {"predicted": "c0"} if shots == 1 else {}
    own = [row | {"shots": shots} for row in LOG if row["shots"]]
    own = [row | wrong if i % 7 == 0 else row for i, row in enumerate(own)]
    return [*own, *(row for row in LOG if not row["shots"] and shots == 16)]


def _array(log, method, shots):
    """Return what a method answers (R, n), NaN where a draw leaves an image out."""
    own = [row for row in log if row["method"] == method and row["shots"] in (shots, None)]
    draws = [*dict.fromkeys(row["draw"] for row in own)]
    x = np.full((len(draws), OWNER.size), np.nan)
    for row in own:
        right = row["predicted"] == row["class"]
        x[draws.index(row["draw"]), int(row["image"].removesuffix(".jpg"))] = right
    return x


@pytest.mark.parametrize("pool", [0, 40])
@pytest.mark.parametrize(
    "log",
    [
        LOG,
        _lacking(dict.fromkeys(("adapter", "prompt"), (3, 30, 31))),
        _lacking({"adapter": (3, 30)}),
        [row for shots in (1, 16) for row in _at(shots)],
        [row for row in LOG if row["draw"] in (0, None)],
    ],
    ids=["whole", "images left out", "by one", "two numbers of shots", "one draw"],
)
def test_many_kinds_of_logs(log, pool):
    results, differences = _rows(log, pool=pool)
    named = [*dict.fromkeys(row["method"] for row in log)]
    shots = [*dict.fromkeys(row["shots"] for row in log if row["shots"])]
    assert [(one["shots"], one["method"]) for one in results] == [*product(shots, named)]
    pairs = [(one["shots"], (one["method"], one["versus"])) for one in differences]
    assert pairs == [*product(shots, combinations(named, 2))]
    for one in (*results, *differences):
        arrays = {name: _array(log, name, one["shots"]) for name in named}
        x = arrays[one["method"]] - (arrays[one["versus"]] if one["versus"] else 0.0)
        x = x + 0.0 * sum(arrays.values())  # on what all answer
        for over, alike in (("images", True), ("classes", False)):
            overlap = one["shots"] / pool if pool else 0.0
            expected = spread(x, OWNER, 0.95, alike=alike, overlap=overlap)
            _same(one, over, expected)
            if one["versus"]:
                apart = abs(expected.mean) > expected.halfwidth
                said = ("better" if expected.mean > 0 else "worse") if apart else "ns"
                assert one[f"{over}_verdict"] == said


@pytest.mark.slow
def test_every_command_takes_it(tmp_path):
    path = write_columns(tmp_path / "log.jsonl", _columns(LOG))
    (first, *_), _ = _rows(path, pool=20)
    (one, *_) = fb.interval(path, pool=20).scores
    assert one.intervals["images"].halfwidth == pytest.approx(first["images_halfwidth"])
    assert printed("interval", path, "--pool", 20) == printed("score", path, "--pool", 20)
    printed("report", path, "-o", tmp_path / "page", "--pool", 20)
    assert "new test images and new draws" in (tmp_path / "page/index.html").read_text()
    printed("plot", "forest", path, "-o", tmp_path / "forest.pdf", "--pool", 20)
    sql = (
        "SELECT halfwidth, (SELECT avg(accuracy) FROM class_accuracies WHERE method = 'adapter') "
        "AS mean FROM scores WHERE interval = 'images' ORDER BY method"
    )
    found = printed("sql", sql, "--submission", path, "--format", "json", "--pool", 20)
    (row, *_) = json.loads(found)
    assert row["halfwidth"] == pytest.approx(first["images_halfwidth"])
    assert row["mean"] == pytest.approx(first["classes_mean"])
    right = "SELECT bool_and(n_correct = list_sum(correct)) AS alike FROM results WHERE NOT EXISTS "
    right += "(SELECT 1 FROM tasks WHERE support_label IS NOT NULL)"
    found = printed("sql", right, "--submission", path, "--format", "json")
    assert json.loads(found) == [{"alike": True}]
    said = printed("validate", path, "--pool", 20)
    assert "zero-shot on log/allway-3w16s40q: 3 tasks" in said
    assert "fslbench" in printed("cite", path)
    with pytest.raises(SpecError, match="a pool is of results with all classes at once"):
        fb.open_log([{"method": "m", "task": 0, "class_ids": [0]}], pool=3)


def test_more_test_images_than_counts_hold():
    images = np.arange(40_000)
    log = {"method": ["m"] * images.size, "image": images, "class": images % 5}
    (one,) = fb.score(fb.open_log({**log, "predicted": images % 7 % 5})).scores
    assert one.task_set == "allway-5w0s40000q"
    right = (images % 7 % 5 == images % 5)[None]
    expected = spread(right, images % 5, 0.95).halfwidth
    assert one.intervals["images"].halfwidth == pytest.approx(100 * expected)


def test_classes_of_one_image_are_taken_for_one():
    """One draw of them has the variance of a simple sample; a single one has that of the others."""
    right = np.array([1.0, 0, 1, 1, 0, 1])
    (found,) = (
        Cells(np.ones((1, 6), bool), np.arange(6))
        .variances([right[None]], squares_of_methods)
        .images
    )
    assert found == pytest.approx(right.var(ddof=1) / 6)
    owner = np.array([0, 1, 1, 1, 2, 2])
    (found,) = (
        Cells(np.ones((1, 6), bool), owner).variances([right[None]], squares_of_methods).images
    )
    squares = np.array(
        [((right[owner == c] - right[owner == c].mean()) ** 2).sum() for c in (1, 2)]
    )
    own = 0.5**2 * squares[0] / 2 / 3 + (1 / 3) ** 2 * squares[1] / 2
    assert found == pytest.approx(own + (1 / 6) ** 2 * squares.sum() / 3)


def _rows_of(method, draws=(None,), classes=3, **more):
    """Rows of 30 images, of which one in three has another class."""
    rows = []
    for draw, image in product(draws, range(30)):
        other = (image + (image // classes % 3 == 0)) % classes
        answer = {"class": f"c{image % classes}", "predicted": f"c{other}"}
        rows.append({"method": method, "draw": draw, "image": image} | answer | more)
    return rows


def test_two_constant_answers_are_not_identical():
    both = [{**row, "method": f"all {c}", "predicted": c} for c in ("c0", "c1") for row in
            _rows_of("m", classes=2)]  # fmt: skip
    ((pair,), said) = _rows(both)[1], str(fb.interval(both))
    assert (pair["images_mean"], pair["images_verdict"]) == (0.0, "n/a")
    assert "that needs three classes" in said


def test_a_method_with_shots_and_without():
    log = _rows_of("tip", (0, 1), shots=4) + _rows_of("tip", shots=0) + _rows_of("clip", shots=0)
    found = [(one["method"], one["shots"], one["draws"]) for one in _rows(log)[0]]
    assert found == [("tip", 0, 0), ("clip", 0, 0), ("tip", 4, 2), ("clip", 4, 0)]


def test_shots_that_no_row_tells_are_not_zero(tmp_path):
    parts = ("base", 3), ("new", 2)
    log = [r for d, c in parts for m in "ab" for r in _rows_of(m, (0, 1), c, dataset=d)]
    file = write_columns(tmp_path / "log.jsonl", _columns(log))
    for command, said in (
        (("score",), "no interval for new classes (with all classes at once that needs a column"),
        (("score", "--means"), "2 data sets, all classes "),
        (("table", "--means"), "base 3-way"),
    ):
        text = printed(*command, file)
        assert said in text.replace("\n", " ")
        assert "0-shot" not in text
    printed("plot", "means", file, "-o", tmp_path / "f.svg")
    caption = (tmp_path / "f.caption.txt").read_text()
    assert "new test images and new draws of the support (Student's t). T = 2 draws." in caption


def test_a_log_is_one_data_set_in_any_order():
    log = _rows_of("a", range(3)) + _rows_of("b", range(4)) + _rows_of("zero")
    report = fb.score(log)
    assert report.dataset_means == report.harmonic_means == []
    assert len({str(fb.interval(some).signature) for some in (log, log[::-1])}) == 1


def test_support_is_not_logged():
    log = _rows_of("m", (0, 1), shots=4)
    release = fb.open_log(log).release
    with pytest.raises(SubmissionError, match="does not say which images were support"):
        release.task_set("log", "allway-3w4s30q")
    assert release.images("log").num_rows == 30
    with pytest.raises(SubmissionError, match="no pilot: they have no random tasks"):
        fb.plan(log)


SIZES, SHOTS, DRAWS = [6, 7, 8], 2, 4
OTHERS, OWN_PART, WIDE = "allway-3w2s15q", "allway-3w2s9q", "allway-130w1s130q"
SEVEN = "allway-3w2s7q"
FEW = np.repeat(range(3), SIZES)
PATHS = [f"{'test' if i % 7 < 3 else 'train'}/{i}.png" for i in range(21)]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Three classes, with their own test part or all others for queries; and 130 classes."""
    writer = ReleaseWriter(folder := tmp_path_factory.mktemp("allway") / "r", "r", "1.0.0", "R.")
    about = About("A", "https://example.org", "CC0", "@misc{x}", redistribution="features")
    columns = {"image_id": range(21), "class_id": FEW, "path": PATHS}
    images = images_table(columns | {"class_name": ["abc"[c] for c in FEW]})
    writer.add_dataset("few", about, list("abc"), SIZES, images)
    name = TaskSetName.parse(OTHERS)
    writer.add_tasks("few", name, *draw_task_set("few", name, SIZES, seed=1, tasks=DRAWS))
    name, part = TaskSetName.parse(OWN_PART), {"paths": PATHS, "test": "test/"}
    drawn = draw_task_set("few", name, SIZES, seed=1, tasks=DRAWS, **part)
    writer.add_tasks("few", name, *drawn, drawn=True)
    x = np.random.default_rng(0).normal(size=(21, 4)) + 1.2 * np.eye(4)[FEW]
    writer.add_features("few", "net", iter([x.astype(np.float16)]), {"backbone": "net"})
    writer.add_dataset("many", about, [str(c) for c in range(130)], [2] * 130)
    name = TaskSetName.parse(WIDE)
    writer.add_tasks("many", name, *draw_task_set("many", name, [2] * 130, seed=1, tasks=3))
    writer.finish()
    return load_release(folder)


def _submission(release, dataset, name, methods=2):
    parts, tasks = [], release.task_set(dataset, name)
    for number in range(methods):
        rng = np.random.default_rng(number)
        wrong = rng.integers(0, tasks.class_ids.shape[1], tasks.query.shape)
        answers = np.where(rng.random(wrong.shape) < 0.6, tasks.query_label, wrong)
        parts.append(answered(tasks, answers, f"m{number}", trained=False))
    return fb.merge(parts)


def _scores_of(tasks, seed):
    """Scores (T, M, K), on the whole higher of the right class."""
    scores = np.random.default_rng(seed).normal(size=(*tasks.query.shape, len(SIZES)))
    return scores + 0.7 * (tasks.query_label[..., None] == np.arange(len(SIZES)))


def _with_second(release, seeds, method="one", name=OTHERS):
    """A method of as many runs, with its second-best classes."""
    tasks, parts = release.task_set("few", name), []
    for seed in seeds:
        best = np.argsort(-_scores_of(tasks, seed), axis=2)
        part = answered(tasks, best[..., 0], method, best[..., 1], trained=False)
        parts.append(in_run(part, str(seed)) if len(seeds) > 1 else part)
    return fb.merge(parts)


def test_new_classes_of_a_frozen_set(release):
    """From the scores themselves, without each class; runs count as their mean."""
    tasks, seeds = release.task_set("few", OWN_PART), (5, 6, 7)
    means = np.zeros(3)
    for left in range(3):
        kept = [c for c in range(3) if c != left]
        asked = np.isin(tasks.query_label, kept)
        for seed in seeds:
            answers = np.array(kept)[_scores_of(tasks, seed)[..., kept].argmax(axis=2)]
            right = (answers == tasks.query_label) & asked
            means[left] += (right.sum(axis=1) / asked.sum(axis=1)).mean() / len(seeds)
    classes = 2 / 3 * ((means - means.mean()) ** 2).sum()
    (found,) = fb.score(_with_second(release, seeds, name=OWN_PART), release).sets
    assert found.kinds == ("closed", "images", "classes")
    assert "classes" not in found.units.missing
    design = found.designs["classes"].at(DRAWS, "classes")
    (*_, variance) = (values[0] for values in AllWaySums(design, found.counts.right).own)
    assert variance == pytest.approx(classes, rel=1e-12)
    intervals = found.scores[0].intervals
    assert intervals["classes"].halfwidth >= intervals["images"].halfwidth


def test_methods_without_second_bests_stand_beside(release):
    with_it = fb.merge([_with_second(release, (5,)), _with_second(release, (6,), "other")])
    beside = fb.merge([with_it, _submission(release, "few", OTHERS, 1)])
    (alone,), (both,) = (fb.score(one, release).sets for one in (with_it, beside))
    widths = [score.intervals["classes"].halfwidth for score in both.scores]
    assert widths == [*(score.intervals["classes"].halfwidth for score in alone.scores), None]
    rows = both.comparisons.to_arrow().to_pylist()
    rows = {(r["method"], r["versus"]): r for r in rows if r["interval"] == "classes"}
    assert {at for at, r in rows.items() if r["halfwidth"] is not None} == {("one", "other")}
    assert {r["p"] for (_, versus), r in rows.items() if versus == "m0"} == {None}


@pytest.mark.parametrize("batch", [None, 3])
def test_a_method_may_answer_with_scores(release, tmp_path, batch):

    def distances(support, query, rng):
        centres = support.mean(axis=-2)
        return -((query[..., :, None, :] - centres[..., None, :, :]) ** 2).sum(axis=-1)

    def stopping(support, query, rng):
        calls.append(0)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return distances(support, query, rng)

    calls = []
    how = {"features": "net", "task_sets": OTHERS, "batch": batch, "name": "d"}
    found = fb.evaluate(distances, release, **how)
    tasks, x = release.task_set("few", OTHERS), release.features("few", "net").astype(np.float32)
    order = [np.argsort(-distances(x[t.support], x[t.query], None), axis=1) for t in tasks]
    recorded = answered(tasks, [o[:, 0] for o in order], "d", [o[:, 1] for o in order])
    for column in ("predictions", "second"):
        expected = recorded.table.column(column).to_pylist()
        assert found.table.column(column).to_pylist() == expected
    with pytest.raises(KeyboardInterrupt):
        fb.evaluate(stopping, release, journal=tmp_path / "j", **how)
    assert fb.evaluate(distances, release, journal=tmp_path / "j", **how).table == found.table
    assert fb.score(found, release).sets[0].scores[0].intervals["classes"].halfwidth > 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda scores: np.where(scores > 1, np.nan, scores), "not finite"),
        (lambda scores: scores[:, :2], r"or scores \(15, 3\)"),
    ],
)
def test_scores_that_are_none(release, answer, said):
    tasks = release.task_set("few", OTHERS)
    method = lambda *_: answer(_scores_of(tasks, 0)[0])  # noqa: E731
    with pytest.raises(PredictionError, match=said):
        fb.evaluate(method, release, features="net", task_sets=OTHERS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1].update(second=rows[1]["predictions"]), "class that is predicted"),
        (lambda rows: rows[1].update(second=rows[1]["second"][:-1]), "not one class for each"),
        (lambda rows: rows[1].update(second=[None, *rows[1]["second"][1:]]), "not one class for"),
        (lambda rows: rows[1].update(second=[3, *rows[1]["second"][1:]]), "no class of the task"),
        (lambda rows: rows[1].update(second=[-1, *rows[1]["second"][1:]]), "no class of the task"),
        (lambda rows: rows[1].update(predictions=None, class_correct=None), "not one class for"),
        (lambda rows: [r.update(predictions=None) for r in rows], "not one class|no predictions"),
        (lambda rows: [row.pop("predictions") for row in rows], "and no predictions"),
    ],
)
def test_second_bests_that_are_none(release, change, said):
    submission = _with_second(release, (5,))
    rows = submission.table.to_pylist()
    change(rows)
    schema = pa.schema([field for field in submission.table.schema if field.name in rows[0]])
    with pytest.raises(PredictionError, match=said):
        fb.score(replace(submission, table=pa.Table.from_pylist(rows, schema)), release)


def test_second_bests_of_tasks_of_few_classes_are_refused(embedded):
    tasks = embedded.task_set("digits", "open-5w1s1q")
    with pytest.raises(PredictionError, match="of tasks of all classes alone"):
        Recorder("m").add(tasks[0], tasks[0].query_label, (tasks[0].query_label + 1) % 5)
    right = answered(tasks, tasks.query_label)
    second = pa.array(((tasks.query_label + 1) % 5).tolist(), pa.list_(pa.int8()))
    changed = replace(right, table=right.table.append_column("second", second))
    with pytest.raises(PredictionError, match="tasks of a few classes"):
        fb.score(changed, embedded)
    tasks = embedded.task_set("digits", "allway-10w1s1787q")
    with pytest.raises(PredictionError, match=r"second-best classes are of shape \(1, 1787\)"):
        Recorder("m").add_task_set(tasks, tasks.query_label, tasks.query_label[:1])


def _by_image(release, submission):
    """The same with a row an image and draw, as a log has it and as a submission may."""
    rows = []
    for row in submission.table.to_pylist():
        tasks = release.task_set(row["dataset"], row["task_set"])
        ids = tasks.query[row["task_id"]].tolist()
        labels = tasks.query_label[row["task_id"]].tolist()
        for image, label, predicted in zip(ids, labels, row["predictions"], strict=True):
            named = {key: row[key] for key in ("method", "dataset", "task_set", "task_id")}
            own = {"image_id": image, "predicted": predicted, "class": label}
            rows.append({**named, **own, "fingerprint": tasks.info.fingerprint})
            if other := row.get("second"):
                rows[-1]["second"] = other[ids.index(image)]
    return pa.Table.from_pylist(rows)


def _of(each, kind):
    pairs = [pair.intervals[kind].difference for pair in each.comparisons]
    return [score.intervals[kind] for score in each.scores] + pairs


@pytest.mark.parametrize("name", [OTHERS, OWN_PART])
def test_a_release_and_a_log_give_the_same(release, name):
    submission = fb.merge(
        [_with_second(release, (5,), name=name), _with_second(release, (6,), "other", name)]
    )
    (found,) = fb.score(submission, release).sets
    log = _by_image(release, submission).rename_columns({"task_id": "draw", "image_id": "image"})
    log = log.select(["method", "draw", "image", "class", "predicted", "second"])
    log = log.append_column("shots", pa.array([SHOTS] * len(log)))
    pool = np.mean(SIZES) - (3 if name == OWN_PART else 0)  # less those of the test part
    (expected,) = fb.interval(log, pool=pool).sets
    rows = {row["interval"]: row for row in found.comparisons.to_arrow().to_pylist()}
    for kind in ("images", "classes"):
        for one, other in zip(_of(found, kind), _of(expected, kind), strict=True):
            assert one.mean == pytest.approx(other.mean, abs=1e-12)
            assert one.halfwidth == pytest.approx(other.halfwidth, rel=1e-9)
        p = expected.p_values(kind)[0, 1]
        assert found.p_values(kind)[0, 1] == pytest.approx(p, rel=1e-9)
        assert rows[kind]["p"] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("form", ["images.csv", "lists.csv", "written.parquet"])
def test_second_bests_in_files(release, form, tmp_path):
    submission, path = _with_second(release, (5,)), tmp_path / form
    if form == "images.csv":
        rows = _by_image(release, submission).drop_columns(["class"])
        shuffled = rows.to_pandas().sample(frac=1, random_state=0)
        shuffled.to_csv(path, index=False)
    elif form == "lists.csv":
        frame = submission.table.to_pandas()
        for column in ("predictions", "second", "class_correct"):
            frame[column] = [json.dumps(values.tolist()) for values in frame[column]]
        fingerprint = release.task_set_info("few", OTHERS).fingerprint
        frame.assign(fingerprint=fingerprint).to_csv(path, index=False)
    else:
        submission.write(path)
    (found,), (expected,) = (fb.score(one, release).scores for one in (path, submission))
    for kind in ("images", "classes"):
        assert found.intervals[kind] == expected.intervals[kind]


def test_what_never_varies_has_no_p(release):
    tasks = release.task_set("few", OTHERS)
    parts = [
        answered(tasks, (tasks.query_label + shift) % 3, method, trained=False)
        for method, shift in (("right", 0), ("wrong", 1), ("wrong too", 1))
    ]
    rows = fb.score(fb.merge(parts), release).comparisons.to_arrow().to_pylist()
    found = [(row["verdict"], row["p"]) for row in rows if row["interval"] == "images"]
    assert found == [("?", None), ("?", None), ("=", 1.0)]


def test_queries_are_the_test_part_or_all_others(release):
    for name in (OTHERS, OWN_PART):
        for task in release.task_set("few", name):
            assert (FEW[task.support] == np.arange(3)[:, None]).all()
            assert (FEW[task.query] == task.query_label).all()
            rest = {*range(21)} - {*task.support.ravel().tolist()}
            tested = {i for i in range(21) if PATHS[i].startswith("test/")}
            assert {*task.query.tolist()} == (tested if name == OWN_PART else rest)
            assert name == OTHERS or not tested & {*task.support.ravel().tolist()}
    assert not verify(release.files.where).problems


def test_the_first_draws_are_a_set_and_groups_count_once():
    name, groups = TaskSetName.parse("allway-3w1s9q"), np.repeat(np.arange(12), 2)
    whole, how = draw_task_set("g", name, [8] * 3, seed=3, tasks=6, groups=groups)
    part, _ = draw_task_set("g", name, [8] * 3, seed=3, tasks=2, groups=groups)
    assert whole.slice(0, 2) == part
    assert how["unit"] == "group"
    for row in whole.to_pylist():
        assert len({groups[i] for i in row["support"] + row["query"]}) == 12


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("allway-3w2s14q", {"tasks": 3}, "the name allway-3w2s15q"),
        (OTHERS, {"tasks": 1}, "at least 2"),
        ("allway-3w6s3q", {"tasks": 3}, "6 images to draw 6"),
        (OTHERS, {"tasks": 3, "paths": PATHS, "test": "nowhere/"}, "3 classes have no images"),
    ],
)
def test_what_cannot_be_drawn(name, how, said):
    with pytest.raises(SamplingError, match=said):
        draw_task_set("few", TaskSetName.parse(name), SIZES, **how)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda rows: rows.append(dict(rows[0])), DoubledTaskError, "more than once in task 0"),
        (lambda rows: rows.pop(), MissingTaskError, "1 of 15 queries of task 3"),
        (lambda rows: rows[5].update(task_id=4), UnknownTaskError, "no task 4"),
        (lambda rows: rows[5].update(task_id=-1), UnknownTaskError, "no task -1"),
        (lambda rows: rows[5].update(image_id=99), PredictionError, "image 99 is no query"),
        (lambda rows: rows[5].update(predicted=3), PredictionError, "predicted is 3"),
        (lambda rows: [r.update(task_set=SEVEN) for r in rows], FSLBenchError, SEVEN),
        (lambda rows: rows[5].update(fingerprint="0" * 64), FSLBenchError, "fingerprint"),
        (lambda rows: rows[5].update(predicted=None), PredictionError, "predicted is null"),
        (lambda rows: [row.pop("method") for row in rows], SchemaError, "misses the column"),
    ],
)
def test_hostile_rows_are_refused(release, change, kind, said):
    rows = _by_image(release, _submission(release, "few", OTHERS, 1)).to_pylist()
    change(rows)
    with pytest.raises(kind, match=said):
        fb.score(pa.Table.from_pylist(rows), release)


def test_more_classes_than_a_byte_holds(release, tmp_path):
    submission = _submission(release, "many", WIDE)
    assert submission.table.schema.field("predictions").type == pa.list_(pa.int16())
    submission.write(path := tmp_path / "wide.parquet")
    assert np.isfinite(fb.score(path, release).sets[0].scores[0].intervals["images"].halfwidth)
    for column in ("n_correct", "class_correct"):
        values = submission.table.column(column).to_pylist()
        values[1] = values[0]
        at = submission.table.column_names.index(column)
        kind = submission.table.schema.field(column).type
        changed = submission.table.set_column(
            at, column, pa.chunked_array([pa.array(values, kind)])
        )
        with pytest.raises(ContradictionError):
            fb.score(replace(submission, table=changed), release)


def test_counts_alone_are_compared_by_the_usual_interval(release):
    known = _submission(release, "few", OTHERS)
    names = [n for n in known.columns if n not in ("predictions", "class_correct")]
    found = fb.score(replace(known, table=known.table.select(names)), release)
    rows = {row["interval"]: row for row in found.comparisons.to_arrow().to_pylist()}
    assert (rows["closed"]["halfwidth"] or 0) > 0
    assert rows["images"]["halfwidth"] is None
    assert rows["images"]["p"] is None


def test_a_leaderboard_has_the_usual_interval_alone_and_says_so(release, tmp_path):
    """It holds counts, from which nothing follows for other test images."""
    repository = Repository(tmp_path)
    repository.add(submission := _submission(release, "few", OTHERS))
    found = leaderboard(repository.files, [release])
    (standing,) = found.boards[0].sets
    own = fb.score(submission, release).sets[0].scores[0].intervals["closed"]
    row = next(row for row in standing.rows if row.method == "m0")
    assert {kind: of.accuracy for kind, of in row.intervals.items()} == {"closed": own}
    ((table, _),) = leaderboard_tables(found)
    assert table.title.endswith("4 draws, 95 % closed intervals (new tasks of these images)")
    assert "No interval for new images (leaderboards keep no answers to single queries)." in (
        table.notes
    )


def test_a_method_runs_once_a_draw(release):
    calls = []

    def nearest(support, query, rng):
        calls.append(support.shape + query.shape)
        return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)

    found = fb.evaluate(nearest, release, features="net", task_sets=OTHERS)
    assert calls[:DRAWS] == [(3, SHOTS, 4, 15, 4)] * DRAWS
    again = [(3, SHOTS, 4, n, 4) for n in (15, *(size - SHOTS for size in SIZES))]
    assert calls[DRAWS:] == again * DRAWS  # each class's queries without the others
    assert fb.score(found, release).sets[0].scores[0].accuracy.tasks == DRAWS
    assert release.load_dataset(f"tasks-{OWN_PART}", "few").num_rows == DRAWS


@pytest.mark.slow
def test_more_queries_than_sixteen_bits_count(tmp_path):
    """As of ImageNet's test part: counts are int32 in files, and all else is the same."""
    writer = ReleaseWriter(folder := tmp_path / "r", "r", "1.0.0", "R.")
    about = About("A", "https://example.org", "CC0", "@misc{x}", redistribution="features")
    writer.add_dataset("large", about, ["a", "b"], sizes := [16_500, 16_501])
    name = TaskSetName.parse("allway-2w1s32999q")
    writer.add_tasks("large", name, *draw_task_set("large", name, sizes, seed=1, tasks=2))
    submission = _submission(writer.so_far(), "large", str(name), methods=1)
    writer.add_results(submission, {})
    writer.finish()
    release = load_release(folder)
    submission.write(path := tmp_path / "large.parquet")
    read = fb.Submission.read(path).table
    assert read.schema.field("n_correct").type == read.schema.field("n_query").type == pa.int32()
    right = np.array(read.column("n_correct"))
    assert right.min() > 20_000
    (score,) = fb.score(path, release, references=False).scores
    assert score.accuracy.mean == pytest.approx(100 * right.mean() / 32_999, abs=1e-10)
    assert 0.1 < score.intervals["images"].halfwidth < 1.0
    loaded = release.load_dataset("results", "test")
    assert loaded["n_correct"] == right.tolist()
    ((total,),) = fb.connect(release).sql("SELECT sum(n_correct) FROM results").fetchall()
    assert total == right.sum()
