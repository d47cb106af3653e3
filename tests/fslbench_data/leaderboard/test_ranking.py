"""One task set's table: its statistics and order, names alike, and results of two methods."""

import numpy as np
import pytest
from class_aware_interval import class_aware_interval
from msgspec.structs import replace
from results_repository import Repository
from scipy.stats import t, ttest_rel

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import interval
from analysis_sql.multiple_comparisons import ahead_p, could_be_best, lead
from benchmark_spec.protocol import TaskSetName
from fslbench_data.leaderboard import standing as module
from fslbench_data.leaderboard.leaderboard import leaderboard, unique_labels
from fslbench_data.leaderboard.review import review, review_text
from fslbench_data.leaderboard.standing import Entry, ranked
from fslbench_data.submission.merging import renamed
from fslbench_data.tasks import TaskSetInfo

T = 40
INFO = TaskSetInfo("cats", TaskSetName.parse("open-5w1s4q"), T, "f" * 64)
UNIT = INFO.protocol.n_query
RNG = np.random.default_rng(0)
MEMBERS = np.stack([RNG.permutation(12)[:5] for _ in range(T)])
DESIGN = ClassDesign.of(MEMBERS)
A, B, C = "1a2b3c4d" * 8, "99887766" * 8, "1a2b3c4d" + "0" * 56


def _entry(label, counts, *, runs=1, stopped=None):
    kind = np.int16 if runs == 1 else np.int32
    return Entry(label, INFO, np.array(counts, kind), runs, None, stopped, False)


def _standing(entries, kind="open", level=0.95):
    return ranked(INFO, kind, entries, level, {"class-aware": DESIGN} if kind == "open" else {})


def _ranks(found):
    return [(row.method, row.rank) for row in found.rows]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(1)
    hard = rng.normal(0, 0.08, 12)[MEMBERS].mean(axis=1)
    return rng.binomial(UNIT, np.clip(np.linspace(0.5, 0.8, 9)[:, None] + hard, 0, 1))


def test_each_row_is_made_of_its_own_intervals(counts):
    entries = [_entry(f"m{i}", row) for i, row in enumerate(counts)]
    found = _standing(entries)
    assert _standing(entries[::-1]).rows == found.rows
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    assert [row.method for row in found.rows] == [f"m{i}" for i in order]
    best = counts[order[0]]
    assert (found.leader, found.compared, len(found.rows)) == (f"m{order[0]}", 9, 9)
    every = Counts(counts, np.full(9, T), UNIT)
    ahead = lead(every.select(order[:1]), every)
    possible = {
        "open": could_be_best(ahead_p(ahead, "open"), 9, 0.95),
        "class-aware": could_be_best(ahead_p(ahead, "class-aware", DESIGN), 9, 0.95),
    }
    for rank, (i, row) in enumerate(zip(order, found.rows, strict=True), 1):
        x = counts[i]
        assert row.rank == rank
        assert row.accuracy == interval(Moments.of(x, UNIT), "open", 0.95)
        assert row.intervals["class-aware"].accuracy == class_aware_interval(DESIGN, x, UNIT, 0.95)
        for kind, own in possible.items():
            assert row.intervals[kind].could_be_best == own[i]
        if rank == 1:
            assert (row.difference, row.intervals["class-aware"].difference) == (None, None)
            continue
        assert row.difference == interval(Moments.of(x - best, UNIT), "open", 0.95)
        aware = class_aware_interval(DESIGN, x - best, UNIT, 0.95)
        assert row.intervals["class-aware"].difference.mean == aware.mean
        assert row.intervals["class-aware"].difference.halfwidth == pytest.approx(aware.halfwidth)
        p = ttest_rel(best, x, alternative="greater").pvalue
        assert row.first.could_be_best == (p > 0.05 / 8)
    for kind, own in possible.items():
        assert found.could_be_best(kind) == own.sum()
    assert 1 < found.could_be_best("open") < 9


