"""Taggers that err: the tables of the page are what is printed, and are right."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from builders.release.verify import verify
from fslbench_data.release.release import load_release
from studies.taggers.erring import RATES, found, main


@pytest.fixture
def taggers() -> ModuleType:
    """What prints the tables."""
    return import_module("studies.taggers.__main__")


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
def test_every_table_of_words_is_made_at_its_rates(root: Path) -> None:
    """The truth and the images are all it takes: nothing else was put into the tables."""
    for study, dataset, truth in (
        ("taggers", "glyphs_sample", ("truth", "a0", "b0")),
        ("trained_methods", "glyphs", ("style",)),
    ):
        release = load_release(root / f"studies/{study}/release")
        paths = release.images(dataset).column("path").to_pylist()
        tables = {
            name: release.attributes(dataset, name).column("attributes").to_pylist()
            for name in (*truth, *(RATES.keys() & release.attribute_sets))
        }
        assert len(tables) == (13 if study == "taggers" else 5)
        for name, words in tables.items():
            true = tables[truth[0]]
            assert words == (true if name in truth else found(true, paths, *RATES[name]))


@pytest.mark.slow
def test_a_release_is_made_with_the_errors(tmp_path: Path) -> None:
    """Of images whose words a list gives: tasks are drawn with what the tagger finds."""
    rows = ["path,attributes"]
    for number in range(40):
        path = tmp_path / f"raw/tiny/c{number % 4}/{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), number, np.uint8)).save(path)
        rows.append(f"{path.parent.name}/{path.name},{('red', 'wide')[number % 8 // 4]}")
    (tmp_path / "raw/tiny/words.csv").write_text("\n".join([*rows, ""]))
    (tmp_path / "spec.toml").write_text(
        'name = "x"\nversion = "1.0.0"\ndescription = "X."\ntasks = { closed = 4 }\n[[dataset]]\n'
        'name = "tiny"\nsource = "image_folder"\ntask_sets = ["random_a40-2w1s1q"]\n'
        'attributes = { truth = "given", a40 = "given" }\n'
        '[dataset.options]\ntitle = "T"\nhomepage = "h"\nlicence = "CC0"\ncitation = "c"\n'
        'attributes = "words.csv"\n'
    )
    folder = str(tmp_path / "release")
    main([str(tmp_path / "spec.toml"), "--raw", str(tmp_path / "raw"), "-o", folder])
    assert verify(Path(folder)).problems == ()
    release = load_release(folder)
    words, paths = release.attributes("tiny", "truth"), release.images("tiny")["path"].to_pylist()
    found_ones = found(words["attributes"].to_pylist(), paths, *RATES["a40"])
    assert release.attributes("tiny", "a40")["attributes"].to_pylist() == found_ones


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
