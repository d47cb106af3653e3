"""Which error each file that is refused ends in, and about which place: whatever the words are."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import golden_declared
import golden_refusals
import pytest
from golden_commands import REGENERATE

from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

GOLDEN = Path(__file__).parent / "golden/refusals.json"
FROZEN: dict[str, dict[str, list[object] | None]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
KINDS = ("specification", "training", "board", "manifest")
_ROWS = re.compile(r"(?:data rows?|task_id) (-?\d+)((?:, -?\d+)*)(?: and (\d+) more)?")


def _refusal(read: Callable[[], object], folder: Path) -> tuple[list[object] | None, str]:
    """An error's class, where, first row or task and the number of further ones; and its words."""
    try:
        read()
    except FSLBenchError as error:
        found = _ROWS.search(error.what) or _ROWS.search(error.where)
        rows = (int(found[1]), found[2].count(",") + int(found[3] or 0)) if found else (None, 0)
        where = error.where.replace(f"{folder}/", "")
        return [type(error).__name__, where, *rows], f"{error.what} {error.where}"
    return None, ""


def _check(kind: str, found: dict[str, list[object] | None]) -> None:
    if REGENERATE:
        FROZEN[kind] = {**FROZEN.get(kind, {}), **found}
        GOLDEN.write_text(json.dumps(FROZEN, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == {name: FROZEN[kind][name] for name in found}


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_declare(kind: str, tmp_path: Path) -> None:
    files, read = golden_declared.readers(tmp_path)[kind]
    found = {}
    for name, (text, named) in files.items():
        found[name], words = _refusal(partial(read, text), tmp_path)
        assert found[name] is not None, name
        assert named in words, (name, words)
    _check(kind, found)


SUBMISSIONS: dict[str, dict[str, tuple[str, Callable[[Path], object]]]] = {
    "rows": {
        name: (f".{endings[0]}", partial(golden_refusals.write_rows, name, endings[0]))
        for name, (_, _, endings) in golden_refusals.ROWS.items()
    },
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


def _validate(path: Path, release: Release) -> None:
    validate(Submission.read(path), release)


PARTS = {"rows": 8}
"""Tests that the files of a kind are divided among, to keep each below two seconds."""


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
@pytest.mark.parametrize(
    ("kind", "part"), [(k, part) for k in SUBMISSIONS for part in range(PARTS.get(k, 1))]
)
def test_submissions(
    kind: str, part: int, tmp_path: Path, embedded: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = {}
    for name in [*SUBMISSIONS[kind]][part :: PARTS.get(kind, 1)]:
        ending, make = SUBMISSIONS[kind][name]
        path = tmp_path / f"{len(found)}/x{ending}"
        path.parent.mkdir()
        make(path)
        found[name], _ = _refusal(partial(_validate, path, embedded), path.parent)
    _check(kind, found)