def test_equal_means_share_a_rank_and_the_first_label_leads():
    high, low = [18, 19] * 20, [15, 16, 15, 18] * 10
    found = _standing(
        [_entry("d", low), _entry("c", high), _entry("b", high[::-1]), _entry("a", low[::-1])]
    )
    assert _ranks(found) == [("b", 1), ("c", 1), ("a", 3), ("d", 3)]
    rows = found.rows
    assert found.leader == "b"
    assert rows[1].difference.mean == 0.0
    assert rows[1].first.could_be_best
    came = [replace(_entry("b", high[::-1]), arrival=2), replace(_entry("c", high), arrival=1)]
    assert _standing(came).leader == "c"


def test_identical_and_constant_differences():
    base = np.array([17, 18, 15, 16] * 10)
    found = _standing([_entry("a", base), _entry("b", base), _entry("c", base - 2)])
    _, same, behind = found.rows
    assert (same.difference.mean, same.difference.halfwidth) == (0, 0)
    assert same.difference.constant
    assert same.first.could_be_best
    assert (behind.difference.halfwidth, behind.difference.constant) == (0, True)
    assert behind.first.could_be_best is False  # 2^-40
    assert behind.intervals["class-aware"].difference.halfwidth is None
    _, one = _standing([_entry("a", base[:1]), _entry("b", base[:1])]).rows
    assert (one.difference.mean, one.difference.halfwidth) == (0, 0)
    _, last = _standing([_entry("a", [15, 16, 17]), _entry("b", [14, 15, 16])]).rows
    assert last.first.could_be_best
    assert (last.difference.constant, last.difference.halfwidth) == (True, None)


def test_prefixes_stand_below_and_are_compared_over_common_tasks(counts):
    short, good = counts[0][:20], np.minimum(counts[8][:10] + 3, UNIT)
    found = _standing(
        [_entry("best", counts[8]), _entry("mid", counts[4]), _entry("s", short), _entry("g", good)]
    )
    assert _ranks(found) == [("best", 1), ("mid", 2), ("g", None), ("s", None)]
    _, _, ahead, behind = found.rows
    assert (ahead.accuracy.tasks, ahead.difference.tasks) == (10, 10)
    assert ahead.difference.mean > 0
    assert ahead.first.could_be_best
    assert behind.difference == interval(Moments.of(short - counts[8][:20], UNIT), "open", 0.95)
    assert behind.intervals["class-aware"].difference == class_aware_interval(
        DESIGN, short - counts[8][:20], UNIT, 0.95
    )
    assert not behind.first.could_be_best
    # by how far they are from the best on the same tasks, not by their means over easy ones
    first, then = [20] * 10, [10] * 30
    some = [_entry("b", first + then), _entry("g", [18] * 10), _entry("s", first + [12] * 10)]
    assert _ranks(_standing(some)) == [("b", 1), ("s", None), ("g", None)]


def test_runs_that_stopped_by_a_rule(counts):
    found = _standing(
        [
            _entry("a", counts[5]),
            _entry("b", counts[1]),
            _entry("high", [UNIT] * 30, stopped="a"),
            _entry("low", [1] * T, stopped="a"),
        ]
    )
    assert (found.leader, found.compared, found.could_be_best(found.interval_kind)) == ("a", 2, 1)
    for row in found.rows[2:]:
        assert row.rank is None
        assert row.entry.stopped == "a"
        assert row.accuracy.halfwidth is None
        assert row.intervals["class-aware"].accuracy.halfwidth is None
        assert row.difference.halfwidth is None
        assert (row.first.could_be_best, row.intervals["class-aware"].could_be_best) == (None, None)
    alone = _standing([_entry("high", [UNIT] * 30, stopped="gone")])
    (row,) = alone.rows
    assert (alone.leader, alone.compared, alone.could_be_best("open")) == (None, 0, None)
    assert (row.rank, row.difference, row.first.could_be_best) == (None, None, None)
    # one that answered more than any ordinary method
    longer = _standing([_entry("a", counts[5][:10]), _entry("s", counts[6], stopped="a")])
    _, stopped = longer.rows
    assert (stopped.accuracy.tasks, stopped.difference.tasks) == (T, 10)


