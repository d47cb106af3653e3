"""Means over data sets: by hand, with training runs, and in SQL."""

import csv
import json
from itertools import product
from math import sqrt

import numpy as np
import pytest
from commands import printed
from golden_inputs import answers, bare, joined, write
from msgspec.structs import replace
from scipy import stats

import fslbench_data as fb
from fslbench_data.scoring.dataset_means import sign_test
from fslbench_data.scoring.task_set_report import TaskSetReport

DATASETS = ("cub", "dtd", "aircraft")
TASK_SET = "published-5w5s5q"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Method `a` of one run and method `b` of three runs on three data sets."""
    of = [(dataset, run) for dataset in DATASETS for run in "012"[:: -1 if dataset == "dtd" else 1]]
    parts = [answers("a", dataset, TASK_SET, 0.8) for dataset in DATASETS]
    parts += [answers("b", dataset, TASK_SET, 0.7, run=run) for dataset, run in of]
    path = tmp_path_factory.mktemp("means") / "means.parquet"
    write(path, bare(joined(parts)))
    return path


@pytest.fixture(scope="module")
def report(path):
    return fb.score(path)


def _row(report, about, method, versus=None):
    rows = [r for r in report.dataset_means if (r.about, r.method) == (about, method)]
    (row,) = [r for r in rows if r.versus == versus]
    return row


def test_a_mean_by_hand(report):
    row = _row(report, "new images", "a")
    scores = [s for s in report.scores if s.method == "a"]
    own = [s.intervals["open"] for s in scores]
    assert row.datasets == tuple(s.dataset for s in scores)
    assert {*row.datasets} == {*DATASETS}
    assert row.mean == pytest.approx(sum(i.mean for i in own) / 3)
    assert row.halfwidth == pytest.approx(sqrt(sum(i.halfwidth**2 for i in own)) / 3)


def _of_three_runs(v):
    """Square the half-width of the mean of three runs, of variance v."""
    return float(stats.t.isf(0.025, 2)) ** 2 * v


def test_runs_on_all_data_sets_are_the_same_trained_models(report):
    scores = [s for s in report.scores if s.method == "b"]
    runs = np.array([[s.run_means[name] for name in ("0", "1", "2")] for s in scores])
    v = runs.mean(axis=0).var(ddof=1) / 3
    pairs = [c.intervals["open"].difference for c in report.comparisons if c.versus == "b"]
    own = [s.intervals["open"] for s in scores]
    for method, versus, widths in (("b", None, own), ("a", "b", pairs)):
        tasks = [
            w.halfwidth**2 - _of_three_runs(s.run_error**2)
            for w, s in zip(widths, scores, strict=True)
        ]
        expected = sqrt(sum(tasks) / 9 + _of_three_runs(v))
        row = _row(report, "new images", method, versus)
        assert row.halfwidth == pytest.approx(expected, rel=1e-6)


def _scored(folder, parts, declared=None, **how):
    """Score some answers; `declared` is what is said of a method's answers to a task set."""
    write(folder / "x.parquet", bare(joined(parts)), declared=declared or {})
    return fb.score(folder / "x.parquet", **how)


@pytest.mark.parametrize("shared", [False, True])
def test_runs_of_other_names_are_other_models(tmp_path, shared):
    """If one run is on several data sets, others may be as alike: v is at its bound."""
    parts = [
        answers(
            "b", dataset, TASK_SET, 0.7, run=f"{run}{dataset[: last * (run > 0 or not shared)]}"
        )
        for last, dataset in enumerate(DATASETS)
        for run in range(3)
    ]
    report = _scored(tmp_path, parts)
    own = [s.run_error**2 / 9 for s in report.scores]
    squares = [s.intervals["open"].halfwidth ** 2 / 9 for s in report.scores]
    tasks = sum(squares) - sum(map(_of_three_runs, own))
    v, df = sum(own), sum(own) ** 2 / sum(v**2 / 2 for v in own)
    if shared:
        v, df = sum(map(sqrt, own)) ** 2, 2
    expected = sqrt(tasks + stats.t.isf(0.025, df) ** 2 * v)
    row = _row(report, "new images", "b")
    assert row.halfwidth == pytest.approx(expected, rel=1e-6)


