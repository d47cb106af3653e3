"""Golden outputs: what commands print and write, as text that is compared word by word.

Fractions may differ in their last digits, as processors do.

A transcript holds, for each command, its exit code, standard output, standard error and the files
that it wrote below ``out``.  ``FSLBENCH_REGENERATE=1`` writes transcripts instead of comparing.
"""

import base64
import difflib
import gzip
import hashlib
import json
import math
import os
import platform
import re
import shlex
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from golden_inputs import INPUTS
from msgspec import Struct, structs

import fslbench_data
from benchmark_spec.version import __version__

FOLDER = Path(__file__).resolve().parents[1] / "golden/commands"
REGENERATE = os.environ.get("FSLBENCH_REGENERATE") == "1"
LIBRARIES = ("numpy", "scipy", "duckdb", "pyarrow", "click", "rich", "altair", "vl-convert-python")

MOST = 12_000
"""Characters of a text that is kept whole; of longer ones the first lines and digests are."""
_HEAD, _LINES, _DIGESTS = 12, 100, 40
_FRACTION = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)(?![\w.])")
"""A fraction, in the last digits of which processors may differ."""
_NEAR, _NOTHING = 1e-8, 1e-12
"""By how much fractions may differ, in parts of themselves; what counts as 0."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def versions() -> dict[str, str]:
    python = {"python": ".".join(platform.python_version_tuple()[:2])}
    torch = {"torch": "installed" if find_spec("torch") else "not installed"}
    return python | {name: _version(name) for name in LIBRARIES} | torch


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def expanded(command: str) -> list[str]:
    """``a {b,c}`` is the two commands ``a b`` and ``a c``."""
    brace = re.search(r"\{([^{}]*)\}", command)
    if brace is None:
        return [command]
    before, after = command[: brace.start()], command[brace.end() :]
    return [one for part in brace[1].split(",") for one in expanded(before + part + after)]


def transcript(commands: list[str], folder: Path, root: Path) -> str:
    """Run commands in a folder that holds the inputs which they name."""
    return "".join(_ran(one, folder, root) for text in commands for one in expanded(text))


def _ran(command: str, folder: Path, root: Path) -> str:
    from builders.cli import main as build_main
    from fslbench_data.cli import main

    program, *arguments = shlex.split(command)
    for word in arguments:
        name = re.split("[:/]", word)[0]
        if name in INPUTS and not (folder / name).exists():
            INPUTS[name](folder / name)
    before = _files(folder)
    group = {"fslbench": main, "fslbench-build": build_main}[program]
    with patch("fslbench_data.render.console.LINE_SECONDS", math.inf):  # on a slow machine, too
        result = CliRunner().invoke(group, arguments, prog_name=program)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    parts = [f"$ {command}\nexit {result.exit_code}\n"]
    parts += [_section("stdout", result.stdout, folder, root)]
    parts += [_section("stderr", result.stderr, folder, root)]
    for name, stamp in _files(folder).items():
        if before.get(name) != stamp:
            parts.append(_section(name, written(folder / name), folder, root))
    return "".join(parts) + "\n"


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file()
    }


def written(path: Path) -> str:
    """What a file holds, as text: of Parquet schema and values, of figures what is said in them."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        about = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        about.pop("ARROW:schema", None)
        schema = [f"{field.name}: {field.type}" for field in table.schema]
        rows = [json.dumps(row, default=str) for row in table.to_pylist()]
        return "\n".join([*schema, json.dumps(about), *rows, ""])
    if path.suffix == ".svg":  # what each mark says of itself, and the texts
        text = path.read_text(encoding="utf-8")
        said = re.findall(r'aria-label="([^"]*)"|<text[^>]*>([^<]*)</text>', text)
        return "\n".join([*(label or words for label, words in said), ""])
    if path.suffix in (".pdf", ".png"):
        return "(a picture)\n"
    if path.suffix == ".html":
        return _of_page(path.read_text(encoding="utf-8"))
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n"


def _of_page(text: str) -> str:
    """A page without its scripts, and its data, a value a line."""
    data = re.findall('<script[^>]* id="content">(.*?)</script>', text, re.DOTALL)
    bare = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.S)
    held = [json.loads(gzip.decompress(base64.b64decode(part))) for part in data]
    parts = [json.dumps(part, indent=0, ensure_ascii=False) for part in held]
    return "\n".join([bare, *parts, ""])


def _section(title: str, text: str, folder: Path, root: Path) -> str:
    if not text:
        return ""
    text = normalised(text, folder, root)
    end = "" if text.endswith("\n") else "\n(no newline at the end)\n"
    return f"--- {title}\n{shortened(text)}{end}"


def normalised(text: str, folder: Path, root: Path) -> str:
    """The text without what truly varies: folders of this machine, and the package's version."""
    installed = Path(fslbench_data.__file__).resolve().parents[1]  # the same, or an environment
    for path, name in ((folder, "<folder>"), (installed, "<root>"), (root, "<root>")):
        text = text.replace(str(path), name)
    text = steady(text.replace(f"fslbench:{__version__}|", "fslbench:<version>|"))
    return re.sub(rf'(package_version\\*": \\*"){re.escape(__version__)}', r"\1<version>", text)


