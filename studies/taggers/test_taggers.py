"""Taggers that err: the tables of the page are what is printed, and are right."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from builders.attributes.recipe import Recipe
from fslbench_data.release.release import Release, load_release


@pytest.fixture
def taggers() -> ModuleType:
    """What prints the tables."""
    return import_module("studies.taggers.__main__")


@pytest.fixture(scope="module")
def release(root: Path) -> Release:
    """The tasks."""
    return load_release(root / "studies/taggers/release")


@pytest.mark.slow
def test_what_is_printed_of_two_taggers_is_on_the_page(
    root: Path,
    taggers: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A fifth of their words is wrong; ``python -m studies.checks printed_pages`` has all."""
    page = (root / "studies/taggers/README.md").read_text(encoding="utf-8")
    monkeypatch.setattr(taggers, "PAIRS", {"20": taggers.PAIRS["20"]})
    taggers.main()
    printed = [table.splitlines() for table in capsys.readouterr().out.strip().split("\n\n")]
    tables = [table.splitlines() for table in page.split("\n\n") if table.startswith("|")]
    assert [len(lines) for lines in printed] == [2 + 2, 2 + 1, 2 + 1, 2 + 3]
    for lines, table in zip(printed, tables, strict=True):
        assert lines[:2] == table[:2]
        assert set(lines) <= set(table)


@pytest.mark.slow
def test_every_table_of_words_is_what_its_recipe_makes(release: Release) -> None:
    """The truth and the images are all it takes: nothing else was put into the tables."""
    truth = release.attributes("glyphs_sample", "truth").column("attributes").to_pylist()
    paths = release.images("glyphs_sample").column("path").to_pylist()
    words = sorted({word for of_image in truth for word in of_image})
    recipes = {
        table.name: Recipe.parse(table.provenance["recipe"])
        for table in release.manifest.tables
        if table.kind == "attributes"
    }
    assert len(recipes) == 13
    for name, recipe in recipes.items():
        found = release.attributes("glyphs_sample", name).column("attributes").to_pylist()
        assert found == (recipe.errors(truth, paths, words) if recipe.errors else truth)


def test_what_tasks_are_by_other_words(taggers: ModuleType) -> None:
    """By hand: two classes, red and wide, two support images and two queries of each."""
    tasks = SimpleNamespace(
        support=np.array([[[0, 1], [2, 3]]]),
        query=np.array([[4, 6, 5, 7]]),
        query_label=np.array([[0, 1, 0, 1]], np.int8),
    )
    own = [["red"], ["red"], ["wide"], ["wide"], ["wide"], ["wide"], ["red"], ["red"]]
    true = [["red"], [], ["wide"], ["big"], ["wide"], ["red", "wide"], ["red"], ["big"]]
    by_it, truth = (pa.table({"attributes": words}) for words in (own, true))
    words = np.array([["red", "wide"]], object)
    tagger = taggers.Tagger("it", by_it, tasks, words, None)
    assert tagger.support_fits(by_it) == [1]
    assert tagger.support_fits(truth) == [0.5]  # images 0 and 2
    assert tagger.queries_fit(by_it) == [1]
    assert tagger.queries_fit(truth) == [0.5]  # 4 and 6; 5 has red, 7 has neither


def test_losses_and_orders(taggers: ModuleType) -> None:
    """By hand: three methods on four tasks of two classes, five queries of each."""
    before = np.array([[5, 4]] * 4)
    after = {"x/a": [[5, 3]] * 4, "x/b": [[2, 4]] * 4, "y/a": [[3, 3], [1, 5]] * 2}
    answers = SimpleNamespace(
        by_method={m: {"random": before, "biased": np.array(c)} for m, c in after.items()},
        queries=5,
        kind="closed",
    )
    tagger = taggers.Tagger("it", None, None, None, answers)
    np.testing.assert_allclose(tagger.worst.mean(axis=1), [0.6, 0.4, 0.4])
    np.testing.assert_allclose(tagger.lost.mean(axis=1), [0.2, 0.4, 0.4])
    assert taggers.signs(tagger) == [1, 0, 0]  # y/a: 0.4 + 0.2 or - 0.2, four times
    np.testing.assert_allclose(taggers.heads(tagger).mean(axis=1), [0.1, -0.1, 0])
