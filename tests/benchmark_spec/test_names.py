"""Names, protocols, errors, and where they are read."""

import inspect
import json
import pickle
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

import benchmark_spec
from benchmark_spec import errors
from benchmark_spec.declared import MisfitError, declared, parsed_json
from benchmark_spec.errors import (
    FSLBenchError,
    MethodNameError,
    MissingPackageError,
    SpecError,
    UnknownNameError,
    printable,
)
from benchmark_spec.extras import install_line, require
from benchmark_spec.naming import check_dataset_name, check_method_name, one_line, slug
from benchmark_spec.protocol import Protocol, TaskSetName


def test_slugs():
    assert slug("dinov2/NCC") == "dinov2-NCC"
    assert slug("open_clip:ViT-B-16/openai.x é") == "open_clip-ViT-B-16-openai.x--"
    assert check_dataset_name("fashion_mnist") == "fashion_mnist"


FORMULAS = [
    before + sign for before in ("", "a;", "a; ", 'a;"', "a;b; '") for sign in "=+-@＝＋－＠"
]
"""What spreadsheets take for formulas, also those that part cells by semicolons."""

NO_NAMES = [
    (slug, SpecError, ".", ["..", "/", "-", ""]),
    (check_dataset_name, SpecError, ".", ["Fashion", "fashion-mnist", "", "../x", "1a", "all"]),
    (Protocol.parse, SpecError, ".", ["5w5s", "5w0s5q", "w5s5q", "5w5s5q ", "05w1s1q", ""]),
    (Protocol.parse, SpecError, ".", ["1w1s1q", "9" * 5000 + "w1s1q"]),
    (Protocol.parse, SpecError, "128 ways", ["128w1s1q"]),
    (Protocol.parse, SpecError, "32767 queries", ["100w1s350q"]),
    (TaskSetName.parse, SpecError, ".", ["open"]),
    (TaskSetName.parse, UnknownNameError, r"did you mean 'open'(.|\n)*closed", ["opne-5w5s5q"]),
    (check_method_name, MethodNameError, ".", ["", " a", "a ", "a\nb", "\x1b[31mred", "x" * 201]),
    (check_method_name, MethodNameError, ".", ["a\u202eb", "a\u2800", "\u3164", "a\ufe0f"]),
    (check_method_name, MethodNameError, ".", ["a" + "\u0301" * 9]),
    (check_method_name, MethodNameError, "spreadsheet", [f"{formula}1+1" for formula in FORMULAS]),
]


@pytest.mark.parametrize(
    ("check", "error", "message", "text"),
    [(*row, text) for *row, texts in NO_NAMES for text in texts],
)
def test_what_is_no_name(check, error, message, text):
    with pytest.raises(error, match=message):
        check(text)


@pytest.mark.parametrize(
    "name",
    ["a; b=1", "a;b", "a=b;c", "α-TIM", "__proto__", "dinov2/NCC", "Ünïcode [with] brackets"],
)
def test_names_that_a_method_can_have(name):
    assert check_method_name(name) == name
    assert check_method_name("x" * 200) == "x" * 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred\x07", "?[31mred?"),
        ("left\u202eright", "left?right"),
        ("\ud800", "?"),
        ("é 漢 ‡" + "a" * 295, "é 漢 ‡" + "a" * 295),
        ("a" * 301, "a" * 299 + "…"),
    ],
)
def test_one_line_of_anything(text, shown):
    assert one_line(text) == shown


def test_task_set_names():
    name = TaskSetName.parse("open-5w5s5q")
    assert (name.suite, name.protocol, str(name)) == ("open", Protocol(5, 5, 5), "open-5w5s5q")
    assert name.interval == "open"
    assert str(name.closed_twin) == "closed-5w5s5q"
    assert TaskSetName.parse("published-5w1s1q").interval == "open"
    assert TaskSetName.parse("closed-5w1s1q").interval == "closed"


KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, FSLBenchError) and kind is not errors.UnknownNameError
]
TEXTS = st.text(st.characters(exclude_categories=[]))


@given(st.sampled_from(KINDS), TEXTS, TEXTS, TEXTS, TEXTS)
def test_every_error_is_printable(kind, what, where, expected, fix):
    error = kind(what, where=where, expected=expected, fix=fix)
    for text in (str(error), str(error.with_advice(fix=what)), error.what, error.where):
        assert all(c.isprintable() or c == "\n" for c in text)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_can_be_printed_stays():
    assert printable("81.2 ± 0.3 µ 数字 \n  where") == "81.2 ± 0.3 µ 数字 \n  where"
    assert printable("\x1b[31m\u202e\ud800\t") == r"\x1b[31m\u202e\ud800\t"


