"""What a report answers: the sets that lead, whom a method meets, and how several stand."""

from collections import Counter

import numpy as np
import pytest

import fslbench_data as fb
from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.ranking import told_apart as told_apart_module
from analysis_sql.ranking.ties_with_best import contest
from fslbench_data.render.brief_text import brief_text
from fslbench_data.scoring.answer import Answer, answer
from fslbench_data.scoring.brief import briefs
from fslbench_data.scoring.headlines import headlines, leading_sets
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.standings import Mark, standings
from fslbench_data.submission.merging import merge

LITE = "efficientnet_lite0"


@pytest.fixture(scope="module")
def emoji(embedded) -> Report:
    return fb.score(None, embedded, datasets="emoji")


def _noisy(release, name: str, task_sets: str, **about: str) -> fb.Submission:
    """The counts of a reference method, moved at random by at most one of each task."""
    recorder = fb.Recorder(name, **about)
    rng = np.random.default_rng(len(name))
    reference = dict(zip(release.methods, release.references(), strict=True))[f"{LITE}/NCC"]
    for info in release.task_sets:
        if info.dataset == "emoji" and str(info.name) in task_sets.split():
            rows = reference.on([info]).table
            correct = rows.column("n_correct").to_numpy()
            moved = np.clip(
                correct + rng.integers(-1, 2, correct.size), 0, info.name.protocol.n_query
            )
            recorder.add_counts(release.task_set(info.dataset, str(info.name)), moved)
    return recorder.submission()


def test_one_method_has_a_row_for_each_set_that_leads(embedded, example) -> None:
    report = fb.score(example, embedded)
    answered = answer(report)
    assert [str(h.scored) for h in answered.headlines] == [
        "digits/closed-5w1s1q",
        "digits/closed-5w5s5q",
        "digits/closed-5w10s7q",
    ]
    assert (answered.other_sets, answered.unmet, answered.columns) == (3, 0, ())
    assert answered.methods == ("pixels/Ridge",)
    of_report = {(c.task_set, c.versus): c.shown for c in report.comparisons}
    for row in answered.rows:
        assert row.headline.images == "images"
        assert row.headline.classes == "classes"
        assert [c.versus for c in row.met] == ["pixels/NCC", "pixels/MatchingNet", "pixels/LR"]
        assert all(c == of_report[c.task_set, c.versus] for c in row.met)
        highest = max(row.met, key=lambda c: c.versus_mean.mean)
        assert row.best == (highest,)
    assert {c.verdict for c in answered.rows[2].met} == {Verdict.BETTER}


@pytest.mark.parametrize(
    ("name", "about", "met"),
    [
        (f"{LITE}/mine", {}, [f"{LITE}/NCC", f"{LITE}/MatchingNet", f"{LITE}/LR"]),
        ("mine", {"backbone": "mobilenet_v2"}, ["mobilenet_v2/NCC", "mobilenet_v2/MatchingNet",
                                                "mobilenet_v2/LR"]),
        ("mine", {}, None),
        ("nobody/mine", {}, None),
    ],
)  # fmt: skip
def test_a_method_meets_those_of_its_features_else_the_most_accurate(
    embedded, name: str, about: dict[str, str], met: list[str] | None
) -> None:
    report = fb.score(_noisy(embedded, name, "open-5w5s5q", **about), embedded)
    (row,) = answer(report).rows
    means = {s.method: s.accuracy.mean for s in report.scores if s.is_reference}
    ordered = sorted(means, key=lambda reference: -means[reference])
    assert sorted(c.versus for c in row.met) == sorted(met or ordered[:3])
    if met is None:
        assert [c.versus for c in row.best] == ordered[:1]
    else:
        best_of_features = max(met, key=lambda reference: means[reference])
        assert [c.versus for c in row.best] == [*dict.fromkeys([best_of_features, ordered[0]])]
    (everyone,) = answer(report, all_references=True).rows
    assert [c.versus for c in everyone.met] == [*means]
    assert everyone.best == row.best
    shown = {c.versus for c in (*row.met, *row.best)}
    assert answer(report).unmet == len(means) - len(shown)


@pytest.mark.parametrize("of_classes", [False, True])
def test_what_holm_leaves_is_over_everything_that_is_met(embedded, of_classes: bool) -> None:
    report = fb.score(_noisy(embedded, f"{LITE}/mine", "closed-5w1s1q closed-5w5s5q"), embedded)
    answered = answer(report)
    kind = "classes" if of_classes else "images"
    left = answered.classes if of_classes else answered.images
    p = {
        (str(each.scored), name): each.p_values(kind)[0, i]
        for each in report.sets
        for i, name in enumerate(each.methods)
        if name in {f"{LITE}/{head}" for head in ("NCC", "MatchingNet", "LR")}
    }
    met = {(str(row.headline.scored), c.versus): c for row in answered.rows for c in row.met}
    assert left.family == len(met) == len(p) == 6
    shown = {at for at, c in met.items() if c.intervals[kind].verdict in "+-"}
    assert left.shown == len(shown)
    kept = set()
    for i, at in enumerate(sorted(p, key=p.__getitem__)):
        if p[at] * (6 - i) > 0.05:
            break
        kept.add(at)
    assert {(str(at.scored), name) for at, name in left.lost} == shown - kept
    assert kept <= shown
    assert of_classes or kept != shown


