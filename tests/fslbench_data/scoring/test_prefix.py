"""Submissions of the first tasks of a set, as many as their authors chose: no output concludes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import printed
from recorded import recorded_sets

import fslbench_data as fb
from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.leave_one_out.design import LEFT_OUT
from fslbench_data.release.release import Release
from fslbench_data.render.figures import rows
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder

WORDS = "prefix chosen by the submitter"


@pytest.fixture(scope="module")
def part(embedded: Release) -> Submission:
    """All right on the first 40 of 176 open tasks, and of 600 closed ones; others know better."""
    known = {"digits/open-5w1s1q": np.full(40, 5), "digits/closed-5w1s1q": np.full(40, 5)}
    return recorded_sets(embedded, known, "part")


def test_intervals_are_shown_and_nothing_is_concluded(part: Submission) -> None:
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


def test_a_whole_method_with_a_closed_prefix(embedded: Release) -> None:
    # the open verdict stands; the closed one beside it rests on the prefix
    rng = np.random.default_rng(0)
    counts = {"digits/open-5w1s1q": rng.integers(0, 2, 176), "digits/closed-5w1s1q": [5] * 40}
    report = fb.score(recorded_sets(embedded, counts), task_sets="open-5w1s1q")
    assert {c.verdict for c in report.comparisons} == {Verdict.WORSE}
    assert {c.verdict_closed for c in report.comparisons} == {Verdict.NOT_ESTIMABLE}
    assert {c.reason for c in report.comparisons} == {""}


def test_it_counts_in_no_summary(part: Submission, embedded: Release) -> None:
    whole = recorded_sets(embedded, {"digits/open-5w1s1q": np.arange(176) % 6}, "whole")
    with_part, without = fb.score(merge([whole, part])), fb.score(whole)
    assert with_part.verdict_counts["paired"] == without.verdict_counts["paired"]
    assert with_part.sets[0].ties == without.sets[0].ties is not None
    assert rows.conclusive(with_part.sets[:1]).rows == rows.conclusive(without.sets).rows


def test_a_release_s_own_prefix_is_ordinary(
    embedded: Release, part: Submission, tmp_path: Path
) -> None:
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
def test_ladders_say_it_too(embedded: Release, tmp_path: Path) -> None:
    recorder = Recorder("part")
    for step in ("random", "biased"):
        tasks = embedded.task_set("openclipart", f"{step}_titles-5w5s5q")
        recorder.add_task_set(tasks, tasks.query_label[:30])
    path = tmp_path / "part.parquet"
    recorder.submission().write(path)
    for form in ("table", "csv"):
        text = printed("score", path, "--bias", "--format", form)
        assert WORDS in " ".join(text.split()), form
