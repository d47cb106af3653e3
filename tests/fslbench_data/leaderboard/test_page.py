"""The page of a leaderboard: what it says, and that strangers' texts are but texts."""

import re
from html import unescape

import numpy as np
import pytest
from commands import invoke, printed
from elements import Elements
from results_repository import KEY, Repository, answers, random_counts

from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.page import MARKS, leaderboard_page, mark, suites_of
from fslbench_data.submission.merging import renamed

HOSTILE = "x</title></style><script>alert(1)</script><img src=x onerror=alert(1)>{{ title }} \" ' &"


@pytest.fixture
def ranking(repository, newer):
    """Three methods: one behind on every task, and one that answers the first tasks."""
    rng = np.random.default_rng(0)
    counts = {
        key: rng.integers(1, 5, newer.task_set_info(*key.split("/")).n_tasks)
        for key in (KEY, "cats/closed-2w1s2q", "dogs/open-2w1s2q")
    }
    cats = counts[KEY]
    noise = np.arange(len(cats)) % 2
    repository.add(answers(newer, counts, "A", transductive=True))
    repository.add(answers(newer, {KEY: cats - 1 * (cats > 1) * noise}, "B"))
    repository.add(answers(newer, {KEY: noise}, "worst"))
    repository.add(answers(newer, {KEY: cats[:6]}, "part", prefix=True))
    return leaderboard(repository.files, (newer,), title=f"T {HOSTILE}")


def test_it_opens_on_the_table(ranking):
    page = leaderboard_page(ranking)
    body = unescape(re.sub("<[^>]*>", "", page[page.index("<body>") :]))
    assert body.index("Accuracies") < body.index("A †")
    assert body.count("is among these with 95 % confidence") == 1
    assert 'class="sent"' in page


def test_its_table_has_the_board_s_numbers_and_marks(ranking):
    page = Elements(leaderboard_page(ranking))
    rows = {row[0]: row for row in page.rows if len(row) == 4 and row[0]}
    assert next(iter(rows)) == "method"
    del rows["method"]
    assert [*rows][:1] == ["A †"]
    (suite,) = (s for s in suites_of(ranking.boards[0]) if s.suite == "open")
    cats = suite.sets[0]
    for name, line in cats.by_method.items():
        shown = rows[f"{name} †" if line.entry.transductive else name]
        interval = line.accuracy
        assert shown[1].startswith(f"{interval.mean:.2f} ± {interval.halfwidth:.2f}")
        assert shown[1].endswith(mark(cats, line))
        assert shown[3] == line.entry.source[:8]
    assert mark(cats, cats.by_method["A"]) == "*"
    assert mark(cats, cats.by_method["worst"]) in ("", "°")
    assert mark(cats, cats.by_method["part"]) == "?"
    assert rows["B"][2] == "–"  # answers nothing of dogs
    said = " ".join(page.texts)
    used = {mark(each, row) for each in suite.sets for row in each.by_method.values()} - {""}
    for sign in used:
        assert f"{sign} {MARKS[sign]}" in said


@pytest.mark.slow
def test_every_row_says_how_its_numbers_are_made_again(example, tmp_path, root, monkeypatch):
    repository = Repository(tmp_path / "results")
    repository.add(example)
    where = ["leaderboard", "--results", str(repository.folder), "--task-set", "open-5w5s5q"]
    path = tmp_path / "page.html"
    printed(*where, "-o", path)
    text = path.read_text(encoding="utf-8")
    assert str(tmp_path) not in text  # it is published
    page = Elements(text)
    row = next(row for row in page.rows if row[0].startswith("pixels/Ridge"))
    number = row[1].rstrip("*~°?")
    commands = [cell for row in page.rows for cell in row if cell.startswith("fslbench score ")]
    assert len(commands) == 2
    monkeypatch.chdir(repository.folder)
    chosen = ["--dataset", "digits", "--task-set", "open-5w5s5q"]
    for command in commands:
        text = printed(*command.split()[1:], *chosen)
    assert number.split(" ± ")[0] in text


def test_strangers_texts_are_but_texts(ranking, example, tmp_path):
    repository = Repository(tmp_path / "hostile")
    name = HOSTILE[:150]
    repository.add(renamed(example, {"pixels/Ridge": name}))
    (repository.folder / "submissions/<script>alert(2)<").write_bytes(b"")
    command = ["leaderboard", "--results", str(repository.folder), "--dataset", "digits"]
    result = invoke(*command, "--format", "html")
    assert result.exit_code == 0
    for text in (result.stdout, leaderboard_page(ranking)):
        page = Elements(text)
        assert not {*page.tags} & {"script", "img", "iframe"}
        assert not any(attribute.startswith("on") for attribute in page.attributes)
        assert text.count("</style>") == text.count("</title>") == 1
        assert "script-src" not in text
        assert "default-src 'none'" in text
    page = Elements(result.stdout)
    assert any(cell == name for row in page.rows for cell in row)  # whole, and nothing filled in
    assert any("<script>alert(2)<" in cell for row in page.rows for cell in row)


def test_two_releases_are_told_apart(repository, newer, older):
    for release in (newer, older):
        repository.add(answers(release, {KEY: random_counts(release)}, f"of {release}"))
    text = leaderboard_page(leaderboard(repository.files, (newer, older)))
    for release in ("toy@2.0.0", "toy@1.0.0"):
        assert f"<h3>{release}, open: no image in two tasks</h3>" in text
        assert f"Submissions to {release}, and its reference methods." in text
