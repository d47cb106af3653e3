"""One printable line of anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_spec.naming import one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred\x07", "?[31mred?"),
        ("left\u202eright", "left?right"),
        ("\ud800", "?"),
        ("é 漢 ‡", "é 漢 ‡"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_long_texts_are_cut() -> None:
    assert one_line("a" * 300) == "a" * 300
    assert one_line("a" * 301) == "a" * 299 + "…"


@given(st.text(), st.integers(2, 20))
def test_it_is_always_one_printable_line(text: str, most: int) -> None:
    shown = one_line(text, most)
    assert len(shown) <= most
    assert shown.isprintable()
