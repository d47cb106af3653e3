"""A browser for the report page: chromium where it is installed, driven by playwright."""

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from golden_inputs import SWEEP

ROOT = Path(__file__).parents[4]

TASK_SETS = (
    *("open-5w1s1q", "open-5w5s5q", "open-5w10s7q", "closed-5w5s5q"),
    *(f"open_{other}_style-5w5s5q" for other in ("same", "any", "other")),
)


@pytest.fixture(scope="session")
def page_file(tmp_path_factory, embedded):
    """The page of the reference methods on task sets of two data sets, with a sweep made up."""
    from fslbench_data.render.page.make import page_of
    from fslbench_data.scoring.selection import Selection

    folder = tmp_path_factory.mktemp("page")
    sweep = folder / "sweep.json"
    sweep.write_text(json.dumps(SWEEP))
    chosen = Selection.of(datasets=["digits", "emoji"], task_sets=TASK_SETS)
    return page_of((), embedded, chosen, sweeps=[sweep]).write(folder)


@dataclass
class Tab:
    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def choose(self, name, value):
        self.page.select_option(f"#{name}", value)

    def labels(self, chart):
        """The texts that a chart shows, from top to bottom and from left to right."""
        found = self.page.evaluate(
            """(chart) => ["svg text", ".legend span", "tbody :is(th, td)"]
                .flatMap((part) => [...document.querySelectorAll(`#${chart} ${part}`)])
                .map((t) => [t.getBoundingClientRect(), t.textContent])
                .sort(([p], [q]) => Math.round(p.top - q.top) || p.left - q.left)
                .map(([, text]) => text)""",
            chart,
        )
        return [text for text in found if text.strip()]


@pytest.fixture(scope="session")
def axe():
    """Lists serious violations in a part of a page, by axe-core (``npm install axe-core``)."""
    for folder in (os.environ.get("FSLBENCH_NODE_MODULES"), ROOT / "node_modules"):
        path = Path(folder or "none") / "axe-core/axe.min.js"
        if path.exists():
            break
    else:
        pytest.skip("axe-core is not installed: npm install axe-core")

    def serious(tab, part):
        tab.page.evaluate(path.read_text(encoding="utf-8"))
        found = tab.page.evaluate("part => axe.run(part).then(r => r.violations)", part)
        return [
            (each["id"], each["nodes"][0]["html"][:200])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    return serious


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra `test`")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser, request):
    """Opens the page, which is made for the first that asks for it, or another one, from disk."""
    contexts = []

    def opened(address="", file=None, width=1300, scheme="light", script=True):
        file = file or request.getfixturevalue("page_file")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        context.set_default_timeout(120_000)  # a busy machine
        tab = Tab(context.new_page())
        said = ("error", "warning")
        tab.page.on("console", lambda m: m.type in said and tab.errors.append(m.text))
        tab.page.on("pageerror", lambda e: tab.errors.append(str(e)))
        tab.page.on("request", lambda r: tab.requests.append(r.url))
        tab.page.goto(f"{file.as_uri()}{address}")
        if script:
            tab.page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        return tab

    yield opened
    for context in contexts:
        context.close()
