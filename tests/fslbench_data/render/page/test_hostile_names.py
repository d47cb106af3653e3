"""Names that JavaScript's objects have of themselves, or that look like the page's own text."""

from pathlib import Path

import numpy as np
import pytest

import fslbench_data as fb
from fslbench_data.render.page.make import page_of
from fslbench_data.scoring.selection import Selection

MARKUP = "</script><img src=x onerror=alert(1)>{{ packed }} `a` \"b\" & 'c'"
NAMES = ("__proto__", "constructor", "toString", "α-TIM", MARKUP, "שלום")


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory, embedded):
    """A page of methods with such names on a ladder of task sets."""
    folder, results = tmp_path_factory.mktemp("page"), list[Path]()
    for seed, name in enumerate(NAMES):
        recorder, rng = fb.Recorder(name), np.random.default_rng(seed)
        for step in ("random", "support", "intra", "inter", "biased"):
            tasks = embedded.task_set("openclipart", f"open_{step}_titles-5w5s5q")
            labels = tasks.query_label
            guess = rng.integers(5, size=labels.shape)
            right = rng.random(labels.shape) < 0.5 + 0.08 * seed
            recorder.add_task_set(tasks, np.where(right, labels, guess))
        results.append(folder / f"{seed}.parquet")
        recorder.submission().write(results[-1])
    chosen = Selection(datasets=("openclipart",), references=False)
    return page_of(results, embedded, chosen).write(folder)


@pytest.mark.slow
def test_choices_of_such_methods(hostile_page, open_page):
    tab = open_page("#dataset=openclipart&a=α-TIM&b=toString", file=hostile_page)
    for field, name in (
        ("a", "__proto__"),
        ("a", "constructor"),
        ("b", "__proto__"),
        ("a", "α-TIM"),
        ("b", NAMES[-1]),
        ("b", NAMES[-2]),
    ):
        tab.choose(field, name)
        assert tab.errors == []
        assert name in tab.page.inner_text("#verdict")
        for chart in ("ladder", "worst"):
            assert name in tab.page.locator(f"#{chart} .legend span").all_inner_texts(), chart
    assert tab.page.locator("img").count() == 0
    assert MARKUP in tab.page.locator("#matrix tbody th").all_inner_texts()
