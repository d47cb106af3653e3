"""From counts to verdicts and tables: by hand, of first tasks, p-values, and short names."""

import numpy as np
import pyarrow as pa
import pytest
from commands import printed
from golden_inputs import INPUTS
from msgspec.structs import replace
from recorded import recorded_sets
from scipy import stats

import fslbench_data as fb
from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.interval_kinds import ESTIMANDS
from analysis_sql.leave_one_out.design import LEFT_OUT
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError
from fslbench_data.render.console import shortened
from fslbench_data.render.figures import rows
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import pooled_instead, score
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.selection import whole_name, whole_names
from fslbench_data.scoring.task_set_report import COMPARISONS, SCORES
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
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
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "three.parquet"
    INPUTS["three.parquet"](path)
    return path


@pytest.fixture(scope="module")
def report(path):
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
