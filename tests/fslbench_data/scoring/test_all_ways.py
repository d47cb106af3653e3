"""All classes at once: the statistics by hand, logs of predictions, and the command."""

import json
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from commands import invoke, printed
from golden_inputs import write_columns
from scipy.stats import t as student

import fslbench_data as fb
from analysis_sql.leave_one_out.all_ways import Cells, of_each
from benchmark_spec.errors import (
    DoubledTaskError,
    MethodNameError,
    MissingTaskError,
    SchemaError,
    SpecError,
    SubmissionError,
    UnknownNameError,
)
from fslbench_data.render.draws_text import rows, tables
from fslbench_data.render.interval_text import set_title
from studies.coverage.all_ways import Spread, spread

OWNER = np.repeat([0, 1, 2], [8, 12, 20])
ALIKE = np.array([8, 12, 20]) / 40


def _rows(log: Any, **said: Any) -> tuple[list[Any], list[Any]]:
    """Return what a log's report says of methods and of pairs, by the columns of CSV."""
    report = fb.all_ways(log, **said)
    return rows(report, report.log)


def _same(row: dict[str, Any], over: str, expected: Spread) -> None:
    """Reports settle half-widths and p-values to about ten digits."""
    assert row[f"{over}_mean"] == pytest.approx(100 * expected.mean, abs=1e-12)
    width, new = row[f"{over}_halfwidth"], row[f"{over}_new_classes_halfwidth"]
    assert width == pytest.approx(100 * expected.halfwidth, rel=1e-9)
    assert new is None
    if row["versus"]:
        assert row[f"{over}_p"] == pytest.approx(expected.p, rel=1e-6)


def _right(draws: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=OWNER.size)
    return (rng.normal(size=(draws, OWNER.size)) < 0.8 + easy).astype(float)


@pytest.mark.parametrize(("draws", "overlap"), [(4, 0.0), (5, 0.4), (1, 0.0)])
def test_the_formula_written_out(draws: int, overlap: float) -> None:
    """Where few training images are drawn from, what others would change counts besides."""
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

    def square(level: float) -> float:
        t, own = (student.ppf(1 - (1 - level) / 2, df) for df in (draws - 1, images**2 / freedom))
        of_images = own**2 * images
        if draws == 1:
            return float(of_images)
        return float(max(of_images + t**2 * (of_draws - both), t**2 * of_draws))

    assert found.halfwidth == pytest.approx(np.sqrt(square(0.95)))
    assert square(1 - found.p) == pytest.approx(x.mean() ** 2)
    share = of_draws / whole if draws > 1 else np.nan
    assert found.draws == pytest.approx(share, nan_ok=True)


def test_what_never_varies() -> None:
    wrong = spread(np.zeros((3, 40)), OWNER, 0.95)
    assert (wrong.mean, wrong.halfwidth, wrong.p) == (0.0, 0.0, 1.0)
    assert np.isnan(spread(np.ones((3, 40)), OWNER, 0.95).halfwidth)


def test_an_image_that_some_draws_took_for_support() -> None:
    x = _right(4)
    x[0, 3] = x[2, 17] = np.nan
    found, whole = spread(x, OWNER, 0.95), spread(_right(4), OWNER, 0.95)
    assert found.halfwidth == pytest.approx(whole.halfwidth, rel=0.2)
    cells = [(~np.isnan(x[:, c == OWNER])).sum() for c in range(3)]
    of_class = [np.nanmean(x[:, c == OWNER], axis=1).mean() for c in range(3)]
    assert found.mean == pytest.approx(np.average(of_class, weights=cells))


