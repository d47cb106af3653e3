"""Runs that stop when they are conclusive, and what reports then say."""

from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest
from commands import invoke
from first_conclusive import first_conclusive
from msgspec.structs import replace

from benchmark_spec.errors import DriftError, SpecError, UnknownNameError
from fslbench_data import Submission, evaluate, merge, score
from fslbench_data.submission.model import Stopping
from fslbench_data.validation.rules import check_may_stop

ONE_SHOT = {"features": "pixels", "task_sets": "open-5w1s1q"}


def guess(support, query, rng):
    return rng.integers(0, len(support), len(query))


def _distances(support, query):
    return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2)


def _counts(submission):
    return submission.table.column("n_correct").to_numpy().astype(int)


@pytest.fixture(scope="module")
def stopped(embedded):
    """A run of `guess` that stopped when it was worse than pixels/LR."""
    return evaluate(guess, embedded, stop_when_conclusive="pixels/LR", **ONE_SHOT)


def test_it_stops_at_the_first_conclusive_task(embedded, stopped):
    whole = evaluate(guess, embedded, **ONE_SHOT)
    lr = embedded.reference("pixels/LR").on([embedded.task_set_info("digits", "open-5w1s1q")])
    expected = int(first_conclusive(_counts(whole) - _counts(lr), 5))
    assert 5 < expected < 100
    assert _counts(stopped).tolist() == _counts(whole)[:expected].tolist()
    (binding,) = stopped.bindings.values()
    assert (binding.tasks, binding.stopping) == (expected, Stopping("pixels/LR", 0.95))
    zeros = {"name": "zero", "batch": 7, "stop_when_conclusive": lr, **ONE_SHOT}
    batched = evaluate(lambda s, q, rng: np.zeros(q.shape[:2], int), embedded, **zeros)
    assert len(_counts(batched)) % 7 == 0


def test_a_run_of_few_tasks_on_a_set_that_reuses_images(embedded):

    def farthest(support, query, rng):
        return _distances(support, query).argmax(axis=1)

    how = ONE_SHOT | {"task_sets": "closed-5w5s5q", "stop_when_conclusive": "pixels/LR"}
    found = evaluate(farthest, embedded, **how)
    assert len(_counts(found)) < 12
    assert found.methods["farthest"].inductive


def test_a_run_that_is_never_conclusive_answers_all(embedded):
    def nearest(support, query, rng):
        return _distances(support, query).argmin(axis=1)

    how = ONE_SHOT | {"task_sets": "open-5w10s7q", "stop_when_conclusive": "pixels/NCC"}
    found = evaluate(nearest, embedded, **how)
    (binding,) = found.bindings.values()
    assert binding.tasks is None
    assert binding.stopping is not None
    assert score(found).sets[0].scores[0].stopped is not None


def test_resumed_it_stops_at_the_same_task(embedded, tmp_path):
    fails = Mock(wraps=guess, side_effect=[*[DEFAULT] * 5, RuntimeError("power"), *[DEFAULT] * 99])
    common = {"name": "guess", "stop_when_conclusive": "pixels/LR", **ONE_SHOT}
    common["journal"] = tmp_path / "j"
    with pytest.raises(Exception, match="power"):
        evaluate(fails, embedded, **common)
    resumed = evaluate(fails, embedded, **common)
    assert resumed.table == evaluate(guess, embedded, **{**common, "journal": None}).table
    with pytest.raises(Exception, match="another run"):
        evaluate(fails, embedded, **{**common, "stop_level": 0.9})


def test_a_report_has_the_sequence_against_the_rival(stopped, tmp_path):
    path = tmp_path / "guess.parquet"
    stopped.write(path)
    assert Submission.read(path).bindings == stopped.bindings
    assert score(path).sets[0].scores[0].stopped.sequence.high < 0
    assert score(stopped, references=False).sets[0].scores[0].stopped.sequence is None