def test_closed_sets_claim_nothing(counts):
    found = _standing([_entry("a", counts[8]), _entry("b", counts[0])], "closed")
    assert found.leader == "a"
    assert found.could_be_best("closed") is found.could_be_best("class-aware") is None
    for row in found.rows:
        assert row.first.could_be_best is None
        assert [*row.intervals] == ["closed"]
        assert row.accuracy.kind == "closed"
    _, row = found.rows
    assert row.difference == interval(Moments.of(counts[0] - counts[8], UNIT), "closed", 0.95)


def test_different_numbers_of_runs_are_compared_exactly(counts):
    runs = {2: counts[3] * 2, 3: counts[3] * 3, 7: counts[3] * 7 - 1, 1: counts[3]}
    found = _standing([_entry(f"r{k}", x, runs=k) for k, x in runs.items()])
    rows = {row.method: row for row in found.rows}
    assert found.leader == "r1"  # equal means, exactly: the first label
    assert [rows[f"r{k}"].rank for k in (1, 2, 3, 7)] == [1, 1, 1, 4]
    assert (rows["r3"].difference.mean, rows["r3"].difference.constant) == (0.0, True)
    assert rows["r7"].difference.mean == pytest.approx(-100 / (7 * UNIT))
    assert rows["r7"].difference.constant
    # one hundred different numbers of runs: no common multiple of all is ever needed
    found = _standing([_entry(f"r{k}", counts[k % 9] * k, runs=k) for k in range(1, 101)])
    means = [row.accuracy.mean for row in found.rows]
    assert means == sorted(means, reverse=True)
    expected = 100 * counts.sum(axis=1) / (T * UNIT)
    assert means == pytest.approx(sorted((expected[k % 9] for k in range(1, 101)), reverse=True))


def test_runs_of_both_methods_widen_their_difference(counts):
    entries = []
    for label, row, runs, spread in (("best", 8, 2, 3.0), ("other", 6, 3, 1.5)):
        entry = _entry(label, runs * counts[row], runs=runs)
        entries.append(replace(entry, run_spread=spread))
    _, other = _standing(entries).rows
    of_tasks = interval(Moments.of(counts[6] - counts[8], UNIT), "open", 0.95).halfwidth
    v = 3.0**2 / 2 + 1.5**2 / 3
    df = v**2 / ((3.0**2 / 2) ** 2 / 1 + (1.5**2 / 3) ** 2 / 2)
    expected = (of_tasks**2 + t.isf(0.025, df) ** 2 * v) ** 0.5
    assert other.difference.halfwidth == pytest.approx(expected)


def test_blocks_change_nothing(counts, monkeypatch):
    entries = [_entry(f"m{i}", row) for i, row in enumerate(counts)]
    entries += [_entry(f"p{i}", row[: 10 + i]) for i, row in enumerate(counts)]
    whole = _standing(entries).rows
    monkeypatch.setattr(module, "_BLOCK_COUNTS", 1)
    assert _standing(entries).rows == whole


def _with_class_aware_intervals(found):
    aware = {row.method: row.intervals["class-aware"].accuracy for row in found.rows}
    return {method for method, interval in aware.items() if interval.halfwidth}


def test_many_prefixes_cost_a_bounded_number_of_designs(counts, monkeypatch):
    monkeypatch.setattr(module, "MOST_PREFIXES", 3)
    entries = [_entry("a", counts[8]), *(_entry(f"p{m}", counts[0][:m]) for m in range(20, 30))]
    assert _with_class_aware_intervals(_standing(entries)) == {"a", "p29", "p28"}
    found = {row.method: row for row in _standing(entries).rows}
    assert all(found[f"p{m}"].intervals["class-aware"].could_be_best for m in range(20, 28))
    assert not any(found[f"p{m}"].first.could_be_best for m in range(20, 30))
    assert all(row.accuracy.halfwidth for row in found.values())
    # those that came first have them first, after those of all tasks
    entries = [replace(_entry(f"p{m}", counts[0][:m]), arrival=2) for m in range(25, 35)]
    entries += [replace(_entry("a", counts[8]), arrival=3)]
    entries += [replace(_entry("p20", counts[0][:20]), arrival=0)]
    assert _with_class_aware_intervals(_standing(entries)) == {"a", "p20", "p34"}