def _scores(draws: int, seed: int, seen: tuple[int, ...] = (8, 12, 20, 9, 11)) -> tuple[Any, Any]:
    """Scores (R, n, C) of five classes that are hard to tell apart, and the classes of images."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(seen)), seen)
    scores = rng.normal(size=(draws, owner.size, len(seen))) + rng.normal(size=(owner.size, 1))
    scores[:, np.arange(owner.size), owner] += 1.0
    return scores, owner


def _scored(method: str, scores: Any, owner: Any) -> list[dict[str, Any]]:
    rows = []
    for draw, own in enumerate(scores):
        best, second = np.argsort(-own, axis=1)[:, :2].T.tolist()
        for image, values in enumerate(zip(owner.tolist(), best, second, strict=True)):
            told = dict(zip(("class", "predicted", "second"), values, strict=True))
            rows.append({"method": method, "draw": draw, "image": image} | told)
    return rows


@pytest.mark.parametrize("alike", [True, False])
def test_new_classes_from_scores_without_each_class(alike: bool) -> None:
    """A class is left out of scores and queries; nothing knows of second-best classes."""
    scores = {name: _scores(3, seed) for seed, name in enumerate(("one", "other"))}
    owner = scores["one"][1]
    results, differences = _rows([row for name in scores for row in _scored(name, *scores[name])])
    kind = "images" if alike else "classes"

    def right(own: Any, kept: list[int]) -> Any:
        return np.array(kept)[own[:, :, kept].argmax(axis=2)] == owner

    def weights(kept: list[int]) -> Any:
        return np.bincount(owner)[kept] if alike else np.ones(len(kept))

    def mean(own: Any, kept: list[int]) -> Any:
        parts = [right(own, kept)[:, owner == c].mean(axis=1) for c in kept]
        return np.average(parts, axis=0, weights=weights(kept))

    def interaction(x: Any) -> float:
        squares = [
            (x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()) ** 2
            for x in (x[:, owner == c] for c in range(5))
        ]
        parts = [own.sum() / (2 * (own.shape[1] - 1)) / own.size for own in squares]
        every = weights(list(range(5)))
        return float((every / every.sum()) ** 2 @ parts)

    def width(of: Any, x: Any) -> float:
        every = list(range(5))
        apart = np.array([of([c for c in every if c != left]).mean() for left in every])
        classes = 4 / 5 * ((apart - apart.mean()) ** 2).sum()
        of_draws, both = of(every).var(ddof=1) / 3, interaction(x)
        squares = student.ppf(0.975, 4) ** 2 * classes
        squares += student.ppf(0.975, 2) ** 2 * max(of_draws - both, 0)
        return float(100 * np.sqrt(max(squares, student.ppf(0.975, 2) ** 2 * of_draws)))

    for one in results:
        of_one = scores[one["method"]][0]
        assert one[f"{kind}_new_classes_halfwidth"] == pytest.approx(
            width(lambda k, s=of_one: mean(s, k), 1.0 * right(of_one, list(range(5))))
        )
    (pair,) = differences
    first, second = (scores[name][0] for name in (pair["method"], pair["versus"]))
    new = pair[f"{kind}_new_classes_halfwidth"]
    x, y = (1.0 * right(of, list(range(5))) for of in (first, second))
    assert new == pytest.approx(width(lambda k: mean(first, k) - mean(second, k), x - y))
    assert new > pair[f"{kind}_halfwidth"]
    assert (pair[f"{kind}_new_classes_p"] < 0.05) == (abs(pair[f"{kind}_mean"]) > new)


def test_new_classes_where_draws_and_methods_leave_images_out() -> None:
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


def test_of_two_classes_nothing_is_said_of_new_ones() -> None:
    report = fb.all_ways(_scored("one", *_scores(3, 2, (20, 30))))
    assert report.sets[0].kinds == ("closed", "images")


def _columns(log: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in log] for name in log[0]}


def test_many_methods_take_thirty_lines_at_eighty_characters(tmp_path: Path) -> None:
    log = [r for m in range(30) for r in _scored(f"adapter {m}", *_scores(2, m, (6, 6, 6)))]
    text = printed("score", write_columns(tmp_path / "log.jsonl", _columns(log)), COLUMNS="80")
    lines = text.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines[:-1])) <= 80  # but for the signature
    assert "Not corrected for multiple comparisons: 435 pairs" in text
    assert text.count("more rows left out: --format csv gives all") == 2


def _log(shots: int | None = None) -> list[dict[str, Any]]:
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


def test_without_a_draw_beside_draws_there_is_no_support() -> None:
    """As where zero-shot rows have the shots of the others."""
    assert [one["draws"] for one in _rows(_log(16))[0]] == [3, 3, 0]


def test_as_many_right_answers_to_other_images_are_not_identical() -> None:
    rows = [row for row in LOG if row["method"] == "adapter" and row["draw"] == 0]
    same = [{**row, "method": "moved"} for row in rows]
    right = [row["predicted"] == row["class"] for row in rows]
    moved = [dict(row) for row in same]
    moved[right.index(False)]["predicted"] = moved[right.index(False)]["class"]
    moved[right.index(True)]["predicted"] = "none"
    for versus, verdict in ((moved, "0"), (same, "=")):
        found = fb.all_ways([*rows, *versus]).comparisons.to_arrow().to_pylist()
        (pair,) = (row for row in found if row["interval"] == "images")
        assert (pair["verdict"], pair["difference"]) == (verdict, 0)


def _each(**changed: Callable[[dict[str, Any]], object]) -> Any:
    """Change columns of every row of a log."""
    return lambda rows: [row.update({n: of(row) for n, of in changed.items()}) for row in rows]


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda rows: rows.append(dict(rows[0])), DoubledTaskError, "twice in one draw"),
        (_each(second=lambda row: row["predicted"]), SchemaError, "second is 'c0', as predicted"),
        (_each(second=lambda row: 1), SchemaError, "second of adapter is never a class"),
        (lambda rows: rows[0].update(second="c9"), SchemaError, "second is empty"),
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
def test_what_is_refused(change: Any, kind: type[Exception], said: str) -> None:
    rows = _log()
    change(rows)
    with pytest.raises(kind, match=said):
        fb.all_ways(rows, pool=None if "shots" in rows[0] else 8)


def test_categories_that_no_row_has() -> None:
    frame = pd.DataFrame(LOG)
    for name in ("method", "class", "predicted", "image"):
        kinds = [*dict.fromkeys(frame[name]), "nowhere"]
        frame[name] = pd.Categorical(frame[name], categories=kinds)
    assert fb.all_ways(frame).to_dict() == fb.all_ways(pd.DataFrame(LOG)).to_dict()


def test_whole_floats_are_the_integers() -> None:
    """Frames hold integers with gaps as floats, and NaN where there is no draw."""
    log, floats = [dict(row) for row in LOG], [dict(row) for row in LOG]
    for row, same in zip(log, floats, strict=True):
        for name in ("image", "class", "predicted"):
            row[name] = int(row[name].strip("c.jpg"))
            same[name] = float(row[name])
        same["draw"] = float("nan" if row["draw"] is None else row["draw"])
    table = pa.Table.from_pylist(floats)
    assert fb.all_ways(table).to_dict() == fb.all_ways(log).to_dict()


def test_what_is_not_compared_is_said() -> None:
    log = [row for row in LOG if (row["method"], row["draw"]) != ("prompt", 2)]
    report = fb.all_ways(log)
    pairs = [(c.method, c.versus) for c in report.comparisons]
    assert pairs == [("adapter", "zero-shot"), ("prompt", "zero-shot")]
    said = "ot compared, since their draws differ (0, 1, 2 and 0, 1): adapter - prompt"
    assert f"n{said}" in report.to_dict()["log"]["warnings"]
    assert f"N{said}." in " ".join(str(report).split())
    other = [{**row, "draw": row["draw"] + 1} if row["method"] == "prompt" else row for row in log]
    assert "(0, 1, 2 and 1, 2)" in str(fb.all_ways(other))
    twice = [{**row, "shots": shots} for row in log if row["shots"] for shots in (1, 16)]
    text = " ".join(str(fb.all_ways(twice)).split())
    assert "adapter - prompt at 1 shot, adapter - prompt at 16 shots." in text


def test_images_that_one_of_two_methods_leaves_out() -> None:
    few = _lacking({"prompt": (3,)}, draws=(1, 2))
    report = fb.all_ways(few)
    text = " ".join(str(report).split())
    assert "Compared on the 39 to 40 of 40 images a draw that both answer: adapter - p" in text
    assert [each.scored.dataset for each in report.sets] == ["log", "log2", "log3", "log4"]
    pairs = [each.methods for each in report.sets[2:]]
    assert pairs == [("adapter", "prompt"), ("prompt", "zero-shot")]
    assert len(rows(report, report.log)[0]) == 3
    own = [
        row
        for row in few
        if row["method"] != "adapter" or row["image"] != "3.jpg" or row["draw"] == 1
    ]  # no draw in which both answer it
    x, y = _right(3, seed=len("adapter")), _right(3, seed=len("prompt"))
    kept = np.arange(40) != 3
    _same(_rows(own)[1][0], "images", spread((x - y)[:, kept], OWNER[kept], 0.95))
    half = [row for row in LOG if row["draw"] != 1 or row["class"] != "c2"]
    with pytest.raises(MissingTaskError, match=r"adapter answers no image of class 'c2' in draw"):
        fb.all_ways(half)


def test_options_of_other_results(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "log.jsonl", _columns(LOG))
    for given, said in (
        (["--inductive"], "only a pool is to be told besides"),
        (["--no-training"], "only a pool is to be told besides"),
        (["--ways", "5"], "accuracies alone"),
    ):
        refused = invoke("score", path, *given)
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_against_one_method() -> None:
    pairs = [(c.method, c.versus) for c in fb.all_ways(LOG, against="adapter").comparisons]
    assert pairs == [("prompt", "adapter"), ("zero-shot", "adapter")]
    with pytest.raises(UnknownNameError, match="nobody"):
        fb.all_ways(LOG, against="nobody")


def test_one_draw() -> None:
    report = fb.all_ways([row for row in LOG if row["draw"] in (0, None)])
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
    assert ", 1 draw a set" in page
    alone = [row for row in LOG if row["method"] == "zero-shot"]
    assert "none" in str(fb.all_ways(alone))
    unsaid = [{n: row[n] for n in ("method", "image", "class", "predicted")} for row in alone]
    assert "One draw of zero-shot: " in str(fb.all_ways(unsaid))


def test_all_right_in_every_class() -> None:
    """Then the mean over classes says nothing more, and no share of the draws is known."""
    report = fb.all_ways([{**row, "predicted": row["class"]} for row in LOG])
    methods, _ = tables(report, report.log)
    assert methods.names == ["method", "draws", "accuracy", "from draws"]
    assert [row[3] for row in map(methods.texts, methods.rows)] == ["n/a", "n/a", ""]


def test_a_prediction_that_is_no_class_is_wrong() -> None:
    log = [LOG[0] | {"predicted": "a class that no image has"}, *LOG[1:]]
    wrong, right = (fb.all_ways(rows).scores[0].accuracy.mean for rows in (log, LOG))
    assert wrong == pytest.approx(right - 100 / 120)


def _lacking(
    images: dict[str, tuple[int, ...]], draws: tuple[int, ...] = (1,)
) -> list[dict[str, Any]]:
    """Return the rows of LOG without some images, by method, in some draws."""
    return [
        row
        for row in LOG
        if row["draw"] not in draws or int(row["image"][:-4]) not in images.get(row["method"], ())
    ]


def _at(shots: int) -> list[dict[str, Any]]:
    """Return the rows of LOG at other shots, in whose draws 1 shot does worse."""
    wrong = {"predicted": "c0"} if shots == 1 else {}
    own = [row | {"shots": shots} for row in LOG if row["shots"]]
    own = [row | wrong if i % 7 == 0 else row for i, row in enumerate(own)]
    return [*own, *(row for row in LOG if not row["shots"] and shots == 16)]


def _array(log: list[dict[str, Any]], method: str, shots: int | None) -> np.ndarray:
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
def test_many_kinds_of_logs(log: list[dict[str, Any]], pool: int) -> None:
    results, differences = _rows(log, pool=pool)
    named = [*dict.fromkeys(row["method"] for row in log)]
    shots = [*dict.fromkeys(row["shots"] for row in log if row["shots"])]
    assert [(one["shots"], one["method"]) for one in results] == [*product(shots, named)]
    pairs = [(one["shots"], (one["method"], one["versus"])) for one in differences]
    assert pairs == [*product(shots, combinations(named, 2))]
    for one in (*results, *differences):
        x = _array(log, one["method"], one["shots"])
        if one["versus"]:
            x = x - _array(log, one["versus"], one["shots"])
        for over, alike in (("images", True), ("classes", False)):
            overlap = one["shots"] / pool if pool else 0.0
            expected = spread(x, OWNER, 0.95, alike=alike, overlap=overlap)
            _same(one, over, expected)
            if one["versus"]:
                apart = abs(expected.mean) > expected.halfwidth
                said = ("better" if expected.mean > 0 else "worse") if apart else "ns"
                assert one[f"{over}_verdict"] == said


@pytest.mark.slow
def test_every_command_takes_it(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "log.jsonl", _columns(LOG))
    (first, *_), _ = _rows(path, pool=20)
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
    said = printed("validate", path, "--pool", 20)
    assert "zero-shot on log/allway-3w16s40q: 3 tasks" in said
    assert "fslbench" in printed("cite", path)
    with pytest.raises(SpecError, match="a pool is of results with all classes at once"):
        fb.open_log([{"method": "m", "task": 0, "class_ids": [0]}], pool=3)


def test_more_test_images_than_counts_hold() -> None:
    images = np.arange(40_000)
    log = {"method": ["m"] * images.size, "image": images, "class": images % 5}
    (one,) = fb.score(fb.open_log({**log, "predicted": images % 7 % 5})).scores
    assert one.task_set == "allway-5w0s40000q"
    right = (images % 7 % 5 == images % 5)[None]
    expected = spread(right, images % 5, 0.95).halfwidth
    assert one.intervals["images"].halfwidth == pytest.approx(100 * expected)


def test_classes_of_one_image_are_taken_for_one() -> None:
    """One draw of them has the variance of a simple sample; a single one has that of the others."""
    right = np.array([1.0, 0, 1, 1, 0, 1])
    (found,) = Cells(np.ones((1, 6), bool), np.arange(6)).variances([right[None]], of_each).images
    assert found == pytest.approx(right.var(ddof=1) / 6)
    owner = np.array([0, 1, 1, 1, 2, 2])
    (found,) = Cells(np.ones((1, 6), bool), owner).variances([right[None]], of_each).images
    squares = np.array(
        [((right[owner == c] - right[owner == c].mean()) ** 2).sum() for c in (1, 2)]
    )
    own = 0.5**2 * squares[0] / 2 / 3 + (1 / 3) ** 2 * squares[1] / 2
    assert found == pytest.approx(own + (1 / 6) ** 2 * squares.sum() / 3)


def _rows_of(
    method: str, draws: Any = (None,), classes: int = 3, **more: Any
) -> list[dict[str, Any]]:
    """Rows of 30 images, of which one in three has another class."""
    rows = []
    for draw, image in product(draws, range(30)):
        other = (image + (image // classes % 3 == 0)) % classes
        answer = {"class": f"c{image % classes}", "predicted": f"c{other}"}
        rows.append({"method": method, "draw": draw, "image": image} | answer | more)
    return rows


def test_two_constant_answers_are_not_identical() -> None:
    both = [{**row, "method": f"all {c}", "predicted": c} for c in ("c0", "c1") for row in
            _rows_of("m", classes=2)]  # fmt: skip
    ((pair,), said) = _rows(both)[1], str(fb.all_ways(both))
    assert (pair["images_mean"], pair["images_verdict"]) == (0.0, "n/a")
    assert "that needs three classes" in said


def test_a_method_with_shots_and_without() -> None:
    log = _rows_of("tip", (0, 1), shots=4) + _rows_of("tip", shots=0) + _rows_of("clip", shots=0)
    found = [(one["method"], one["shots"], one["draws"]) for one in _rows(log)[0]]
    assert found == [("tip", 0, 0), ("clip", 0, 0), ("tip", 4, 2), ("clip", 4, 0)]


def test_a_log_is_one_data_set_in_any_order() -> None:
    log = _rows_of("a", range(3)) + _rows_of("b", range(4)) + _rows_of("zero")
    report = fb.score(log)
    assert report.dataset_means == report.harmonic_means == []
    assert len({str(fb.all_ways(some).signature) for some in (log, log[::-1])}) == 1


def test_support_is_not_logged() -> None:
    """Nor are there random tasks."""
    log = _rows_of("m", (0, 1), shots=4)
    release = fb.open_log(log).release
    with pytest.raises(SubmissionError, match="does not say which images were support"):
        release.task_set("log", "allway-3w4s30q")
    assert release.images("log").num_rows == 30
    with pytest.raises(SubmissionError, match="no pilot: they have no random tasks"):
        fb.plan(log)
