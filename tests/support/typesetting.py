"""What LaTeX says of a document."""

import shutil
import subprocess
from pathlib import Path

import pytest


def typeset(folder: Path, body: str, head: str = r"\documentclass{article}") -> str:
    """Set a document as ``all.pdf`` in a folder; gives what LaTeX said."""
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex with booktabs (Debian: texlive-latex-recommended)")
    document = ["\\begin{document}", body, "\\end{document}", ""]
    text = "\n".join([head, "\\usepackage{booktabs,longtable}", *document])
    (folder / "all.tex").write_text(text, encoding="utf-8")
    out = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert out.returncode == 0, out.stdout[-2000:]
    return out.stdout