@pytest.mark.parametrize(
    ("methods", "taken", "labels"),
    [
        ([("P", A), ("P", B)], [], ["P (1a2b3c4d)", "P (99887766)"]),
        # as many digits as tell them apart
        ([("P", A), ("P", C), ("P", B)], [], [f"P ({A[:16]})", f"P ({C[:16]})", "P (99887766)"]),
        # other case, a ligature, letters of full width; a reference keeps its name
        (
            [("Proﬁt", A), ("profit", B), ("ＮＣＣ", C)],
            ["NCC"],
            ["Proﬁt (1a2b3c4d)", "profit (99887766)", "ＮＣＣ (1a2b3c4d)"],
        ),
        ([("a", A), ("A", A)], [], ["a (1a2b3c4d)", "A (1a2b3c4d)"]),
        # a name that imitates a label
        (
            [("P", A), ("P", B), ("P (1a2b3c4d)", C)],
            [],
            ["P (1a2b3c4d)", "P (99887766)", "P (1a2b3c4d) (1a2b3c4d)"],
        ),
        ([("P (99887766)", A)], [], ["P (99887766) (1a2b3c4d)"]),
        ([("R 1.2", A), ("R 1,2", B)], [], ["R 1.2 (1a2b3c4d)", "R 1,2 (99887766)"]),
    ],
)
def test_names_that_are_shared_get_digits(methods, taken, labels):
    assert unique_labels(methods, taken) == labels


@pytest.mark.parametrize(
    "name",
    ["\u0440\u0456\u0445\u0435ls/NCC", "PIXELS/ncc", "pixels / NCC", "pixels_NCC", "pixelsNCC",
     "(pixels/NCC)"],
)  # fmt: skip
def test_names_that_imitate_a_reference(name):
    assert unique_labels([(name, A)], ["pixels/NCC"]) == [f"{name} (1a2b3c4d)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pixels/NCC2", "pixels/NCC"),
        ("ViT-B/16", "ViT-B/32"),
        ("alpha=1.0", "alpha=10"),
        ("ProtoNet*", "ProtoNet"),
        ("Pr\u00f6t\u00f6N\u00e9t 5x1", "ProtoNet"),
        ("!!", "??"),
    ],
)
def test_honest_names_stay(one, other):
    assert unique_labels([(one, A), (other, B)], []) == [one, other]
    assert unique_labels([(one, A)], [other]) == [one]


def test_thousands_of_one_name_and_of_imitations():
    many = [("P", f"{i:064x}") for i in range(2_000)]  # alike in all but the last digits
    taken = [f"P ({A[:n]})" for n in (8, 16, 32, 64)]
    assert len({*unique_labels([*many, ("P", A)], taken)}) == 2_001


@pytest.mark.slow
def test_a_copy_under_another_name(repository, example, embedded, tmp_path):
    repository.add(example)
    copy = repository.add(renamed(example, {"pixels/Ridge": "mine/Better"}))
    found = leaderboard(repository.files, [embedded], datasets="digits")
    assert found.rejected == ()
    for each in found.boards[0].sets:
        if each.scored.task_set.partition("-")[0] in ("open", "closed"):
            rows = [each.by_method[name] for name in ("mine/Better", "pixels/Ridge")]
            assert rows[0].rank == rows[1].rank
            assert rows[0].accuracy == rows[1].accuracy
    proposal = Repository(tmp_path / "proposal")
    (repository.folder / copy).rename(proposal.folder / copy)
    text = review_text(review(proposal.files, [copy], repository.files, [embedded]))
    assert "mine/Better" in text
