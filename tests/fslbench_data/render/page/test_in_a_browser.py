"""Pages in a browser: no requests, choices, table, downloads, looks, and hostile names."""

import csv
import io
import os
import re
import shlex
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from commands import printed
from recorded import recorded
from results_repository import Repository

import fslbench_data as fb
from analysis_sql.interval_kinds import ABOUT
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.page import leaderboard_page
from fslbench_data.render.figures.charts import TIES
from fslbench_data.render.interval_text import CLAIMS
from fslbench_data.render.page.make import page_of
from fslbench_data.scoring.selection import Selection

from .conftest import TASK_SETS

pytestmark = pytest.mark.slow

SHOTS = Path(os.environ.get("FSLBENCH_SCREENSHOTS", ""))
"""Where CI keeps what the page looks like."""
HOSTILE = "<script>document.title = 'stolen'</script><img src=//e.vil onerror=alert(1)>"
METHODS = 100
PHONE, DESK = 390, 1300
MARKUP = "</script><img src=x onerror=alert(1)>{{ packed }} `a` \"b\" & 'c'"
NAMES = ("__proto__", "constructor", "toString", "α-TIM", MARKUP, "שלום")


def _address(tab):
    return {key: value[0] for key, value in parse_qs(urlsplit(tab.page.url).fragment).items()}


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1300, "dark")])
def test_it_opens_alone_and_without_errors(open_page, width, scheme):
    tab = open_page("#dataset=emoji&task_set=open-5w5s5q", width=width, scheme=scheme)
    assert tab.errors == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in tab.requests if url.startswith("file:")]) == 1
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for chart in ("comparisons", "scatter", "accuracies", "conclusive", "ladder", "worst"):
        assert tab.page.locator(f"#{chart} svg").count() >= 1
        caption = tab.page.inner_text(f"#{chart}-caption")
        assert "T = " in caption
        assert "interval" in caption
    for chart in ("scatter", "ladder", "worst"):
        assert "T = " in tab.page.get_attribute(f"#{chart} svg[role=img]", "aria-label")
    assert "unsafe-eval" not in tab.page.get_attribute("meta[http-equiv]", "content")
    cells = tab.page.evaluate(
        "[...document.querySelectorAll('#matrix tbody tr')].map("
        "row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    turned = str.maketrans("▲▼", "▼▲")
    assert len(cells) == 12
    for i, row in enumerate(cells):
        assert row[i] == ""
        for j, text in enumerate(row):
            assert text == cells[j][i].translate(turned)
    if width == 390:  # whose table shows its numbers
        right = [
            tab.page.locator(f"#comparisons [data-sort='{name}']").evaluate(
                "b => b.closest('th').getBoundingClientRect().right"
            )
            for name in ("versus", "difference", "± new images", "new images")
        ]
        assert right == sorted(right)
        assert right[-1] <= 390
    if SHOTS.name:
        SHOTS.mkdir(parents=True, exist_ok=True)
        name = {390: "phone", 1300: "desktop"}[width]
        tab.page.screenshot(path=SHOTS / f"{name}-{scheme}.png", full_page=True)


def test_choices_change_the_figures_and_the_address(open_page):
    tab = open_page("#dataset=digits")
    before = tab.labels("comparisons")
    chosen = {"dataset": "emoji", "shot": "5", "task_set": "open-5w5s5q", "level": "0.99"}
    chosen |= {"a": "efficientnet_lite1/LR", "b": "mobilenet_v2/NCC"}
    for name, value in chosen.items():
        tab.choose(name, value)
    assert "± 99 % CI" in tab.page.inner_text("#answer")
    assert "± 95 % CI" not in tab.page.inner_text("#answer")
    assert tab.labels("comparisons") != before
    assert _address(tab).items() >= chosen.items()
    verdict = tab.page.inner_text("#verdict")
    assert "emoji/open-5w5s5q, T = 77 tasks, efficientnet_lite1/LR" in verdict
    assert "New classes: up to " in verdict  # what no verdict for new classes can know
    again = open_page(f"#{urlsplit(tab.page.url).fragment}")
    assert again.page.inner_text("#verdict") == verdict
    assert again.labels("comparisons") == tab.labels("comparisons")
    tab.choose("interval", "class-aware")
    assert "class-aware (new classes)" in tab.page.inner_text("#comparisons-caption")
    assert "thin lines" not in tab.page.inner_text("#comparisons-caption")
    assert tab.errors == []


@pytest.mark.parametrize(
    ("task_set", "habit"),
    [("open-5w5s5q", "usual intervals"), ("closed-5w5s5q", "same images only")],
)
def test_the_verdict_is_the_command_s(open_page, task_set, habit):
    a, b = "efficientnet_lite0/NCC", "efficientnet_lite2/NCC"
    chosen = ["--dataset", "emoji", "--task-set", task_set, "--format", "csv"]
    lines = [*csv.DictReader(printed("compare", a, b, *chosen).splitlines()[1:])]
    rows = {row["interval"]: row for row in lines}
    abouts = {kind: ABOUT[kind] for kind in rows if kind != "closed"}
    kinds = [*abouts]
    assert [*abouts.values()][:3] == ["new images", "new classes", "new superclasses"]
    tab = open_page(f"#dataset=emoji&task_set={task_set}&a={a}&b={b}")
    words = {"+": "better", "-": "worse", "0": "ns"}
    text = tab.page.inner_text("#verdict")
    assert f"{a} compared with {b}" in text
    expected = {
        habit: lines[0]["verdict_closed" if habit == "usual intervals" else "verdict"],
        "separate intervals": rows[kinds[0]]["verdict_direct"],
    }
    for kind, about in abouts.items():
        row = rows[kind]
        size = f"{float(row['diff']):+.2f} ± {float(row['diff_halfwidth']):.2f} points"
        assert f"for {about} {words[row['verdict']]} ({size})" in text
        expected[about] = row["verdict"]
    cell = tab.page.locator("#matrix td.chosen span").get_attribute("aria-label")
    assert cell == "; ".join(f"{claim}: {words[verdict]}" for claim, verdict in expected.items())
    caption = tab.page.inner_text("#comparisons-caption")
    assert re.search(r"\(new images.*; thin lines: .*\(new classes", caption)
    tab.choose("interval", kinds[-1])
    assert abouts[kinds[-1]] in tab.page.inner_text("#comparisons-caption")
    assert tab.errors == []


def test_a_phone_s_answer_shows_verdicts(open_page, root, tmp_path):
    example = root / "examples/my_results.parquet"
    page = page_of([example], fb.load_release(), Selection())
    tab = open_page(file=page.write(tmp_path), width=390)
    verdicts = tab.page.locator("#answer > div:not([hidden]) td:nth-last-child(-n+2)")
    assert verdicts.count() == 6
    boxes = verdicts.evaluate_all("all => all.map(e => e.getBoundingClientRect().right)")
    assert max(boxes) <= 390 - 10
    assert tab.page.input_value("#a") == "pixels/Ridge"
    assert tab.page.input_value("#task_set") == "closed-5w10s7q"  # the clearest comparison
    assert tab.errors == []


TABLES = {"forest": "comparisons"}
_, LOWER, _ = TIES

OPEN_FIGURES = {
    "forest": 11, "scatter": None, "accuracies": 12, "conclusive": 5, "ladder": 12, "worst": 12,
    "queries": 3,
}  # fmt: skip
KINDS_ALONE = {"open-5w5s5q": "class-aware", "closed-5w5s5q": "classes"}


@pytest.mark.parametrize(
    ("task_set", "charts"),
    [("open-5w5s5q", OPEN_FIGURES), ("closed-5w5s5q", {"forest": 11, "conclusive": 5})],
)
def test_the_commands_below_draw_these_figures(open_page, tmp_path, monkeypatch, task_set, charts):
    monkeypatch.chdir(tmp_path)
    tab = open_page(f"#dataset=emoji&task_set={task_set}&a=efficientnet_lite1/LR&level=0.9")
    for chart, rows in charts.items():
        _draws_this_figure(tab, chart, rows, monkeypatch)
    assert tab.page.locator("#comparisons-caption code").count() == 1
    tab.choose("interval", KINDS_ALONE[task_set])  # which no figure of a command has alone
    assert tab.page.locator("#comparisons-caption code").count() == 0


def _draws_this_figure(tab, chart, rows, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "fslbench_data.render.figures.plot.Drawing.write",
        lambda drawing, _: drawn.append(drawing.figure),
    )
    code = tab.page.inner_text(f"#{TABLES.get(chart, chart)}-caption code")
    program, *arguments = shlex.split(code)
    assert program == "fslbench"
    printed(*arguments)
    (figure,) = drawn
    assert figure.chart == chart
    shown = tab.page.evaluate(
        "(chart) => window.fslbench.rows[chart].map(({ set, ...row }) => "
        "({ ...row, ...(set && { kinds: set.shown }) }))",
        TABLES.get(chart, chart),
    )
    if chart == "scatter":  # the order of points is nobody's
        page, drawn = (
            sorted((r["first"], r["second"], r["tasks"]) for r in some if "tasks" in r)
            for some in (shown, figure.rows)
        )
        assert page == drawn
        return
    of_page, of_command = len(shown), len(figure.rows)
    assert (of_page, of_command) == (rows, rows), f"rows of {chart}: conclusive has one a kind"
    for page_row, row in zip(shown, figure.rows, strict=True):
        if "kinds" in page_row:  # a table of the page: a half-width for each kind of interval
            halves = [page_row["half"][kind] for kind in page_row["kinds"][:2]]
            assert page_row.get("versus", page_row["method"]) == row["label"]
            assert [page_row["value"] + half for half in halves] == pytest.approx(
                [row["high"], row["high_new"]]
            )
            if "ties" in page_row:
                lower = page_row["ties"][page_row["kinds"][0]] == "lower"
                assert lower == (row["standing"] == LOWER)
            continue
        for key in {*row} - {"subject", "place", "versus", "whose"}:
            assert page_row[key] == row[key], key


def test_words_are_explained_where_they_stand(open_page):
    tab = open_page(width=390)
    for place, parent in (("matrix", "section"), ("choices", "form"), ("answer", "section")):
        words = tab.page.locator(f"{parent}:has(#{place}) details.words, #{place} details.words")
        meaning = words.first.locator("dd").first
        assert not meaning.is_visible()
        words.first.locator("summary").focus()
        tab.page.keyboard.press("Enter")
        assert meaning.is_visible()
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_table_sorts_and_filters(open_page):
    tab = open_page("#dataset=emoji&task_set=open-5w5s5q&scope=set")

    def column(name):
        heading = tab.page.locator("#comparisons th").all_inner_texts()
        number = [re.sub(" [↑↓]$", "", text) for text in heading].index(name) + 1
        return tab.page.locator(f"#comparisons tbody td:nth-child({number})").all_inner_texts()

    assert len(column("method")) == 66
    said = tab.page.inner_text("#comparisons-rows")
    assert "of all: dataset emoji, task_set open-5w5s5q, T 77" in said
    for order in ("descending", "ascending"):
        tab.page.click("#comparisons [data-sort=difference]")
        values = [float(text) for text in column("difference")]
        assert values == sorted(values, reverse=order == "descending")
        heading = tab.page.locator(f"#comparisons th[aria-sort={order}]")
        assert heading.inner_text()[:-2] == "difference"
    tab.page.fill("#filter", "mobilenet_v2/ncc lite0")
    rows = tab.page.locator("#comparisons tbody tr").all_inner_texts()
    assert len(rows) == 3
    assert all("mobilenet_v2/NCC" in row and "lite0" in row for row in rows)
    assert _address(tab)["filter"] == "mobilenet_v2/ncc lite0"
    tab.page.fill("#filter", "")
    tab.choose("scope", "pair")
    assert tab.page.inner_text("#comparisons-rows").startswith("7 rows")  # task sets of emoji
    tab.choose("scope", "all")
    assert tab.page.inner_text("#accuracies-rows").startswith(f"{3 * 4 + 12 * 7} rows")


def _downloaded(tab, button):
    with tab.page.expect_download() as waiting:
        tab.page.click(button)
    signature, _, table = Path(waiting.value.path()).read_text(encoding="utf-8").partition("\n")
    assert signature.startswith("# fslbench:")
    assert f"level:{tab.page.input_value('#level')}|" in signature
    return [*csv.DictReader(io.StringIO(table))]


def test_downloads_hold_the_numbers_of_the_command(open_page):
    chosen = ["--dataset=digits", "--dataset=emoji", *(f"--task-set={s}" for s in TASK_SETS)]
    said = printed("score", *chosen, "--format", "csv")
    expected = [*csv.DictReader(io.StringIO(said.partition("\n")[2]))]
    tab = open_page("#scope=all")
    keys = ("dataset", "task_set", "method", "versus")
    found = {tuple(row[key] for key in keys): row for row in _downloaded(tab, "#csv")}
    means = {tuple(row[k] for k in keys[:3]): row for row in _downloaded(tab, "#accuracies-csv")}
    assert len(expected) > 1000
    assert {tuple(row[key] for key in keys) for row in expected} == {*found}
    for row in expected:
        shown, mean = found[tuple(row[k] for k in keys)], means[tuple(row[k] for k in keys[:3])]
        half = f"± {CLAIMS[row['interval']]}"
        for text, of_command in (
            (shown["difference"], row["diff"]),
            (shown[half], row["diff_halfwidth"]),
            (mean["mean"], row["mean"]),
            (mean[half], row["mean_halfwidth"]),
        ):
            assert text == of_command or float(text) == float(of_command)
        assert (shown["T"], shown["reason"]) == (row["T"], row["reason"])
        assert shown[CLAIMS[row["interval"]]] == row["verdict"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(open_page, axe, scheme):
    assert axe(open_page("#dataset=emoji&task_set=open-5w5s5q", scheme=scheme), "html") == []


def test_everything_is_reached_with_the_keyboard(open_page):
    tab = open_page("#dataset=digits&task_set=open-5w1s1q")
    reached = []
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        reached.append(tab.page.evaluate("document.activeElement.id"))
    controls = "dataset task_set a b level interval matrix scope filter csv"
    assert {*controls.split()} <= {*reached}
    tab.page.focus("#shot")
    tab.page.keyboard.press("ArrowDown")
    assert _address(tab)["shot"] == "5"


def test_a_task_set_with_one_method(open_page, tmp_path):
    chosen = Selection.of(datasets="digits", methods="pixels/NCC", task_sets="open-5w1s1q")
    tab = open_page(file=page_of((), fb.load_release(), chosen).write(tmp_path))
    assert tab.page.inner_text("#verdict") == "pixels/NCC is alone on digits/open-5w1s1q."
    assert tab.errors == []


def test_where_nobody_answered_the_whole_set(open_page, tmp_path):
    release = fb.load_release()
    info = release.task_set_info("aircraft", "published-5w5s5q")
    rng = np.random.default_rng(0)
    counts = {"A": rng.integers(0, 26, 10), "O'Neil": rng.integers(0, 26, 12)}
    path = tmp_path / "part.parquet"
    fb.merge([recorded(info, own, name) for name, own in counts.items()]).write(path)
    tab = open_page(file=page_of([path], release, Selection()).write(tmp_path / "page"))
    r = np.corrcoef(counts["A"], counts["O'Neil"][:10])[0, 1]
    caption = tab.page.inner_text("#scatter-caption")
    assert f"Pearson's r = {r:.2f}, T = 10 tasks" in caption
    assert r"--method 'O'\''Neil'" in caption
    assert "n/a" in tab.page.inner_text("#verdict")
    assert tab.errors == []


def test_scopes_levels_and_addresses(open_page):
    tab = open_page("#dataset=digits&task_set=closed-5w5s5q&scope=dataset")
    rows = tab.page.inner_text("#comparisons-rows")
    tab.choose("task_set", "open-5w5s5q")
    assert tab.page.inner_text("#comparisons-rows") == rows == "12 rows; of all: dataset digits."
    tab.choose("level", "0.99")
    assert len(_downloaded(tab, "#csv")) == 12
    assert "level:0.99|" in tab.page.inner_text("#signature")
    tab.page.fill("#filter", "LR")
    tab.page.evaluate("location.hash = '#dataset=digits&task_set=open-5w1s1q'")
    tab.page.wait_for_function("document.getElementById('task_set').value === 'open-5w1s1q'")
    assert tab.page.input_value("#filter") == ""
    assert tab.page.input_value("#level") == "0.95"
    tab.choose("shot", "10")
    assert tab.page.input_value("#task_set") == "open-5w10s7q"


@pytest.fixture(scope="module")
def board_file(tmp_path_factory, embedded):
    repository = Repository(tmp_path_factory.mktemp("board") / "results")
    infos = [embedded.task_set_info("digits", f"{s}-5w5s5q") for s in ("open", "closed")]
    rng = np.random.default_rng(0)
    parts = []
    for number in range(METHODS):
        name = HOSTILE if number == 7 else f"a backbone of a very long name/method {number}"
        for info in infos:
            right = rng.binomial(info.protocol.n_query, 0.6 + number / 500, info.n_tasks)
            parts.append(recorded(info, right, name))
    repository.add(fb.merge(parts))
    path = tmp_path_factory.mktemp("page") / "board.html"
    names = [str(info.name) for info in infos]
    ranking = leaderboard(repository.files, (embedded,), datasets="digits", task_sets=names)
    path.write_text(leaderboard_page(ranking), encoding="utf-8")
    return path


@pytest.fixture
def tab(open_page, board_file, request):
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
    assert abs(scroll.locator("tbody th").nth(60).bounding_box()["x"] - box["x"]) < 2
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
    tab.page.locator("#h-sets ~ details summary").first.focus()
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


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory, embedded):
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
