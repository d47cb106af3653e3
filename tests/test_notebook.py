"""docs/notebook.ipynb runs from top to bottom, and gives the outputs that it is kept with.

``FSLBENCH_REGENERATE=1`` writes the outputs into the notebook instead of comparing.
"""

import re
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest
from golden_commands import REGENERATE, difference, rounded

import fslbench_data

nbclient = pytest.importorskip("nbclient", reason="needs nbclient, of the extra `test`")
pytest.importorskip("ipykernel", reason="needs ipykernel, of the extra `test`")
pytest.importorskip("pandas", reason="needs pandas, of the extra `test`")
pytest.importorskip("vl_convert", reason="needs the extra `report`")
import nbformat  # noqa: E402  of nbclient

NOTEBOOK = Path(__file__).parents[1] / "docs/notebook.ipynb"
_IMAGE = re.compile(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]*)"[^>]*>')
_VARIES = (
    (re.compile(r"\x1b\[[\d;]*m"), ""),  # colours of a terminal
    (re.compile(r"[⠀-⣿] "), ""),  # the wheel that turns while a bar grows
    (re.compile(r"\d+(\.\d+)? tasks/s|… tasks/s"), "<speed>"),
    (re.compile(r"\b\d+:\d\d:\d\d\b|-:--:--"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
)


@pytest.fixture
def kept():
    return nbformat.read(NOTEBOOK, as_version=4)


def _texts(output):
    if output.output_type == "error":
        return [f"error: {output.ename}: {output.evalue}"]
    if output.output_type == "stream":
        return [f"{output.name}:", *output.text.splitlines()]
    lines = []
    for kind in sorted(output.data):
        text = output.data[kind]
        drawn = [b64decode(image).decode() for image in _IMAGE.findall(text)]
        if kind == "image/svg+xml":
            drawn, text = [text], ""
        elif kind == "text/html":
            bare = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
            text = unescape(re.sub(r"<(?!/?(span|pre)\b)[^>]*>", "\n", bare))
            text = re.sub(r"<[^>]*>", "", text)
        lines += [f"{kind}:", *text.splitlines()]
        for svg in drawn:
            said = re.findall(r'aria-label="([^"]*)"|<text[^>]*>([^<]*)</text>', svg)
            lines += ["figure:", *(unescape(label or words) for label, words in said)]
    return lines


def _shown(notebook):
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


@pytest.mark.slow
def test_it_runs_and_gives_what_it_shows(kept, tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    run = nbformat.from_dict(kept)
    how = {"timeout": 300, "record_timing": False, "coalesce_streams": True}
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(run, resources=resources, **how).execute()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    run.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    installed = str(Path(fslbench_data.__file__).parents[1])  # and nothing of this machine
    run = nbformat.reads(nbformat.writes(run).replace(installed, "…"), as_version=4)
    if REGENERATE:
        NOTEBOOK.write_text(nbformat.writes(run, indent=1) + "\n", encoding="utf-8", newline="")
    elif said := difference(_shown(kept), _shown(run)):
        pytest.fail(said, pytrace=False)


def test_it_is_kept_whole_and_small(kept):
    nbformat.validate(kept)
    assert NOTEBOOK.stat().st_size < 400_000
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert len(code) <= 12
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert "…/fslbench_data/embedded" in _shown(kept)  # and no folder of whoever ran it
