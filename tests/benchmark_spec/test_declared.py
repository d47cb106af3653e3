"""Reading what files declare: where msgspec's refusals point to, whoever wrote the file."""

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from benchmark_spec.declared import MisfitError, declared, parsed_json


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
def test_texts_made_to_harm(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)^.+$"):
        parsed_json(text, Outer)


def test_what_may_be_left_out_may_be_nothing() -> None:
    with pytest.raises(MisfitError, match=r"^inner is 3, not a table or nothing$"):
        declared({"name": "x", "inner": 3}, Outer)


def test_the_last_of_two_counts_as_in_python() -> None:
    text = '{"name": 3, "name": "x", "inner": {"seeds": 0}, "inner": {"seeds": 2}}'
    assert parsed_json(text, Outer) == Outer("x", Inner(2))


def test_the_place_is_found_by_reading_each_part_once_more() -> None:
    """Tables that strangers fill are narrowed from outside in, not all read for every name."""
    tables = {f"{i}": {f"{j}": {} for j in range(100)} for i in range(300)}
    tables["299"]["99"] = {"seeds": 0}
    with pytest.raises(MisfitError, match=r"by_name.299.99.seeds is 0"):
        declared({"name": "x", "by_name": tables}, Outer)
    assert tables == {"299": {"99": {"seeds": 0}}}