def test_means_are_of_whole_task_sets_whose_tasks_were_fixed(tmp_path):
    parts = [answers(method, d, TASK_SET, 0.8) for method in ("a", "stopped") for d in DATASETS]
    said = {f"stopped {DATASETS[1]}/{TASK_SET}": {"stopping": {"versus": "a", "level": 0.95}}}
    report = _scored(tmp_path, parts, said)
    assert {row.method for row in report.dataset_means} == {"a"}
    text = printed("score", tmp_path / "x.parquet", "--means")
    assert "Not shown, without all tasks of all these data sets: stopped." in " ".join(text.split())
    half = {"a": None, "half": 300}  # of 600, which such a set declares, too
    of = [(m, d, half[m] if d == "digits" else None) for m in half for d in ("digits", "emoji")]
    parts = [answers(m, d, "closed-5w5s5q", 0.8, tasks=number) for m, d, number in of]
    report = _scored(tmp_path, parts, {"half digits/closed-5w5s5q": {"tasks": 300}})
    assert all(score.ordinary for score in report.scores)
    assert {row.method for row in report.dataset_means} == {"a"}
    of = [(d, f"{suite}-5w5s5q") for d in ("digits", "emoji") for suite in ("closed", "open")]
    parts = [answers("a", *each, 0.8) for each in of] + [answers("part", *of[1], 0.8, tasks=15)]
    report = _scored(tmp_path, parts, {"part digits/open-5w5s5q": {"tasks": 15}})
    first, *_ = report.dataset_means
    assert first.task_sets == ("digits/closed-5w5s5q", "emoji/closed-5w5s5q")


def test_equal_means_are_of_identical_methods_only_if_all_tasks_are_equal(tmp_path):
    parts = [answers(m, d, TASK_SET, 0.8) for m in "abc" for d in DATASETS]
    for own, same, other in zip(parts[:3], parts[3:6], parts[6:], strict=True):
        same["n_correct"], other["n_correct"] = own["n_correct"], own["n_correct"][::-1]
    report = _scored(tmp_path, parts)
    kinds = [c.intervals["class-aware"] for c in report.comparisons if c.versus == "b"]
    assert {str(pair.verdict) for pair in kinds} == {"="}
    for about in ("new images", "new classes"):
        assert str(_row(report, about, "a", "b").verdict) == "="
    row = _row(report, "new images", "a", "c")
    assert (row.difference, str(row.verdict), row.sign_p) == (0.0, "0", 1.0)


def test_methods_identical_on_one_data_set_alone_have_no_interval(tmp_path):
    """Its tasks do not bound by how much they differ there, and 0 would say that they do not."""
    parts = [
        answers(m, d, TASK_SET, skill) for m, skill in (("a", 0.8), ("b", 0.5)) for d in DATASETS
    ]
    parts[3]["n_correct"] = parts[0]["n_correct"]
    report = _scored(tmp_path, parts)
    assert sorted(str(c.verdict) for c in report.comparisons) == ["+", "+", "="]
    for about in ("new images", "new classes"):
        row = _row(report, about, "a", "b")
        assert (row.halfwidth, str(row.verdict)) == (None, "?")
        assert row.difference is not None
        assert row.difference > 10


@pytest.mark.parametrize(("level", "expected"), [(0.95, "+"), (0.99999, "?")])
def test_equal_differences_on_few_tasks_make_no_mean_sure(tmp_path, level, expected):
    """The 16 tasks of one data set say nothing at the higher level, the others' 28 and 33 do."""
    parts = [answers(m, d, TASK_SET, 0.6) for m in "ab" for d in DATASETS]
    for better, own in zip(parts[:3], parts[3:], strict=True):
        better["n_correct"] = [n + 1 for n in own["n_correct"]]
    report = _scored(tmp_path, parts, level=level)
    verdicts = {c.dataset: str(c.verdict) for c in report.comparisons}
    assert verdicts == {"cub": "+", "aircraft": "+", "dtd": expected}
    row = _row(report, "new images", "a", "b")
    assert (str(row.verdict), row.halfwidth) == (expected, 0.0 if expected == "+" else None)


@pytest.mark.parametrize("seed", range(4))
def test_equal_differences_that_cancel_are_no_difference(tmp_path, seed):
    """Two right queries more on each task of a data set, one less on the others: 0 ± 0."""
    parts = [answers(m, d, TASK_SET, 0.6, seed=seed) for m in "ab" for d in DATASETS]
    for better, own, more in zip(parts[:3], parts[3:], (2, -1, -1), strict=True):
        own["n_correct"] = [min(max(n, 1), 23) for n in own["n_correct"]]
        better["n_correct"] = [n + more for n in own["n_correct"]]
    row = _row(_scored(tmp_path, parts), "new images", "a", "b")
    assert (row.difference, row.halfwidth) == (pytest.approx(0.0, abs=1e-12), 0.0)
    assert str(row.verdict) == "0"


