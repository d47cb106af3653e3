"""Manifests that are almost right."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from functools import cache
from typing import Any

from benchmark_spec.manifest import Manifest
from fslbench_data.release.folder import embedded_folder
from fuzzing.choices import Choices

_VALUES: list[Any] = [
    None,
    True,
    "",
    "x",
    "../x",
    "/etc/passwd",
    "\x1b[31m",
    "\ud800",
    "\u202e",
    "a\nb",
    "x" * 300,
    "1.0.0",
    "2.0",
    "9" * 30 + "w1s1q",
    "open-5w1s1q",
    "open-" + "9" * 5000 + "w1s1q",
    0,
    -1,
    1.5,
    10**40,
    10**4000,
    [],
    {},
    [[]],
    {"a": {"b": [1, {"c": 2}]}},
]


@cache
def small() -> str:
    """A manifest with a table of each kind, made of the embedded release's."""
    raw = json.loads((embedded_folder() / "release.json").read_bytes())
    kinds: dict[str, Any] = {}
    for table in raw["tables"]:
        kinds.setdefault(table["kind"], table)
    raw["tables"] = list(kinds.values())
    described = {table["dataset"] for table in raw["tables"]}
    raw["datasets"] = [each for each in raw["datasets"] if each["name"] in described]
    _sign(raw)
    text = json.dumps(raw)
    Manifest.from_json(text, "the seed")
    return text


def _sign(raw: dict[str, Any]) -> None:
    """Write the digest that the other fields give, if they give one."""
    keys = ("path", "kind", "dataset", "name", "digest")
    try:
        content = [
            raw["spec_version"],
            raw["name"],
            raw["version"],
            sorted([table[key] for key in keys] for table in raw["tables"]),
        ]
        raw["digest"] = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    except (KeyError, TypeError, AttributeError, ValueError):
        return


def make(choices: Choices) -> bytes:
    """The text of a manifest, as bytes."""
    kind = choices.below(4)
    if kind == 0:
        return choices.rest()
    if kind == 1:
        return small().encode().replace(b'"tables"', choices.rest(), 1)
    if kind == 2:
        depth = choices.below(60_000)
        mark = choices.pick([b"[", b'{"a":', b"[{", b'"'])
        return (
            small().encode().replace(b'"provenance": {', b'"provenance": {"x":' + mark * depth, 1)
        )
    raw = json.loads(small())
    for _ in range(1 + choices.below(4)):
        _edit(raw, choices)
    if choices.below(4):
        _sign(raw)
    text = json.dumps(raw, ensure_ascii=bool(choices.below(2)))
    return text.encode("utf-8", "surrogatepass")


def _edit(raw: dict[str, Any], choices: Choices) -> None:
    """Change, drop, double or swap something somewhere."""
    place: Any = raw
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = choices.pick(keys)
        if isinstance(place[key], dict | list) and place[key] and choices.below(4):
            place = place[key]
            continue
        break
    kind = choices.below(6)
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, list):
        place.append(deepcopy(place[key]))
    elif kind == 2:
        place[key] = choices.text()
    elif kind == 3:
        place[key] = choices.number()
    elif kind == 4 and isinstance(place[key], str):
        at = choices.below(len(place[key]) + 1)
        place[key] = place[key][:at] + choices.text() + place[key][at + choices.below(4) :]
    else:
        place[key] = deepcopy(choices.pick(_VALUES))
