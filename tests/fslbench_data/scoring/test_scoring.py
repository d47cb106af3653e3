"""From counts to verdicts, tables and summaries: by hand, p-values, short names, tallies."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from commands import printed
from golden_inputs import INPUTS
from msgspec.structs import replace
from recorded import recorded, recorded_sets
from scipy import stats

import fslbench_data as fb
from analysis_sql import multiple_comparisons as told_apart_module
from analysis_sql.comparisons import Verdict
from analysis_sql.interval_kinds import ESTIMANDS
from analysis_sql.leave_one_out.design import LEFT_OUT
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError
from fslbench_data.render.console import shortened
from fslbench_data.render.figures import rows
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import pooled_instead, score
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.selection import whole_name, whole_names
from fslbench_data.scoring.summary import Mark, best_first, standings, summarize
from fslbench_data.scoring.task_set_report import COMPARISONS, SCORES
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Stopping, Submission
from fslbench_data.submission.recorder import Recorder

CLOSED, OPEN = "cats/closed-2w1s2q", "cats/open-2w1s2q"


def test_by_hand(toy):
    n_open = len(toy.task_set("cats", "open-2w1s2q"))
    assert n_open == 4
    a = recorded_sets(toy, {OPEN: [4, 3, 4, 2], CLOSED: [4, 4, 4, 4, 3]}, "a")
    b = recorded_sets(toy, {OPEN: [3, 2, 3, 2], CLOSED: [2, 2, 1, 2, 2]}, "b")
    report = score(merge([a, b]), toy)
    # the release's order of task sets, whatever the file's
    assert [(c.task_set, c.method, c.versus) for c in report.comparisons] == [
        ("open-2w1s2q", "a", "b"),
        ("closed-2w1s2q", "a", "b"),
    ]
    opened, closed = report.comparisons
    # differences 1, 1, 1, 0 of 4: mean 18.75, sd 12.5; t(3) at 97.5 % is 3.182446
    assert opened.difference.mean == 18.75
    assert opened.difference.halfwidth == pytest.approx(3.182446 * 12.5 / 2, abs=1e-5)
    assert opened.verdict is Verdict.INCONCLUSIVE
    # 81.25 against 62.5 with half-widths 38 and 23
    assert (opened.mean.mean, opened.versus_mean.mean) == (81.25, 62.5)
    assert opened.verdict_direct is Verdict.INCONCLUSIVE
    # closed means 95 and 45, sd 11.18: 95 ± 9.8 against 45 ± 9.8
    assert opened.verdict_closed is Verdict.BETTER
    assert closed.difference.kind == "closed"
    assert closed.difference.mean == 50.0
    # differences 2, 2, 3, 2, 1 of 4: sd 17.6777; z = 1.959964
    assert closed.difference.halfwidth == pytest.approx(1.959964 * 17.677670 / 5**0.5, abs=1e-5)
    assert [s.method for s in report.scores] == ["a", "b", "a", "b"]


def test_pairs_use_the_tasks_that_both_answered(toy):
    a = recorded_sets(toy, {CLOSED: [4, 3, 4, 2, 0]}, "a")
    b = recorded_sets(toy, {CLOSED: [3, 2, 4]}, "b")
    report = score(merge([a, b]), toy)
    (found,) = report.comparisons
    assert found.difference.tasks == found.mean.tasks == found.versus_mean.tasks == 3
    assert found.mean.mean == pytest.approx(100 * 11 / 12)
    expected = stats.norm.interval(0.95, 100 * 2 / 12, stats.sem([25, 25, 0]))
    assert (found.difference.low, found.difference.high) == pytest.approx(expected)
    assert [(s.method, s.accuracy.tasks) for s in report.scores] == [("a", 5), ("b", 3)]


def test_the_order_of_rows_does_not_matter(example, embedded):
    order = np.random.default_rng(0).permutation(example.table.num_rows)
    shuffled = replace(example, table=example.table.take(pa.array(order)))
    assert score(shuffled, embedded) == score(example, embedded)


def test_pooled_sets_of_the_same_data_ways_and_shots_are_named(example, embedded, toy):
    report = score(example, embedded, task_sets=["closed-5w1s1q", "closed-5w10s7q"])
    named = [str(info) for info in pooled_instead(report, embedded)]
    assert named == ["digits/pooled-5w1s1q", "digits/pooled-5w10s7q"]
    assert pooled_instead(report, toy) == []  # which has no such task sets
    assert pooled_instead(score(None, embedded, datasets="digits"), embedded) == []
    with pytest.raises(SubmissionError, match="has no reference methods"):
        score(None, toy)


def test_a_signature_names_the_commit_of_a_release_of_the_hub(toy):
    signature = score(recorded_sets(toy, {CLOSED: [4, 4, 4, 4, 3]}, "a"), toy).signature
    assert "hub:" not in str(signature)
    assert repr(signature).startswith("<Signature: ")
    of_hub = replace(signature, hub="org/toy@0123456789ab" + "c" * 28)
    assert "|hub:org/toy@0123456789ab|" in str(of_hub)


WORDS = "prefix chosen by the submitter"


@pytest.fixture(scope="module")
def part(embedded):
    """All right on the first 40 of 176 open tasks, and of 600 closed ones; others know better."""
    known = {"digits/open-5w1s1q": np.full(40, 5), "digits/closed-5w1s1q": np.full(40, 5)}
    return recorded_sets(embedded, known, "part")


def test_intervals_are_shown_and_nothing_is_concluded(part):
    report = fb.score(part)
    assert len(report.comparisons) == 6
    for c in report.comparisons:
        assert {c.verdict, c.verdict_direct} == {Verdict.NOT_ESTIMABLE}
        assert c.verdict_closed in (None, Verdict.NOT_ESTIMABLE)
        assert c.difference.halfwidth is not None
        assert c.mean.halfwidth is not None
        assert c.reason == PREFIX == WORDS
        for pair in c.intervals.values():
            assert pair.verdict is pair.verdict_direct is Verdict.NOT_ESTIMABLE
            if pair.difference.kind not in LEFT_OUT:  # of 40 tasks they show too few images
                assert pair.difference.halfwidth is not None
    for each in report.sets:
        assert each.scores[0].prefix
        assert repr(each.scores[0]).endswith("; prefix>")
        assert not any(score.prefix for score in each.scores[1:])
        assert each.scores[0].faultless is None
        assert all(e.p_sign_flip is None and e.detectable is None for e in each.evidence_of(0))
        assert (each.pairs.verdict[each.requested] == 4).all()
        assert (each.pairs.direct[each.requested] == 4).all()
        assert each.ties is None or "part" not in each.ties.methods
    assert not any(count.compared for count in report.verdict_counts.values())
    caption = rows.scatter(report.sets[0], "part", "pixels/LR").caption
    assert "r = undefined." in caption
    assert WORDS in caption


def test_a_whole_method_with_a_closed_prefix(embedded):
    # the open verdict stands; the closed one beside it rests on the prefix
    rng = np.random.default_rng(0)
    counts = {"digits/open-5w1s1q": rng.integers(0, 2, 176), "digits/closed-5w1s1q": [5] * 40}
    report = fb.score(recorded_sets(embedded, counts), task_sets="open-5w1s1q")
    assert {c.verdict for c in report.comparisons} == {Verdict.WORSE}
    assert {c.verdict_closed for c in report.comparisons} == {Verdict.NOT_ESTIMABLE}
    assert {c.reason for c in report.comparisons} == {""}


def test_it_counts_in_no_summary(part, embedded):
    whole = recorded_sets(embedded, {"digits/open-5w1s1q": np.arange(176) % 6}, "whole")
    with_part, without = fb.score(merge([whole, part])), fb.score(whole)
    assert with_part.verdict_counts["paired"] == without.verdict_counts["paired"]
    assert with_part.sets[0].ties == without.sets[0].ties is not None
    assert rows.conclusive(with_part.sets[:1]).rows == rows.conclusive(without.sets).rows


def test_a_release_s_own_prefix_is_ordinary(embedded, part, tmp_path):
    """Its maker chose before anyone compared, and a submitter cannot claim to be one."""
    whole = recorded_sets(embedded, {"digits/open-5w1s1q": np.zeros(176, int)}, "whole")
    of_release = replace(
        part, bindings={k: replace(b, of_release=True) for k, b in part.bindings.items()}
    )
    (found,) = fb.score(merge([whole, of_release]), against="part", only_compared=True).comparisons
    assert (found.verdict, found.reason) == (Verdict.WORSE, "")
    assert all(b.of_release for s in embedded.references() for b in s.bindings.values())
    of_release.write(tmp_path / "x.parquet")
    read = Submission.read(tmp_path / "x.parquet")
    assert not any(bound.of_release for bound in read.bindings.values())


@pytest.mark.slow
def test_ladders_say_it_too(embedded, tmp_path):
    recorder = Recorder("part")
    for step in ("random", "biased"):
        tasks = embedded.task_set("openclipart", f"{step}_titles-5w5s5q")
        recorder.add_task_set(tasks, tasks.query_label[:30])
    path = tmp_path / "part.parquet"
    recorder.submission().write(path)
    for form in ("table", "csv"):
        text = printed("score", path, "--bias", "--format", form)
        assert WORDS in " ".join(text.split()), form


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "three.parquet"
    INPUTS["three.parquet"](path)
    return fb.score(path)


def test_a_row_a_score_and_kind_of_interval(report):
    table = report.scores.to_arrow()
    assert table.schema == SCORES
    wanted = [
        (s.dataset, s.task_set, s.method, kind, i.tasks, i.mean, i.halfwidth, s.run_spread)
        for s in report.scores
        for kind, i in s.intervals.items()
    ]
    names = ["dataset", "task_set", "method", "interval", "tasks", "mean", "halfwidth"]
    columns = [table.column(name).to_pylist() for name in [*names, "run_spread"]]
    assert list(zip(*columns, strict=True)) == wanted
    assert len(wanted) > len(report.scores)


def test_a_row_a_comparison_and_kind_of_interval(report):
    table = report.comparisons.to_arrow()
    assert table.schema == COMPARISONS
    wanted = [
        (
            (c.dataset, c.task_set, c.method, c.versus, kind, pair.difference.tasks),
            (pair.mean.mean, pair.mean.halfwidth),
            (pair.versus_mean.mean, pair.versus_mean.halfwidth),
            (pair.difference.mean, pair.difference.halfwidth, pair.difference.level),
            (pair.verdict, pair.verdict_direct),
            c.verdict_closed if kind == c.interval_kind else None,
        )
        for c in report.comparisons
        for kind, pair in c.intervals.items()
    ]
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert [(r[:6], r[6:8], r[8:10], r[10:13], r[13:15], r[15]) for r in rows] == wanted


@pytest.mark.parametrize("name", ["scores", "comparisons"])
def test_pandas_and_arrow_have_the_same_tables(name, report):
    rows = getattr(report, name)
    wanted, frame = rows.to_arrow(), rows.to_pandas()
    assert list(frame.columns) == wanted.column_names
    assert frame["mean"].tolist() == wanted["mean"].to_pylist()
    assert pa.table(rows).equals(wanted)


def test_scores_are_a_sequence(report):
    scores = report.scores
    assert scores == tuple(scores)
    assert tuple(scores) == scores
    assert scores != tuple(scores)[1:]
    assert scores[1:3] == tuple(scores)[1:3]
    assert scores[:1].to_arrow().num_rows == len(scores[0].intervals)
    assert scores[-1] is list(scores)[-1]
    pairs = report.comparisons
    assert [pairs[-1], *pairs[:2]] == [[*pairs][i] for i in (-1, 0, 1)]
    none = Report(report.signature, ())
    assert none.scores.to_arrow().schema == SCORES
    assert none.comparisons.to_arrow().num_rows == 0


PAIR = ["efficientnet_lite0/NCC", "efficientnet_lite2/LR"]
SETS = {"datasets": ["emoji"], "task_sets": ["open-5w5s5q", "closed-5w5s5q"]}


def rows_of(release, level=0.95):
    """The rows of the pair on an open and a closed set, by kind."""
    report = fb.score(None, release, methods=PAIR, **SETS, level=level)
    return {row["interval"]: row for row in report.comparisons.to_arrow().to_pylist()}


@pytest.fixture(scope="module")
def pair(embedded):
    return rows_of(embedded)


@pytest.mark.parametrize("kind", sorted(ESTIMANDS))
def test_p_is_1_less_the_level_at_which_the_interval_ends_at_zero(embedded, pair, kind):
    row = pair[kind]
    assert 1e-6 < row["p"] < 0.99
    at = rows_of(embedded, 1 - row["p"])[kind]
    assert at["halfwidth"] == pytest.approx(abs(row["difference"]), rel=1e-5)
    assert at["p"] == row["p"]


def check(table, level):
    """Every interval has a p, below 1 - level where it excludes 0 and nowhere else."""
    p, width, difference = (
        table[name].to_numpy(zero_copy_only=False) for name in ("p", "halfwidth", "difference")
    )
    there = ~np.isnan(width)
    assert not np.isnan(p[there]).any()
    np.testing.assert_array_equal((p < 1 - level)[there], (np.abs(difference) > width)[there])
    verdict = np.array(table["verdict"].to_pylist())
    np.testing.assert_array_equal(np.isin(verdict, ["+", "-"]), p < 1 - level)
    assert (p[verdict == "="] == 1).all()


@pytest.mark.parametrize(
    ("sets", "levels"),
    [
        (SETS, (0.95, 0.5, 0.8, 0.9, 0.99, 0.999)),
        pytest.param({}, (0.95, 0.8), marks=pytest.mark.slow),
    ],
    ids=["two sets", "all"],
)
def test_p_agrees_with_intervals_at_every_level(embedded, sets, levels):
    found = []
    for level in levels:
        table = fb.score(None, embedded, **sets, level=level).comparisons.to_arrow()
        assert {*table["interval"].to_pylist()} == {*ESTIMANDS}
        check(table, level)
        found.append(table["p"])
    assert all(p.equals(found[0]) for p in found)


def test_p_counts_training_runs(tmp_path):
    INPUTS["runs.parquet"](path := tmp_path / "runs.parquet")
    table = fb.score(path).comparisons.to_arrow()
    check(table, 0.95)
    row = table.to_pylist()[0]
    assert row["run_error"]
    assert 1e-4 < row["p"] < 0.2
    at = fb.score(path, level=1 - row["p"]).comparisons.to_arrow().to_pylist()[0]
    # interpolated between levels: docs/statistics.md
    assert at["halfwidth"] == pytest.approx(abs(row["difference"]), rel=0.03)


@pytest.mark.parametrize("name", ["prefix.parquet", "stopped.parquet"])
def test_runs_that_stopped_have_no_p(tmp_path, name):
    INPUTS[name](path := tmp_path / name)
    rows = fb.score(path).comparisons.to_arrow().to_pylist()
    assert {row["p"] for row in rows if row["reason"] or row["halfwidth"] is None} == {None}


NAMES = ("pixels/NCC", "pixels/LR", "wide/pixels/NCC", "clip/NCC", "clip/FT", "plain")


@pytest.mark.parametrize(
    ("text", "features", "whole"),
    [
        ("clip/NCC", (), "clip/NCC"),
        ("plain", ("pixels",), "plain"),
        ("FT", ("pixels",), "clip/FT"),  # the only one
        ("NCC", ("pixels",), "pixels/NCC"),
        ("NCC", ("wide/pixels", "other"), "wide/pixels/NCC"),
        ("pixels/NCC", ("wide",), "pixels/NCC"),  # a whole name is nothing else
        ("NCC", ("wide/pixels",), "wide/pixels/NCC"),
    ],
)
def test_a_short_name_is_that_of_one_method(text, features, whole):
    assert whole_name(text, NAMES, features) == whole
    assert whole_names([text, whole], NAMES, features) == (whole,)


@pytest.mark.parametrize(
    ("text", "features", "meant"),
    [
        ("NCC", (), ["pixels/NCC", "wide/pixels/NCC", "clip/NCC"]),
        ("NCC", ("pixels", "clip"), ["pixels/NCC", "clip/NCC"]),
        ("…/NCC", ("pixels",), ["pixels/NCC", "wide/pixels/NCC", "clip/NCC"]),
    ],
)
def test_of_several_an_error_lists_what_it_could_be(text, features, meant):
    with pytest.raises(SpecError) as caught:
        whole_name(text, NAMES, features, where="--against")
    assert str(len(meant)) in caught.value.what
    assert caught.value.where == "--against"
    assert caught.value.expected == f"one of {', '.join(meant)}"


@pytest.mark.parametrize("text", ["", "CC", "pixels", "ncc", "…", "/NCC", "clip/FT…clip/FT"])
def test_what_no_output_prints_is_unknown(text):
    with pytest.raises(UnknownNameError):
        whole_name(text, NAMES, ("pixels",))


@pytest.mark.parametrize("most", [20, 24, 29, 30, 40])
def test_what_an_output_cuts_short_can_be_copied(most):
    names = ("efficientnet_lite0-pca128/MatchingNet", "efficientnet_lite1/LR", "mobilenet_v2/NCC")
    for name in names:
        assert whole_name(shortened(name, most), names) == name


LITE = "efficientnet_lite0"


@pytest.fixture(scope="module")
def emoji(embedded):
    return fb.score(None, embedded, datasets="emoji")


def _noisy(release, name, task_sets, **about):
    """The counts of a reference method, moved at random by at most one of each task."""
    rng, parts = np.random.default_rng(len(name)), []
    reference = dict(zip(release.methods, release.references(), strict=True))[f"{LITE}/NCC"]
    for info in release.task_sets:
        if info.dataset == "emoji" and str(info.name) in task_sets.split():
            rows = reference.on([info]).table
            correct = rows.column("n_correct").to_numpy()
            moved = correct + rng.integers(-1, 2, correct.size)
            moved = np.clip(moved, 0, info.name.protocol.n_query)
            parts.append(recorded(info, moved, name, **about))
    return fb.merge(parts)


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


@pytest.mark.parametrize("name", [f"{LITE}/mine", "mine"])
@pytest.mark.parametrize("question", ["new images", "new classes"])
def test_a_tally_is_adjusted_for_everything_that_is_compared(embedded, name, question):
    """References that were chosen by their accuracy are adjusted for all that might have been."""
    report = fb.score(_noisy(embedded, name, "closed-5w1s1q closed-5w5s5q"), embedded)
    summary, kind = summarize(report), question.removeprefix("new ")
    (tally,) = [tally for tally in summary.tallies if tally.question == question]
    features = name.rpartition("/")[0]
    p = {
        (str(each.scored), reference): each.p_values(kind)[0, i]
        for each in report.sets
        for i, reference in enumerate(each.methods)
        if i and reference.startswith(features)
    }
    of = {
        (str(row.primary.scored), c.versus): c.intervals[kind].verdict
        for row in summary.rows
        for c in row.compared
    }
    assert (tally.compared, tally.family) == (len(of), len(p))
    assert len(of) == 6
    assert (len(p) > 6) == (not features)
    kept = []
    for i, at in enumerate(sorted(p, key=p.__getitem__)):
        if p[at] * (len(p) - i) > 0.05:
            break
        kept += [(of[at], at)] if at in of else []
    for verdict, others in (("+", tally.better), ("-", tally.worse)):
        assert sorted(others) == sorted(name for found, (_, name) in kept if found == verdict)
    alone = {(str(scored), name) for scored, name in tally.alone}
    assert alone == {at for at in of if of[at] in "+-"} - {at for _, at in kept}
    assert tally.ns == 6 - len(kept)
    assert tally.unknown == 0
    assert question == "new classes" or not features or alone


def test_marks_count_all_that_references_were_chosen_among(embedded):
    parts = [_noisy(embedded, name, "closed-5w5s5q") for name in ("mine", "another")]
    report = fb.score(merge(parts), embedded)
    (column,), (task_set,) = summarize(report).columns, report.sets
    assert len(column.by_method) == 5
    assert column.family == task_set.ties.family == fb.table(report).content.columns[0].pairs > 10
    named = fb.table(report, methods=list(column.by_method)).content
    assert named.columns[0].pairs == 10
    assert "pairs a task set, with all references" in fb.table(report).markdown()


def test_a_run_that_stopped_meets_its_rival_and_is_told_from_no_other(embedded):
    """Its rule tells the two apart; it has no p-value that others could be counted with."""
    mine, rival = _noisy(embedded, f"{LITE}/mine", "closed-5w5s5q"), "mobilenet_v2/NCC"
    rule = Stopping(rival, 0.95)
    bindings = {key: replace(bound, stopping=rule) for key, bound in mine.bindings.items()}
    report = fb.score(replace(mine, bindings=bindings), embedded)
    assert repr(report.scores[0]).endswith("; stopped by a rule>")
    summary = summarize(report)
    (row,) = summary.rows
    verdicts = {c.versus: c.verdict for c in row.compared}
    assert verdicts.pop(rival) == "+"
    assert {*verdicts} == {f"{LITE}/{head}" for head in ("NCC", "MatchingNet", "LR")}
    tally = summary.tallies[0]
    counts = tally.compared, tally.better, tally.worse, tally.unknown, tally.ns
    assert counts == (4, (rival,), (), 3, 0)


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
    columns = [
        SimpleNamespace(by_method={name: SimpleNamespace(behind=b) for name, b in of_set.items()})
        for of_set in gaps
    ]
    assert best_first([*names], columns) == [*ordered]