@pytest.mark.parametrize(
    ("against", "orders", "expected"),
    [
        ((), ("abc", "cba", "bac"), {"ab", "ac", "bc"}),
        ("b", ("abc", "cba", "bac"), {"ab", "cb"}),
        (("b", "a"), ("abc",) * 3, {"ab", "ca", "cb"}),
    ],
)
def test_pairs_are_those_that_are_compared_in_whatever_order(tmp_path, against, orders, expected):
    """Methods stand in any order on each data set, and before or after those compared with."""
    skills = {"a": 0.8, "b": 0.6, "c": 0.7}
    of = zip(DATASETS, orders, strict=True)
    parts = [answers(m, d, TASK_SET, skills[m]) for d, order in of for m in order]
    rows = _scored(tmp_path, parts, against=against).dataset_means
    pairs = [row for row in rows if row.versus and row.about == "new images"]
    names = [f"{row.method}{row.versus}" for row in pairs]
    assert {"".join(sorted(name)) for name in names} == {"".join(sorted(n)) for n in expected}
    assert len(names) == len(expected)
    assert not against or {*names} == expected
    for row in pairs:
        assert row.difference == pytest.approx(row.mean - row.versus_mean)
        assert (row.higher, row.lower)[row.difference < 0] >= 2


def test_a_harmonic_mean_of_no_right_answer_is_0(tmp_path):
    parts = [answers(m, d, TASK_SET, 0.8) for m in "ab" for d in DATASETS]
    parts[1]["n_correct"] = [0] * len(parts[1]["n_correct"])
    rows = _scored(tmp_path, parts).harmonic_means
    assert {(r.mean, r.halfwidth) for r in rows if r.method == "a"} == {(0.0, None)}
    assert {str(r.verdict) for r in rows if r.versus} == {"?"}


def test_a_difference_and_the_sign_test(report):
    row = _row(report, "new classes", "a", "b")
    pairs = [c for c in report.comparisons if {c.method, c.versus} == {"a", "b"}]
    assert row.difference == pytest.approx(np.mean([c.difference.mean for c in pairs]))
    assert row.mean - row.versus_mean == pytest.approx(row.difference)
    assert (row.higher, row.lower) == (3, 0)
    assert row.sign_p == pytest.approx(0.25)
    assert str(row.verdict) == "+"


def test_the_sign_test_counts_no_rounding():
    rng, rows = np.random.default_rng(0), []
    for dataset in "abcdef":
        shares = rng.random(12)
        for method, (task, share) in product("mn", enumerate(shares.tolist())):
            images = [[f"{c}-{task}-{i}" for i in range(6)] for c in range(5)]
            row = {"dataset": dataset, "method": method, "task": task, "accuracy": share}
            rows.append({**row, "class_ids": [*range(5)], "image_ids": images})
        order = rng.permutation(shares)
        rows[-12:] = [{**row, "accuracy": a} for row, a in zip(rows[-12:], order, strict=True)]
    report = fb.score(fb.open_log(rows))
    assert 0 < max(abs(c.difference.mean) for c in report.comparisons) < 1e-12
    (row,) = [r for r in report.dataset_means if r.versus and r.about == "new images"]
    assert (row.higher, row.lower, row.sign_p) == (0, 0, 1.0)


def test_the_sign_test_is_scipys():
    for higher, lower in ((0, 0), (3, 0), (5, 2), (4, 4), (1, 9)):
        n = higher + lower
        expected = stats.binomtest(higher, n).pvalue if n else 1.0
        assert sign_test(higher, lower) == pytest.approx(expected)


@pytest.mark.parametrize("option", ["--means", "--harmonic-means"])
def test_the_command_gives_the_same_numbers_in_every_format(path, report, option):
    means = report.harmonic_means if option == "--harmonic-means" else report.dataset_means
    assert {row.versus for row in means} == {None, "b"}
    texts = {
        form: printed("score", path, option, "--format", form, COLUMNS="140")
        for form in ("table", "csv", "json", "latex")
    }
    of_csv = [*csv.DictReader(texts["csv"].splitlines()[1:])]
    of_json = json.loads(texts["json"])["means"]
    shown, latex = " ".join(texts["table"].split()), texts["latex"]
    for row, from_csv, from_json in zip(means, of_csv, of_json, strict=True):
        for name in ("mean", "difference", "halfwidth", "sign_p"):
            value = getattr(row, name)
            assert from_json[name] == value
            assert from_csv[name] == ("" if value is None else repr(value))
        assert f"{row.halfwidth:.2f}" in shown
        assert f"{row.halfwidth:.2f}" in latex
        assert (f"{row.mean:.2f}" if row.versus is None else f"{row.difference:+.2f}") in shown


