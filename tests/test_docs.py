"""README and docs say what is so, what they tell a reader to run runs; and the site is built."""

import ast
import importlib
import importlib.util
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from comparing import assert_same_picture
from golden_commands import REGENERATE
from pages import blocks, follow

import fslbench_data as fb
from benchmark_spec import errors
from builders.cli import main as build_main
from fslbench_data.cli import main
from fslbench_data.render.figures import KINDS
from fslbench_data.scoring.reported import SHARES, reported

PROGRAMS = {"fslbench": main, "fslbench-build": build_main}
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
STUDIES = sorted((ROOT / "studies").glob("*/*.md"))
NEEDS_MORE = re.compile(
    r"\b(ORG|RAW|DIR|WEIGHTS|OUT|PICTURES|SPEC\.toml|path/to|mine|my_release|log\.jsonl)\b"
)
"""Stands for what a reader has: releases, raw data, weights, a repository on the Hub, own tasks."""

METHOD = """
def nearest_centroid(support, query, rng):
    distances = ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2)
    return distances.argmin(axis=1)
"""


def _commands(page):
    found = []
    for _, language, content in blocks(page):
        for raw in content.replace("\\\n", " ").splitlines():
            line = raw.removeprefix("$ ") if language != "sh" else raw
            shown = language == "sh" or raw.startswith("$ ") or language == ""
            if shown and line.split(" ")[0] in PROGRAMS:
                words = shlex.split(line, comments=True)
                found.append(words[: words.index(">")] if ">" in words else words)
    return found


