"""All classes at once: the statistics by hand, logs of predictions, and the command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner
from scipy.stats import t as student

import fslbench_data as fb
from analysis_sql.intervals.all_ways import spread
from benchmark_spec.errors import (
    DoubledTaskError,
    MissingTaskError,
    SchemaError,
    UnknownNameError,
)
from fslbench_data.cli import main
from fslbench_data.render.all_ways_text import tables
from fslbench_data.render.latex import latex, table_width

OWNER = np.repeat([0, 1, 2], [8, 12, 20])
ALIKE = np.array([8, 12, 20]) / 40


def _right(draws: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=OWNER.size)
    return (rng.normal(size=(draws, OWNER.size)) < 0.8 + easy).astype(float)


def test_the_formula_written_out() -> None:
    x = _right(4)
    mean = sum(w * x[:, c == OWNER].mean() for c, w in enumerate(ALIKE))
    draws = sum(w * x[:, c == OWNER].mean(axis=1) for c, w in enumerate(ALIKE)).var(ddof=1) / 4
    images, both, freedom = 0.0, 0.0, draws**2 / 3
    for c, w in enumerate(ALIKE):
        own = x[:, c == OWNER]
        n = own.shape[1]
        part = w**2 * own.mean(axis=0).var(ddof=1) / n
        rest = own - own.mean(axis=0) - own.mean(axis=1, keepdims=True) + own.mean()
        both += w**2 * (rest**2).sum() / (3 * (n - 1)) / (4 * n)
        images += part
        freedom += part**2 / (n - 1)
    whole = max(draws + images - both, draws, images)
    df = whole**2 / freedom
    found = spread(x, OWNER, 0.95)
    assert found.mean == pytest.approx(mean)
    assert found.df == pytest.approx(df)
    assert found.halfwidth == pytest.approx(student.ppf(0.975, df) * np.sqrt(whole))
    assert found.draws == pytest.approx(draws / whole)
    assert found.p == pytest.approx(2 * student.sf(abs(mean) / np.sqrt(whole), df))


def test_draws_from_few_training_images_count_for_more() -> None:
    x = _right(5)
    many, few = (spread(x, OWNER, 0.95, overlap=share) for share in (0.0, 0.4))
    assert few.halfwidth > many.halfwidth
    assert few.mean == many.mean


def test_one_draw_speaks_of_test_images_alone() -> None:
    found = spread(_right(1), OWNER, 0.95)
    assert np.isnan(found.draws)
    assert found.halfwidth > 0
    same = spread(np.zeros((3, 40)), OWNER, 0.95)
    assert (same.mean, same.halfwidth, same.p) == (0.0, 0.0, 1.0)
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
        for image, label in enumerate(owner.tolist()):
            row = {"method": method, "draw": draw, "image": image, "class": label}
            rows.append({**row, "predicted": best[image], "second": second[image]})
    return rows


@pytest.mark.parametrize("alike", [True, False])
def test_new_classes_from_scores_without_each_class(alike: bool) -> None:
    """A class is left out of scores and queries; nothing knows of second-best classes."""
    scores = {name: _scores(3, seed) for seed, name in enumerate(("one", "other"))}
    owner = scores["one"][1]
    found = fb.all_ways([row for name in scores for row in _scored(name, *scores[name])])
    kind = "images" if alike else "classes"

    def mean(own: Any, kept: list[int]) -> Any:
        asked = np.isin(owner, kept)
        answer = np.array(kept)[own[:, :, kept].argmax(axis=2)]
        right = (answer == owner)[:, asked]
        parts = [right[:, owner[asked] == c].mean(axis=1) for c in kept]
        weights = np.bincount(owner)[kept] if alike else np.ones(len(kept))
        return np.average(parts, axis=0, weights=weights)

    def width(of: Any) -> float:
        every = list(range(5))
        apart = np.array([of([c for c in every if c != left]).mean() for left in every])
        classes = 4 / 5 * ((apart - apart.mean()) ** 2).sum()
        draws = of(every).var(ddof=1) / 3
        df = (classes + draws) ** 2 / (classes**2 / 4 + draws**2 / 2)
        return float(student.ppf(0.975, df) * np.sqrt(classes + draws))

    for one in found.results:
        of_one = scores[one.method][0]
        assert getattr(one, kind).new_classes == pytest.approx(
            width(lambda k, s=of_one: mean(s, k))
        )
    (pair,) = found.differences
    first, second = (scores[name][0] for name in (pair.method, pair.versus))
    new = getattr(pair, kind)
    assert new.new_classes == pytest.approx(width(lambda k: mean(first, k) - mean(second, k)))
    assert new.new_classes > new.halfwidth
    assert (new.p_new_classes < 0.05) == (abs(new.mean) > new.new_classes)


def test_new_classes_where_draws_and_methods_leave_images_out() -> None:
    """A missing answer counts as if the image were not there, in both parts."""
    scores, owner = _scores(4, 5)
    rows = _scored("one", scores, owner)
    without = [row for row in rows if row["image"] % 7 or row["draw"] != 1]
    found, whole = (fb.all_ways(some).results[0].images for some in (without, rows))
    assert found.new_classes == pytest.approx(whole.new_classes, rel=0.2)
    assert found.new_classes != whole.new_classes
    shown = [{**row, "method": "no draws", "draw": None} for row in rows if row["draw"] == 0]
    (pair,) = fb.all_ways([*rows, *shown]).differences
    assert pair.images.new_classes > 0


def test_of_two_classes_nothing_is_said_of_new_ones() -> None:
    found = fb.all_ways(_scored("one", *_scores(3, 2, (20, 30))))
    assert np.isnan(found.results[0].images.new_classes)
    assert not found.of_new_classes


def test_new_classes_in_every_format(tmp_path: Path) -> None:
    rows = [row for seed, name in enumerate("ab") for row in _scored(name, *_scores(3, seed))]
    (path := tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = fb.all_ways(path)

    def printed(*form: str) -> str:
        return CliRunner().invoke(main, ["score", str(path), *form], env={"COLUMNS": "140"}).stdout

    content = json.loads(printed("--format", "json"))
    width = 100 * found.results[0].images.new_classes
    assert content["results"][0]["images"]["new_classes"] == pytest.approx(width)
    assert content["differences"][0]["verdict_new_classes"] in ("better", "worse", "ns")
    assert f"{width:.2f}" in printed()
    assert "Nothing is said about new classes" not in printed()
    (first, *_) = printed("--format", "csv").splitlines()
    assert "images_new_classes,images_p_new_classes" in first
    assert table_width(tables(found, "latex")) <= 244
    assert f"{width:.2f}" in latex(tables(found, "latex"), found.source)


def test_many_methods_take_thirty_lines_at_eighty_characters(tmp_path: Path) -> None:
    few = (6, 6, 6)
    rows = [r for m in range(30) for r in _scored(f"adapter {m}", *_scores(2, m, few))]
    (path := tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run = CliRunner().invoke(main, ["score", str(path)], env={"COLUMNS": "80"})
    lines = run.stdout.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert "Not corrected for multiple comparisons: 435 pairs" in run.stdout
    assert run.stdout.count("more rows left out: --format csv gives all") == 2


def _log() -> list[dict[str, Any]]:
    """Rows of two methods with three draws each, and of one without draws."""
    rows = []
    for method, draws in (("adapter", 3), ("prompt", 3), ("zero-shot", 1)):
        for draw, own in enumerate(_right(draws, seed=len(method))):
            for image, (label, right) in enumerate(zip(OWNER, own, strict=True)):
                rows.append(
                    {
                        "method": method,
                        "draw": draw if draws > 1 else None,
                        "shots": 16 if draws > 1 else None,
                        "image": f"{image}.jpg",
                        "class": f"c{label}",
                        "predicted": f"c{label}" if right else f"c{(label + 1) % 3}",
                    }
                )
    return rows


@pytest.mark.parametrize("form", ["rows", "columns", "csv", "jsonl", "parquet"])
def test_every_form_gives_the_same(form: str, tmp_path: Path) -> None:
    import pandas as pd

    rows, path = _log(), tmp_path / f"log.{form}"
    frame = pd.DataFrame(rows)
    sources: dict[str, Any] = {
        "rows": lambda: rows,
        "columns": lambda: {name: [row[name] for row in rows] for name in rows[0]},
        "csv": lambda: frame.to_csv(path, index=False) or path,
        "jsonl": lambda: path.write_text("".join(json.dumps(r) + "\n" for r in rows)) and path,
        "parquet": lambda: frame.to_parquet(path, index=False) or path,
    }
    found = fb.all_ways(sources[form]())
    assert [(one.method, one.draws, one.shots) for one in found.results] == [
        ("adapter", 3, 16),
        ("prompt", 3, 16),
        ("zero-shot", 1, 16),
    ]
    right = _right(3, seed=len("adapter"))
    assert found.results[0].images == spread(right, OWNER, 0.95)
    apart = right - _right(1, seed=len("zero-shot"))
    assert found.differences[1].versus == "zero-shot"
    assert found.differences[1].images == spread(apart, OWNER, 0.95)
    equal = spread(right, OWNER, 0.95, alike=False)
    assert found.results[0].classes == equal


def test_the_command(tmp_path: Path) -> None:
    (path := tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in _log()))
    text = CliRunner().invoke(main, ["score", str(path)])
    assert text.exit_code == 0
    assert "40 test images, 3 classes at once" in " ".join(text.stdout.split())
    assert "adapter  zero-shot" in text.stdout
    content = json.loads(CliRunner().invoke(main, ["score", str(path), "--format", "json"]).stdout)
    assert content["results"][0]["images"]["halfwidth"] > 0
    assert content["results"][2]["images"]["draws"] is None
    csv = CliRunner().invoke(main, ["score", str(path), "--format", "csv"])
    assert len(csv.stdout.splitlines()) == 1 + 3 + 3
    assert "Not corrected for multiple comparisons" in csv.stderr
    assert repr(fb.all_ways(path)).startswith("<AllWays: 40 test images of 3 classes")


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda rows: rows.append(dict(rows[0])), DoubledTaskError, "twice in one draw"),
        (
            lambda rows: [row.update(second=row["predicted"]) for row in rows],
            SchemaError,
            "second is 'c0', as predicted",
        ),
        (lambda rows: rows.pop(), MissingTaskError, "39 of 40 test images"),
        (lambda rows: rows[0].update({"class": "c1"}), SchemaError, "of two classes"),
        (lambda rows: rows[0].update(shots=2.5), SchemaError, "shots is 2.5"),
        (lambda rows: [row.pop("predicted") for row in rows], SchemaError, "misses the column"),
        (lambda rows: rows[0].update(method=""), Exception, "method"),
    ],
)
def test_what_is_refused(change: Any, kind: type[Exception], said: str) -> None:
    rows = _log()
    change(rows)
    with pytest.raises(kind, match=said):
        fb.all_ways(rows)


def test_categories_that_no_row_has_and_numbers_that_are_no_ids() -> None:
    import pandas as pd

    frame = pd.DataFrame(_log())
    expected = fb.all_ways(frame)
    for name in ("method", "class", "predicted", "image"):
        kinds = [*dict.fromkeys(frame[name]), "nowhere"]
        frame[name] = pd.Categorical(frame[name], categories=kinds)
    found = fb.all_ways(frame)
    assert found.to_dict() == expected.to_dict()
    rows = [{**row, "predicted": 1.5} for row in _log()]
    with pytest.raises(SchemaError, match="predicted"):
        fb.all_ways(rows)


def test_few_training_images_on_the_command_line(tmp_path: Path) -> None:
    log = [
        {"method": "m", "image": i, "class": i % 4, "predicted": (i + (i * d % 3 == 1)) % 4}
        | {"draw": d, "shots": 4}
        for d in range(3)
        for i in range(40)
    ]
    path = tmp_path / "log.csv"
    pa.csv.write_csv(pa.Table.from_pylist(log), path)
    said = {
        more: CliRunner().invoke(main, ["score", str(path), "--format", "json", *more])
        for more in ((), ("--pool", "8"))
    }
    widths = [json.loads(s.stdout)["results"][0]["images"]["halfwidth"] for s in said.values()]
    assert widths[0] < widths[1]
    assert widths[1] == pytest.approx(100 * fb.all_ways(path, pool=8).results[0].images.halfwidth)
    with pytest.raises(SchemaError, match="without the number of shots"):
        fb.all_ways([{n: row[n] for n in row if n != "shots"} for row in log], pool=8)
    page = str(tmp_path / "page")
    commands = [[n] for n in ("table", "validate", "compare", "cite", "interval")]
    for command in (*commands, ["report", "-o", page], ["plot", "forest", "-o", f"{page}.pdf"]):
        refused = CliRunner().invoke(main, [*command, str(path)])
        first = refused.stderr.splitlines()[0]
        assert "results of your own with all classes at once" in first
        assert "only `fslbench score FILE` reads" in first
    assert not Path(page).exists()


def test_names_against_numbers() -> None:
    rows = [{**row, "class": int(row["class"][1:])} for row in _log()]
    with pytest.raises(SchemaError, match=r"(?s)nothing that adapter predicts.*'c0'.*'0', '1'"):
        fb.all_ways(rows)
    rows = _log()
    rows[0]["predicted"] = "a class that no image has"
    assert fb.all_ways(rows).results[0].images.mean < fb.all_ways(_log()).results[0].images.mean


def test_what_is_not_compared_is_said() -> None:
    rows = [row for row in _log() if (row["method"], row["draw"]) != ("prompt", 2)]
    found = fb.all_ways(rows)
    assert [(one.method, one.versus) for one in found.differences] == [
        ("adapter", "zero-shot"),
        ("prompt", "zero-shot"),
    ]
    said = "Not compared, since their draws differ (0, 1, 2 and 0, 1): adapter - prompt."
    assert said in found.notes
    assert said in found.to_dict()["notes"]
    assert said in repr(found)
    other = [{**row, "draw": row["draw"] + 1} if row["method"] == "prompt" else row for row in rows]
    assert "(0, 1, 2 and 1, 2)" in repr(fb.all_ways(other))
    twice = [{**row, "shots": shots} for row in rows if row["shots"] for shots in (1, 16)]
    assert "adapter - prompt at 1 shot, adapter - prompt at 16 shots." in repr(fb.all_ways(twice))


def test_images_that_one_of_two_methods_leaves_out() -> None:
    rows = _log()
    few = [
        row
        for row in rows
        if row["method"] != "prompt"
        or row["draw"] == (0 if row["image"] == "3.jpg" else row["draw"])
    ]
    found = fb.all_ways(few)
    assert "Compared on the 39 to 40 of 40 images a draw that both answer" in repr(found)
    own = [
        row
        for row in few
        if row["method"] != "adapter" or row["image"] != "3.jpg" or row["draw"] == 1
    ]  # no draw in which both answer it
    x, y = _right(3, seed=len("adapter")), _right(3, seed=len("prompt"))
    kept = np.arange(40) != 3
    expected = spread((x - y)[:, kept], OWNER[kept], 0.95)
    assert fb.all_ways(own).differences[0].images == expected
    half = [row for row in rows if row["draw"] != 1 or row["class"] != "c2"]
    with pytest.raises(MissingTaskError, match=r"adapter answers no image of class 'c2' in draw"):
        fb.all_ways(half)


@pytest.mark.parametrize(
    "given",
    [("--details",), ("--inductive",), ("--ways", "5"), ("--release", "x"), ("--dataset", "d")],
)
def test_options_that_do_nothing(given: tuple[str, ...], tmp_path: Path) -> None:
    (path := tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in _log()))
    refused = CliRunner().invoke(main, ["score", str(path), *given])
    assert refused.exit_code == 2
    assert f"{given[0]} does nothing for results with all classes at once" in refused.stderr


def test_against_one_method(tmp_path: Path) -> None:
    (path := tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in _log()))
    given = ["score", str(path), "--format", "json", "--against", "adapter"]
    pairs = json.loads(CliRunner().invoke(main, given).stdout)["differences"]
    assert [(p["method"], p["versus"]) for p in pairs] == [
        ("prompt", "adapter"),
        ("zero-shot", "adapter"),
    ]
    whole = fb.all_ways(path).differences[0].images
    assert pairs[0]["images"]["mean"] == pytest.approx(-100 * whole.mean)
    with pytest.raises(UnknownNameError, match="nobody"):
        fb.all_ways(path, against="nobody")


def test_several_pairs_and_one_draw() -> None:
    found = fb.all_ways(_log())
    assert any("Not corrected for multiple comparisons: 3 pairs" in n for n in found.notes)
    assert "zero-shot: " in repr(found)
    assert "no support" in repr(found)
    assert "One draw" not in repr(found)
    single = [row for row in _log() if row["draw"] in (0, None)]
    found = fb.all_ways(single)
    assert "1 draw\n" in repr(found)
    assert "1 draws" not in repr(found)
    (said,) = [note for note in found.notes if note.startswith("One draw of adapter, prompt: ")]
    assert "± is for new test images with this one support" in said
    methods, pairs = tables(found)
    assert "draws" not in methods.title.rpartition("intervals")[2]
    assert pairs.notes[0] == said
    alone = [row for row in _log() if row["method"] == "zero-shot"]
    assert "no support" in repr(fb.all_ways(alone))
    unsaid = [{n: row[n] for n in ("method", "image", "class", "predicted")} for row in alone]
    assert "One draw of zero-shot: " in repr(fb.all_ways(unsaid))


def test_tables() -> None:
    methods, pairs = tables(fb.all_ways(_log()))
    assert methods.names == ["method", "draws", "accuracy", "from draws", "mean over classes"]
    assert [row[1] for row in map(methods.texts, methods.rows)] == ["3", "3", "none"]
    assert pairs.names == ["method", "versus", "difference", "verdict", "mean over classes"]
    assert "--pool N" in pairs.notes[0]
    right = [{**row, "predicted": row["class"]} for row in _log()]
    methods, _ = tables(fb.all_ways(right))  # the same for all, also over classes
    assert methods.names == ["method", "draws", "accuracy", "from draws"]
    assert [row[3] for row in map(methods.texts, methods.rows)] == ["n/a", "n/a", ""]


def test_latex_fits_a_column() -> None:
    both = tables(fb.all_ways(_log()), "latex")
    assert table_width(both) < 240
    text = latex(both, "")
    assert r"\label{tab:all-classes}" in text
    assert r"\label{tab:paired-differences-all-classes}" in text
    assert "pool" not in text
