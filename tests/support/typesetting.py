"""What LaTeX says of a document."""

import re
import subprocess
from pathlib import Path


def typeset(folder: Path, text: str) -> str:
    """Set a document whole, floats and all, as ``all.pdf`` in a folder; gives what LaTeX said."""
    (folder / "all.tex").write_text(text, encoding="utf-8")
    out = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert out.returncode == 0, out.stdout[-2000:]
    assert not (large := re.findall(r"Float too large.*", out.stdout)), large
    return out.stdout