def test_methods_asked_for_are_met_and_no_others(embedded, example) -> None:
    report = fb.score(example, embedded, against="pixels/LR")
    answered = answer(report)
    assert {c.versus for row in answered.rows for c in (*row.met, *row.best)} == {"pixels/LR"}
    assert answered.against == ("pixels/LR",)
    two = fb.score(None, embedded, datasets="digits", against="pixels/LR")
    assert set(answer(two).methods) == {"pixels/NCC", "pixels/MatchingNet"}
    assert answer(two).references == ("pixels/LR",)


def test_several_stand_to_the_best_as_ties_have_it(emoji: Report) -> None:
    answered = answer(emoji)
    assert len(answered.methods) == 12
    assert not answered.rows
    assert [column.headline.name.suite for column in answered.columns] == ["pooled"] * 3
    leading = {str(each.scored): each for each in leading_sets(emoji.sets)}
    marks = set()
    for column in answered.columns:
        each = leading[str(column.headline.scored)]
        designs = {kind: each.designs[kind] for kind in ("images", "classes")}
        ties = contest(each.methods, each.counts, "closed", designs).at(0.95)
        assert column.family == ties.family == 66
        for name, standing in column.by_method.items():
            assert (standing.mark is Mark.HIGHEST) == (name == ties.best)
            assert (standing.behind == 0.0) == (name == ties.best)
            tied = standing.mark in (Mark.HIGHEST, Mark.NOT_APART)
            assert tied == (name in ties.tied["images"])
            if standing.mark is Mark.NEW_IMAGES:
                assert name in ties.tied["classes"]
            if standing.mark is Mark.APART:
                assert name not in ties.tied["classes"]
            marks.add(standing.mark)
    assert marks == {*Mark} - {Mark.UNJUDGED}


@pytest.mark.parametrize("suite", ["open", "pooled"])
def test_very_many_methods_are_told_apart_where_holm_would(
    emoji: Report, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = next(s for s in emoji.sets if s.scored.task_set == f"{suite}-5w1s1q")
    everyone = range(len(each.scores))
    by_holm = standings(each, everyone)
    monkeypatch.setattr(told_apart_module, "MOST_PAIRED", 5)
    by_bonferroni = standings(each, everyone)
    assert (by_holm.holm, by_bonferroni.holm) == (True, False)
    assert by_holm.family == by_bonferroni.family
    order = [Mark.HIGHEST, Mark.NOT_APART, Mark.NEW_IMAGES, Mark.APART]
    for name, standing in by_bonferroni.by_method.items():
        assert order.index(standing.mark) <= order.index(by_holm.by_method[name].mark)
    marks = {standing.mark for standing in by_bonferroni.by_method.values()}
    assert marks & {Mark.NEW_IMAGES, Mark.APART}


def test_a_set_that_more_methods_answer_leads(embedded) -> None:
    parts = [
        _noisy(embedded, "one/a", "open-5w5s5q pooled-5w5s5q"),
        _noisy(embedded, "one/b", "open-5w5s5q"),
        _noisy(embedded, "one/c", "grouped-5w5s5q"),
    ]
    answered: Answer = answer(fb.score(merge(parts), embedded))
    assert [str(h.name) for h in answered.headlines] == ["open-5w5s5q"]
    assert set(answered.methods) == {"one/a", "one/b"}
    assert answered.unshown == ("one/c",)
    assert answered.other_sets == 2


def _headline_counts(report: Report, method: str, *, classes: bool) -> Counter[Verdict]:
    """Verdicts of one method among all, from its side, read from the comparisons one by one."""
    turned = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    found: Counter[Verdict] = Counter()
    for c in headlines(report.comparisons):
        if method in (c.method, c.versus):
            kind = next((k for k in c.intervals if "class" in k), None) if classes else None
            verdict = c.verdict if kind is None else c.intervals[kind].verdict
            found[verdict if c.method == method else turned.get(verdict, verdict)] += 1
    return found


@pytest.mark.slow
def test_scripts_are_told_how_many_comparisons_came_to_which_verdict(emoji: Report) -> None:
    counted = briefs(emoji)
    assert [each.method for each in counted] == [*emoji.sets[0].methods]
    for each in counted:
        for classes, counts in ((False, each.images), (True, each.classes)):
            expected = _headline_counts(emoji, each.method, classes=classes)
            assert counts.better == expected[Verdict.BETTER]
            assert counts.worse == expected[Verdict.WORSE]
            assert counts.inconclusive == expected[Verdict.INCONCLUSIVE]
            assert counts.identical == expected[Verdict.IDENTICAL]
            assert counts.not_estimable == expected[Verdict.NOT_ESTIMABLE]
    assert sum(each.images.better for each in counted) > 10
    assert sum(each.images.better for each in counted) == sum(e.images.worse for e in counted)
    line = brief_text(counted[:1])
    name, *fields = line.rstrip("\n").split("\t")
    numbers = {key: int(number) for key, number in (field.split("=") for field in fields)}
    assert name == counted[0].method
    assert numbers["comparisons"] == numbers["new_classes_comparisons"] == 33
    assert numbers["better"] + numbers["worse"] + numbers["not_told_apart"] == 33