def test_rivals_that_cannot_be_one(embedded):
    other = evaluate(guess, embedded, name="x", features="pixels", task_sets="open-5w5s5q")
    runs = merge([evaluate(guess, embedded, run=r, max_tasks=5, **ONE_SHOT) for r in "12"])
    for rival, level, error, said in (
        ("pixels/LRR", 0.95, UnknownNameError, "did you mean 'pixels/LR'"),
        ("pixels/LR", 1.5, SpecError, "confidence level"),
        (other, 0.95, SpecError, "x has no results on digits/open-5w1s1q"),
        (runs, 0.95, SpecError, "guess has several runs"),
    ):
        how = {"stop_when_conclusive": rival, "stop_level": level, **ONE_SHOT}
        with pytest.raises(error, match=said):
            evaluate(guess, embedded, name="y", **how)


def test_it_goes_no_further_than_its_rival(embedded):
    rival = evaluate(guess, embedded, max_tasks=9, **ONE_SHOT)
    found = evaluate(guess, embedded, name="same", stop_when_conclusive=rival, **ONE_SHOT)
    assert _counts(found).tolist() == _counts(rival).tolist()


def test_sets_along_which_classes_drift_are_refused(embedded, tmp_path):
    method = Mock(wraps=guess)
    common = {
        "name": "x",
        "features": "efficientnet_lite0-pca128",
        "datasets": "groceries",
        "stop_when_conclusive": "efficientnet_lite0-pca128/NCC",
    }
    with pytest.raises(DriftError, match="classes drift along groceries/open-5w1s1q") as caught:
        evaluate(method, embedded, task_sets=["open-5w5s5q", "open-5w1s1q"], **common)
    assert "groceries/balanced-5w1s1q" in str(caught.value.fix)
    assert not method.called  # before anything is run
    assert evaluate(method, embedded, task_sets="balanced-5w1s1q", **common).bindings
    # the same of a rule that a file declares, wherever it is read
    del common["stop_when_conclusive"]
    whole = evaluate(method, embedded, task_sets="open-5w1s1q", **common)
    ((key, binding),) = whole.bindings.items()
    rule = Stopping("efficientnet_lite0-pca128/NCC", 0.95)
    path = tmp_path / "whole.parquet"
    replace(whole, bindings={key: replace(binding, stopping=rule)}).write(path)
    for name, *more in (["score"], ["validate"], ["compare", "efficientnet_lite0-pca128/NCC"]):
        found = invoke(name, path, *more)
        assert found.exit_code == 2, name
        assert "groceries/balanced-5w1s1q" in " ".join(found.output.split())


def test_sets_on_which_runs_may_stop(embedded):
    for task_set in ("closed-5w1s1q", "grouped-5w5s5q"):
        check_may_stop(embedded.task_set_info("emoji", task_set), embedded, 0.95)


@pytest.mark.slow
def test_another_level_than_the_report_s_gives_no_verdict(stopped, tmp_path):
    ((key, binding),) = stopped.bindings.items()
    assert score(stopped, against="pixels/LR").comparisons[0].verdict == "-"
    for level in (0.01, 0.9, 0.99):
        rule = Stopping("pixels/LR", level)
        other = replace(stopped, bindings={key: replace(binding, stopping=rule)})
        (found,) = score(other, against="pixels/LR").comparisons
        assert (found.verdict, found.verdict_direct) == ("?", "?")
        assert found.reason == f"run to stop at level {level:g}, not 0.95"
        # at that level it has one
        (found,) = score(other, against="pixels/LR", level=level).comparisons
        assert (found.verdict, found.reason) == ("-" if level < 0.95 else "0", "")
        path = tmp_path / f"{level}.parquet"
        other.write(path)
        judged = ["compare", str(path), "pixels/LR", "--fail-if-worse"]
        assert invoke(*judged).exit_code == 0
    text = " ".join(invoke("score", path, "--details").stdout.split())
    assert f"pixels/LR: run to stop at level {level:g}, not 0.95" in text
