"""What the page holds is what the comparisons say, for partial answers and stopped runs too."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape, unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import recorded

import fslbench_data as fb
from analysis_sql.comparison.verdicts import Comparison
from benchmark_spec.errors import OutputError, SpecError, SubmissionError, UnknownNameError
from fslbench_data.release.release import Release
from fslbench_data.render.figures.rows import conclusive, ladder, scatter, worst
from fslbench_data.render.interval_text import CLAIMS
from fslbench_data.render.page.make import MOST_CHOSEN, html, make_page, page_content
from fslbench_data.render.summary_text import summary_paper
from fslbench_data.scoring.bias import bias_on
from fslbench_data.scoring.score import report_on
from fslbench_data.scoring.selection import Selected, Selection, select
from fslbench_data.scoring.summary import summarize
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder


def _nearest(support: Any, query: Any, rng: Any) -> Any:
    return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)


@pytest.fixture(scope="module")
def selected(embedded: Release) -> Selected:
    """A whole method, one that answered 7 tasks, one with all answers right, and a stopped run."""
    rng = np.random.default_rng(0)
    whole, part, perfect = (Recorder(name) for name in ("whole", "part", "perfect"))
    for name, number in (("open-5w1s1q", 176), ("closed-5w5s5q", 600)):
        info = embedded.task_set_info("digits", name)
        unit = info.protocol.n_query
        whole.add_counts(info, rng.integers(0, unit + 1, number))
        part.add_counts(info, rng.integers(0, unit + 1, 7))
        perfect.add_counts(info, np.full(number, unit))
    stopped = fb.evaluate(
        _nearest,
        embedded,
        name="stopped",
        features="pixels",
        datasets="digits",
        task_sets="open-5w1s1q",
        stop_when_conclusive=merge([whole.submission()]),
    )
    parts = [whole.submission(), part.submission(), perfect.submission(), stopped]
    return select(merge(parts), embedded)


def test_pairs_are_the_comparisons(embedded: Release, selected: Selected) -> None:
    steps: list[str] = []
    content = page_content(selected, progress=steps.append)
    assert "99 %, digits/closed-5w5s5q" in steps
    assert [(each["task_set"], each["kinds"], each["carried"]) for each in content["sets"]] == [
        ("open-5w1s1q", ["open", "class-aware"], "open"),
        ("closed-5w5s5q", ["images", "classes", "closed"], "closed"),
    ]
    assert [content["methods"][i] for i in content["chosen"]] == [
        "whole", "part", "perfect", "stopped", "pixels/NCC", "pixels/MatchingNet", "pixels/LR",
    ]  # fmt: skip
    for level in (0.9, 0.95, 0.99):
        report = report_on(selected, level)
        every_pair = [each.only(each.methods) for each in report.sets]
        for each, shown in zip(every_pair, content["sets"], strict=True):
            names = [content["methods"][shown["members"][i]] for i in shown["chosen"]]
            said = {(c.method, c.versus): c for c in each.comparisons}
            assert len(said) == len(names) * (len(names) - 1) // 2 > 10
            k = 0
            for i, method in enumerate(names):
                for versus in names[i + 1 :]:
                    _check(shown, k, str(level), said[method, versus])
                    k += 1


def _check(shown: dict[str, Any], k: int, level: str, c: Comparison) -> None:
    at = shown["at"][level]
    claims = {claim: signs[k].strip() for claim, signs in at["claims"].items()}
    assert shown["pair_tasks"][k] == c.difference.tasks
    assert shown["diff"][k] == c.difference.mean
    assert shown["carried"] == c.interval_kind
    assert {*c.intervals} <= {*shown["kinds"]} == {*at["pairs"]}
    for kind in shown["kinds"]:
        pair = c.intervals.get(kind)
        assert at["pairs"][kind][k] == (pair and pair.difference.halfwidth)
        assert claims[CLAIMS[kind]] == (pair.verdict if pair else "")
    lead = c.intervals.get(shown["shown"][0])
    assert claims["separate intervals"] == (lead.verdict_direct if lead else "")
    if shown["carried"] == "open":
        assert claims["usual intervals"] == (c.verdict_closed or "")
    assert at["reason"].get(str(k), "") == c.reason


def test_the_answer_is_the_terminal_s(embedded: Release, selected: Selected) -> None:
    shown = html(page_content(selected))
    for level in (0.9, 0.95, 0.99):
        (table,), _, sentences = summary_paper(summarize(report_on(selected, level)))
        hidden = "" if level == 0.95 else " hidden"
        _, _, behind = shown.partition(f'<div class="answer" data-level="{level}"{hidden}>')
        of_level = behind.partition("</table>")[0] + behind.partition("</table>")[2][:3000]
        for sentence in sentences:
            assert f'<p class="said">{escape(sentence)}</p>' in of_level
        assert len(sentences) == 4  # three, and how many more
        for note in table.notes:
            assert f'<p class="note">{escape(note)}</p>' in of_level
        text = behind.partition("</table>")[0].replace("<wbr>", "").replace("\xa0", " ")
        body = re.findall("<tr>(.*?)</tr>", text)
        cells = [[unescape(text) for text in re.findall(">([^<>]*)</t[hd]>", row)] for row in body]
        headings = [[name for name, _ in table.groups], [column.name for column in table.columns]]
        assert cells == [*headings, *map(table.texts, table.rows)]


def test_verdicts_of_a_single_method_have_colours(embedded: Release) -> None:
    info = embedded.task_set_info("digits", "open-5w5s5q")
    own = recorded(info, np.full(info.n_tasks, 25), "a&b")
    shown = html(page_content(select(own, embedded)))
    assert '<p class="said">a&amp;b against 3 methods, corrected for 3 comparisons' in shown
    assert '<td class="better">better</td>' in shown


def test_accuracies_and_ties_are_the_reports(embedded: Release, selected: Selected) -> None:
    content = page_content(replace(selected, selection=Selection(level=0.9)))
    assert content["levels"] == [0.9, 0.95, 0.99]
    report = report_on(selected, 0.9)
    for each, shown in zip(report.sets, content["sets"], strict=True):
        assert [content["methods"][i] for i in shown["members"]] == list(each.methods)
        assert shown["mean"] == [s.accuracy.mean for s in each.scores]
        assert shown["shown"] == list(each.shown_kinds)
        assert {*shown["kinds"]} == {*each.kinds}
        assert shown["kinds"][: len(shown["shown"])] == shown["shown"]
        at = shown["at"]["0.9"]
        for kind in each.kinds:
            assert at["half"][kind] == [s.intervals[kind].halfwidth for s in each.scores]
        assert each.ties is not None
        tied = {kind: [each.methods[i] for i in some] for kind, some in at["tied"].items()}
        assert tied == {kind: list(names) for kind, names in each.ties.tied.items()}
        for i, row in zip(shown["chosen"], shown["counts"], strict=True):
            assert row == each.counts.correct[i, : each.counts.tasks[i]].tolist()
        assert [each.methods[i] for i in at["contest"]] == list(each.ties.methods)
        names = [each.methods[i] for i in shown["chosen"]]
        for k, pair in enumerate(combinations(names, 2)):
            assert f"Pearson's r = {shown['r'][k]}." in scatter(each, *pair).caption
    assert "level:0.9|" in content["signature"]["0.9"]
    for each, shown in zip(report_on(selected, 0.99).sets, content["sets"], strict=True):
        for kind, names in each.ties.tied.items() if each.ties else ():
            assert [each.methods[i] for i in shown["at"]["0.99"]["tied"][kind]] == list(names)


def test_conclusive_comparisons_are_the_figure_s(selected: Selected) -> None:
    content = page_content(selected)
    assert [*content["conclusive"]] == ["digits open", "digits images"]
    for level in (0.9, 0.95, 0.99):
        for each in report_on(selected, level).sets:
            shown = content["conclusive"][f"digits {each.shown_kinds[0]}"][str(level)]
            figure = conclusive([each])
            assert len(figure.rows) > 1
            assert (shown["rows"], shown["caption"]) == ([*figure.rows], figure.caption)


def test_the_submission_comes_first_and_the_best_of_too_many(embedded: Release) -> None:
    info = embedded.task_set_info("digits", "open-5w5s5q")
    alternating = np.arange(info.n_tasks) % 2
    many = [recorded(info, i % 25 + alternating, f"m{i:02d}") for i in range(60)]
    selected = select(merge(many), embedded)
    content = page_content(selected)
    assert content["opens"]["method"] in {f"m{i}" for i in (24, 49)}  # of the highest mean
    assert content["opens"]["sets"] == ["digits/open-5w5s5q"]
    chosen = [content["methods"][i] for i in content["chosen"]]
    assert len(chosen) == MOST_CHOSEN
    assert all(name.startswith("m") for name in chosen)
    means = {name: int(name[1:]) % 25 for name in (f"m{i:02d}" for i in range(60))}
    left = set(means) - set(chosen)
    assert max(means[name] for name in left) <= min(means[name] for name in chosen)
    assert chosen == sorted(chosen)
    assert len(content["sets"][0]["members"]) == 63


def test_what_is_refused(embedded: Release, example: Submission, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'pixels/NCC'"):
        make_page(
            (),
            embedded,
            tmp_path,
            Selection.of(datasets=["digits"], task_sets="open-5w1s1q", methods=["pixels/NCX"]),
        )
    with pytest.raises(SubmissionError, match="pixels/NCC: no results on emoji"):
        make_page(
            (),
            embedded,
            tmp_path,
            Selection.of(datasets=["emoji"], task_sets="open-5w1s1q", methods=["pixels/NCC"]),
        )
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be a folder"):
        make_page((), embedded, tmp_path / "file", Selection.of(datasets=["digits"]))
    with pytest.raises(SpecError, match="51 methods are chosen"):
        make_page(
            (), embedded, tmp_path / "new", Selection.of(methods=[f"m{i}" for i in range(51)])
        )
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_only_task_sets_with_chosen_methods(embedded: Release) -> None:
    content = page_content(select(None, embedded, Selection.of(methods="pixels/NCC")))
    assert {each["dataset"] for each in content["sets"]} == {
        "digits",
        "fashion_mnist",
        "glyphs_sample",
    }
    both = ["pixels/NCC", "mobilenet_v2/NCC"]
    content = page_content(select(None, embedded, Selection.of(datasets="emoji", methods=both)))
    assert [content["methods"][i] for i in content["chosen"]] == ["mobilenet_v2/NCC"]
    assert not any(name.startswith("pixels") for name in content["methods"])


@pytest.mark.slow
def test_ladders_at_every_level_are_the_bias_report_s(embedded: Release) -> None:
    chosen = Selection.of(datasets="openclipart", task_sets="ladder_titles-5w5s5q")
    by_level = {
        level: bias_on(select(None, embedded, replace(chosen, level=level), by_class=True))
        for level in (0.9, 0.95, 0.99)
    }
    selected = select(None, embedded, chosen)
    (shown,) = page_content(selected, ladders=by_level[0.95].ladders)["ladders"]
    assert (shown["dataset"], shown["task_set"]) == ("openclipart", "ladder_titles-5w5s5q")
    for level, report in by_level.items():
        (each,) = report.ladders
        for draw in (ladder, worst):
            figure, held = draw(each, level), shown[draw.__name__][str(level)]
            assert len(figure.rows) > 4
            assert (held["rows"], held["caption"]) == ([*figure.rows], figure.caption)
        assert f"{100 * level:g} % intervals" in shown["ladder"][str(level)]["caption"]


def test_words_are_the_glossary_s(root: Path, selected: Selected) -> None:
    """The page explains words as docs/glossary.md does: it has no meanings of its own."""
    shown = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", html(page_content(selected)))
    assert len({term for term, _ in shown}) == 13
    glossary = (root / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\*\*.*?) \| (.*) \|$", glossary, re.MULTILINE)
    plain = {_plain(term): _plain(meaning) for term, meaning in rows}
    assert {unescape(t): unescape(m) for t, m in shown}.items() <= plain.items()


def _plain(markdown: str) -> str:
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", markdown).replace("*", "").replace("`", "")
