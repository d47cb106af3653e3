"""A leaderboard's page in a browser: alone, on a phone, in the dark, read aloud, by keyboard."""

import os
from pathlib import Path

import numpy as np
import pytest
from results_repository import Repository

from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.page import leaderboard_page
from fslbench_data.submission.merging import merge
from fslbench_data.submission.recorder import Recorder

pytestmark = pytest.mark.slow

SHOTS = Path(os.environ.get("FSLBENCH_SCREENSHOTS", ""))
HOSTILE = "<script>document.title = 'stolen'</script><img src=//e.vil onerror=alert(1)>"
METHODS = 100


@pytest.fixture(scope="module")
def board_file(tmp_path_factory, embedded):
    """A hundred methods on two task sets of digits, one of them of a hostile name."""
    repository = Repository(tmp_path_factory.mktemp("board") / "results")
    infos = [embedded.task_set_info("digits", f"{s}-5w5s5q") for s in ("open", "closed")]
    rng = np.random.default_rng(0)
    parts = []
    for number in range(METHODS):
        name = HOSTILE if number == 7 else f"a backbone of a very long name/method {number}"
        recorder = Recorder(name)
        for info in infos:
            right = rng.binomial(info.protocol.n_query, 0.6 + number / 500, info.n_tasks)
            recorder.add_counts(info, right)
        parts.append(recorder.submission())
    repository.add(merge(parts))
    path = tmp_path_factory.mktemp("page") / "board.html"
    names = [str(info.name) for info in infos]
    ranking = leaderboard(repository.files, (embedded,), datasets="digits", task_sets=names)
    path.write_text(leaderboard_page(ranking), encoding="utf-8")
    return path


PHONE, DESK = 390, 1300


@pytest.fixture
def tab(open_page, board_file, request):
    """The page, open on a phone, or as a test says."""
    width, scheme = getattr(request, "param", (PHONE, "light"))
    opened = open_page(file=board_file, width=width, scheme=scheme, script=False)
    if SHOTS.name:
        SHOTS.mkdir(parents=True, exist_ok=True)
        opened.page.screenshot(path=SHOTS / f"leaderboard-{width}-{scheme}.png", full_page=True)
    return opened


@pytest.mark.parametrize("tab", [(PHONE, "light"), (DESK, "dark")], indirect=True)
def test_a_hundred_methods_stand_alone_and_fit(tab):
    assert tab.errors == []
    assert [url for url in tab.requests if not url.startswith("data:")] == [tab.page.url]
    assert tab.page.title() == "Few-shot leaderboard"
    assert tab.page.locator("script, img, iframe, form").count() == 0
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = tab.page.locator(".scroll tbody").first.locator("tr")
    assert first.count() == METHODS + 3
    assert HOSTILE in first.locator("th").all_inner_texts()
    numbers = first.first.locator("td.number").first.bounding_box()
    assert numbers["x"] + numbers["width"] <= tab.page.viewport_size["width"]


def test_the_first_column_and_the_headings_stay(tab):
    scroll = tab.page.locator(".scroll").first
    scroll.evaluate("e => e.scrollTo(200, 1500)")
    box = scroll.bounding_box()
    name = scroll.locator("tbody th").nth(60)
    assert abs(name.bounding_box()["x"] - box["x"]) < 2
    heads = scroll.locator("thead th")
    assert {round(h.bounding_box()["y"] - box["y"]) < 60 for h in heads.all()} == {True}


def test_it_is_reached_by_keyboard_and_says_its_marks(tab):
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the table"
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.id") == "only-sent"
    tab.page.keyboard.press("Space")
    assert tab.page.locator(".scroll tbody").first.locator("tr:visible").count() == METHODS
    tab.page.keyboard.press("Space")
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.getAttribute('role')") == "region"
    summary = tab.page.locator("#h-sets ~ details summary").first
    summary.focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.locator("#h-sets ~ details[open] tbody tr").count() == METHODS + 3
    marks = tab.page.locator("[role=img]").evaluate_all("all => all.map(e => e.ariaLabel)")
    assert {*marks} <= {
        "the highest mean",
        "could be best for new images",
        "could be best for new classes, not for new images",
    }


@pytest.mark.parametrize("tab", [(PHONE, "dark"), (DESK, "light")], indirect=True)
def test_axe_finds_nothing_serious(tab, axe):
    tab.page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    assert axe(tab, "html") == []
