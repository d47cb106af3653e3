"""Errors say what they say without commands to a terminal."""

import inspect
import pickle

from hypothesis import given
from hypothesis import strategies as st

from benchmark_spec import errors
from benchmark_spec.errors import FSLBenchError, printable

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, FSLBenchError) and kind is not errors.UnknownNameError
]
TEXTS = st.text(st.characters(exclude_categories=[]))


@given(st.sampled_from(KINDS), TEXTS, TEXTS, TEXTS, TEXTS)
def test_every_error_is_printable(
    kind: type[FSLBenchError], what: str, where: str, expected: str, fix: str
) -> None:
    error = kind(what, where=where, expected=expected, fix=fix)
    for text in (str(error), str(error.saying(fix=what)), error.what, error.where):
        assert all(c.isprintable() or c == "\n" for c in text)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_can_be_printed_stays() -> None:
    assert printable("81.2 ± 0.3 µ 数字 \n  where") == "81.2 ± 0.3 µ 数字 \n  where"
    assert printable("\x1b[31m\u202e\ud800\t") == r"\x1b[31m\u202e\ud800\t"
