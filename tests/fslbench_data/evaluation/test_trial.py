"""How long a run will take: told before it, and nothing is decided by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fslbench_data as fb
from fslbench_data.evaluation import loop as trial
from fslbench_data.evaluation.loop import Expectation, _duration
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSetInfo

CLOSED, OPEN = "closed-5w5s5q", "open-5w5s5q"


class Clock:
    """A method whose calls take the seconds that a clock says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, first: float = 0) -> None:
        self.now, self.calls, self._seconds, self._first = 0.0, 0, seconds, first
        monkeypatch.setattr(trial, "perf_counter", lambda: self.now)

    def __call__(self, support: Any, query: Any, rng: np.random.Generator) -> Any:
        self.now += self._seconds * support.shape[-2] + (0 if self.calls else self._first)
        self.calls += 1
        return np.zeros(query.shape[:-1], np.int64)


def _info(dataset: str, name: str, embedded: Release) -> TaskSetInfo:
    return embedded.task_set_info(dataset, name)


def test_a_trial_tells_the_time_and_what_takes_less(
    embedded: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, told = Clock(monkeypatch, 0.5, first=1000), list[Expectation]()
    names = ["closed-5w1s1q", "closed-5w10s7q", "open-5w1s1q"]
    tasks = {n: embedded.task_set_info("digits", n).n_tasks for n in names}
    assert sum(tasks.values()) >= trial.FROM
    found = fb.evaluate(
        clock, embedded, name="m", features="pixels", datasets="digits", task_sets=names,
        on_trial=told.append,
    )  # fmt: skip
    (expected,) = told
    assert [str(info.name) for info in expected.infos] == sorted(names, key=names_order(embedded))
    assert sum(expected.tasks) == sum(tasks.values())
    by_name = dict(zip((str(i.name) for i in expected.infos), expected.seconds, strict=True))
    # half a second for each shot; the first call of all, which loads, is not counted
    assert by_name == {
        "closed-5w1s1q": 0.5 * 600,
        "closed-5w10s7q": 5 * 600,
        "open-5w1s1q": 0.5 * 176,
    }
    assert expected.text == (
        "1,376 tasks will take about 56 min, by a trial of a few of each set; it may be stopped "
        "and goes on with the same command. Less: --task-set open-5w1s1q takes about 88 s"
    )
    assert clock.calls == sum(tasks.values())  # what the trial answered is not asked again
    assert len(found.table) == sum(tasks.values())


def names_order(release: Release) -> Any:
    order = [str(info.name) for info in release.task_sets if info.dataset == "digits"]
    return order.index


def test_a_trial_changes_no_answer(embedded: Release, tmp_path: Path) -> None:
    def guess(support: Any, query: Any, rng: np.random.Generator) -> Any:
        return rng.integers(0, 5, query.shape[:-1])

    options: dict[str, Any] = {"features": "pixels", "datasets": "digits", "name": "g"}
    options |= {"task_sets": ["closed-5w1s1q", CLOSED], "batch": 7}
    told = list[Expectation]()
    plain = fb.evaluate(guess, embedded, **options)
    tried = fb.evaluate(guess, embedded, **options, on_trial=told.append)
    assert plain.table == tried.table
    assert len(told) == 1
    # one that goes on knows what is left
    journal = tmp_path / "journal"
    first = fb.evaluate(guess, embedded, **options, journal=journal)
    assert first.table == plain.table
    again = fb.evaluate(guess, embedded, **options, journal=journal, on_trial=told.append)
    assert again.table == plain.table
    assert told[1].tasks == (0, 0)
    assert told[1].seconds == (0.0, 0.0)
    assert told[1].text == ""


def test_a_small_run_has_none(embedded: Release) -> None:
    told = list[Expectation]()
    fb.evaluate(
        lambda support, query, rng: np.zeros(query.shape[:-1], np.int64),
        embedded, name="m", features="pixels", datasets="digits", task_sets=OPEN,
        on_trial=told.append,
    )  # fmt: skip
    assert told == []


def test_closed_sets_stand_in_for_pooled_ones(embedded: Release) -> None:
    closed, opened = _info("digits", CLOSED, embedded), _info("digits", OPEN, embedded)
    other = _info("digits", "closed-5w1s1q", embedded)
    text = Expectation((opened, closed, other), (9, 9, 9), (7200.0, 600.0, 60.0)).text
    assert text.endswith(f"Less: --task-set {CLOSED} --task-set closed-5w1s1q takes about 11 min")
    text = Expectation((closed, other), (9, 9), (600.0, 60.0)).text
    assert text.endswith("Less: --task-set closed-5w1s1q takes about 60 s")
    assert "Less" not in Expectation((closed,), (9,), (600.0,)).text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (88.6, "89 s"), (90.1, "2 min"), (3599, "1 h 0 min"), (7860, "2 h 11 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert _duration(seconds) == words
