"""Which error each file that is refused ends in, about which place, and in which words."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import golden_refusals
import pytest
from golden_commands import REGENERATE

from benchmark_spec.errors import FSLBenchError
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

GOLDEN = Path(__file__).parent / "golden"
Found = dict[str, list[Any] | None]
FROZEN = {
    name: json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("refusals", "refusal_words")
}
KINDS = ("specification", "training", "board", "manifest")
_ROWS = re.compile(r"(?:data rows?|task_id) (-?\d+)((?:, -?\d+)*)(?: and (\d+) more)?")


_OF_ARROW = re.compile(r"(cannot be read as \w+|count can be|is damaged): .*", re.DOTALL)


def _refusal(read, folder):
    """An error's class, where, first row or task and the number of further ones; and its words.

    What Arrow says of a file is left out, since its versions say it in other words.
    """
    try:
        read()
    except FSLBenchError as error:
        found = _ROWS.search(error.what) or _ROWS.search(error.where)
        rows = (int(found[1]), found[2].count(",") + int(found[3] or 0)) if found else (None, 0)
        where, what = (text.replace(f"{folder}/", "") for text in (error.where, error.what))
        words = [_OF_ARROW.sub(r"\1: …", what), error.expected, error.fix]
        return [type(error).__name__, where, *rows], words
    return None, None


def _check(kind, found, of="refusals"):
    if REGENERATE:
        FROZEN[of][kind] = {**FROZEN[of].get(kind, {}), **found}
        text = json.dumps(FROZEN[of], indent=1, ensure_ascii=False) + "\n"
        (GOLDEN / f"{of}.json").write_text(text, encoding="utf-8")
    assert found == {name: FROZEN[of][kind][name] for name in found}


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_declare(kind, tmp_path):
    files, read = golden_refusals.readers(tmp_path)[kind]
    found, words = Found(), Found()
    for name, (text, named) in files.items():
        found[name], words[name] = _refusal(partial(read, text), tmp_path)
        assert found[name] is not None, name
        assert named in f"{words[name]} {found[name]}", (name, words[name])
    _check(kind, found)
    _check(kind, words, "refusal_words")


SUBMISSIONS = {
    f"rows {ending}": {
        name: (f".{ending}", partial(golden_refusals.write_rows, name))
        for name in golden_refusals.ROWS
        if ending in golden_refusals.ENDINGS.get(name, golden_refusals.ALL)
    }
    for ending in golden_refusals.ALL
} | {
    "metadata": {
        name: (".parquet", partial(golden_refusals.write_metadata, name))
        for name in golden_refusals.METADATA
    },
    "declarations": {name: (".parquet", make) for name, make in golden_refusals.SPECIAL.items()},
    "texts": {
        name: (Path(file).suffix, partial(Path.write_bytes, data=content))
        for name, (file, content) in golden_refusals.TEXTS.items()
    },
}


PARTS = {f"rows {ending}": 8 for ending in golden_refusals.ALL}
"""Tests that the files of a kind are divided among, to keep each below two seconds."""
SLOW = ("rows csv", "rows jsonl")
"""The same rows as in Parquet."""


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
@pytest.mark.parametrize(
    ("kind", "part"),
    [
        pytest.param(kind, part, marks=[pytest.mark.slow] * (kind in SLOW))
        for kind in SUBMISSIONS
        for part in range(PARTS.get(kind, 1))
    ],
)
def test_submissions(kind, part, tmp_path, embedded, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, words = Found(), Found()
    for name in [*SUBMISSIONS[kind]][part :: PARTS.get(kind, 1)]:
        ending, make = SUBMISSIONS[kind][name]
        path = tmp_path / f"{len(found)}/x{ending}"
        path.parent.mkdir()
        make(path)
        found[name], words[name] = _refusal(
            lambda path=path: validate(Submission.read(path), embedded), path.parent
        )
    _check(kind, found)
    if kind != "rows jsonl":  # whose words are those of Parquet
        _check(kind, words, "refusal_words")