METHODS = ("pixels/NCC", "pixels/LR", "pixels/RidgeRegression", "mobilenet_v2/NCC")
FOLDER = Path(benchmark_spec.__file__).resolve().parents[1]


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
def test_the_name_that_is_meant(name, names, meant):
    error = errors.UnknownNameError("method", name, names)
    assert error.what.partition("; did you mean ")[2] == (f"{meant!r}?" if meant else "")


def test_with_a_name_that_is_meant_few_are_listed():
    names = [f"method{number}" for number in range(20)]
    assert errors.UnknownNameError("method", "metod3", names).expected.endswith(" and 12 more")
    assert "more" not in errors.UnknownNameError("method", "other", names).expected
    assert (errors.many(1, "shot"), errors.many(1200, "task")) == ("1 shot", "1,200 tasks")


def test_a_missing_package_is_named_with_the_line_that_installs_it():
    with pytest.raises(MissingPackageError, match="'no_such'") as caught:
        require("no_such.part")
    assert caught.value.fix == install_line("builders")
    assert require("json").loads("1") == 1


@pytest.mark.slow
def test_what_needs_docstrings_says_so_where_python_has_none():
    """Altair reads its own while it is imported."""
    pytest.importorskip("altair", reason="needs the extra `report`")
    code = "from benchmark_spec.extras import require; require('altair', 'report')"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert "MissingPackageError: the package 'altair' cannot be imported" in done.stderr
    assert "fix: run Python without -OO" in done.stderr


@pytest.mark.parametrize(
    ("url", "more", "line"),
    [
        ("file:///a/clone%201", {"dir_info": {"editable": True}}, "'/a/clone 1[report]'"),
        ("file:///a/clone", {"dir_info": {}}, "'/a/clone[report]'"),
        ("file:///a/b.whl", {"archive_info": {}}, '"fslbench[report] @ file:///a/b.whl"'),
        (
            "https://a.b/c",
            {"vcs_info": {"vcs": "git", "commit_id": "0123abc"}},
            '"fslbench[report] @ git+https://a.b/c@0123abc"',
        ),
        ("", None, '"fslbench[report]"'),  # of an index
        ("", metadata.PackageNotFoundError, f"'{FOLDER}[report]'"),  # a clone, not installed
    ],
)
def test_the_line_installs_what_is_there(url, more, line, monkeypatch):
    class Installed:
        def __init__(self, name):
            if more is metadata.PackageNotFoundError:
                raise more(name)

        def read_text(self, name):
            assert name == "direct_url.json"
            return None if more is None else json.dumps({"url": url, **more})

    monkeypatch.setattr(metadata, "distribution", Installed)
    assert install_line("report").startswith(f"pip install {line}")


class Inner(Struct, forbid_unknown_fields=True):
    seeds: Annotated[int, Meta(ge=1, description="1 or more")] = 1
    kind: Literal["a", "b"] = "a"


class Outer(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description='name = "..."')]
    inner: Inner | None = None
    by_name: dict[str, dict[str, Inner]] = {}
    several: tuple[Inner, ...] = ()
    texts: tuple[str, ...] = ()
    more: dict[str, Any] = {}


HOSTILE = {
    "a name that looks like a place": '{"name": "x", "q - at `$.seed": 1}',
    "one that is there": '{"name": "x", "q - at `$.name": 1}',
    "a value that looks like a place": '{"name": "x", "inner": {"kind": "c - at `$.x`"}}',
    "a key that looks like one": '{"name": "x", "by_name": {"[0]": {"` - at `$": 3}}}',
    "wrong, then malformed": '{"name": 3, "more": {',
    "wrong, then nested": '{"name": 3, "more": ' + '{"a":' * 200_000,
    "twice, first nested": '{"name": "x", "inner": {"seeds": 0}, "inner": 3}',
    "twice, first a number": '{"name": "x", "several": 3, "several": [{"seeds": 0}]}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_texts_made_to_harm(text):
    with pytest.raises(ValueError, match=r"(?s)^.+$"):
        parsed_json(text, Outer)


def test_what_is_declared():
    """What may be left out may be nothing; the last of two counts, as in Python."""
    with pytest.raises(MisfitError, match=r"^inner is 3, not a table or nothing$"):
        declared({"name": "x", "inner": 3}, Outer)
    text = '{"name": 3, "name": "x", "inner": {"seeds": 0}, "inner": {"seeds": 2}}'
    assert parsed_json(text, Outer) == Outer("x", Inner(2))


def test_the_place_is_found_by_reading_each_part_once_more():
    """Tables that strangers fill are narrowed from outside in, not all read for every name."""
    tables = {f"{i}": {f"{j}": {} for j in range(100)} for i in range(300)}
    tables["299"]["99"] = {"seeds": 0}
    with pytest.raises(MisfitError, match=r"by_name.299.99.seeds is 0"):
        declared({"name": "x", "by_name": tables}, Outer)
    assert tables == {"299": {"99": {"seeds": 0}}}
