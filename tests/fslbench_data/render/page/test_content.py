"""What the page shows first, how much of it, and its words; its numbers are in tests/golden."""

import re
from html import unescape

import numpy as np
import pytest
from recorded import recorded

from benchmark_spec.errors import OutputError, SpecError
from fslbench_data.render.page.make import MOST_CHOSEN, html, page_content, page_of
from fslbench_data.scoring.selection import Selection, select
from fslbench_data.submission.merging import merge


def test_the_submission_comes_first_and_the_best_of_too_many(embedded):
    info = embedded.task_set_info("digits", "open-5w5s5q")
    alternating = np.arange(info.n_tasks) % 2
    many = [recorded(info, i % 25 + alternating, f"m{i:02d}") for i in range(60)]
    content = page_content(select(merge(many), embedded))
    assert content["opens"]["method"] in {f"m{i}" for i in (24, 49)}  # of the highest mean
    assert content["opens"]["sets"] == ["digits/open-5w5s5q"]
    chosen = [content["methods"][i] for i in content["chosen"]]
    assert len(chosen) == MOST_CHOSEN
    assert all(name.startswith("m") for name in chosen)
    means = {name: int(name[1:]) % 25 for name in (f"m{i:02d}" for i in range(60))}
    assert max(means[name] for name in {*means} - {*chosen}) <= min(means[n] for n in chosen)
    assert chosen == sorted(chosen)
    assert len(content["sets"][0]["members"]) == 63


def test_what_is_refused(embedded, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be a folder"):
        page_of((), embedded, Selection.of(datasets=["digits"]), tmp_path / "file")
    many = Selection.of(methods=[f"m{i}" for i in range(51)])
    with pytest.raises(SpecError, match="51 methods are chosen"):
        page_of((), embedded, many, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_only_task_sets_with_chosen_methods(embedded):
    names = ["pixels/NCC", "mobilenet_v2/NCC"]
    content = page_content(select(None, embedded, Selection.of(datasets="emoji", methods=names)))
    assert [content["methods"][i] for i in content["chosen"]] == ["mobilenet_v2/NCC"]
    assert not any(name.startswith("pixels") for name in content["methods"])


def test_words_are_the_glossary_s(root, embedded, example):
    """The page explains words as docs/glossary.md does: it has no meanings of its own."""
    content = page_content(select(example, embedded))
    shown = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", html(content))
    assert len({term for term, _ in shown}) == 13
    glossary = (root / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\*\*.*?) \| (.*) \|$", glossary, re.MULTILINE)
    plain = {_plain(term): _plain(meaning) for term, meaning in rows}
    assert {unescape(t): unescape(m) for t, m in shown}.items() <= plain.items()


def _plain(markdown):
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", markdown).replace("*", "").replace("`", "")
