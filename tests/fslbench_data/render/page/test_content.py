"""What the page holds is what the comparisons say, for partial answers and stopped runs too."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import recorded

import fslbench_data as fb
from analysis_sql.comparison.verdicts import Comparison
from benchmark_spec.errors import OutputError, SpecError
from fslbench_data.release.release import Release
from fslbench_data.render.interval_text import CLAIMS
from fslbench_data.render.page.make import MOST_CHOSEN, html, make_page, page_content
from fslbench_data.scoring.score import report_on
from fslbench_data.scoring.selection import Selected, Selection, select
from fslbench_data.submission.merging import merge
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
    content = page_content(selected)
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
    assert max(means[name] for name in {*means} - {*chosen}) <= min(means[n] for n in chosen)
    assert chosen == sorted(chosen)
    assert len(content["sets"][0]["members"]) == 63


def test_what_is_refused(embedded: Release, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be a folder"):
        make_page((), embedded, tmp_path / "file", Selection.of(datasets=["digits"]))
    many = Selection.of(methods=[f"m{i}" for i in range(51)])
    with pytest.raises(SpecError, match="51 methods are chosen"):
        make_page((), embedded, tmp_path / "new", many)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_only_task_sets_with_chosen_methods(embedded: Release) -> None:
    names = ["pixels/NCC", "mobilenet_v2/NCC"]
    content = page_content(select(None, embedded, Selection.of(datasets="emoji", methods=names)))
    assert [content["methods"][i] for i in content["chosen"]] == ["mobilenet_v2/NCC"]
    assert not any(name.startswith("pixels") for name in content["methods"])


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
