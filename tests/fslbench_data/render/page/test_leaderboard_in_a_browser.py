"""A leaderboard's page in a browser: alone, on a phone, in the dark, read aloud, by keyboard."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results_repository import Repository

from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.page import leaderboard_page
from fslbench_data.release.release import Release
from fslbench_data.submission.merging import merge
from fslbench_data.submission.recorder import Recorder

pytestmark = pytest.mark.slow

SHOTS = Path(os.environ.get("FSLBENCH_SCREENSHOTS", ""))
HOSTILE = "<script>document.title = 'stolen'</script><img src=//e.vil onerror=alert(1)>"
METHODS = 100


@pytest.fixture(scope="module")
def board_file(tmp_path_factory: pytest.TempPathFactory, embedded: Release) -> Path:
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
def tab(browser: Any, board_file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page, open; what its console said and what it asked for are kept beside it."""
    width, scheme = getattr(request, "param", (PHONE, "light"))
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=False)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("request", lambda sent: page.asked.append(sent.url))
    page.goto(board_file.as_uri())
    if SHOTS.name:
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"leaderboard-{width}-{scheme}.png", full_page=True)
    yield page
    context.close()


@pytest.mark.parametrize("tab", [(PHONE, "light"), (DESK, "dark")], indirect=True)
def test_a_hundred_methods_stand_alone_and_fit(tab: Any) -> None:
    assert tab.said == []
    assert [url for url in tab.asked if not url.startswith("data:")] == [tab.url]
    assert tab.title() == "Few-shot leaderboard"
    assert tab.locator("script, img, iframe, form").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = tab.locator(".scroll tbody").first.locator("tr")
    assert first.count() == METHODS + 3
    assert HOSTILE in first.locator("th").all_inner_texts()
    numbers = first.first.locator("td.number").first.bounding_box()
    assert numbers["x"] + numbers["width"] <= tab.viewport_size["width"]


def test_the_first_column_and_the_headings_stay(tab: Any) -> None:
    scroll = tab.locator(".scroll").first
    scroll.evaluate("e => e.scrollTo(200, 1500)")
    box = scroll.bounding_box()
    name = scroll.locator("tbody th").nth(60)
    assert abs(name.bounding_box()["x"] - box["x"]) < 2
    heads = scroll.locator("thead th")
    assert {round(h.bounding_box()["y"] - box["y"]) < 60 for h in heads.all()} == {True}


def test_it_is_reached_by_keyboard_and_says_its_marks(tab: Any) -> None:
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the table"
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "only-sent"
    tab.keyboard.press("Space")
    assert tab.locator(".scroll tbody").first.locator("tr:visible").count() == METHODS
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.getAttribute('role')") == "region"
    summary = tab.locator("#h-sets ~ details summary").first
    summary.focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#h-sets ~ details[open] tbody tr").count() == METHODS + 3
    marks = tab.locator("[role=img]").evaluate_all("all => all.map(e => e.ariaLabel)")
    assert {*marks} <= {
        "the highest mean",
        "could be best for new images",
        "could be best for new classes, not for new images",
    }


@pytest.mark.parametrize("tab", [(PHONE, "dark"), (DESK, "light")], indirect=True)
def test_axe_finds_nothing_serious(tab: Any, axe: str) -> None:
    tab.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    tab.evaluate(axe)
    found = tab.evaluate("axe.run(document).then(r => r.violations)")
    worst = [
        (violation["id"], violation["nodes"][0]["html"][:200])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert worst == []
