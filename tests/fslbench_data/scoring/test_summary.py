"""What is read of a report first: task sets, baselines, tallies, and how several methods stand."""

from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace
from recorded import recorded

import fslbench_data as fb
from analysis_sql.ranking import multiple_comparisons as told_apart_module
from fslbench_data.render.figures import rows
from fslbench_data.scoring.summary import Mark, best_first, standings, summarize
from fslbench_data.submission.bindings import Stopping
from fslbench_data.submission.merging import merge

LITE = "efficientnet_lite0"


@pytest.fixture(scope="module")
def emoji(embedded):
    return fb.score(None, embedded, datasets="emoji")


def _noisy(release, name, task_sets, **about):
    """The counts of a reference method, moved at random by at most one of each task."""
    recorder = fb.Recorder(name, **about)
    rng = np.random.default_rng(len(name))
    reference = dict(zip(release.methods, release.references(), strict=True))[f"{LITE}/NCC"]
    for info in release.task_sets:
        if info.dataset == "emoji" and str(info.name) in task_sets.split():
            rows = reference.on([info]).table
            correct = rows.column("n_correct").to_numpy()
            moved = correct + rng.integers(-1, 2, correct.size)
            moved = np.clip(moved, 0, info.name.protocol.n_query)
            recorder.add_counts(release.task_set(info.dataset, str(info.name)), moved)
    return recorder.submission()


@pytest.mark.parametrize(
    ("name", "about", "features"),
    [
        (f"{LITE}/mine", {}, LITE),
        ("mine", {"backbone": "mobilenet_v2"}, "mobilenet_v2"),
        ("mine", {}, ""),
        ("nobody/mine", {}, ""),
    ],
)
def test_a_method_meets_those_of_its_features_else_the_most_accurate(
    embedded, name, about, features
):
    met = [f"{features}/{head}" for head in ("NCC", "MatchingNet", "LR")] if features else None
    report = fb.score(_noisy(embedded, name, "open-5w5s5q", **about), embedded)
    (row,) = summarize(report).rows
    means = {s.method: s.accuracy.mean for s in report.scores if s.is_reference}
    ordered = sorted(means, key=lambda reference: -means[reference])
    assert sorted(c.versus for c in row.compared) == sorted(met or ordered[:3])
    if met is None:
        assert [c.versus for c in row.displayed] == ordered[:1]
    else:
        best_of_features = max(met, key=lambda reference: means[reference])
        assert [c.versus for c in row.displayed] == [*dict.fromkeys([best_of_features, ordered[0]])]
    (everyone,) = summarize(report, all_references=True).rows
    assert [c.versus for c in everyone.compared] == [*means]
    assert everyone.displayed == row.displayed
    shown = {c.versus for c in (*row.compared, *row.displayed)}
    assert summarize(report).other_references == len(means) - len(shown)


@pytest.mark.parametrize("question", ["new images", "new classes"])
def test_a_tally_is_adjusted_for_everything_that_is_compared(embedded, question):
    report = fb.score(_noisy(embedded, f"{LITE}/mine", "closed-5w1s1q closed-5w5s5q"), embedded)
    summary, kind = summarize(report), question.removeprefix("new ")
    (tally,) = [tally for tally in summary.tallies if tally.question == question]
    p = {
        (str(each.scored), name): each.p_values(kind)[0, i]
        for each in report.sets
        for i, name in enumerate(each.methods)
        if name in {f"{LITE}/{head}" for head in ("NCC", "MatchingNet", "LR")}
    }
    of = {
        (str(row.primary.scored), c.versus): c.intervals[kind].verdict
        for row in summary.rows
        for c in row.compared
    }
    assert tally.family == tally.compared == len(of) == len(p) == 6
    assert tally.unadjusted == sum(verdict in "+-" for verdict in of.values())
    kept = []
    for i, at in enumerate(sorted(p, key=p.__getitem__)):
        if p[at] * (6 - i) > 0.05:
            break
        kept.append(of[at])
    assert (tally.better, tally.worse) == (kept.count("+"), kept.count("-"))
    assert tally.ns == 6 - len(kept)
    assert tally.unknown == 0
    assert question == "new classes" or len(kept) < tally.unadjusted


def test_a_run_that_stopped_meets_its_rival_and_is_told_from_no_other(embedded):
    """Its rule tells the two apart; it has no p-value that others could be counted with."""
    mine, rival = _noisy(embedded, f"{LITE}/mine", "closed-5w5s5q"), "mobilenet_v2/NCC"
    rule = Stopping(rival, 0.95)
    bindings = {key: replace(bound, stopping=rule) for key, bound in mine.bindings.items()}
    summary = summarize(fb.score(replace(mine, bindings=bindings), embedded))
    (row,) = summary.rows
    verdicts = {c.versus: c.verdict for c in row.compared}
    assert verdicts.pop(rival) == "+"
    assert {*verdicts} == {f"{LITE}/{head}" for head in ("NCC", "MatchingNet", "LR")}
    tally = summary.tallies[0]
    assert (tally.compared, tally.better, tally.worse, tally.unknown, tally.ns) == (4, 1, 0, 3, 0)


def test_tallies_do_not_depend_on_the_order_of_methods(embedded):
    parts = [_noisy(embedded, name, "closed-5w1s1q closed-5w5s5q") for name in ("mine", "another")]
    one, other = (
        summarize(fb.score(merge(order), embedded, against="another")).tallies
        for order in (parts, parts[::-1])
    )
    assert one == other
    assert [tally.family for tally in one] == [2, 2]