def steady(text: str) -> str:
    """The text with fractions of at most eleven significant digits; what is nearly 0 is 0."""

    def short(match: re.Match[str]) -> str:
        value = float(match[0])
        if len(match[0]) < 13 or not math.isfinite(value):
            return match[0]
        return f"{value:.11g}" if abs(value) > _NOTHING else "0.0"

    return _FRACTION.sub(short, text)


def shortened(text: str) -> str:
    """A long text as its first lines, and digests of a hundred lines each, or of a fortieth."""
    if len(text) <= MOST:
        return text
    lines = text.splitlines(keepends=True)
    head = [line if len(line) <= 300 else f"{line[:300]}…\n" for line in lines[:_HEAD]]
    step = max(_LINES, -(-len(lines) // _DIGESTS))
    parts = [
        f"… lines {i + 1} to {min(i + step, len(lines))}: {_digest(''.join(lines[i : i + step]))}\n"
        for i in range(0, len(lines), step)
    ]
    return "".join([*head, *parts])


def _digest(text: str) -> str:
    """The sha256 of a text's words and signs, and the weighted geometric mean of its fractions."""
    sizes = [abs(v) for v in _fractions(text) if _NOTHING < abs(v) < math.inf]
    logs = [(1.0 + i / len(sizes)) * math.log(size) for i, size in enumerate(sizes)]
    mean = math.exp(math.fsum(logs) / len(logs)) if logs else 0.0
    words = hashlib.sha256(_words(text).encode()).hexdigest()[:20]
    return f"sha256 {words}, {len(sizes)} fractions about {mean:.11e}"


def _fractions(text: str) -> list[float]:
    return [float(match[0]) for match in _FRACTION.finditer(text)]


def _words(text: str) -> str:
    """The text with only the signs of its fractions."""

    def sign(match: re.Match[str]) -> str:
        value = float(match[0])
        return "0" if abs(value) <= _NOTHING else "-#" if value < 0 else "#"

    return _FRACTION.sub(sign, text)


def alike(expected: str, text: str) -> bool:
    """Whether two texts are equal but for the last digits of fractions."""
    if expected == text:
        return True
    if _words(expected) != _words(text):
        return False
    pairs = zip(_fractions(expected), _fractions(text), strict=True)
    return all(math.isclose(a, b, rel_tol=_NEAR, abs_tol=_NOTHING) for a, b in pairs)


def check(name: str, text: str, needs: tuple[str, ...] = ()) -> None:
    """Compare with the committed transcript, or write it.

    With another version of the libraries that it `needs`, whose own words or digests are in the
    text, or where a digest stands for numbers, it cannot be compared.
    """
    path, text = FOLDER / f"{name}.txt", steady(text)
    expected = path.read_bytes().decode() if path.exists() else ""
    if REGENERATE:
        (FOLDER / "versions.json").write_text(json.dumps(versions(), indent=1) + "\n")
    if alike(expected, text):
        return
    if REGENERATE:
        path.write_text(keeping_alike(expected, text), encoding="utf-8", newline="")
        return
    now, then = versions(), json.loads((FOLDER / "versions.json").read_text())
    if now == then:
        pytest.fail(difference(expected, text), pytrace=False)
    if other := [library for library in needs if now[library] != then[library]]:
        pytest.skip(f"the text depends on the version of {', '.join(other)}")
    said = difference(rounded(expected), rounded(text))
    if said:
        pytest.fail(said, pytrace=False)


def keeping_alike(expected: str, text: str) -> str:
    """The text with the committed lines wherever they are alike: last digits make no difference."""
    then, now = (whole.splitlines(keepends=True) for whole in (expected, text))
    places = difflib.SequenceMatcher(None, *([*map(_words, of)] for of in (then, now)), False)
    for old, new, size in places.get_matching_blocks():
        for i in range(size):
            if alike(then[old + i], now[new + i]):
                now[new + i] = then[old + i]
    return "".join(now)


def rounded(text: str) -> str:
    """The text with fractions of six significant digits, and without digests of long texts."""
    text = re.sub(r"(?m)^… lines .*$", "…", text)

    def short(match: re.Match[str]) -> str:
        if not re.search(r"[.eE]", match[0]):
            return match[0]
        value = float(match[0])
        return f"{value:.6g}" if math.isfinite(value) else match[0]

    return _NUMBER.sub(short, text)


def difference(expected: str, text: str) -> str:
    """The first lines that differ; empty if none does."""
    then, now = expected.splitlines(), text.splitlines()
    if len(then) == len(now):
        now = [old if alike(old, new) else new for old, new in zip(then, now, strict=True)]
    lines = difflib.unified_diff(then, now, "committed", "now", lineterm="", n=2)
    return "\n".join(list(lines)[:80])


def plain(value: Any) -> Any:
    """A value of the Python interface as JSON can hold it, with the names of its types."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Struct):
        return {"": type(value).__name__} | plain(structs.asdict(value))
    if is_dataclass(value) and not isinstance(value, type):
        held = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"": type(value).__name__} | held
    if isinstance(value, np.ndarray):
        return {"": str(value.dtype), "shape": list(value.shape), "values": value.tolist()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else type(value).__name__
