"""The page holds what is printed of the data, and heads have the reliance that they are given."""

from pathlib import Path

import numpy as np
import pytest

from studies.truth import __main__ as tables
from studies.truth import heads, trained


def test_the_page_is_what_is_printed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables.main()
    page = (root / "studies/truth/README.md").read_text(encoding="utf-8")
    for table in capsys.readouterr().out.strip().split("\n\n"):
        assert table in page


def test_how_many_populations_measures_order() -> None:
    """As docs/bias.md says it, and how many they reverse."""
    found = {
        words: (int(orders), int(reverses)) for words, *_, orders, reverses in tables.heads_rows()
    }
    assert found["accuracy lost, support to inter"] == (12, 0)
    assert found["accuracy lost, same to other"] == (18, 0)
    assert found["-wAcc on biased"] == (3, 3)
    assert found["excess on biased"] == (1, 14)


def test_heads_follow_style_as_much_as_they_are_told() -> None:
    """By hand: a query has the content of class 0 and the style of class 1's support."""
    content, style = np.eye(4)[[0, 1]], np.eye(4)[[2, 3]]
    one = heads.Codes(
        1,
        np.stack([content[[0, 0]], content[[1, 1]]])[None],
        np.stack([style[[0, 1]], style[[1, 0]]])[None],
        np.zeros((1, 2, 2, 4)),
    )
    assert one.correct(0.9, 0.0).tolist() == [[1, 1]]
    assert one.correct(1.1, 0.0).tolist() == [[0, 0]]


def test_directions_are_those_of_the_words() -> None:
    """Style lies in one direction of three, whatever the class; the rest is content."""
    rng, label = np.random.default_rng(0), np.repeat(np.arange(30), 10)
    has, of_class = rng.random(300) < 0.5, rng.normal(size=(30, 3))[label]
    of_class[:, 2] = 0
    x = of_class + np.outer(has, [0, 0, 5.0])
    basis = heads.directions(x, label, [["a"] if h else [] for h in has])
    np.testing.assert_allclose(abs(basis[:, 0]), [0, 0, 1], atol=1e-9)
    assert basis.shape == (3, 1)


def test_planted_backgrounds_have_their_dose() -> None:
    label = np.repeat(np.arange(80), 100)
    for dose in trained.DOSES:
        value = trained.planted(label, dose, np.random.default_rng(0))
        most = [np.bincount(value[label == c], minlength=8).max() / 100 for c in range(80)]
        assert np.mean(most) == pytest.approx(dose + (1 - dose) / 8, abs=0.08)
    shown = trained.before(np.zeros((8, 28, 28), np.uint8), np.arange(8))
    assert len({image.tobytes() for image in shown}) == 8
    assert shown.max() <= 128
