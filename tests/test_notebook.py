"""docs/notebook.ipynb runs from top to bottom, and gives the outputs that it is kept with.

``FSLBENCH_REGENERATE=1`` writes the outputs into the notebook instead of comparing.
"""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from golden_commands import REGENERATE, difference, rounded

nbclient = pytest.importorskip("nbclient", reason="needs nbclient, of the extra `test`")
pytest.importorskip("ipykernel", reason="needs ipykernel, of the extra `test`")
pytest.importorskip("pandas", reason="needs pandas, of the extra `test`")
pytest.importorskip("vl_convert", reason="needs the extra `report`")
import nbformat  # noqa: E402  of nbclient

NOTEBOOK = Path(__file__).parents[1] / "docs/notebook.ipynb"
MOST_BYTES = 400_000
MOST_CODE_CELLS = 12

_IMAGE = re.compile(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]*)"[^>]*>')
_VARIES = (
    (re.compile(r"\x1b\[[\d;]*m"), ""),  # colours of a terminal
    (re.compile(r"[⠀-⣿] "), ""),  # the wheel that turns while a bar grows
    (re.compile(r"\d+(\.\d+)? tasks/s|… tasks/s"), "<speed>"),
    (re.compile(r"\b\d+:\d\d:\d\d\b|-:--:--"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
)


@pytest.fixture
def kept() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def _texts(output: Any) -> list[str]:
    """The words and numbers of an output, also those of figures and of their marks."""
    if output.output_type == "error":
        return [f"error: {output.ename}: {output.evalue}"]
    if output.output_type == "stream":
        return [f"{output.name}:", *output.text.splitlines()]
    lines = []
    for kind in sorted(output.data):
        text = output.data[kind]
        drawn = [b64decode(image).decode() for image in _IMAGE.findall(text)]
        if kind == "image/svg+xml":
            drawn = [text]
            text = ""
        elif kind == "text/html":
            bare = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
            text = unescape(re.sub(r"<(?!/?(span|pre)\b)[^>]*>", "\n", bare))
            text = re.sub(r"<[^>]*>", "", text)
        lines += [f"{kind}:", *text.splitlines()]
        for svg in drawn:
            said = re.findall(r'aria-label="([^"]*)"|<text[^>]*>([^<]*)</text>', svg)
            lines += ["figure:", *(unescape(label or words) for label, words in said)]
    return lines


def _shown(notebook: Any) -> str:
    """What all cells show, a line each, without what truly varies."""
    lines = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            lines.append(f"== {cell.id}")
            for output in cell.outputs:
                lines += (" ".join(line.split()) for line in _texts(output))
    text = "\n".join(line for line in lines if line)
    for varies, name in _VARIES:
        text = varies.sub(name, text)
    return rounded(text)


def _executed(notebook: Any, folder: Path) -> Any:
    """The notebook with the outputs of a run in a folder, and nothing of this machine."""
    import fslbench_data

    notebook = nbformat.from_dict(notebook)
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        allow_errors=False,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    installed = str(Path(fslbench_data.__file__).parents[1])
    return nbformat.reads(nbformat.writes(notebook).replace(installed, "…"), as_version=4)


@pytest.mark.slow
def test_it_runs_and_gives_what_it_shows(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    run = _executed(kept, tmp_path)
    if REGENERATE:
        NOTEBOOK.write_text(nbformat.writes(run, indent=1) + "\n", encoding="utf-8", newline="")
        return
    said = difference(_shown(kept), _shown(run))
    if said:
        pytest.fail(said, pytrace=False)


def test_it_is_kept_whole_and_small(kept: Any) -> None:
    nbformat.validate(kept)
    assert NOTEBOOK.stat().st_size < MOST_BYTES
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert len(code) <= MOST_CODE_CELLS
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert "…/fslbench_data/embedded" in _shown(kept)  # and no folder of whoever ran it


def test_its_links_lead_somewhere(kept: Any) -> None:
    text = "\n".join(cell.source for cell in kept.cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    assert [link for link in links if not (NOTEBOOK.parent / link).is_file()] == []