def test_only_methods_whose_tasks_were_fixed_and_are_all_are_judged(embedded):
    info, rng = embedded.task_set_info("digits", "closed-5w5s5q"), np.random.default_rng(0)
    of = {"low": (15, 600), "high": (20, 600), "short": (22, 300), "stopped": (22, 600)}
    parts = [
        recorded(info, rng.integers(right - 2, right + 3, tasks), name)
        for name, (right, tasks) in of.items()
    ]
    ((key, bound),) = parts[-1].bindings.items()
    parts[-1] = replace(parts[-1], bindings={key: replace(bound, stopping=Stopping("low", 0.95))})
    (column,) = summarize(fb.score(merge(parts), embedded, references=False)).columns
    marks = {name: standing.mark for name, standing in column.by_method.items()}
    assert (marks.pop("high"), marks.pop("low")) == (Mark.HIGHEST, Mark.SIGNIFICANT)
    assert marks == {"short": Mark.UNJUDGED, "stopped": Mark.UNJUDGED}
    assert column.by_method["high"].behind == 0.0


def test_equal_methods_share_the_highest_mean(embedded):
    info, counts = embedded.task_set_info("digits", "open-5w5s5q"), np.arange(31) % 26
    parts = [
        recorded(info, np.maximum(counts - lost, 0), name, trained=False)
        for name, lost in (("one", 0), ("same", 0), ("lower", 9))
    ]
    report = fb.score(merge(parts), embedded, references=False)
    assert "one minus same: identical points" in rows.scatter(report.sets[0], "one", "same").caption
    (column,) = summarize(report).columns
    marks = {name: standing.mark for name, standing in column.by_method.items()}
    assert marks.pop("one") is marks.pop("same") is Mark.HIGHEST
    assert marks["lower"] in (Mark.NEW_IMAGES, Mark.SIGNIFICANT)
    for name in ("one", "same"):
        text = f"{name}: highest mean on 1 of 1 task set (significantly above all others on 0)."
        assert text in str(report)


def test_of_few_tasks_and_nothing_to_compare_no_verdict_is_spoken_of(embedded):
    info = embedded.task_set_info("cub", "published-5w5s5q")
    alone = recorded(info, [20] * 30 + [25] * 3, "alone", trained=False)
    text = str(fb.score(alone, embedded))
    assert "there is nothing to compare it with" in text
    assert "verdict" not in text


@pytest.mark.parametrize("suite", ["open", "pooled"])
def test_very_many_methods_are_told_apart_where_holm_would(emoji, suite, monkeypatch):
    each = next(s for s in emoji.sets if s.scored.task_set == f"{suite}-5w1s1q")
    everyone = range(len(each.scores))
    by_holm = standings(each, everyone)
    monkeypatch.setattr(told_apart_module, "MOST_PAIRED", 5)
    by_bonferroni = standings(each, everyone)
    assert (by_holm.holm, by_bonferroni.holm) == (True, False)
    assert by_holm.family == by_bonferroni.family
    order = [Mark.HIGHEST, Mark.NOT_SIGNIFICANT, Mark.NEW_IMAGES, Mark.SIGNIFICANT]
    for name, standing in by_bonferroni.by_method.items():
        assert order.index(standing.mark) <= order.index(by_holm.by_method[name].mark)
    marks = {standing.mark for standing in by_bonferroni.by_method.values()}
    assert marks & {Mark.NEW_IMAGES, Mark.SIGNIFICANT}


def test_a_set_that_more_methods_answer_leads(embedded):
    of = {"a": "open-5w5s5q pooled-5w5s5q", "b": "open-5w5s5q", "c": "grouped-5w5s5q"}
    parts = [_noisy(embedded, f"one/{name}", sets) for name, sets in of.items()]
    answered = summarize(fb.score(merge(parts), embedded))
    assert [str(h.scored.name) for h in answered.primary] == ["open-5w5s5q"]
    assert set(answered.methods) == {"one/a", "one/b"}
    assert answered.unshown == ("one/c",)
    assert answered.other_sets == 2


def _columns(*gaps):
    """Of each task set, how far methods are behind its highest mean."""
    return [
        SimpleNamespace(by_method={name: SimpleNamespace(behind=b) for name, b in column.items()})
        for column in gaps
    ]


@pytest.mark.parametrize(
    ("names", "gaps", "ordered"),
    [
        # B is behind C where both answer; by means B, of 2, came before C, of 4
        ("ABC", [{"A": 0, "B": 2, "C": 1}, {"A": 0, "C": 7}], "ACB"),
        # Z, which is far behind, moves no others
        ("BZA", [{"A": 0, "B": 0.1, "Z": 99}, {"A": 0, "Z": 100}], "ABZ"),
        # C passes two that answer the first set alone, and stops below A
        ("BCDA", [{"A": 0, "B": 2, "C": 1, "D": 3}, {"A": 0, "C": 7}], "ACBD"),
        # leaders of different sets come first
        ("ABCD", [{"A": 0, "B": 5}, {"C": 0, "D": 1}], "ACDB"),
        ("BA", [], "BA"),
        ("BA", [{"A": 0}, {"B": 0}], "BA"),
    ],
)
def test_who_comes_first(names, gaps, ordered):
    assert best_first([*names], _columns(*gaps)) == [*ordered]