def test_methods_that_miss_a_data_set_have_no_mean(tmp_path):
    parts = [answers("a", dataset, TASK_SET, 0.8) for dataset in DATASETS]
    parts += [answers("c", dataset, TASK_SET, 0.8) for dataset in DATASETS[:2]]
    report = _scored(tmp_path, parts)
    assert {row.method for row in report.dataset_means} == {"a"}
    made = fb.table(report, means=True).to_arrow().to_pylist()
    assert [row["method"] for row in made if row["dataset"] == "mean"] == ["a"]
    _scored(tmp_path, [*parts[1:], answers("d", DATASETS[0], TASK_SET, 0.8)])
    said = printed("score", tmp_path / "x.parquet", "--means")
    assert "answers all of two or more data sets" in " ".join(said.split())


def test_harmonic_means_by_hand(report):
    """Half-widths to first order: those of accuracies moved by a little, and put together."""
    named = {(r.about, r.method, r.versus): r for r in report.harmonic_means}
    row = named["new images", "a", None]
    own = [s.intervals["open"] for s in report.scores if s.method == "a"]
    values = np.array([i.mean for i in own])
    assert row.mean == pytest.approx(stats.hmean(values))
    moved = np.eye(3) * 1e-4
    slopes = [(stats.hmean(values + by) - stats.hmean(values - by)) / 2e-4 for by in moved]
    expected = sqrt(sum((s * i.halfwidth) ** 2 for s, i in zip(slopes, own, strict=True)))
    assert row.halfwidth == pytest.approx(expected, rel=1e-6)


def test_a_difference_of_harmonic_means_from_the_tasks(tmp_path):
    """The open interval of tasks whose accuracies are weighed by the two derivatives."""
    tables = {
        method: [answers(method, dataset, TASK_SET, skill) for dataset in DATASETS]
        for method, skill in (("a", 0.8), ("b", 0.5))
    }
    report = _scored(tmp_path, [t for of in tables.values() for t in of])
    (row,) = [r for r in report.harmonic_means if (r.about, r.versus) == ("new images", "b")]
    y = {
        method: [np.array(t["n_correct"]) / np.array(t["n_query"]) * 100 for t in of]
        for method, of in tables.items()
    }
    means = {method: np.array([v.mean() for v in of]) for method, of in y.items()}
    weights = {m: (stats.hmean(v) / v) ** 2 / 3 for m, v in means.items()}
    square = 0.0
    for d in range(3):
        z = weights["a"][d] * y["a"][d] - weights["b"][d] * y["b"][d]
        square += z.var(ddof=1) / len(z) * stats.t.ppf(0.975, len(z) - 1) ** 2
    assert row.difference == pytest.approx(stats.hmean(means["a"]) - stats.hmean(means["b"]))
    assert row.halfwidth == pytest.approx(sqrt(square), rel=1e-9)


def test_widths_that_imply_a_correlation_above_1(tmp_path, monkeypatch):
    """Those of two methods and of their difference are estimated apart, those for new classes."""
    skills = {"a": 0.8, "b": 0.5}
    report = _scored(tmp_path, [answers(m, d, TASK_SET, skills[m]) for m in "ab" for d in DATASETS])
    of_set = TaskSetReport.pairs_of

    def narrow(task_set, kind):
        return replace(pairs := of_set(task_set, kind), halfwidth=pairs.halfwidth / 1e4)

    monkeypatch.setattr(TaskSetReport, "pairs_of", narrow)
    (row,) = [r for r in report.harmonic_means if (r.about, r.versus) == ("new images", "b")]
    of = {m: [s.intervals["open"] for s in report.scores if s.method == m] for m in "ab"}
    means = {m: np.array([i.mean for i in intervals]) for m, intervals in of.items()}
    weighted = [
        (stats.hmean(means[m]) / means[m]) ** 2 / 3 * [i.halfwidth for i in of[m]] for m in "ab"
    ]
    least = sqrt(((weighted[0] - weighted[1]) ** 2).sum())
    assert row.halfwidth == pytest.approx(least, rel=1e-3)  # of a correlation of 1


@pytest.mark.parametrize("against", [(), ("b",)])
def test_tables_of_papers_have_them(report, against):
    made = fb.table(report, methods=("a",), against=against, means=True)
    cell = made.to_arrow().to_pylist()[-1]
    row = _row(report, "new images", "a", *against)
    assert (cell["dataset"], cell["task_set"]) == ("mean", "3 data sets")
    assert cell["mean"] == (row.difference if against else row.mean)
    assert cell["halfwidth"] == row.halfwidth
    assert "over 3 data sets, each counting alike" in str(made)