@pytest.mark.parametrize("page", [*PAGES, *STUDIES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_has_these_options(page):
    for program, name, *arguments in (c for c in _commands(page) if len(c) > 1):
        command = PROGRAMS[program].commands[name]
        if isinstance(command, click.Group):
            name, *arguments = arguments
            command = command.commands[name]
        above = click.Context(PROGRAMS[program], **PROGRAMS[program].context_settings)
        context = click.Context(command, parent=above, info_name=name)
        try:
            command.make_parser(context).parse_args([*arguments])
        except click.UsageError as error:
            pytest.fail(f"{page.name}: {shlex.join([program, name, *arguments])}: {error}")
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for program, name, rest in re.findall(r"`(fslbench(?:-build)?)\s+([a-z-]+)([^`]*)`", text):
        options = {
            o for parameter in PROGRAMS[program].commands[name].params for o in parameter.opts
        }
        for option in re.findall(r"(?<!\S)--[a-z-]+", rest):
            assert option in {*options, "--help"}, f"{page.name}: {program} {name}{rest}"


OPTIONAL = {"torch", "torchvision", "easyfsl", "sklearn"}
RUN_WHERE_INSTALLED = {"learn2learn", "pytorch_lightning"}
"""Packages of which tests/test_examples.py runs the blocks where there are any."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_import_what_there_is(page):
    content = "\n".join(content for _, language, content in blocks(page) if language == "python")
    for node in ast.walk(ast.parse(content)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        whole = isinstance(node, ast.Import)
        for name in [alias.name for alias in node.names] if whole else [node.module or ""]:
            package = name.partition(".")[0]
            if package in OPTIONAL:
                pytest.importorskip(name, reason=f"needs {name}, of the extra `test`")
            if package not in RUN_WHERE_INSTALLED:
                module = importlib.import_module(name)
                assert whole or all(hasattr(module, alias.name) for alias in node.names), name


@pytest.fixture
def desk(tmp_path, monkeypatch):
    (tmp_path / "my_method.py").write_text(METHOD)
    shutil.copy(ROOT / "examples/my_results.parquet", tmp_path / "my_results.parquet")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(words):
    result = CliRunner().invoke(PROGRAMS[words[0]], words[1:])
    assert result.exit_code == 0, f"{shlex.join(words)}\n{result.output}"
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figures", "planning", "sql", "leaderboard"])
def test_commands_run(desk, name):
    commands = [
        [word for word in words if word != "--fail-if-worse"]
        for words in _commands(ROOT / f"docs/{name}.md")
        if words[0] == "fslbench" and "published.parquet" not in words
        if not NEEDS_MORE.search(" ".join(words))
    ]
    assert commands
    if importlib.util.find_spec("vl_convert") is None:  # of the extra `report`
        commands = [c for c in commands if c[1] not in ("report", "plot")]
        if not commands:
            pytest.skip("needs the extra `report`")
    for words in commands:
        _run(words)


def test_pages_are_in_four_groups():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^- \*\*([^*]+)\*\*: (.*)$", text, flags=re.MULTILINE)
    of_readme = {group: {*re.findall(r"\]\(docs/(\w+\.md)\)", line)} for group, line in rows}
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    of_site = {
        group: {page for row in pages for page in row.values() if "/" not in page}
        for row in settings["nav"]
        for group, pages in row.items()
        if group != "Home"
    }
    assert list(of_readme) == ["Tutorials", "How to", "Explanation", "Reference"]
    assert of_readme == of_site
    listed = [page for pages in of_readme.values() for page in pages]
    assert sorted(listed) == [page.name for page in PAGES[1:] if page.name != "index.md"]


WRITTEN = [page for page in PAGES[1:] if page.name not in ("index.md", "schemas.md")]
"""Pages that somebody writes: the first is README's text, the second follows from the code."""


def test_pages_are_few_and_short():
    lengths = {page.name: len(page.read_text(encoding="utf-8").split()) for page in WRITTEN}
    assert len(set(lengths) - {"architecture.md"}) <= 26
    assert {name: length for name, length in lengths.items() if length > 2000} == {}
    over = sum(lengths.values()) - 38_000
    assert over <= 0, f"cut {over} words of docs/: what is added is cut elsewhere (CONTRIBUTING.md)"


SAY_INSTEAD = {
    r"told apart|tells? apart": "significant, no significant difference",
    r"(?<!-)\b(closed|pooled) (error bars|intervals?|sets?|tasks?|ones)\b": "usual, or `closed`",
    r"\bopen (intervals?|sets?|tasks?|ones)\b": "tasks that share no image, or `open`",
    r"\bthese images alone\b": "same images only",
    r"\bladders?\b": "bias levels",
    r"\bunits?\b": "image, burst",
    r"\bnarrower: on\b": "tip:",
    r"\bnames without a slash\b|\bthere is more\b|\breferences met\b": "--details",
    r"\bleft out together\b": "a burst counts as one image",
    r"\bsuperclasses seen\b": "other classes of the same superclasses",
    r"\bto mend\b": "to fix",
    r"\bwho looks before\b|\bflatters?\b": "chosen after seeing results",
    r"\bstands? alone\b": "not corrected for multiple comparisons",
    r"\bbut for (the|those|a)\b": "except",
    r"\bone's own\b|\bwhoever\b": "your own",
}
"""What pages must not say, and what they say in its place."""


def _prose(page):
    """A page without its code, ids, and the words that the report page explains."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|<!-- printed -->.*?<!-- /printed -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)  # formulas
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    if page.name == "glossary.md":
        text = re.sub(
            r"^\| \*\*(suite|ladder|leave|error|not told).*$", "", text, flags=re.MULTILINE
        )
    return " ".join(text.split())


@pytest.mark.parametrize("page", [PAGES[0], *WRITTEN], ids=lambda page: page.stem)
def test_pages_use_the_words_of_the_field(page):
    found = {
        f"{match[0]!r}: say {instead}"
        for words, instead in SAY_INSTEAD.items()
        for match in re.finditer(words, _prose(page), flags=re.IGNORECASE)
    }
    assert not found, sorted(found)


@pytest.mark.parametrize(
    ("name", "times"),
    [pytest.param("tutorial", 3, marks=pytest.mark.slow), ("verdicts", 1), ("clip_adapters", 2)],
)
def test_pages_that_print(desk, name, times):
    """Their blocks in order, in one folder, each printed text as its command prints it."""
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    printed, shown = "", 0
    for above, language, content in blocks(ROOT / f"docs/{name}.md"):
        if above.startswith("file: "):
            (desk / above.removeprefix("file: ")).write_text(content)
        elif above == "run":
            printed = "".join(_run(shlex.split(line)) for line in content.splitlines())
        elif above == "python":
            exec(compile(content, name, "exec"), {})
        elif above == "printed":
            assert language == "text"
            of_page, of_command = (
                "\n".join(line.rstrip() for line in text.strip().splitlines())
                for text in (content, printed)
            )
            assert of_page in of_command
            assert len(content) > 50
            shown += 1
    assert shown == times
    if name == "tutorial":
        assert {"table.tex", "forest.pdf", "page"} <= {path.name for path in desk.iterdir()}


def test_figures_of_coverage_on_the_page_of_validation():
    """They are those of the coverage page: 5 shots, 5 queries, accuracies of one method."""
    coverage = (ROOT / "studies/coverage/README.md").read_text(encoding="utf-8")
    row = r"^\| (\d+, \d+) \| 5, 5 \| (\d+) \| NCC \| 80\.78 \| \S+ \| (\S+) \| (\S+) \| (\S+) \|"
    rows = re.findall(row, coverage, flags=re.MULTILINE)
    page = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    assert len(rows) == 6
    for data, tasks, opened, closed, aware in rows:
        assert f"| {data} | {tasks} | {closed} % | {opened} % | {aware} % |" in page


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("material", reason="needs the extra `docs`")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert result.returncode == 0, result.stderr
    pages = {
        path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8")
        for path in tmp_path.rglob("*.html")
    }
    assert {page.stem for page in PAGES[1:]} <= {Path(name).stem for name in pages}
    for program, group in PROGRAMS.items():
        for name, command_ in group.commands.items():
            assert command_.hidden or f"{program} {name}" in pages["reference/commands.html"]
    assert "allow_unbound" in pages["reference/api.html"]
    assert "nearest_centroid" in pages["index.html"]
    for page, picture in (("architecture", "house.svg"), ("why", "four_intervals.svg")):
        assert f'src="{picture}"' in pages[f"{page}.html"]
        assert (tmp_path / picture).is_file()


@pytest.mark.slow
def test_the_picture_of_the_house_is_what_its_script_draws():
    draw = runpy.run_path(str(ROOT / "docs/draw_house.py"))["draw"]
    drawn = (ROOT / "docs/house.svg").read_text(encoding="utf-8")
    assert drawn == draw(), "draw it again: python docs/draw_house.py"


DOCS, FRONT = ROOT / "docs", ROOT / "README.md"
README, WHY, REPORTED = (
    path.read_text(encoding="utf-8") for path in (FRONT, DOCS / "why.md", DOCS / "reported.md")
)


def test_it_begins_with_the_three_intervals_of_its_own_example():
    """Text, picture and printed output are one method's, of one run."""
    shown = [block.content for block in blocks(FRONT) if block.language == "text"]
    mean, usual, images, classes = re.findall(r"[\d.]+", shown[1].splitlines()[1])
    line = f"**{mean} ± {usual} as papers print it, ± {images} for new images, ± {classes} for new"
    assert line in README
    (alternative,) = re.findall(r"!\[(.*)\]\(docs/four_intervals.svg\)", README)
    said = [f"{mean} ± {half}" for half in (usual, images, classes)]
    assert re.findall(r"[\d.]+ ± [\d.]+", alternative)[:3] == said
    assert f"![{alternative}](four_intervals.svg)" in WHY


@pytest.mark.slow
def test_its_commands_run_in_the_order_given(root, tmp_path):
    """From top to bottom in one folder; CI does the same in the environment that it makes."""
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    shutil.copytree(root / "examples", tmp_path / "examples")
    programs = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    printed = follow(FRONT, tmp_path, programs)
    assert sum(line.startswith("fslbench ") for line in printed) >= 6
    shown = [block.content for block in blocks(FRONT) if block.language == "text"]
    assert shown[1] in printed["python own_tasks.py"]
    made = {"my_method.parquet", "table.tex", "forest.pdf", "page"}
    assert made <= {path.name for path in tmp_path.iterdir()}


def test_the_front_page_is_short_and_its_two_commands_stand_where_ci_looks_for_them():
    assert len(README.splitlines()) <= 90
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert len(commands) == 2
    assert commands[0].endswith("score examples/my_results.parquet")
    assert commands[1].endswith("pytest -n auto --dist loadfile")


def test_numbers_of_tasks_in_the_readme(embedded):
    tasks = [s.n_tasks for s in embedded.task_sets if s.name.suite == "open"]
    assert f"too few images are left: {min(tasks)} to {max(tasks)} tasks" in README


def test_every_error_in_the_docs_exists(root):
    named = {*re.findall(r"\b[A-Z]\w+Error\b", (root / "docs/submissions.md").read_text("utf-8"))}
    there = {name: each for name, each in vars(errors).items() if isinstance(each, type)}
    assert named <= {*there}
    family = {name for name, each in there.items() if issubclass(each, errors.SubmissionError)}
    assert family - named == {"SubmissionError"}  # the family's head


def _anchors(page):
    """The headings of a page, as links name them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_links_lead_somewhere():
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")]
    pages += [*DOCS.glob("*.md"), *(ROOT / "studies").rglob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    notebook = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = ("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    texts[DOCS / "notebook.ipynb"] = "\n".join(cells)
    for page, text in texts.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        links = re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose)
        assert links or page.suffix == ".md"
        for link, anchor in links:
            if not link.startswith("http"):
                target = page.parent / link if link else page
                assert target.exists(), (page, link)
                if anchor and target.suffix == ".md":
                    assert anchor in _anchors(target), (page, link, anchor)


@pytest.mark.slow
def test_the_gallery_is_what_its_script_draws(root, tmp_path):
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    gallery = runpy.run_path(str(root / "docs/draw_gallery.py"))
    page = (root / "docs/figures.md").read_text(encoding="utf-8")
    names = {*gallery["commands"]()}
    assert names == {*re.findall(r"\]\(pictures/(\w+)\.png\)", page)}
    assert names | {"queries"} == {*KINDS}
    for name in names:
        kept = root / f"docs/pictures/{name}.png"
        drawn = gallery["draw"](name, tmp_path)
        if REGENERATE:
            shutil.copy(drawn, kept)
        assert kept.stat().st_size < 80_000
        assert_same_picture(drawn, kept)


def test_the_page_of_reported_results_shows_what_the_command_prints():
    before, mark, after = REPORTED.partition("<!-- reported -->\n```text\n")
    command = before.rpartition("```sh\n")[2].partition("\n```")[0]
    printed = CliRunner(env={"COLUMNS": "88"}).invoke(main, shlex.split(command)[1:]).stdout
    shown, end, rest = after.partition("```")
    if REGENERATE:
        (DOCS / "reported.md").write_text(before + mark + printed + end + rest, "utf-8")
    else:
        assert shown == printed


def test_the_page_of_reported_results_has_the_shares():
    rows = re.findall(r"\| (\d+) \| (\d+) \| (0\.\d\d) \| (0\.\d\d) \|", REPORTED)
    assert {(int(s), int(q)): (float(i), float(c)) for s, q, i, c in rows} == SHARES


def test_how_many_differences_survive_in_a_printed_table(root):
    table = root / "studies/reported/fewstab_random.csv"
    pairs = reported(table, ways=5, queries=15, tasks=3000).differences
    assert len(pairs) == 270
    tasks, images, classes = (
        sum(p.significant[kind] for p in pairs) for kind in ("tasks", "images", "classes")
    )
    said = f"{tasks} are significant for other tasks, {images} for new images, and {classes} for"
    assert f"{said} new classes" in " ".join(REPORTED.split())


REUSED, DISJOINT = "closed-5w10s7q", "open-5w10s7q"


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("draw_four_intervals")


def test_the_picture_is_what_its_script_draws(drawing):
    answers = drawing.answers()
    drawn = (DOCS / "four_intervals.svg").read_text(encoding="utf-8")
    assert drawn == drawing.draw(answers), "draw it again: python docs/draw_four_intervals.py"
    assert f"![{drawing.alternative(answers)}](four_intervals.svg)" in WHY
    rows = re.findall(r"\((?:the same )?(\d+) tasks\) \| (\d\S+ ± \S+) \|", WHY)
    assert rows == [(str(answer.tasks), str(answer)) for answer in answers]


def test_an_interval_beyond_the_axis_is_not_drawn(drawing, monkeypatch):
    monkeypatch.setattr(drawing, "LOW", 86)
    with pytest.raises(ValueError, match=r"91\.72 ± 6\.54 reaches beyond the axis from 86 to 100"):
        drawing.answers()


def test_how_many_comparisons_are_conclusive():
    report = fb.score(datasets="groceries", task_sets=[REUSED, DISJOINT])
    pairs = {
        name: [pair for pair in report.comparisons if pair.task_set == name]
        for name in (REUSED, DISJOINT)
    }
    assert [*map(len, pairs.values())] == [105, 105]

    def claimed(name, kind):
        of_pairs = enumerate(pair.intervals[kind].verdict for pair in pairs[name])
        return {position for position, verdict in of_pairs if verdict in "+-"}

    habit = {i for i, pair in enumerate(pairs[REUSED]) if pair.verdict_direct in "+-"}
    closed, images, classes = (claimed(REUSED, kind) for kind in ("closed", "images", "classes"))
    opened, aware = (len(claimed(DISJOINT, kind)) for kind in ("open", "class-aware"))
    for row, numbers in (
        ("two usual intervals", [len(habit)]),
        ("the usual interval of the difference", [len(closed)]),
        ("new photos", [len(images)]),
        ("new classes", [len(classes)]),
        ("for comparison", [opened, aware]),
    ):
        (cells,) = re.findall(rf"^\| {row}[^|]*\| ([^|]*) \|$", WHY, flags=re.MULTILINE)
        assert [*map(int, re.findall(r"\d+", cells))] == numbers
    text = " ".join(WHY.split())
    assert f"comparisons of 15 methods {opened} are significant" in text
    assert f"Of the {len(closed)} claims of the usual interval about half" in text
    assert abs(len(closed & images) / len(closed) - 0.5) < 0.05
    lost = f"Of the {len(habit)} claims by non-overlapping intervals {len(habit - images)} are not,"
    assert f"{lost} and {len(habit - classes)} are not significant for new classes" in text


def test_queries_with_another_photo_of_their_burst(embedded):
    group = embedded.images("groceries")["group"].to_numpy()
    tasks = embedded.task_set("groceries", REUSED)
    shown = zip(tasks.support, tasks.query, strict=True)
    share = np.mean([np.isin(group[query], group[support]) for support, query in shown])
    assert f"{100 * share:.0f} % of the queries" in " ".join(WHY.split())
