"""Errors say what they say without commands to a terminal."""

import inspect
import pickle

import pytest
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
    for text in (str(error), str(error.with_advice(fix=what)), error.what, error.where):
        assert all(c.isprintable() or c == "\n" for c in text)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_can_be_printed_stays() -> None:
    assert printable("81.2 ± 0.3 µ 数字 \n  where") == "81.2 ± 0.3 µ 数字 \n  where"
    assert printable("\x1b[31m\u202e\ud800\t") == r"\x1b[31m\u202e\ud800\t"


METHODS = ("pixels/NCC", "pixels/LR", "pixels/RidgeRegression", "mobilenet_v2/NCC")


@pytest.mark.parametrize(
    ("name", "names", "meant"),
    [
        ("pixels/Riddge", METHODS, "pixels/RidgeRegression"),
        ("pixels/Riddge", (*METHODS, "pixels/Ridge"), "pixels/Ridge"),
        ("pixel/lr", METHODS, "pixels/LR"),
        ("pixels/LF", METHODS, "pixels/LR"),
        ("mobilenet/NCC", METHODS, "mobilenet_v2/NCC"),
        ("shot", ("ways", "shots"), "shots"),
        ("pixels/Other", METHODS, ""),
        ("", METHODS, ""),
    ],
)
def test_the_name_that_is_meant(name: str, names: tuple[str, ...], meant: str) -> None:
    error = errors.UnknownNameError("method", name, names)
    assert error.what.partition("; did you mean ")[2] == (f"{meant!r}?" if meant else "")


def test_with_a_name_that_is_meant_few_are_listed() -> None:
    names = [f"method{number}" for number in range(20)]
    assert errors.UnknownNameError("method", "metod3", names).expected.endswith(" and 12 more")
    assert "more" not in errors.UnknownNameError("method", "other", names).expected


def test_one_of_a_thing_has_no_s() -> None:
    assert (errors.many(1, "shot"), errors.many(1200, "task")) == ("1 shot", "1,200 tasks")
